//! After a restart everything is as it was.

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
    bench.clock.advance(std::time::Duration::from_secs(4));
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
