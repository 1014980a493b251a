//! Every change in the storage is found.

use reticent::error::Explained;
use reticent::ledger::{Charge, Keeper, OnInterruption, Releases};
use reticent_ledger::{Budget, Dataset, DurableLedger, Entry, Error, Event, Hash, Row, Spend};

use super::{Fresh, Place, ask, create, history, limited, open, pure, receipt};

/// Every column of an entry, and values that it does not hold.
const CHANGES: [&str; 16] = [
    "number = number + 1000",
    "number = -number",
    "body = body || ' '",
    "body = replace(body, 'a', 'b')",
    "body = ''",
    "hash = (SELECT hash FROM entry AS other WHERE other.number = entry.number % 20 + 1)",
    "hash = 'no hash'",
    "registered = 'forged'",
    "registered = NULL",
    "dataset = 'forged'",
    "dataset = NULL",
    "request = 'forged'",
    "request = NULL",
    "terms = 'forged'",
    "terms = NULL",
    "charge = 777",
];

/// A text as an SQL literal.
pub fn quoted(text: &str) -> String {
    format!("'{}'", text.replace('\'', "''"))
}

/// Some 30 entries of every kind.
pub fn furnish(ledger: &DurableLedger) -> Vec<Entry> {
    ledger.register(&limited("people", pure("1"))).unwrap();
    ledger.register(&limited("animals", pure("1"))).unwrap();
    for number in 0..13 {
        let dataset = if number % 3 == 0 { "animals" } else { "people" };
        let kept = receipt(ledger, &ask(dataset, &format!("request {number}"), pure("0.01")));
        if number != 5 {
            ledger.keep(&kept, &format!("release {number}")).unwrap();
        }
    }
    receipt(ledger, &Charge { releases: Releases::Stream, ..ask("people", "stream", pure("0.1")) });
    let entries = history(ledger);
    assert_eq!(entries.len(), 29);
    entries
}

/// A furnished ledger that can be put back to what it was.
struct Furnished {
    place: Box<dyn Place>,
    ledger: DurableLedger,
    entries: Vec<Entry>,
}

impl Furnished {
    fn new(fresh: Fresh) -> Self {
        let place = fresh();
        let ledger = create(&*place);
        let entries = furnish(&ledger);
        place.vandalise("CREATE TABLE saved.entry AS SELECT * FROM entry");
        place.vandalise("CREATE TABLE saved.release AS SELECT * FROM release");
        Self { place, ledger, entries }
    }

    fn put_back(&self) {
        self.place.vandalise(
            "DELETE FROM release; DELETE FROM entry; INSERT INTO entry SELECT * FROM saved.entry; INSERT INTO release SELECT * \
             FROM saved.release;",
        );
    }

    /// Does something to a sound ledger; what `verify` says then.
    fn findings(&self, sql: &str) -> Vec<String> {
        self.place.vandalise(sql);
        let verdict = self.ledger.verify().unwrap();
        self.put_back();
        verdict.findings.iter().map(ToString::to_string).collect()
    }

    /// Asserts that something done to an entry is found, and the entry named.
    #[track_caller]
    fn found(&self, sql: &str, number: u64) {
        let findings = self.findings(sql);
        let names =
            |finding: &String| finding.split(' ').any(|word| word.trim_matches([',', '-']) == number.to_string());
        assert!(findings.iter().any(names), "{sql} on entry {number}: {findings:?}");
    }

    #[track_caller]
    fn sound(&self) {
        let verdict = self.ledger.verify().unwrap();
        assert!(verdict.is_sound(), "{:?}", verdict.findings);
    }
}

pub fn whatever_is_changed_is_found(fresh: Fresh) {
    let furnished = Furnished::new(fresh);
    furnished.sound();
    for entry in &furnished.entries {
        for change in CHANGES {
            let holds = |column: &str| match &entry.event {
                Event::Registered(_) => column == "registered",
                Event::Charged { .. } => ["dataset", "request", "terms"].contains(&column),
                _ => false,
            };
            let nothing_changes = change.ends_with("= NULL") && !holds(change.split(' ').next().unwrap());
            if !nothing_changes {
                furnished.found(&format!("UPDATE entry SET {change} WHERE number = {}", entry.number), entry.number);
            }
        }
        if let Event::Released { charge, .. } = entry.event {
            let number = entry.number;
            furnished.found(&format!("UPDATE entry SET charge = NULL WHERE number = {number}"), number);
            furnished.found(&format!("UPDATE entry SET charge = {} WHERE number = {number}", charge + 500), number);
            furnished.found(&format!("UPDATE release SET text = text || ' ' WHERE number = {number}"), number);
            furnished.found(&format!("UPDATE release SET text = '' WHERE number = {number}"), number);
            furnished.found(&format!("UPDATE release SET number = {} WHERE number = {number}", number + 1000), number);
            furnished.found(&format!("DELETE FROM release WHERE number = {number}"), number);
        }
    }
    // An entry that was written anew, with its own hash, no longer fits the one after it.
    for entry in &furnished.entries[..furnished.entries.len() - 1] {
        let mut other = entry.clone();
        other.at = "2000-01-01T00:00:00.000Z".into();
        let body = serde_json::to_string(&other).unwrap();
        let (text, hash) = (quoted(&body), Hash::of(&body));
        let sql = format!("UPDATE entry SET body = {text}, hash = '{hash}' WHERE number = {}", entry.number);
        furnished.found(&sql, entry.number + 1);
    }
    furnished.sound();
}

