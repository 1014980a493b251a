//! The same id again, releases, failures, receipts, permits.

use std::collections::HashSet;
use std::thread;

use reticent::error::Explained;
use reticent::ledger::{Accounting, Charge, ChargeOutcome, Keeper, Ledger, OnInterruption, Receipt, Releases};
use reticent::mechanism::Laplace;
use reticent::privacy::Adjacency;
use reticent_ledger::{DurableLedger, Error, FailureKind, Spend, Suspension};

use super::{Fresh, ask, create, history, limited, open, pure, receipt, receipt_again, zcdp};

pub fn the_same_request_is_charged_once(fresh: Fresh) {
    let place = fresh();
    let ledger = create(&*place);
    ledger.register(&limited("people", pure("1"))).unwrap();
    ledger.register(&limited("animals", pure("1"))).unwrap();
    let charge = ask("people", "a", pure("0.6"));
    let first = receipt(&ledger, &charge);
    // A repeated request is told that no release was kept yet: how a run ends may depend on rows, and must not be
    // observed twice.
    assert_eq!(receipt_again(&open(&*place), &charge), first);
    ledger.keep(&first, "17").unwrap();
    for _ in 0..2 {
        assert!(
            matches!(open(&*place).charge(&charge, OnInterruption::Recompute).unwrap(), ChargeOutcome::AlreadyAnswered(text) if text == "17")
        );
    }
    // Anything else under the same id is an error, whichever part differs.
    let others = [
        Charge { caller: "eve".into(), ..charge.clone() },
        Charge { description: "something else".into(), ..charge.clone() },
        Charge { unit: "user_id".into(), ..charge.clone() },
        Charge { adjacency: Adjacency::Replace, ..charge.clone() },
        Charge { guarantee: pure("0.1"), ..charge.clone() },
        Charge { guarantee: zcdp("0.6"), ..charge.clone() },
        Charge { releases: Releases::Stream, ..charge.clone() },
    ];
    for other in &others {
        let error = ledger.charge(other, OnInterruption::Recompute).unwrap_err();
        assert!(matches!(error, Error::OtherRequest { entry, .. } if entry == first.entry), "{error}");
    }
    assert_eq!(ledger.account("people").unwrap().unwrap().spent[0].1, Spend::of(&pure("0.6")));
    // The id of one dataset is free in another.
    receipt(&ledger, &ask("animals", "a", pure("0.6")));
    assert!(ledger.verify().unwrap().is_sound());
}

pub fn what_is_kept_first_stays(fresh: Fresh) {
    let place = fresh();
    let ledger = create(&*place);
    ledger.register(&limited("people", pure("1"))).unwrap();
    let kept = receipt(&ledger, &ask("people", "a", pure("1")));
    assert_eq!(ledger.keep(&kept, "17").unwrap(), "17");
    let before = history(&ledger);
    assert_eq!(open(&*place).keep(&kept, "18").unwrap(), "17");
    assert_eq!(history(&ledger), before);
    // Nothing ever comes back: neither a release nor a refusal changes what was spent.
    assert!(ledger.charge(&ask("people", "b", pure("1e-9")), OnInterruption::Recompute).unwrap_err().is_overdrawn());
    assert_eq!(ledger.account("people").unwrap().unwrap().spent[0].1, Spend::of(&pure("1")));
    assert!(ledger.verify().unwrap().is_sound());
}

pub fn a_stream_is_never_asked_again(fresh: Fresh) {
    let place = fresh();
    let ledger = create(&*place);
    ledger.register(&limited("people", pure("1"))).unwrap();
    let stream = Charge { releases: Releases::Stream, ..ask("people", "s", pure("0.5")) };
    let started = receipt(&ledger, &stream);
    let before = history(&ledger);
    let is_started = |error: Error| matches!(error, Error::StreamStarted { entry, .. } if entry == started.entry);
    assert!(is_started(ledger.charge(&stream, OnInterruption::Recompute).unwrap_err()));
    assert!(is_started(open(&*place).charge(&stream, OnInterruption::Recompute).unwrap_err()));
    assert!(is_started(ledger.keep(&started, "17").unwrap_err()));
    let resumed = open(&*place).resume(&started).unwrap();
    assert_eq!(*resumed.accounting(), Accounting::Charged(started.clone()));
    // It pays for nothing new.
    let mut resumed = ledger.resume(&started).unwrap();
    assert!(resumed.spend(&pure("1e-300")).unwrap_err().is_not_permitted());
    assert!(resumed.resume_stream(&Accounting::Charged(started)).is_ok());
    assert_eq!(history(&ledger), before);
}

pub fn foreign_receipts_are_worth_nothing(fresh: Fresh) {
    let place = fresh();
    let ledger = create(&*place);
    ledger.register(&limited("people", pure("1"))).unwrap();
    let mine = receipt(&ledger, &ask("people", "a", pure("0.1")));
    let stream = receipt(&ledger, &Charge { releases: Releases::Stream, ..ask("people", "s", pure("0.1")) });
    let foreign = [
        Receipt { dataset: "animals".into(), ..mine.clone() },
        Receipt { request: "b".into(), ..mine.clone() },
        Receipt { entry: 1, ..mine.clone() },
        Receipt { entry: 2, ..mine.clone() },
        Receipt { entry: stream.entry, ..mine.clone() },
        Receipt { entry: 0, ..mine.clone() },
        Receipt { entry: 1000, ..mine.clone() },
        Receipt { entry: u64::MAX, ..mine.clone() },
    ];
    let before = history(&ledger);
    for receipt in &foreign {
        assert!(matches!(ledger.keep(receipt, "17"), Err(Error::UnknownReceipt { .. })), "{receipt:?}");
        assert!(matches!(ledger.resume(receipt), Err(Error::UnknownReceipt { .. })), "{receipt:?}");
    }
    // What is released once is not resumed.
    assert!(matches!(ledger.resume(&mine), Err(Error::UnknownReceipt { .. })));
    assert_eq!(history(&ledger), before);
}

