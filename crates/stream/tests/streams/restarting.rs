//! After a restart everything is as it was.

use std::time::Duration;

use reticent::privacy::Guarantee;
use reticent_stream::Error;
use rusqlite::Connection;

use crate::bench::{Bench, EXACT, all, definition, keyed, one, send};

#[test]
fn releases_sums_and_ids_survive_and_missed_steps_are_closed() {
    let bench = Bench::new();
    let streams = bench.open();
    let stream = streams.create(definition(&format!("name='s'\nstep='1s'\ndedup=4{EXACT}")), "ada").unwrap();
    send(&stream, "{\"id\":1}\n{\"id\":2}\n");
    bench.advance(&streams, 1000);
    send(&stream, "{\"id\":3}\n");
    let before = all(&stream);
    drop((streams, stream));
    let streams = bench.open();
    let stream = streams.get("s").unwrap();
    assert_eq!(all(&stream), before);
    assert_eq!(stream.now().as_deref(), before.last());
    // The event of the open step is there, ids are remembered, and steps 3 to 5 are missed.
    send(&stream, "{\"id\":1}\n{\"id\":2}\n{\"id\":3}\n{\"id\":4}\n");
    drop((streams, stream));
    bench.clock.advance(Duration::from_secs(4));
    let streams = bench.open();
    streams.close_due().unwrap();
    let stream = streams.get("s").unwrap();
    assert_eq!(all(&stream).iter().map(one).collect::<Vec<_>>(), [2, 4, 4, 4, 4]);
    assert_eq!(all(&stream)[..1], before[..]);
}

#[test]
fn noise_is_not_drawn_again() {
    for kind in ["auto", "binary", "bridged", "hybrid", "honaker", "input-noise", "k-ary"] {
        let bench = Bench::new();
        let horizon = if kind == "hybrid" { "" } else { "horizon=64\n" };
        let text = format!("name='s'\nstep='1s'\n{horizon}epsilon='0.01'\ncounter='{kind}'");
        bench.open().create(definition(&text), "ada").unwrap();
        let mut before = Vec::new();
        for _ in 0..6 {
            let streams = bench.open();
            let stream = streams.get("s").unwrap();
            assert_eq!(all(&stream), before, "{kind}");
            send(&stream, "1\n");
            bench.advance(&streams, 2000);
            before = all(&stream);
        }
        assert_eq!(before.len(), 12);
    }
}

#[test]
fn counters_with_keys_survive() {
    for (keys, guarantee) in [
        ("['a','b']", "epsilon='1000'\nallow_large_epsilon=true"),
        ("'selected'", "epsilon='1000'\nallow_large_epsilon=true\ndelta='1e-9'"),
    ] {
        let bench = Bench::new();
        let text = format!("name='s'\nstep='1s'\nhorizon=64\nkeys={keys}\n{guarantee}");
        bench.open().create(definition(&text), "ada").unwrap();
        let mut before = Vec::new();
        for round in 1..=4 {
            let streams = bench.open();
            let stream = streams.get("s").unwrap();
            assert_eq!(all(&stream), before);
            send(&stream, &"{\"key\":\"a\"}\n{\"key\":\"b\"}\n".repeat(500));
            drop((streams, stream));
            // Once more while the step is open.
            let streams = bench.open();
            let stream = streams.get("s").unwrap();
            bench.advance(&streams, 1000);
            before = all(&stream);
            let expected = [("a".to_owned(), 500 * round), ("b".to_owned(), 500 * round)];
            assert_eq!(keyed(&stream.now().unwrap()), expected);
        }
    }
}

