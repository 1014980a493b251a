//! The file of reports as its users meet it.

use std::path::PathBuf;
use std::thread;

use reticent::error::Explained;
use reticent::local::{Admission, Answers, Device, Report, ShortMemory, Task};
use reticent::noise::Entropy;
use reticent_collector::Collector;

const NOW: u64 = 1_800_000_000;

fn admission(epsilon: &str, batch: u64) -> Admission {
    let json = format!(
        r#"{{"question": "?", "domain": {{"choices": ["a", "b", "c"]}}, "epsilon": "{epsilon}", "minimum-batch": {batch},
            "expires": "2030-01-01", "allow-large-epsilon": true}}"#
    );
    Admission::new(serde_json::from_str::<Task>(&json).unwrap())
}

fn reports(admission: &Admission, people: usize, seed: u64) -> Vec<Report> {
    let mut entropy = Entropy::seeded(seed);
    let task = admission.task();
    let report = |person: usize| {
        let mut device = Device::new(Device::new_key(&mut entropy).unwrap(), ShortMemory::default());
        let answer = task.domain().answer(["a", "a", "b"][person % 3]).unwrap();
        device.respond(task, &answer, NOW, &mut entropy).unwrap()
    };
    (0..people).map(report).collect()
}

fn place() -> (tempfile::TempDir, PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("reports.sqlite");
    (folder, path)
}

#[test]
fn what_was_acknowledged_is_there_when_the_file_is_opened_again() {
    let (_folder, path) = place();
    let (first, second) = (admission("20", 10), admission("19", 10));
    for (number, task) in [&first, &second].into_iter().enumerate() {
        let collector = Collector::open(&path).unwrap();
        let collected = collector.collect(task, &reports(task, 30, number as u64), NOW).unwrap();
        assert_eq!((collected.counted, collected.all_rejected()), (30, 0));
    }
    let collector = Collector::open(&path).unwrap();
    for task in [&first, &second] {
        let estimated = collector.estimate(task).unwrap();
        assert_eq!(estimated.reports, 30, "each task has its own");
        let Answers::Choices(rows) = estimated.answers else { panic!("choices were asked for") };
        // At ε = 19 a lie is told once in 10⁸ times.
        assert!(rows.iter().zip([20.0, 10.0, 0.0]).all(|(row, truth)| (row.count - truth).abs() < 0.1), "{rows:?}");
    }
}

/// The statement is about people, and so is refused where reports are not people.
#[test]
fn what_a_shuffler_adds_is_stated_for_one_report_of_each_device_in_one_period() {
    let stated = |more: &str, people: usize, days: u64| {
        let (_folder, path) = place();
        let json = format!(
            r#"{{"question": "?", "domain": {{"choices": ["a", "b", "c"]}}, "epsilon": "1", "minimum-batch": 1,
                "expires": "2030-01-01"{more}}}"#
        );
        let task = Admission::new(serde_json::from_str::<Task>(&json).unwrap());
        let collector = Collector::open(&path).unwrap();
        for day in 0..days {
            let mut reports = reports(&task, people, day);
            reports.iter_mut().for_each(|report| report.period = report.period.map(|today| today - day));
            assert_eq!(collector.collect(&task, &reports, NOW).unwrap().counted, people as u64);
        }
        let estimated = collector.estimate(&task).unwrap();
        let guarantee = estimated.shuffled(task.task(), None, &"1e-6".parse().unwrap()).map(|(guarantee, _)| guarantee);
        (estimated.no_interval.is_none(), guarantee.map_err(|error| (error.is_refusal(), error.to_string())))
    };
    let (has_interval, guarantee) = stated("", 200, 2);
    assert!(has_interval && guarantee.unwrap().epsilon().unwrap().to_f64() < 0.6);
    for more in [
        r#", "memoisation": "first""#,
        r#", "memoisation": "per-answer", "lifetime-epsilon": "2""#,
        r#", "memoisation": "never", "lifetime-epsilon": "2""#,
    ] {
        let (has_interval, refused) = stated(more, 200, 1);
        let (is_refusal, said) = refused.unwrap_err();
        assert!(!has_interval && is_refusal && said.contains("devices may report more than once"), "{said}");
    }
    let days = r#", "time-precision": "day""#;
    assert!(stated(days, 200, 1).1.is_ok());
    let (has_interval, refused) = stated(days, 100, 2);
    let (is_refusal, said) = refused.unwrap_err();
    assert!(has_interval && is_refusal && said.contains("from 2 days"), "{said}");
}

