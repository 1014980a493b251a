//! Sums, currencies, units, datasets, names.

use std::sync::Barrier;
use std::thread;

use reticent::error::Explained;
use reticent::ledger::{ChargeOutcome, Keeper, OnInterruption};
use reticent::privacy::Adjacency;
use reticent_ledger::{Budget, Dataset, DurableLedger, Error, Event, Registration, Spend, Terms};

use super::{Fresh, approx, ask, create, history, limited, open, pure, receipt, rows, zcdp};

pub fn ten_tenths_exhaust_one_exactly(fresh: Fresh) {
    let place = fresh();
    let ledger = create(&*place);
    ledger.register(&limited("people", pure("1"))).unwrap();
    for tenth in 0..9 {
        receipt(&ledger, &ask("people", &format!("tenth {tenth}"), pure("0.1")));
    }
    let much = ledger.charge(&ask("people", "too much", pure("0.2")), OnInterruption::Recompute).unwrap_err();
    assert_eq!(
        much.to_string(),
        "not enough budget left for people: this costs ε = 0.2, and ε = 0.1 of ε = 1 is left; ε = 0.1 would fit"
    );
    // What was refused has cost nothing, also for a ledger that is opened anew.
    drop(ledger);
    let ledger = open(&*place);
    receipt(&ledger, &ask("people", "the last", pure("0.1")));
    let nothing = ledger.charge(&ask("people", "one more", pure("1e-300")), OnInterruption::Recompute).unwrap_err();
    assert!(nothing.is_overdrawn() && nothing.to_string().ends_with("nothing more fits"), "{nothing}");
    assert_eq!(ledger.account("people").unwrap().unwrap().spent, [(rows(), Spend::of(&pure("1")))]);
    assert!(ledger.verify().unwrap().is_sound());
}

pub fn every_currency_is_added_up_by_itself(fresh: Fresh) {
    let place = fresh();
    let ledger = create(&*place);
    for (name, limit) in [("pure", pure("1")), ("approx", approx("1", "1e-6")), ("rho", zcdp("0.5"))] {
        ledger.register(&limited(name, limit)).unwrap();
    }
    let granted = [
        ("pure", pure("1/3")),
        ("approx", pure("0.5")),
        ("approx", approx("0.5", "1e-6")),
        ("rho", zcdp("0.375")),
        ("rho", pure("0.5")), // ε²/2 = 0.125
    ];
    let refused = [
        ("pure", approx("0.1", "1e-9"), "ask for a pure ε"),
        ("pure", zcdp("0.1"), "ask for a pure ε"),
        ("approx", zcdp("0.1"), "ask for an ε, or an ε and a δ"),
        ("rho", approx("0.1", "1e-9"), "ask for a ρ, or a pure ε"),
        ("approx", pure("1e-9"), "nothing more fits"),
        ("approx", approx("1e-9", "1e-12"), "nothing more fits"),
        ("rho", zcdp("1e-9"), "nothing more fits"),
        ("rho", pure("1e-9"), "nothing more fits"),
        ("pure", pure("0.67"), "ε = 2/3 would fit"),
    ];
    for (place, (dataset, cost)) in granted.into_iter().enumerate() {
        receipt(&ledger, &ask(dataset, &format!("granted {place}"), cost));
    }
    for (place, (dataset, cost, reason)) in refused.into_iter().enumerate() {
        let error =
            ledger.charge(&ask(dataset, &format!("refused {place}"), cost), OnInterruption::Recompute).unwrap_err();
        assert!(error.to_string().ends_with(reason), "{error}");
    }
    let spent: Vec<_> = ledger.accounts().unwrap().into_iter().map(|account| account.spent[0].1.to_string()).collect();
    assert_eq!(spent, ["ε = 1/3", "ε = 1, δ = 1e-6", "ρ = 0.5"]);
    assert_eq!(history(&ledger).len(), 1 + 3 + 5);
    assert!(ledger.verify().unwrap().is_sound());
}

pub fn without_a_limit_each_of_the_terms_is_kept(fresh: Fresh) {
    let place = fresh();
    let ledger = create(&*place);
    ledger.register(&Dataset { name: "people".into(), budget: Budget::Unlimited, terms: None }).unwrap();
    assert_eq!(ledger.account("people").unwrap().unwrap().spent, []);
    let users = Terms { unit: "user_id".into(), adjacency: Adjacency::Replace };
    receipt(&ledger, &ask("people", "a", pure("1000")));
    for (request, cost) in [("b", zcdp("0.1")), ("c", approx("2", "1e-9")), ("d", zcdp("0.2"))] {
        let mut charge = ask("people", request, cost);
        (charge.unit, charge.adjacency) = (users.unit.clone(), users.adjacency);
        receipt(&ledger, &charge);
    }
    receipt(&ledger, &ask("people", "e", pure("1")));
    let account = ledger.account("people").unwrap().unwrap();
    let mut spent: Vec<_> = account.spent.iter().map(|(terms, spent)| (terms.clone(), spent.to_string())).collect();
    spent.sort_by_key(|(terms, _)| terms.unit.clone());
    assert_eq!(spent, [(rows(), "ε = 1001".into()), (users, "ε = 2, δ = 1e-9, ρ = 0.3".into())]);
    assert_eq!(account.charges, 5);
    assert!(ledger.verify().unwrap().is_sound());
}

