//! The results when everyone follows the protocol.

use super::*;
use crate::{Report, Task};
use reticent::error::Explained;

/// Without noise the sums are exact, for every statistic and number of aggregators.
#[test]
fn sums_are_exact_below_the_noise() {
    let cases: [(Statistic, &[i64], &[i64]); 3] = [
        (Statistic::Count, &[1, 0, 1, 1, 0], &[3]),
        (sum(), &[-10, -7, 5, 100, 1000], &[-10 - 7 + 5 + 100 + 100]),
        (histogram(), &[0, 4, 4, 2, 9], &[1, 0, 1, 0, 3]),
    ];
    for (statistic, numbers, expected) in cases {
        for aggregators in [2, 3] {
            let mut simulated = simulated(&statistic, aggregators);
            simulated.answer(answers(&statistic, numbers)).unwrap();
            let (sums, record) = released(simulated.collect_silently().unwrap());
            assert_eq!(sums, expected, "{statistic:?}, {aggregators} aggregators");
            assert_eq!((record.reports(), record.dropped()), (numbers.len() as u64, 0));
        }
    }
}

/// Noise is present and as large as the error bar says; an opened batch is not opened again.
#[test]
fn sums_are_noisy_and_batches_are_opened_once() {
    let statistic = Statistic::Count;
    let mut simulated = simulated(&statistic, 2);
    let mut seen = std::collections::BTreeSet::new();
    for _ in 0..20 {
        simulated.answer(answers(&statistic, &[1; 10])).unwrap();
        let (sums, record) = released(simulated.collect().unwrap());
        assert_eq!(record.reports(), 10);
        // Each of 20 exceeds this with probability 10^−10.
        assert!((sums[0] - 10).abs() < 40);
        seen.insert(sums[0]);
    }
    assert!(seen.len() > 3, "{seen:?}");
    let again = simulated.collect().unwrap();
    assert!(again.iter().all(|outcome| matches!(outcome, Ok(Collected::TooFew { accepted: 0, dropped: 0 }))));
}

/// Portions are verified one after another; here there are several.
#[test]
fn many_reports_come_in_portions() {
    let buckets = (0..1000).map(|bucket| bucket.to_string()).collect();
    let statistic = Statistic::Histogram { buckets };
    let mut simulated = simulated(&statistic, 2);
    let each = simulated.task().scheme().lengths().verifier + simulated.task().scheme().nothing().length();
    let count = 2 * (crate::collect::PORTION_BYTES / each) + 1;
    assert!(count < 1000);
    simulated.answer((0..count).map(|client| statistic.number(client as i64 % 1000))).unwrap();
    let (sums, record) = released(simulated.collect_silently().unwrap());
    assert_eq!(record.reports(), count as u64);
    assert_eq!(sums.iter().sum::<i64>(), count as i64);
    assert_eq!(sums[0], count.div_ceil(1000) as i64);
}

#[test]
fn a_collector_reads_what_all_have_signed() {
    let statistic = sum();
    let mut simulated = simulated(&statistic, 3);
    simulated.answer(answers(&statistic, &[5; 8])).unwrap();
    let (sums, record) = released(simulated.collect().unwrap());
    let (json, task) = (record.to_json(), simulated.task());
    assert_eq!(Record::read(&json, task).unwrap().sums(task).unwrap(), sums);
    let value: serde_json::Value = serde_json::from_str(&json).unwrap();
    let read = |value: &serde_json::Value| Record::read(&value.to_string(), task);
    assert!(read(&value).is_ok());
    for (field, other) in [
        ("reports", serde_json::json!(9)),
        ("dropped", serde_json::json!(1)),
        ("batch", serde_json::json!("00".repeat(32))),
        ("task", serde_json::json!("00".repeat(32))),
        ("version", serde_json::json!(2)),
        ("signatures", serde_json::json!([])),
        ("shares", serde_json::json!(["00".repeat(8), "00".repeat(8), "00".repeat(8)])),
        ("shares", serde_json::json!(["00".repeat(8), "00".repeat(8)])),
        ("shares", serde_json::json!(["ff".repeat(8), "00".repeat(8), "00".repeat(8)])),
    ] {
        let mut changed = value.clone();
        changed[field] = other;
        assert!(read(&changed).unwrap_err().is_usage(), "{field}");
    }
    let other = super::simulated(&statistic, 3);
    assert!(Record::read(&json, other.task()).is_err());
}

#[test]
fn a_task_is_known_by_what_it_says() {
    let first = Task::new(draft(&sum(), 2)).unwrap();
    let same =
        Draft { epsilon: Number::Text("1.0".into()), aggregators: first.aggregators().to_vec(), ..draft(&sum(), 2) };
    assert_eq!(Task::new(same.clone()).unwrap().hash(), first.hash());
    let others = [
        Draft { title: "Another".into(), ..same.clone() },
        Draft { upper: Some(99), ..same.clone() },
        Draft { epsilon: Number::Integer(2), ..same.clone() },
        Draft { colluders: 0, ..same.clone() },
        Draft { minimum_reports: 4, ..same.clone() },
    ];
    for other in others {
        assert_ne!(Task::new(other).unwrap().hash(), first.hash());
    }
}

#[test]
fn what_means_nothing_is_refused_by_its_name() {
    let good = draft(&sum(), 2);
    let twice = vec![good.aggregators[0].clone(), good.aggregators[0].clone()];
    let cases = [
        (Draft { colluders: 2, ..good.clone() }, "number of colluders is 2"),
        (Draft { minimum_reports: 0, ..good.clone() }, "minimum_reports is 0"),
        (Draft { minimum_reports: 1001, ..good.clone() }, "minimum_reports is 1001"),
        (Draft { maximum_reports: 1 << 21, ..good.clone() }, "maximum_reports is 2097152"),
        (Draft { statistic: "median".into(), ..good.clone() }, "count, sum or histogram"),
        (Draft { statistic: "count".into(), ..good.clone() }, "the range is given"),
        (Draft { lower: None, ..good.clone() }, "lower is missing"),
        (Draft { aggregators: vec![], ..good.clone() }, "number of aggregators is 0"),
        (Draft { aggregators: twice, ..good.clone() }, "different from all others"),
        (Draft { epsilon: Number::Integer(0), ..good.clone() }, "epsilon is 0"),
        (Draft { epsilon: Number::Integer(11), ..good.clone() }, "epsilon is 11, but it must be at most 10"),
        (Draft { epsilon: Number::Text("1e-15".into()), ..good.clone() }, "scale"),
    ];
    for (draft, why) in cases {
        let error = Task::new(draft).unwrap_err();
        assert!(error.is_usage() && error.to_string().contains(why), "{why}: {error}");
    }
}

/// Neither the length of a share nor its header depends on the answer.
#[test]
fn all_reports_look_alike() {
    for statistic in [Statistic::Count, sum(), histogram()] {
        let task = Task::new(draft(&statistic, 3)).unwrap();
        for number in [0, 1, 4] {
            let report = Report::new(&task, statistic.number(number)).unwrap();
            for (place, share) in report.shares().iter().enumerate() {
                assert_eq!(share.len(), crate::report::share_length(&task, place));
            }
        }
    }
}
