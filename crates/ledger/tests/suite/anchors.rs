//! Older copies and rewritten chains are found with an anchor, and are not without one.

use reticent::ledger::{Keeper, Ledger, OnInterruption, Receipt, Releases};
use reticent_ledger::{Anchor, DurableLedger, Error, Event};

use super::tampering::{furnish, rewrite};
use super::{Fresh, Place, ask, create, history, limited, open, pure, receipt};

/// A furnished ledger with an anchor that knows its newest entry.
fn anchored(fresh: Fresh) -> (Box<dyn Place>, Anchor, tempfile::TempDir) {
    let folder = tempfile::tempdir().unwrap();
    let (place, anchor) = (fresh(), Anchor::new(folder.path().join("head.json")));
    let ledger = create(&*place).anchored(anchor.clone());
    ledger.advance_anchor().unwrap();
    furnish(&ledger);
    assert!(open(&*place).anchored(anchor.clone()).verify().unwrap().is_sound());
    (place, anchor, folder)
}

/// Asserts that verifying finds it with the anchor but not without, and that nothing is charged with it.
#[track_caller]
fn betrayed(place: &dyn Place, anchor: &Anchor, finding: &str) {
    let ledger = open(place);
    let verdict = ledger.verify().unwrap();
    assert!(verdict.is_sound(), "{:?}", verdict.findings);
    let ledger = ledger.anchored(anchor.clone());
    let (before, held) = (history(&ledger), anchor.read().unwrap());
    let findings: Vec<_> = ledger.verify().unwrap().findings.iter().map(ToString::to_string).collect();
    assert!(findings.iter().any(|found| found.contains(finding)), "{findings:?}");
    // New, answered before, and charged but not answered.
    for (dataset, request) in [("people", "new"), ("people", "request 1"), ("people", "request 5")] {
        let charged = ledger.charge(&ask(dataset, request, pure("0.01")), OnInterruption::Recompute);
        assert!(matches!(charged, Err(Error::NotAnchored(_))), "{request}: {charged:?}");
    }
    for dataset in ["new", "people"] {
        assert!(matches!(ledger.register(&limited(dataset, pure("1"))), Err(Error::NotAnchored(_))));
    }
    for (number, charge) in before.iter().filter_map(|entry| match &entry.event {
        Event::Charged { charge, .. } => Some((entry.number, charge)),
        _ => None,
    }) {
        let (dataset, request) = (charge.dataset.clone(), charge.request.clone());
        let receipt = Receipt { dataset, request, entry: number };
        let refused = match charge.releases {
            Releases::Stream => ledger.resume(&receipt).map(drop),
            Releases::Once => ledger.keep(&receipt, "kept").map(drop),
        };
        assert!(matches!(refused, Err(Error::NotAnchored(_))), "{receipt:?}: {refused:?}");
    }
    assert!(matches!(ledger.advance_anchor(), Err(Error::NotAnchored(_))));
    assert_eq!((history(&ledger), anchor.read().unwrap()), (before, held));
}

pub fn an_older_copy_is_betrayed_by_the_anchor(fresh: Fresh) {
    let (place, anchor, _folder) = anchored(fresh);
    let older = place.copy();
    receipt(&open(&*place).anchored(anchor.clone()), &ask("people", "newer", pure("0.01")));
    betrayed(&*older, &anchor, "it is an older copy, or its end was cut off");
    // So does an end that is cut off in place, and one that went on differently.
    let last = anchor.read().unwrap().unwrap().number;
    place.vandalise(&format!("DELETE FROM entry WHERE number = {last}"));
    betrayed(&*place, &anchor, "it is an older copy, or its end was cut off");
    receipt(&open(&*place), &ask("people", "instead", pure("0.01")));
    betrayed(&*place, &anchor, &format!("entry {last} is not the one that was anchored"));
}

pub fn a_rewritten_chain_is_betrayed_by_the_anchor(fresh: Fresh) {
    let (place, anchor, _folder) = anchored(fresh);
    let (number, entries) = (anchor.read().unwrap().unwrap().number, history(&open(&*place)));
    rewrite(&*place, &entries, |event| {
        if let Event::Charged { charge, .. } = event {
            charge.caller = "somebody else".into();
        }
    });
    betrayed(&*place, &anchor, &format!("entry {number} is not the one that was anchored: the ledger was rewritten"));
}

pub fn the_anchor_of_another_ledger_fits_none(fresh: Fresh) {
    let (_, anchor, _folder) = anchored(fresh);
    let other = fresh();
    furnish(&create(&*other));
    betrayed(&*other, &anchor, "the anchor belongs to another ledger");
    // A charge does not create a missing anchor: an attacker could otherwise get rid of one by deleting it. It is created
    // on request, and one that lags behind is moved.
    let folder = tempfile::tempdir().unwrap();
    let own = Anchor::new(folder.path().join("own.json"));
    let ledger = || -> DurableLedger { open(&*other).anchored(own.clone()) };
    let missing = ledger().charge(&ask("people", "too early", pure("0.01")), OnInterruption::Recompute).unwrap_err();
    assert!(missing.to_string().contains("there is no anchor"), "{missing}");
    // Nor by registering, which other commands do by themselves.
    assert!(matches!(ledger().register(&limited("new", pure("1"))), Err(Error::NotAnchored(_))));
    assert_eq!(own.read().unwrap(), None);
    ledger().advance_anchor().unwrap();
    let first = own.read().unwrap().unwrap();
    receipt(&open(&*other), &ask("people", "behind its back", pure("0.01")));
    assert!(ledger().verify().unwrap().is_sound());
    let newest = receipt(&ledger(), &ask("people", "before its eyes", pure("0.01")));
    assert_eq!(own.read().unwrap().unwrap().number, newest.entry);
    assert_eq!(newest.entry, first.number + 2);
    assert!(ledger().verify().unwrap().is_sound());
}

/// Also without a new charge: what comes back may be shown.
pub fn an_anchor_that_cannot_be_moved_costs_nothing(fresh: Fresh) {
    let (place, anchor, folder) = anchored(fresh);
    let ledger = open(&*place).anchored(anchor.clone());
    let before = history(&ledger);
    std::fs::create_dir(folder.path().join("head.json.new")).unwrap();
    for request in ["new", "request 1"] {
        let refused = ledger.charge(&ask("people", request, pure("0.01")), OnInterruption::Recompute);
        assert!(matches!(refused, Err(Error::Storage { doing: "anchored", .. })), "{refused:?}");
    }
    assert_eq!(history(&ledger), before);
    assert!(matches!(ledger.failing(), Some(Error::Storage { doing: "anchored", .. })));
    std::fs::remove_dir(folder.path().join("head.json.new")).unwrap();
    ledger.try_again();
    assert_eq!(ledger.failing(), None);
    receipt(&ledger, &ask("people", "new", pure("0.01")));
}