pub fn whatever_is_removed_reordered_or_added_is_found(fresh: Fresh) {
    let furnished = Furnished::new(fresh);
    let last = furnished.entries.last().unwrap().number;
    for number in 1..=last {
        // Without an anchor the end can be cut off; nothing that is left tells it.
        let delete = format!("DELETE FROM release WHERE number = {number}; DELETE FROM entry WHERE number = {number};");
        if number < last {
            furnished.found(&delete, number);
        } else {
            assert_eq!(furnished.findings(&delete), [""; 0]);
        }
    }
    for number in 1..last {
        let (a, b) = (number, number % (last - 1) + 1);
        let (a, b) = (a.min(b), a.max(b));
        furnished.found(
            &format!(
                "UPDATE entry SET number = 999 WHERE number = {a}; UPDATE entry SET number = {a} WHERE number = {b}; UPDATE entry \
                 SET number = {b} WHERE number = 999;"
            ),
            a,
        );
    }
    // Forged rows with hashes that are right in themselves.
    let charge = Box::new(ask("people", "forged", pure("0.01")));
    let forge = |number: u64, sql_number: i64, previous: Hash| {
        let event = Event::Charged { charge: charge.clone(), spent: Spend::NOTHING, charges: 1, runs: Vec::new() };
        let at = furnished.entries[0].at.clone();
        let body = serde_json::to_string(&Entry { number, at, previous, event }).unwrap();
        let (text, hash) = (quoted(&body), Hash::of(&body));
        format!(
            "INSERT INTO entry (number, body, hash, dataset, request, terms) VALUES ({sql_number}, {text}, '{hash}', 'people', \
             'forged', 'add-remove row')"
        )
    };
    let end = furnished.ledger.verify().unwrap().head.unwrap();
    furnished.found(&forge(last + 1, last.cast_signed() + 1, end.hash), last + 1); // its sum is wrong
    furnished.found(&forge(last + 1, last.cast_signed() + 1, Hash::NONE), last + 1);
    furnished.found(&forge(last + 9, last.cast_signed() + 9, end.hash), last + 1);
    for before_the_first in [0, -1, i64::MIN] {
        let findings = furnished.findings(&forge(before_the_first.cast_unsigned(), before_the_first, end.hash));
        let named = format!("a row is numbered {before_the_first}, before the first entry");
        assert!(findings.iter().any(|finding| finding.contains(&named)), "{before_the_first}: {findings:?}");
    }
    furnished.found("INSERT INTO release (number, text) VALUES (4, 'forged')", 4);
    furnished.found("INSERT INTO release (number, text) VALUES (1000, 'forged')", 1000);
    let findings = furnished.findings("DELETE FROM release; DELETE FROM entry;");
    assert_eq!(findings, ["there are no entries; even an empty ledger has one"]);
    furnished.sound();
}

