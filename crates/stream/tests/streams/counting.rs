//! What is counted, and when steps end.

use std::time::Duration;

use reticent_stream::Error;

use crate::bench::{Bench, EXACT, EXACT_FOR_100, START, all, definition, keyed, one, send};

#[test]
fn silence_is_released_and_late_events_go_to_the_open_step() {
    let bench = Bench::new();
    let streams = bench.open();
    let stream = streams.create(definition(&format!("name='s'\nstep='1s'\nhorizon=100{EXACT}")), "ada").unwrap();
    assert!(stream.now().is_none() && all(&stream).is_empty());
    send(&stream, "1\n{\"value\":1}\n");
    bench.advance(&streams, 1000);
    assert_eq!(one(&stream.now().unwrap()), 2);
    // Three silent steps.
    bench.advance(&streams, 3000);
    let steps: Vec<_> = all(&stream).iter().map(|release| (release.step, one(release))).collect();
    assert_eq!(steps, [(1, 2), (2, 2), (3, 2), (4, 2)]);
    // The clock goes back: nothing is opened again, and what comes counts in step 5.
    bench.clock.set(START + 500);
    send(&stream, "1\n");
    streams.close_due().unwrap();
    assert_eq!(stream.status().steps, 4);
    bench.clock.set(START + 5000);
    streams.close_due().unwrap();
    let fifth = stream.now().unwrap();
    assert_eq!((fifth.step, one(&fifth)), (5, 3));
    assert_eq!(fifth.closed.as_millisecond(), START + 5000, "when it had to end");
    assert_eq!(stream.history(2, 2).unwrap().iter().map(|release| release.step).collect::<Vec<_>>(), [2, 3]);
}

#[test]
fn steps_end_without_being_asked() {
    let bench = Bench::new();
    let streams = bench.open();
    let stream = streams.create(definition(&format!("name='s'\nstep='1s'{EXACT}")), "ada").unwrap();
    bench.clock.advance(Duration::from_secs(2));
    assert!(stream.wait_for_step(2, Duration::from_secs(60)));
}

#[test]
fn an_id_counts_once_within_its_window() {
    let bench = Bench::new();
    let streams = bench.open();
    let text = format!("name='s'\nstep='1s'\ndedup=3\nrange='0..100'{EXACT_FOR_100}");
    let stream = streams.create(definition(&text), "ada").unwrap();
    // Twice in one batch, and once more in the next; the first counts. Without ids everything counts.
    send(&stream, "{\"id\":\"a\",\"value\":10}\n{\"id\":\"a\",\"value\":20}\n{\"value\":1}\n{\"value\":1}\n");
    send(&stream, "{\"id\":\"a\",\"value\":40}\n{\"id\":\"\\u0061\",\"value\":40}\n");
    bench.advance(&streams, 1000);
    assert_eq!(one(&stream.now().unwrap()), 12);
    // Steps 2 and 3 know it, step 4 does not.
    for expected in [12, 12, 17] {
        send(&stream, "{\"id\":\"a\",\"value\":5}\n");
        bench.advance(&streams, 1000);
        assert_eq!(one(&stream.now().unwrap()), expected);
    }
    // 0: ids are ignored.
    let text = format!("name='t'\nstep='1s'\ndedup=0\nrange='0..100'{EXACT_FOR_100}");
    let stream = streams.create(definition(&text), "ada").unwrap();
    send(&stream, "{\"id\":\"a\",\"value\":10}\n{\"id\":\"a\",\"value\":20}\n");
    bench.advance(&streams, 1000);
    assert_eq!(one(&stream.now().unwrap()), 30);
}

#[test]
fn whatever_a_line_says_it_moves_the_sum_by_no_more_than_the_range() {
    let bench = Bench::new();
    let streams = bench.open();
    let stream = streams.create(definition(&format!("name='s'\nstep='1s'\nrange='2..5'{EXACT}")), "ada").unwrap();
    let lines = "9\n-9\n1e99\n{\"value\":4}\nnonsense\n\n{\"value\":null}\n{}\n\u{0}\n{\"value\":3.5}\n";
    send(&stream, lines);
    bench.advance(&streams, 1000);
    assert_eq!(one(&stream.now().unwrap()), 5 + 2 + 5 + 4 + 2 + 2 + 2 + 2 + 2 + 2);
    // The step is the unit: its sum is clamped, not its events.
    let text = "name='t'\nstep='1s'\nunit='step'\nrange='-10..10'\nepsilon='2000'\nallow_large_epsilon=true";
    let stream = streams.create(definition(text), "ada").unwrap();
    send(&stream, "100\n-95\n");
    bench.advance(&streams, 1000);
    assert_eq!(one(&stream.now().unwrap()), 5);
    send(&stream, "100\n");
    bench.advance(&streams, 1000);
    assert_eq!(one(&stream.now().unwrap()), 15);
}