pub fn a_limit_set_later_counts_what_was_spent(fresh: Fresh) {
    let place = fresh();
    let ledger = create(&*place);
    ledger.register(&Dataset { name: "people".into(), budget: Budget::Unlimited, terms: None }).unwrap();
    for (request, cost) in [("a", "0.5"), ("b", "0.5")] {
        receipt(&ledger, &ask("people", request, pure(cost)));
    }
    let too_low = ledger.register(&limited("people", zcdp("0.2"))).unwrap_err();
    assert!(matches!(too_low, Error::AlreadySpent { .. }), "{too_low}");
    // ε²/2, twice.
    let spent = Spend::of(&zcdp("0.25"));
    let limit = limited("people", zcdp("0.5"));
    assert_eq!(ledger.register(&limit).unwrap(), Registration::Limited { spent });
    drop(ledger);
    let ledger = open(&*place);
    assert_eq!(ledger.register(&limit).unwrap(), Registration::Unchanged);
    assert!(matches!(ledger.register(&limited("people", zcdp("9"))), Err(Error::DatasetExists(_))));
    receipt(&ledger, &ask("people", "c", zcdp("0.25")));
    assert!(ledger.charge(&ask("people", "d", pure("1e-9")), OnInterruption::Recompute).unwrap_err().is_overdrawn());
    let account = ledger.account("people").unwrap().unwrap();
    assert_eq!((account.charges, account.spent), (3, vec![(rows(), Spend::of(&zcdp("0.5")))]));
    assert!(ledger.verify().unwrap().is_sound());
}

pub fn other_units_and_adjacencies_are_refused_and_cost_nothing(fresh: Fresh) {
    let place = fresh();
    let ledger = create(&*place);
    ledger.register(&limited("people", pure("1"))).unwrap();
    let before = history(&ledger);
    let mut unit = ask("people", "a", pure("0.1"));
    unit.unit = "user_id".into();
    assert!(matches!(ledger.charge(&unit, OnInterruption::Recompute), Err(Error::OtherUnit { .. })));
    let mut adjacency = ask("people", "b", pure("0.1"));
    adjacency.adjacency = Adjacency::Replace;
    assert!(matches!(ledger.charge(&adjacency, OnInterruption::Recompute), Err(Error::OtherAdjacency { .. })));
    let unknown = ledger.charge(&ask("animals", "c", pure("0.1")), OnInterruption::Recompute);
    assert!(matches!(unknown, Err(Error::NoSuchDataset(name)) if name == "animals"));
    assert_eq!(history(&ledger), before);
    // Their ids are still free.
    receipt(&ledger, &ask("people", "a", pure("1")));
}

pub fn a_dataset_is_registered_once(fresh: Fresh) {
    let place = fresh();
    let ledger = create(&*place);
    ledger.register(&limited("people", pure("1"))).unwrap();
    let before = history(&ledger);
    ledger.register(&limited("people", pure("1"))).unwrap();
    ledger.register(&limited("people", pure("1.0"))).unwrap();
    let other_terms = Terms { unit: "user_id".into(), ..rows() };
    let others = [
        limited("people", pure("2")),
        limited("people", zcdp("1")),
        Dataset { terms: Some(other_terms), ..limited("people", pure("1")) },
        Dataset { name: "people".into(), budget: Budget::Unlimited, terms: None },
    ];
    for other in &others {
        assert!(matches!(ledger.register(other), Err(Error::DatasetExists(name)) if name == "people"), "{other:?}");
    }
    let termless = Dataset { terms: None, ..limited("animals", pure("1")) };
    assert!(matches!(ledger.register(&termless), Err(Error::Unusable { .. })));
    assert_eq!(history(&ledger), before);
}

