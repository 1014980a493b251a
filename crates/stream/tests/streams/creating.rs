//! Is everything checked and charged, once, before a stream counts?

use std::sync::Arc;

use reticent::error::Explained;
use reticent::privacy::{Adjacency, Guarantee};
use reticent_ledger::{Budget, Dataset, Terms};
use reticent_stream::{Definition, Error, Streams};

use crate::bench::{Bench, EXACT, definition, send};

fn refused(text: &str) -> String {
    toml::from_str::<Definition>(text).unwrap_err().message().to_owned()
}

#[test]
fn what_means_nothing_is_refused_by_its_name() {
    let base = "name='s'\nstep='1s'\nepsilon='1'\n";
    for (text, expected) in [
        ("name='S'\nstep='1s'\nepsilon='1'", "name is \"S\", but it must be 1 to 64 of a-z"),
        ("name='s'\nstep='0s'\nepsilon='1'", "step is 0s, but it must be a length of time from 1s to 1d"),
        ("name='s'\nstep='1s'", "epsilon is missing, but it must be given"),
        ("name='s'\nstep='1s'\nepsilon='0'", "epsilon is 0, but it must be"),
        ("name='s'\nstep='1s'\nepsilon='1000'", "epsilon is 1000, but it must be at most 10, or confirmed"),
        ("name='s'\nstep='1s'\nepsilon='1'\nrho='1'", "rho is 1, but it must be left out"),
        (&format!("{base}range='5..1'"), "range is 5..1, but it must be written with the smaller number first"),
        (&format!("{base}range='x'"), "range is x, but it must be LO..HI in whole numbers"),
        (&format!("{base}unit='user'"), "unit is user, but it must be event, step, or events:N"),
        (&format!("{base}unit='step'"), "the unit step needs a range"),
        (&format!("{base}mode='open'"), "mode is open, but it must be curator or pan-private"),
        (&format!("{base}keys=[]"), "keys is a list of 0, but it must be a list of 1 to 2^20 keys"),
        (&format!("{base}keys='some'"), "keys is some, but it must be \"none\", \"selected\", or a list of keys"),
        (&format!("{base}keys='selected'"), "keys that are not known in advance need epsilon and delta"),
        (&format!("{base}counter='fast'"), "counter is fast, but it must be auto or a counter"),
        (&format!("{base}counter='pan-private'\nhorizon=8"), "counter is pan-private, but it must be another one"),
        (&format!("{base}dedup=2000000"), "dedup is 2000000, but it must be at most 1000000 steps"),
        (&format!("{base}horizon=0"), "horizon is 0, but it must be from 1 to 2^40 steps"),
        (&format!("{base}history=0"), "history is 0, but it must be at least 1 step"),
        (
            "name='s'\nstep='event'\nepsilon='1'\nadjacency='add-remove'",
            "adjacency is add-remove, but it must be replace",
        ),
        (&format!("{base}mode='pan-private'"), "horizon is unbounded, but it must be a number of steps"),
        (&format!("{base}mode='pan-private'\nhorizon=8\ndedup=5"), "dedup is 5, but it must be left out"),
        (&format!("{base}mode='pan-private'\nhorizon=8\nkeys='selected'"), "keys is selected, but it must be \"none\""),
        (&format!("{base}mode='pan-private'\nhorizon=8\nadjacency='add-remove'"), "adjacency is add-remove"),
        (&format!("{base}mode='pan-private'\nhorizon=8\nunit='step'\nrange='0..9'"), "unit is step"),
        (&format!("{base}mode='pan-private'\nhorizon=8\ncounter='binary'"), "counter is binary"),
        ("name='s'\nstep='1s'\nrho='1'\nhorizon=10000\ncounter='toeplitz'", "counter is toeplitz"),
    ] {
        let error = refused(text);
        assert!(error.starts_with(expected), "{text}\n{error}");
    }
    assert!(refused(&format!("{base}horizn=3")).contains("unknown field"));
}

