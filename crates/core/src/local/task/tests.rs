use super::*;

fn json(change: impl Fn(&mut serde_json::Value)) -> Result<Task, String> {
    let mut task = serde_json::json!({
        "question": "Do you like it?",
        "domain": { "choices": ["yes", "no", "neither"] },
        "epsilon": "1",
        "minimum-batch": 100,
        "expires": "2030-01-01",
    });
    change(&mut task);
    serde_json::from_value(task).map_err(|error| error.to_string())
}

#[test]
fn what_is_left_out_has_a_careful_default() {
    let task = json(|_| ()).unwrap();
    assert_eq!((task.memoisation(), task.time_precision()), (Memoisation::Never, TimePrecision::None));
    assert_eq!((task.mechanism(), task.lifetime_answers()), ("k-ary", 1));
    assert!(task.one_report_each());
    assert_eq!(task.guarantee().to_string(), "ε = 1");
}

/// However it is written, the hash depends only on its meaning.
#[test]
fn writing_and_reading_keep_the_hash() {
    let task = json(|_| ()).unwrap();
    let again: Task = serde_json::from_str(&serde_json::to_string(&task).unwrap()).unwrap();
    assert_eq!(again.id(), task.id());
    let explicit = json(|task| {
        task["mechanism"] = "k-ary".into();
        task["epsilon"] = "1.0".into();
        task["lifetime-epsilon"] = "1".into();
        task["memoisation"] = "never".into();
    });
    assert_eq!(explicit.unwrap().id(), task.id());
    assert_eq!(task.id().to_string().parse::<TaskId>().unwrap(), task.id());
}

/// A change of any part is another task.
#[test]
fn every_part_is_in_the_hash() {
    type Change = fn(&mut serde_json::Value);
    let changes: [Change; 11] = [
        |_| (),
        |task| task["memoisation"] = "first".into(),
        |task| task["question"] = "Do you like it".into(),
        |task| task["domain"]["choices"][0] = "Yes".into(),
        |task| task["domain"]["choices"] = vec!["yes", "noneither", "x"].into(),
        |task| task["mechanism"] = "unary".into(),
        |task| task["epsilon"] = "1.1".into(),
        |task| task["minimum-batch"] = 101.into(),
        |task| task["expires"] = "2030-01-02".into(),
        |task| task["time-precision"] = "day".into(),
        |task| {
            task["memoisation"] = "per-answer".into();
            task["lifetime-epsilon"] = "2".into();
        },
    ];
    let ids: std::collections::BTreeSet<TaskId> = changes.iter().map(|change| json(change).unwrap().id()).collect();
    assert_eq!(ids.len(), changes.len());
}

/// Reports are people only if no device sends two.
#[test]
fn a_device_reports_once_if_it_falls_silent_after_one_answer() {
    for (memoisation, lifetime, once) in [
        ("never", "1", true),
        ("never", "1.999", true),
        ("never", "2", false),
        ("first", "1", false),
        ("per-answer", "1", false),
        ("per-answer", "2", false),
    ] {
        let task = json(|task| (task["memoisation"], task["lifetime-epsilon"]) = (memoisation.into(), lifetime.into()));
        assert_eq!(task.unwrap().one_report_each(), once, "{memoisation}, {lifetime}");
    }
}

#[test]
fn every_domain_has_its_mechanism() {
    for (domain, mechanism) in [
        (serde_json::json!({ "integers": { "lower": 0, "upper": 10 } }), "one-bit"),
        (serde_json::json!({ "numbers": "-1..1" }), "one-bit"),
        (serde_json::json!({ "texts": { "alphabet": "abc", "longest": 5 } }), "prefix"),
    ] {
        let task = json(|task| task["domain"] = domain.clone()).unwrap();
        assert_eq!(task.mechanism(), mechanism);
        assert!(
            json(|task| {
                task["domain"] = domain.clone();
                task["mechanism"] = "unary".into();
            })
            .is_err()
        );
    }
    let coins = json(|task| {
        task["domain"]["choices"] = vec!["yes", "no"].into();
        task["mechanism"] = "fair-coin".into();
        task["epsilon"] = "1.0986122886681096914".into();
    });
    assert_eq!(coins.unwrap().mechanism(), "fair-coin");
}

#[test]
fn what_means_nothing_is_refused_by_name() {
    type Change = fn(&mut serde_json::Value);
    let cases: [(Change, &str); 14] = [
        (|task| task["question"] = " ".into(), "question is "),
        (|task| task["domain"]["choices"] = vec!["yes"].into(), "choices is 1"),
        (|task| task["domain"]["choices"] = vec!["a", "b", "a"].into(), "choices is a twice"),
        (|task| task["epsilon"] = "0".into(), "epsilon is 0"),
        (|task| task["epsilon"] = "11".into(), "epsilon is 11, but it must be at most 10"),
        (
            |task| (task["memoisation"], task["lifetime-epsilon"]) = ("never".into(), "11".into()),
            "lifetime-epsilon is 11, but it must be at most 10",
        ),
        (
            |task| (task["epsilon"], task["allow-large-epsilon"]) = ("2000".into(), true.into()),
            "epsilon is 2000, but it must be from 2^-50",
        ),
        (|task| task["minimum-batch"] = 0.into(), "minimum-batch is 0"),
        (|task| task["expires"] = "soon".into(), "day is soon"),
        (|task| task["lifetime-epsilon"] = "0.5".into(), "lifetime-epsilon is 0.5"),
        (
            |task| (task["memoisation"], task["lifetime-epsilon"]) = ("first".into(), "2".into()),
            "lifetime-epsilon is 2, but it must be epsilon itself",
        ),
        (|task| task["mechanism"] = "fair-coin".into(), "mechanism is fair-coin"),
        (|task| task["colour"] = "red".into(), "unknown field `colour`"),
        (|task| task["domain"] = serde_json::json!({ "integers": { "lower": 1, "upper": 1 } }), "bounds is 1..1"),
    ];
    for (change, start) in cases {
        let error = json(change).unwrap_err();
        assert!(error.starts_with(start), "{error}");
    }
}

#[test]
fn answers_are_read_and_never_repeated_in_errors() {
    let choices = json(|_| ()).unwrap();
    assert_eq!(choices.domain().answer("no").unwrap(), Answer::Choice(1));
    let error = choices.domain().answer("secret").unwrap_err().to_string();
    assert!(error.starts_with("the answer must be ") && !error.contains("secret"), "{error}");
    let integers = Domain::Integers { lower: 0, upper: 10 };
    assert_eq!(integers.answer(" 12 ").unwrap(), Answer::Number(10));
    assert!(integers.answer("many").is_err());
    let numbers = Domain::Numbers("0..1".parse().unwrap());
    assert_eq!(numbers.answer("0.5").unwrap(), Answer::Number(1 << 27));
    assert!(numbers.answer("NaN").is_err());
}

#[test]
fn times_are_coarse() {
    let second = 1_709_164_800 + 3601;
    assert_eq!(TimePrecision::None.period(second), None);
    assert_eq!(TimePrecision::Hour.period(second), Some(second / 3600));
    assert_eq!(TimePrecision::Day.period(second), Some(19_782));
    assert_eq!(TimePrecision::Week.period(second), Some(2826));
    let task = json(|_| ()).unwrap();
    assert!(task.has_expired(task.expires().begins()) && !task.has_expired(task.expires().begins() - 1));
}