/// No name is taken for SQL, for another one, or shortened.
pub fn names_are_kept_as_they_are(fresh: Fresh) {
    let place = fresh();
    let ledger = create(&*place);
    let long = "long ".repeat(819);
    let names = [
        "it's",
        "\"; DROP TABLE entry; --",
        "%_\\",
        "\\n",
        "$1 ?1 :a @b",
        "Ünïcödé 数据 🦀 e\u{301}",
        "Ünïcödé 数据 🦀 é",
        "people",
        "People",
        " people",
        "people ",
        "\u{202e}elpoep",
        long.trim_end(),
        &long[..long.len() - 2],
    ];
    for name in names {
        ledger.register(&limited(name, pure("1"))).unwrap();
        for request in names {
            receipt(&ledger, &ask(name, request, pure("0.01")));
        }
        let kept = receipt(&ledger, &ask(name, "kept", pure("0.5")));
        ledger.keep(&kept, name).unwrap();
    }
    drop(ledger);
    let ledger = open(&*place);
    let accounts = ledger.accounts().unwrap();
    assert_eq!(accounts.iter().map(|account| account.dataset.name.as_str()).collect::<Vec<_>>(), names);
    for name in names {
        let account = ledger.account(name).unwrap().unwrap();
        assert_eq!((account.charges, account.spent[0].1.to_string()), (15, "ε = 0.64".into()), "{name}");
        let again = ledger.charge(&ask(name, "kept", pure("0.5")), OnInterruption::Recompute).unwrap();
        assert!(matches!(again, ChargeOutcome::AlreadyAnswered(text) if text == name));
    }
    assert!(ledger.verify().unwrap().is_sound());
}

pub fn names_that_cannot_be_kept_are_refused(fresh: Fresh) {
    let place = fresh();
    let ledger = create(&*place);
    ledger.register(&limited("people", pure("1"))).unwrap();
    let before = history(&ledger);
    let long = "x".repeat(4097);
    for wrong in ["", "\0", "a\nb", "\u{7f}", "tab\t", "\u{85}", &long] {
        assert!(matches!(ledger.register(&limited(wrong, pure("1"))), Err(Error::Unusable { .. })), "{wrong:?}");
        for field in 0..4 {
            let mut charge = ask("people", "a", pure("0.1"));
            *[&mut charge.dataset, &mut charge.request, &mut charge.caller, &mut charge.unit][field] = wrong.into();
            assert!(
                matches!(ledger.charge(&charge, OnInterruption::Recompute), Err(Error::Unusable { .. })),
                "{wrong:?} as field {field}"
            );
        }
    }
    assert_eq!(history(&ledger), before);
    let kept = receipt(&ledger, &ask("people", "a", pure("0.1")));
    assert!(matches!(ledger.keep(&kept, "a\0b"), Err(Error::Unusable { .. })));
    assert_eq!(ledger.keep(&kept, "line\n\ttab\u{1} 'quoted'\r\n").unwrap(), "line\n\ttab\u{1} 'quoted'\r\n");
}

pub fn accounts_and_history_tell_everything(fresh: Fresh) {
    let place = fresh();
    let ledger = create(&*place);
    assert_eq!(ledger.accounts().unwrap(), []);
    assert_eq!(ledger.account("people").unwrap(), None);
    ledger.register(&limited("people", pure("1"))).unwrap();
    let fresh_account = ledger.account("people").unwrap().unwrap();
    assert_eq!((fresh_account.charges, &fresh_account.spent[..]), (0, &[(rows(), Spend::NOTHING)][..]));
    let charge = ask("people", "a", pure("0.25"));
    let kept = receipt(&ledger, &charge);
    ledger.keep(&kept, "17").unwrap();
    let entries = history(&DurableLedger::open_to_read(&place.location()).unwrap());
    assert_eq!(entries.iter().map(|entry| entry.number).collect::<Vec<_>>(), [1, 2, 3, 4]);
    assert!(matches!(&entries[0].event, Event::Opened { ledger } if ledger.len() == 32));
    assert!(matches!(&entries[1].event, Event::Registered(dataset) if *dataset == limited("people", pure("1"))));
    assert!(matches!(&entries[2].event, Event::Charged { charge: entry, spent, charges: 1, .. }
            if **entry == charge && *spent == Spend::of(&pure("0.25"))));
    assert!(matches!(&entries[3].event, Event::Released { charge: 3, .. }));
}

pub fn an_empty_place_is_no_ledger(fresh: Fresh) {
    let place = fresh();
    assert!(matches!(DurableLedger::open(&place.location()), Err(Error::Missing(_))));
    assert!(matches!(DurableLedger::open_to_read(&place.location()), Err(Error::Missing(_))));
    let first = history(&create(&*place));
    // To make it again is to open it.
    assert_eq!(history(&create(&*place)), first);
    assert_eq!(history(&open(&*place)), first);
}

pub fn those_who_make_it_at_once_make_one(fresh: Fresh) {
    const MAKERS: usize = 8;
    let place = fresh();
    let (location, ready) = (place.location(), Barrier::new(MAKERS));
    let made: Vec<_> = thread::scope(|scope| {
        let make = || {
            ready.wait();
            let ledger = DurableLedger::create(&location).unwrap();
            ledger.register(&limited("people", pure("1"))).unwrap();
            history(&ledger)
        };
        let makers: Vec<_> = (0..MAKERS).map(|_| scope.spawn(make)).collect();
        makers.into_iter().map(|maker| maker.join().unwrap()).collect()
    });
    assert!(made.iter().all(|entries| entries.len() == 2 && *entries == made[0]), "{made:?}");
}
