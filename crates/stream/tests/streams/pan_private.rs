//! Pan-private streams: what is on the disk, and what is counted after a restart.

use std::fs;

use crate::bench::{Bench, EXACT, all, definition, keyed, one, send};

#[test]
fn what_was_published_stays_and_a_fresh_tree_goes_on_from_it() {
    for counter in ["pan-private", "pan-private-surviving"] {
        let bench = Bench::new();
        let text = format!("name='s'\nstep='1s'\nhorizon=20\nmode='pan-private'\ncounter='{counter}'{EXACT}");
        let streams = bench.open();
        let stream = streams.create(definition(&text), "ada").unwrap();
        let entries = bench.entries();
        send(&stream, "1\n1\n0\n");
        bench.advance(&streams, 1000);
        send(&stream, "1\n");
        bench.advance(&streams, 1000);
        let before = all(&stream);
        assert_eq!(before.iter().map(one).collect::<Vec<_>>(), [2, 3]);
        // These are in memory alone: they are lost.
        send(&stream, "1\n1\n1\n");
        drop((streams, stream));
        let streams = bench.open();
        let stream = streams.get("s").unwrap();
        assert_eq!((all(&stream), stream.status().restarts), (before, Some(1)));
        send(&stream, "1\n");
        bench.advance(&streams, 3000);
        assert_eq!(all(&stream).iter().map(one).collect::<Vec<_>>(), [2, 3, 4, 4, 4]);
        bench.advance(&streams, 30_000);
        assert_eq!(all(&stream).len(), 20);
        assert!(stream.ingest_ndjson(&mut b"1\n".to_vec()).unwrap_err().is_ended());
        assert_eq!(bench.entries(), entries, "nothing is charged again");
        drop((streams, stream));
        assert_eq!(all(&bench.open().get("s").unwrap()).len(), 20);
    }
}

#[test]
fn the_variance_of_the_last_release_joins_all_later_ones() {
    let bench = Bench::new();
    let text = "name='s'\nstep='1s'\nhorizon=16\nmode='pan-private'\nepsilon='1'";
    bench.open().create(definition(text), "ada").unwrap();
    let mut last = 0.0;
    for round in 0..4 {
        let streams = bench.open();
        let stream = streams.get("s").unwrap();
        bench.advance(&streams, 2000);
        let releases = all(&stream);
        assert_eq!(releases.len(), 2 * (round + 1));
        for release in &releases[2 * round..] {
            let reticent_stream::Released::One(value) = release.released else { panic!() };
            assert!(value.variance > last && value.half_width >= value.variance.sqrt(), "{value:?}");
        }
        let reticent_stream::Released::One(value) = releases.last().unwrap().released else { panic!() };
        last = value.variance;
    }
}

#[test]
fn keys_that_are_known_have_a_tree_each() {
    let bench = Bench::new();
    let text = format!("name='s'\nstep='2 events'\nhorizon=20\nmode='pan-private'\nkeys=['a','b']{EXACT}");
    let streams = bench.open();
    let stream = streams.create(definition(&text), "ada").unwrap();
    send(&stream, "{\"key\":\"b\"}\n{\"key\":\"c\"}\n{\"key\":\"b\"}\n{\"key\":\"a\"}\n");
    let expected = |a, b| vec![("a".to_owned(), a), ("b".to_owned(), b)];
    assert_eq!(all(&stream).iter().map(keyed).collect::<Vec<_>>(), [expected(0, 1), expected(1, 2)]);
    drop((streams, stream));
    let streams = bench.open();
    let stream = streams.get("s").unwrap();
    send(&stream, "{\"key\":\"a\"}\n1\n");
    assert_eq!(keyed(&stream.now().unwrap()), expected(2, 2));
}

#[test]
fn the_text_is_erased() {
    let bench = Bench::new();
    let text = format!("name='s'\nstep='1s'\nhorizon=20\nmode='pan-private'{EXACT}");
    let stream = bench.open().create(definition(&text), "ada").unwrap();
    let mut body = b"{\"value\":1}\nwhatever\n".to_vec();
    // Also if it is not counted.
    stream.ingest_ndjson(&mut body).unwrap_err();
    assert!(body.iter().all(|byte| *byte == 0));
}

/// Every byte on the disk is told by the definition and by what was published, whatever the events were.
#[test]
fn the_disk_holds_published_releases_and_nothing_else() {
    let sizes = |lines: &[&str]| {
        let bench = Bench::new();
        let text = format!("name='s'\nstep='1s'\nhorizon=20\nmode='pan-private'\nrange='0..9'{EXACT}");
        let streams = bench.open();
        let stream = streams.create(definition(&text), "ada").unwrap();
        for lines in lines {
            send(&stream, lines);
            bench.advance(&streams, 1000);
        }
        assert_eq!(stream.position("x").unwrap(), None);
        stream.ingest_from(stream.events_from_ndjson(b"1\n"), "x", b"position").unwrap();
        assert_eq!(stream.position("x").unwrap(), None, "a position would be a count");
        drop((streams, stream));
        let file = fs::read(bench.directory().join("pan-private/s.releases")).unwrap();
        let tables = rusqlite::Connection::open(bench.directory().join("streams.sqlite")).unwrap();
        for table in ["checkpoint", "journal", "seen", "source", "shown_key", "release"] {
            let sql = format!("SELECT count(*) FROM {table}");
            assert_eq!(tables.query_row(&sql, [], |row| row.get::<_, i64>(0)).unwrap(), 0, "{table}");
        }
        file
    };
    let (few, many) = (sizes(&["1\n", "2\n"]), sizes(&["{\"id\":\"canary\",\"value\":1}\n", "1\n1\n0\n0\n0\n"]));
    assert_eq!(few.len(), many.len());
    // Step 2 has a total of 3 in both: the records of it are the same, byte for byte.
    let tail = |file: &[u8]| file[file.len() - 56..].to_vec();
    assert_eq!(tail(&few), tail(&many));
    assert!(!many.windows(6).any(|window| window == b"canary"));
}