pub fn a_permit_covers_its_charge_exactly(fresh: Fresh) {
    let place = fresh();
    let ledger = create(&*place);
    ledger.register(&limited("people", pure("10"))).unwrap();
    let charge = ask("people", "a", pure("1"));
    let ChargeOutcome::New(mut permit) = ledger.charge(&charge, OnInterruption::Recompute).unwrap() else {
        panic!("nothing was kept yet")
    };
    let half = Laplace::new(1, &"0.5".parse().unwrap()).unwrap();
    assert!(half.release(17, &mut permit).is_ok() && half.release(17, &mut permit).is_ok());
    assert!(half.release(17, &mut permit).unwrap_err().is_not_permitted());
    assert!(permit.spend(&pure("1e-300")).unwrap_err().is_not_permitted());
    assert!(permit.spend(&zcdp("1e-300")).unwrap_err().is_not_permitted());
}

/// Threads with handles of their own and threads that share one ask the same request and keep what they computed.
pub fn two_who_ask_the_same_at_once_show_the_same(fresh: Fresh) {
    const ROUNDS: usize = 10;
    let place = fresh();
    let shared = create(&*place);
    shared.register(&limited("people", pure("10"))).unwrap();
    let others = [open(&*place), open(&*place)];
    for round in 0..ROUNDS {
        let charge = ask("people", &format!("round {round}"), pure("1"));
        let show = |ledger: &reticent_ledger::DurableLedger, own: String| match ledger
            .charge(&charge, OnInterruption::Recompute)
            .unwrap()
        {
            ChargeOutcome::AlreadyAnswered(text) => text,
            ChargeOutcome::New(permit) | ChargeOutcome::Unfinished(permit) => {
                let Accounting::Charged(receipt) = permit.accounting() else { panic!("it was charged") };
                ledger.keep(receipt, &own).unwrap()
            }
        };
        let ledgers = [&shared, &shared, &others[0], &others[1]];
        let shown: HashSet<String> = thread::scope(|scope| {
            let show = &show;
            let threads: Vec<_> = (0..)
                .zip(ledgers)
                .map(|(thread, ledger)| scope.spawn(move || show(ledger, format!("computed by {thread}"))))
                .collect();
            threads.into_iter().map(|thread| thread.join().unwrap()).collect()
        });
        assert_eq!(shown.len(), 1, "{shown:?}");
    }
    let account = shared.account("people").unwrap().unwrap();
    assert_eq!((account.charges, history(&shared).len()), (ROUNDS as u64, 2 + 2 * ROUNDS));
    assert!(shared.verify().unwrap().is_sound());
}

/// Whether a run fails can depend on one person's rows: who provokes failures gets one, not one for each charge.
pub fn a_failure_suspends_until_somebody_reopens(fresh: Fresh) {
    let place = fresh();
    let ledger = create(&*place);
    for name in ["people", "others"] {
        ledger.register(&limited(name, pure("1"))).unwrap();
    }
    let [first, second] = ["first", "second"].map(|request| ask("people", request, pure("0.1")));
    let (failing, running) = (receipt(&ledger, &first), receipt(&ledger, &second));
    assert_eq!(ledger.fail(&failing, "failed").unwrap(), "failed");
    let suspended = |ledger: &DurableLedger| ledger.account("people").unwrap().unwrap().suspended;
    let suspension = Suspension { entry: failing.entry, failure: FailureKind::NoAnswer };
    // Also for another process; and whatever is asked, it costs nothing.
    for ledger in [&ledger, &open(&*place)] {
        assert_eq!(suspended(ledger), Some(suspension));
        let refused = ledger.charge(&ask("people", "third", pure("0.1")), OnInterruption::Recompute).unwrap_err();
        assert_eq!(refused, Error::Suspended { dataset: "people".into(), suspension });
        assert!(
            matches!(ledger.charge(&first, OnInterruption::Recompute), Ok(ChargeOutcome::AlreadyAnswered(text)) if text == "failed")
        );
    }
    // What was charged before ends as it would have; others go on.
    assert_eq!(ledger.keep(&running, "17").unwrap(), "17");
    receipt(&ledger, &ask("others", "first", pure("0.1")));
    // What was kept stays: a failure is no way to take an answer back, nor the other way round.
    assert_eq!(ledger.fail(&running, "failed").unwrap(), "17");
    assert_eq!(ledger.keep(&failing, "18").unwrap(), "failed");
    assert_eq!(ledger.reopen("people", "ada").unwrap(), Some(failing.entry));
    assert_eq!(ledger.reopen("people", "ada").unwrap(), None);
    assert_eq!(ledger.reopen("others", "ada").unwrap(), None);
    assert_eq!(ledger.reopen("nobody", "ada"), Err(Error::NoSuchDataset("nobody".into())));
    assert_eq!(suspended(&open(&*place)), None);
    let again = receipt(&ledger, &ask("people", "third", pure("0.1")));
    ledger.fail(&again, "failed").unwrap();
    assert_eq!(suspended(&ledger), Some(Suspension { entry: again.entry, ..suspension }));
    assert_eq!(ledger.account("people").unwrap().unwrap().charges, 3);
    assert!(ledger.verify().unwrap().is_sound(), "{:?}", ledger.verify());
}