/// What gives almost no protection says so.
#[test]
fn a_large_epsilon_is_not_called_protection() {
    let words = |epsilon: &str| {
        let text = format!("name='s'\nstep='1s'\nepsilon='{epsilon}'\nallow_large_epsilon=true");
        definition(&text).guarantee_words()
    };
    assert_eq!(words("10"), "whether any one event happened is protected");
    assert!(
        words("1000")
            .starts_with("whether any one event happened is protected; but ε = 1000 gives almost no protection")
    );
}

#[test]
fn a_definition_reads_as_it_was_written() {
    for text in [
        "name='s'\nstep='1s'\nepsilon='1000'\nallow_large_epsilon=true",
        "name='s'\nstep='1s'\nepsilon='0.1'",
        "name='s'\nstep='2 events'\nepsilon=0.1\ndelta=1e-9\nkeys='selected'\nhorizon=9",
        "name='s'\ndataset='people'\nstep='1d'\nrho='1/3'\nrange='-5..5'\nunit='events:3'\nkeys=['b','a','b']\nhistory=7",
        "name='s'\nstep='1s'\nepsilon=1\nmode='pan-private'\nhorizon=100\ncounter='pan-private-surviving'",
    ] {
        let first = definition(text);
        let json = serde_json::to_string(&first).unwrap();
        assert_eq!(serde_json::from_str::<Definition>(&json).unwrap(), first, "{json}");
    }
    assert_eq!(definition("name='s'\nstep='1s'\nepsilon=0.1").guarantee(), &Guarantee::Pure("0.1".parse().unwrap()));
}

#[test]
fn the_whole_stream_is_charged_once_before_it_is_there() {
    let bench = Bench::new();
    let terms = Terms { unit: "event".into(), adjacency: Adjacency::AddRemove };
    let budget = Budget::Limit(Guarantee::Pure("1.5".parse().unwrap()));
    bench.ledger.register(&Dataset { name: "people".into(), budget, terms: Some(terms) }).unwrap();
    let streams = bench.open();
    let before = bench.entries();
    let visits = |name: &str| definition(&format!("name='{name}'\ndataset='people'\nstep='1s'\nepsilon='1'"));
    streams.create(visits("a"), "ada").unwrap();
    assert_eq!(bench.entries(), before + 1);
    assert!(matches!(streams.create(visits("a"), "ada"), Err(Error::Exists(_))));
    let error = streams.create(visits("b"), "ada").unwrap_err();
    assert!(error.is_overdrawn() && streams.get("b").is_none());
    let stranger = definition("name='c'\ndataset='nobody'\nstep='1s'\nepsilon='1'");
    assert!(streams.create(stranger, "ada").unwrap_err().to_string().contains("no dataset nobody"));
    // One that nobody named is registered.
    streams.create(definition("name='d'\nstep='1s'\nepsilon='1'"), "ada").unwrap();
    assert_eq!(bench.ledger.account("stream/d").unwrap().unwrap().spent[0].1.to_string(), "ε = 1");
    assert_eq!(streams.list().iter().map(|stream| stream.name().to_owned()).collect::<Vec<_>>(), ["a", "d"]);
    let entries = bench.entries();
    // Nothing is charged again, neither by opening nor by counting; names that were refused are free.
    streams.stop();
    drop(streams);
    let streams = bench.open();
    send(&streams.get("a").unwrap(), "1\n");
    bench.advance(&streams, 5000);
    assert_eq!(bench.entries(), entries);
    assert_eq!(streams.list().len(), 2);
    streams.create(definition("name='b'\nstep='1s'\nepsilon='1'"), "ada").unwrap();
}

#[test]
fn a_directory_has_one_process() {
    let bench = Bench::new();
    let streams = bench.open();
    let second = Streams::open(&bench.directory(), Arc::clone(&bench.ledger), bench.clock.clone());
    assert!(matches!(second, Err(Error::InUse(_))));
    drop(streams);
    bench.open().create(definition(&format!("name='s'\nstep='1s'{EXACT}")), "ada").unwrap();
}