/// Too many keys in one step: from then on none but released ones counts until it ends, also after a restart in
/// between.
#[test]
fn a_crowd_within_a_step_is_one_after_a_restart() {
    let bench = Bench::new();
    let text =
        "name='s'\nstep='1s'\nhorizon=64\nkeys='selected'\nepsilon='1000'\nallow_large_epsilon=true\ndelta='1e-9'";
    bench.open().create(definition(text), "ada").unwrap();
    let thousand = |key: &str| format!("{{\"key\":\"{key}\"}}\n").repeat(1000);
    let after = |lines: &[String], ends: bool| {
        let streams = bench.open();
        let stream = streams.get("s").unwrap();
        lines.iter().for_each(|lines| send(&stream, lines));
        if ends {
            bench.advance(&streams, 1000);
        }
        stream.now().map(|release| keyed(&release)).unwrap_or_default()
    };
    let b = |sum: i64| ("b".to_owned(), sum);
    assert_eq!(after(&[thousand("b")], true), [b(1000)]);
    let attack: Vec<String> =
        (0..200).map(|part| (0..1000).map(|key| format!("{{\"key\":\"{part}-{key}\"}}\n")).collect()).collect();
    after(&attack, false);
    assert_eq!(after(&[thousand("late"), thousand("b")], true), [b(2000)]);
    assert_eq!(after(&[thousand("late")], true), [b(2000), ("late".to_owned(), 1000)]);
}

#[test]
fn steps_of_events_go_on_in_the_middle() {
    let bench = Bench::new();
    bench.open().create(definition(&format!("name='s'\nstep='3 events'\nrange='0..9'{EXACT}")), "ada").unwrap();
    for (lines, expected) in [
        ("1\n1\n", &[][..]),
        ("1\n2\n", &[3]),
        ("2\n", &[3]),
        ("2\n", &[3, 9]),
        ("3\n".repeat(7).as_str(), &[3, 9, 18, 27]),
    ] {
        let streams = bench.open();
        let stream = streams.get("s").unwrap();
        send(&stream, lines);
        assert_eq!(all(&stream).iter().map(one).collect::<Vec<_>>(), expected);
    }
}

#[test]
fn positions_are_kept_with_the_events() {
    let bench = Bench::new();
    let streams = bench.open();
    let stream = streams.create(definition(&format!("name='s'\nstep='1s'{EXACT}")), "ada").unwrap();
    assert_eq!(stream.position("file").unwrap(), None);
    stream.ingest_from(stream.events_from_ndjson(b"1\n"), "file", b"17").unwrap();
    stream.ingest_from(stream.events(), "file", b"18").unwrap();
    drop((streams, stream));
    let streams = bench.open();
    assert_eq!(streams.get("s").unwrap().position("file").unwrap().as_deref(), Some(&b"18"[..]));
    bench.advance(&streams, 1000);
    assert_eq!(one(&streams.get("s").unwrap().now().unwrap()), 1);
}

/// Where `auto` finds that ε alone serves better than ε and δ, that is what is promised, charged, saved and gone on
/// with.
#[test]
fn delta_is_dropped_where_auto_does_without() {
    for (keys, dropped) in [("", true), ("keys=['a','b']\n", true), ("keys='selected'\n", false)] {
        let bench = Bench::new();
        let text = format!("name='s'\nstep='1s'\nhorizon=3\nepsilon='1'\ndelta='1e-9'\n{keys}");
        let promised = definition(&text).guarantee().clone();
        assert_eq!(promised.delta().is_none(), dropped, "{keys}{promised}");
        let streams = bench.open();
        streams.create(definition(&text), "ada").unwrap();
        let spent = bench.ledger.account("stream/s").unwrap().unwrap().spent[0].1.to_string();
        assert_eq!(spent, promised.to_string());
        bench.advance(&streams, 1000);
        let before = all(&streams.get("s").unwrap());
        drop(streams);
        let streams = bench.open();
        let stream = streams.get("s").unwrap();
        assert_eq!((all(&stream), stream.definition()), (before, &definition(&text)));
        bench.advance(&streams, 2000);
        assert_eq!(all(&stream).len(), 3);
    }
    let gaussian = definition("name='s'\nstep='1s'\nhorizon=4000\nepsilon='1'\ndelta='1e-3'");
    assert_eq!(gaussian.guarantee(), &Guarantee::Approx("1".parse().unwrap(), "1e-3".parse().unwrap()));
}