#[test]
fn known_keys_are_all_released_and_others_ignored() {
    let bench = Bench::new();
    let streams = bench.open();
    let text = format!("name='s'\nstep='1s'\nkeys=['home','help','a b']\nrange='0..9'{EXACT}");
    let stream = streams.create(definition(&text), "ada").unwrap();
    bench.advance(&streams, 1000);
    let expected =
        |a_b, help, home| [("a b", a_b), ("help", help), ("home", home)].map(|(key, value)| (key.to_owned(), value));
    assert_eq!(keyed(&stream.now().unwrap()), expected(0, 0, 0));
    send(
        &stream,
        "{\"key\":\"home\",\"value\":3}\n{\"key\":\"home\",\"value\":4}\n{\"key\":\"other\"}\n{\"key\":\"a\\u0020b\"}\n7\n",
    );
    bench.advance(&streams, 1000);
    assert_eq!(keyed(&stream.now().unwrap()), expected(1, 0, 7));
    assert_eq!(keyed(&all(&stream)[0]), expected(0, 0, 0), "what was released stays");
}

#[test]
fn a_key_that_nobody_knew_appears_when_enough_share_it() {
    let bench = Bench::new();
    let streams = bench.open();
    let text =
        "name='s'\nstep='1s'\nhorizon=8\nkeys='selected'\nepsilon='1000'\nallow_large_epsilon=true\ndelta='1e-9'";
    let stream = streams.create(definition(text), "ada").unwrap();
    send(&stream, &format!("{{\"key\":\"rare\"}}\n{}", "{\"key\":\"b\"}\n".repeat(1000)));
    bench.advance(&streams, 1000);
    assert_eq!(keyed(&stream.now().unwrap()), [("b".to_owned(), 1000)]);
    send(&stream, &"{\"key\":\"a\"}\n".repeat(1000));
    bench.advance(&streams, 1000);
    let second = [("b".to_owned(), 1000), ("a".to_owned(), 1000)];
    assert_eq!(keyed(&stream.now().unwrap()), second, "in the order of their admission");
    let kept = all(&stream);
    assert_eq!(kept.iter().map(keyed).collect::<Vec<_>>(), [vec![("b".to_owned(), 1000)], second.to_vec()]);
}

#[test]
fn steps_of_events_end_with_an_arrival() {
    let bench = Bench::new();
    let streams = bench.open();
    let stream = streams
        .create(definition(&format!("name='s'\nstep='2 events'\nhorizon=3\nrange='0..9'{EXACT}")), "ada")
        .unwrap();
    // Two steps in one batch, one event is left; an id that is known is no arrival.
    send(&stream, "{\"id\":1,\"value\":1}\n2\n{\"id\":1,\"value\":9}\n3\n4\n5\n");
    assert_eq!(all(&stream).iter().map(one).collect::<Vec<_>>(), [3, 10]);
    bench.advance(&streams, 1_000_000);
    assert_eq!(stream.status().steps, 2, "not by the clock");
    // The horizon is reached within a batch; what comes later is not counted.
    send(&stream, "6\n7\n8\n");
    assert_eq!(all(&stream).iter().map(one).collect::<Vec<_>>(), [3, 10, 21]);
    assert!(matches!(stream.ingest_ndjson(&mut b"1\n".to_vec()), Err(Error::Ended(_))));
    assert!(stream.status().ended);
}

#[test]
fn a_stream_ends_with_its_horizon() {
    let bench = Bench::new();
    let streams = bench.open();
    let stream = streams.create(definition(&format!("name='s'\nstep='1s'\nhorizon=2{EXACT}")), "ada").unwrap();
    bench.advance(&streams, 10_000);
    assert_eq!(all(&stream).len(), 2);
    let status = stream.status();
    assert!(status.ended && status.next_close.is_none());
    assert!(stream.ingest_ndjson(&mut b"1\n".to_vec()).unwrap_err().is_ended());
}

#[test]
fn only_so_much_history_is_kept() {
    let bench = Bench::new();
    let streams = bench.open();
    let stream = streams.create(definition(&format!("name='s'\nstep='1s'\nhistory=3{EXACT}")), "ada").unwrap();
    bench.advance(&streams, 10_000);
    assert_eq!(all(&stream).iter().map(|release| release.step).collect::<Vec<_>>(), [8, 9, 10]);
}

#[test]
fn events_of_another_stream_are_refused() {
    let bench = Bench::new();
    let streams = bench.open();
    let [a, b] =
        ["a", "b"].map(|name| streams.create(definition(&format!("name='{name}'\nstep='1s'{EXACT}")), "ada").unwrap());
    let error = a.ingest(b.events_from_ndjson(b"1\n")).unwrap_err();
    assert_eq!(error.to_string(), "events is of stream b, but it must be of stream a");
}

#[test]
fn waiting_callers_are_told() {
    let bench = Bench::new();
    let streams = bench.open();
    let stream = streams.create(definition(&format!("name='s'\nstep='1s'{EXACT}")), "ada").unwrap();
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    let mut subscription = stream.subscribe();
    bench.advance(&streams, 3000);
    assert_eq!(runtime.block_on(subscription.changed()), Some(3), "the newest; those between are in the history");
    bench.advance(&streams, 1000);
    assert_eq!(runtime.block_on(subscription.changed()), Some(4));
    streams.stop();
    assert_eq!(runtime.block_on(subscription.changed()), None);
    assert!(matches!(stream.ingest_ndjson(&mut b"1\n".to_vec()), Err(Error::Stopped)));
}