#[test]
fn two_who_send_the_same_at_once_are_counted_once() {
    let (_folder, path) = place();
    let task = admission("1", 1);
    let reports = reports(&task, 400, 1);
    let handles: Vec<Collector> = (0..4).map(|_| Collector::open(&path).unwrap()).collect();
    let counted: u64 = thread::scope(|scope| {
        let sending: Vec<_> = handles
            .iter()
            .map(|collector| {
                let (task, reports) = (&task, &reports);
                scope.spawn(move || {
                    reports.chunks(50).map(|some| collector.collect(task, some, NOW).unwrap().counted).sum::<u64>()
                })
            })
            .collect();
        sending.into_iter().map(|thread| thread.join().unwrap()).sum()
    });
    assert_eq!((counted, handles[0].count(&task.id()).unwrap()), (400, 400));
}

#[test]
fn names_are_bound_for_good() {
    let (_folder, path) = place();
    let (first, second) = (admission("1", 1), admission("2", 1));
    let collector = Collector::open(&path).unwrap();
    collector.bind("commute", &first).unwrap();
    collector.bind("commute", &first).unwrap();
    let refused = collector.bind("commute", &second).unwrap_err();
    assert!(refused.is_usage() && refused.to_string().contains("commute"), "{refused}");
    collector.bind("other", &second).unwrap();
    // A task of two names keeps both.
    collector.bind("again", &first).unwrap();
    assert!(collector.bind("commute", &second).is_err() && collector.bind("again", &second).is_err());
}

/// The file keeps reports where their random ids put them; the order in which they came is not the order in which they
/// lie.
#[test]
fn the_order_of_arrival_is_not_kept() {
    let (_folder, path) = place();
    let task = admission("1", 1);
    let reports = reports(&task, 200, 3);
    let collector = Collector::open(&path).unwrap();
    for report in &reports {
        collector.collect(&task, std::slice::from_ref(report), NOW).unwrap();
    }
    drop(collector);
    let mut sorted: Vec<Vec<u8>> = reports.iter().map(|report| report.id.bytes().to_vec()).collect();
    sorted.sort_unstable();
    let connection = rusqlite::Connection::open(&path).unwrap();
    let mut query = connection.prepare("SELECT id FROM report").unwrap();
    let listed: Vec<Vec<u8>> = query.query_map([], |row| row.get(0)).unwrap().collect::<Result<_, _>>().unwrap();
    assert_eq!(listed, sorted);
    // No column tells the order by another way: there is no row number.
    assert!(connection.prepare("SELECT rowid FROM report").is_err());
}

#[test]
fn lines_may_be_long_broken_or_empty() {
    let (_folder, path) = place();
    let task = admission("1", 1);
    let collector = Collector::open(&path).unwrap();
    let good: Vec<String> = reports(&task, 3, 5).iter().map(|report| serde_json::to_string(report).unwrap()).collect();
    let long = "x".repeat(3 << 20);
    let input = format!("{}\r\n\n{long}\n{}\n[]\n\u{0}\n{}", good[0], good[1], good[2]);
    let collected = collector.collect_lines(&task, input.as_bytes(), NOW).unwrap();
    assert_eq!((collected.counted, collected.rejected["unreadable"]), (3, 3));
    let late = collector.collect_lines(&task, good[0].as_bytes(), task.task().expires().begins()).unwrap();
    assert_eq!(late.rejected["expired"], 1);
}
