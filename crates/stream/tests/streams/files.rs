//! Events from files and pipes.

use std::fs::{self, OpenOptions};
use std::io::Write;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use reticent_stream::source::FileSource;

use crate::bench::{Bench, EXACT, definition, one};

/// For anything that must happen at some time.
const PATIENCE: Duration = Duration::from_secs(60);

#[test]
fn a_file_is_read_once_also_after_a_restart() {
    let bench = Bench::new();
    let path = bench.folder.path().join("events.ndjson");
    let streams = bench.open();
    streams.create(definition(&format!("name='s'\nstep='1s'{EXACT}")), "ada").unwrap();
    drop(streams);
    let mut expected = 0;
    // Without ids, and without a line break at the end.
    for (text, events) in [("1\n{}\n", 2), ("{\"value\":1}\n1", 2), ("", 0), ("\n1\n", 1)] {
        OpenOptions::new().create(true).append(true).open(&path).unwrap().write_all(text.as_bytes()).unwrap();
        let streams = bench.open();
        let stream = streams.get("s").unwrap();
        for _ in 0..2 {
            FileSource::new(&path).run(&stream, &AtomicBool::new(false)).unwrap();
        }
        bench.advance(&streams, 1000);
        expected += events;
        assert_eq!(one(&stream.now().unwrap()), expected, "{text:?}");
    }
    // Another file of that name is read from its beginning.
    fs::remove_file(&path).unwrap();
    fs::write(&path, "1\n".repeat(100)).unwrap();
    let streams = bench.open();
    let stream = streams.get("s").unwrap();
    FileSource::new(&path).run(&stream, &AtomicBool::new(false)).unwrap();
    bench.advance(&streams, 1000);
    assert_eq!(one(&stream.now().unwrap()), expected + 100);
    let error = FileSource::new("/no/such/file").run(&stream, &AtomicBool::new(false)).unwrap_err().to_string();
    assert!(error.starts_with("the source /no/such/file failed: "), "{error}");
}

#[test]
fn a_file_that_grows_is_followed() {
    let bench = Bench::new();
    let path = bench.folder.path().join("events.ndjson");
    let append = |text: &str| OpenOptions::new().append(true).open(&path).unwrap().write_all(text.as_bytes()).unwrap();
    let streams = bench.open();
    let create = |name: &str, mode: &str| {
        let text = format!("name='{name}'\nstep='2 events'\nhorizon=100000\n{mode}{EXACT}");
        streams.create(definition(&text), "ada").unwrap()
    };
    let stream = create("curator", "");
    fs::write(&path, "1\n1\n{\"value\":").unwrap();
    let stop = AtomicBool::new(false);
    thread::scope(|scope| {
        let following = scope.spawn(|| FileSource::new(&path).following().run(&stream, &stop));
        assert!(stream.wait_for_step(1, PATIENCE));
        append("1}\n1\n");
        assert!(stream.wait_for_step(2, PATIENCE));
        assert_eq!(one(&stream.now().unwrap()), 4);
        // Another file takes its place.
        fs::rename(&path, bench.folder.path().join("old")).unwrap();
        fs::write(&path, "1\n1\n").unwrap();
        assert!(stream.wait_for_step(3, PATIENCE));
        stop.store(true, Ordering::Relaxed);
        following.join().unwrap().unwrap();
    });
    // In pan-private mode from the end on: what had been there is not counted.
    let stream = create("private", "mode='pan-private'");
    fs::write(&path, "1\n".repeat(10_000)).unwrap();
    let (stop, mut appended) = (AtomicBool::new(false), 0);
    thread::scope(|scope| {
        let following = scope.spawn(|| FileSource::new(&path).following().run(&stream, &stop));
        while !stream.wait_for_step(1, Duration::from_millis(20)) {
            append("1\n");
            appended += 1;
        }
        stop.store(true, Ordering::Relaxed);
        following.join().unwrap().unwrap();
    });
    assert!(one(&stream.now().unwrap()) <= appended);
    let error = FileSource::new(&path).run(&stream, &AtomicBool::new(false)).unwrap_err().to_string();
    assert!(error.contains("a pipe, or followed, in pan-private mode"), "{error}");
}