#[test]
fn one_stream_that_cannot_be_opened_does_not_stop_the_others() {
    let bench = Bench::new();
    let streams = bench.open();
    for (name, more) in [("state", ""), ("definition", ""), ("log", "mode='pan-private'\nhorizon=9"), ("sound", "")] {
        streams.create(definition(&format!("name='{name}'\nstep='1s'{EXACT}{more}")), "ada").unwrap();
    }
    bench.advance(&streams, 1000);
    drop(streams);
    let database = Connection::open(bench.directory().join("streams.sqlite")).unwrap();
    let damage = "UPDATE checkpoint SET state = x'00' WHERE stream = (SELECT id FROM stream WHERE name = 'state');
                  UPDATE stream SET definition = '{}' WHERE name = 'definition';";
    database.execute_batch(damage).unwrap();
    drop(database);
    let logs = std::fs::read_dir(bench.directory().join("pan-private")).unwrap();
    logs.for_each(|log| std::fs::write(log.unwrap().path(), b"nothing that was ever written").unwrap());

    let entries = bench.entries();
    let streams = bench.open();
    let unopened: Vec<_> = streams.unopened().into_iter().map(|(name, _)| name).collect();
    assert_eq!(unopened, ["definition", "log", "state"]);
    for name in unopened {
        assert!(streams.get(&name).is_none());
        let again = streams.create(definition(&format!("name='{name}'\nstep='1s'{EXACT}")), "ada");
        assert!(matches!(again, Err(Error::Unopened { .. })), "{again:?}");
    }
    assert_eq!(bench.entries(), entries);
    let sound = streams.get("sound").unwrap();
    send(&sound, "1\n");
    bench.advance(&streams, 1000);
    assert_eq!(all(&sound).iter().map(one).collect::<Vec<_>>(), [0, 1]);
}

/// Steps are caught up with in slices: nobody else waits for the last of them.
#[test]
fn a_stream_that_catches_up_holds_up_nobody_else() {
    const MISSED: u64 = 400_000;
    let bench = Bench::new();
    let streams = bench.open();
    let late = streams.create(definition(&format!("name='late'\nstep='1s'{EXACT}")), "ada").unwrap();
    let prompt = streams.create(definition(&format!("name='prompt'\nstep='1 events'{EXACT}")), "ada").unwrap();
    bench.clock.advance(Duration::from_secs(MISSED));
    std::thread::scope(|scope| {
        // Senders to it wait, and are turned away when everything stops.
        let waiting = scope.spawn(|| late.ingest(late.events_from_ndjson(b"1\n")));
        send(&prompt, "1\n");
        assert_eq!(one(&prompt.now().unwrap()), 1);
        let closed = late.status().steps;
        assert!(closed < MISSED, "{closed}");
        streams.stop();
        assert!(matches!(waiting.join().unwrap(), Err(Error::Stopped)));
    });
    assert!(late.status().steps < MISSED);
}

/// An event that comes while steps are caught up with counts in the step that is open by the clock.
#[test]
fn events_wait_until_their_stream_has_caught_up() {
    const MISSED: u64 = 5000;
    for mode in ["", "mode='pan-private'\nhorizon=6000\nadjacency='replace'\n"] {
        let bench = Bench::new();
        let streams = bench.open();
        let stream = streams.create(definition(&format!("name='s'\nstep='1s'{EXACT}{mode}")), "ada").unwrap();
        bench.clock.advance(Duration::from_secs(MISSED));
        send(&stream, "1\n");
        assert_eq!(stream.status().steps, MISSED);
        bench.advance(&streams, 1000);
        let last: Vec<i64> = stream.history(MISSED, 2).unwrap().iter().map(one).collect();
        assert_eq!(last, [0, 1], "{mode}");
    }
}