pub fn nothing_is_charged_on_top_of_damage(fresh: Fresh) {
    let furnished = Furnished::new(fresh);
    let Furnished { place, entries, .. } = &furnished;
    let last = entries.last().unwrap().number;
    let newest_of_animals = entries.iter().rev().find_map(|entry| match &entry.event {
        Event::Charged { charge, .. } if charge.dataset == "animals" => Some(entry.number),
        _ => None,
    });
    let [registration, newest] = [3, newest_of_animals.unwrap()];
    let changes = [
        "body = body || ' '",
        "body = replace(body, '1', '2')",
        "hash = 'no hash'",
        "hash = (SELECT hash FROM entry AS other WHERE other.number = 1)",
    ];
    let ask_animals = ask("animals", "on top", pure("0.01"));
    for number in [last, registration, newest] {
        for change in changes {
            place.vandalise(&format!("UPDATE entry SET {change} WHERE number = {number}"));
            // By the handle that was open before, and by a new one.
            for ledger in [&furnished.ledger, &open(&**place)] {
                let error = ledger.charge(&ask_animals, OnInterruption::Recompute).unwrap_err();
                assert_eq!(error, Error::Damaged(format!("entry {number} was changed")), "{change}");
                if number == last {
                    assert!(matches!(ledger.register(&limited("more", pure("1"))), Err(Error::Damaged(_))));
                }
            }
            furnished.put_back();
        }
    }
    // Nor is a release shown that is not the one that was kept.
    let answered = ask("people", "request 1", pure("0.01"));
    let of_a_release = entries.iter().find_map(|entry| match &entry.event {
        Event::Charged { charge, .. } if **charge == answered => Some(entry.number + 1),
        _ => None,
    });
    let number = of_a_release.unwrap();
    for change in ["UPDATE release SET text = 'forged'", "DELETE FROM release"] {
        place.vandalise(&format!("{change} WHERE number = {number}"));
        assert!(
            matches!(furnished.ledger.charge(&answered, OnInterruption::Recompute), Err(Error::Damaged(_))),
            "{change}"
        );
        furnished.put_back();
    }
    assert_eq!(history(&furnished.ledger), *entries);
    receipt(&furnished.ledger, &ask_animals);
    furnished.sound();
}

/// Writes a whole ledger anew, each entry with a hash that fits: `change` may do what it likes to the events.
pub fn rewrite(place: &dyn Place, entries: &[Entry], change: impl Fn(&mut Event)) {
    let mut previous: Option<Row> = None;
    for entry in entries {
        let mut event = entry.event.clone();
        change(&mut event);
        let row = Row::after(previous.as_ref(), event);
        let (text, hash) = (quoted(&row.body), row.hash);
        place.vandalise(&format!("UPDATE entry SET body = {text}, hash = '{hash}' WHERE number = {}", row.number));
        previous = Some(row);
    }
}

/// A ledger that is open remembers what it has read: what is gone from it does not give a budget back.
pub fn what_was_seen_must_stay(fresh: Fresh) {
    let furnished = Furnished::new(fresh);
    let Furnished { place, ledger, entries } = &furnished;
    let newest = |dataset: &str| {
        let charged =
            |entry: &&Entry| matches!(&entry.event, Event::Charged { charge, .. } if charge.dataset == dataset);
        entries.iter().rfind(charged).unwrap().number
    };
    let gone = |first: u64, last: u64| {
        place.vandalise(&format!(
            "DELETE FROM release WHERE number BETWEEN {first} AND {last}; DELETE FROM entry WHERE number BETWEEN {first} AND {last}"
        ));
    };
    let last = entries.last().unwrap().number;
    // The end, all but the beginning, and of one dataset the newest charge alone.
    for (first, last, missed) in
        [(last, last, last), (4, last, last), (newest("animals"), newest("animals"), newest("animals"))]
    {
        gone(first, last);
        let charge = ask("animals", &format!("after {first}"), pure("0.01"));
        assert_eq!(
            ledger.charge(&charge, OnInterruption::Recompute).unwrap_err(),
            Error::Older(missed),
            "{first} to {last}"
        );
        // What is answered from the ledger says nothing of whether it can be charged.
        let _ = ledger.charge(&ask("people", "request 1", pure("0.01")), OnInterruption::Recompute);
        assert_eq!(ledger.failing(), Some(Error::Older(missed)));
        ledger.try_again();
        assert_eq!(ledger.failing(), Some(Error::Older(missed)), "it can be written, but is not what it was");
        furnished.put_back();
        ledger.try_again();
        assert_eq!(ledger.failing(), None);
    }
    // A limit that was set after some charges.
    let unlimited = Dataset { name: "plants".into(), budget: Budget::Unlimited, terms: None };
    ledger.register(&unlimited).unwrap();
    receipt(ledger, &ask("plants", "first", pure("1")));
    ledger.register(&limited("plants", pure("1"))).unwrap();
    let limit = ledger.head().unwrap().number;
    receipt(ledger, &ask("animals", "later", pure("0.01")));
    place.vandalise(&format!("CREATE TABLE saved.limits AS SELECT * FROM entry WHERE number = {limit}"));
    gone(limit, limit);
    assert_eq!(
        ledger.charge(&ask("plants", "second", pure("1")), OnInterruption::Recompute).unwrap_err(),
        Error::Older(limit)
    );
    place.vandalise("INSERT INTO entry SELECT * FROM saved.limits");
    assert!(ledger.charge(&ask("plants", "second", pure("1")), OnInterruption::Recompute).unwrap_err().is_overdrawn());
    // What others write meanwhile is no reason to stop.
    receipt(&open(&**place), &ask("animals", "elsewhere", pure("0.01")));
    receipt(ledger, &ask("animals", "here", pure("0.01")));
    furnished.sound();
}
