//! What runs is what was checked: a task with its query's numbers, read once.
#![cfg(feature = "sql")]

use std::collections::BTreeMap;
use std::fs;
use std::net::TcpListener;
use std::path::{Path, PathBuf};

use reticent::error::Explained;
use reticent::privacy::{Adjacency, Guarantee};
use reticent_ledger::{Budget, Dataset, DurableLedger, Location, Terms};
use reticent_party::{CheckedTask, Config, Error, OwnRows, PrivateKey, Task, run, simulate};

/// One party alone, at ε = 10: the noise on 40 rows is within 20 but with a probability of e^−200.
const TASK: &str = r#"
title = "Visits"
session = "week 46"
protocol = "broadcast"
epsilon = 10
unit = "row"
adjacency = "add-remove"
sql = "SELECT ward, COUNT(*) FROM visits GROUP BY ward"
keys = { ward = ["A", "B"] }
bound = 1000000
sensitivity = 1
cells = ["A", "B"]
"#;

struct Hospital {
    folder: tempfile::TempDir,
    text: String,
}

impl Hospital {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let key = PrivateKey::create(&folder.path().join("key")).unwrap();
        let address = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
        let text = format!("{TASK}[[party]]\nname = \"north\"\nkey = \"{key}\"\naddress = \"{address}\"\n");
        let ledger = DurableLedger::create(&Location::File(folder.path().join("ledger.sqlite"))).unwrap();
        let terms = Some(Terms { unit: "row".into(), adjacency: Adjacency::AddRemove });
        ledger.register(&Dataset { name: "visits".into(), budget: Budget::Unlimited, terms }).unwrap();
        let hospital = Self { folder, text };
        hospital.write("task.toml", &hospital.text);
        hospital.write("visits.csv", &("ward\n".to_owned() + &"A\n".repeat(40)));
        hospital.write(
            "config.toml",
            "task = \"task.toml\"\nparty = \"north\"\nkey = \"key\"\nledger = \"ledger.sqlite\"\ndataset = \"visits\"\n\
             state = \"state\"\ntables = { visits = \"visits.csv\" }\n",
        );
        hospital
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn write(&self, name: &str, text: &str) {
        fs::write(self.path(name), text).unwrap();
    }

    fn config(&self) -> Config {
        Config::read(&self.path("config.toml")).unwrap()
    }

    fn charges(&self) -> u64 {
        let ledger = DurableLedger::open(&Location::File(self.path("ledger.sqlite"))).unwrap();
        ledger.account("visits").unwrap().unwrap().charges
    }
}

fn rows(checked: &CheckedTask, file: &Path) -> Result<OwnRows, Error> {
    OwnRows::open(checked, &BTreeMap::from([("visits".to_owned(), file.to_owned())]))
}

#[test]
fn a_task_whose_numbers_are_not_its_querys_is_refused() {
    let text = Hospital::new().text;
    assert!(CheckedTask::new(text.parse().unwrap()).is_ok());
    // More noise than necessary is allowed.
    assert!(CheckedTask::new(text.replace("sensitivity = 1", "sensitivity = 2").parse().unwrap()).is_ok());
    for (from, to, why) in [
        (
            "unit = \"row\"",
            "unit = \"patient\"\nmax_rows = 3\nmax_groups = 1",
            "sensitivity = 1, but its query requires 3",
        ),
        ("cells = [\"A\", \"B\"]", "cells = [\"A\"]", "cells = 1, but its query requires 2"),
        ("cells = [\"A\",", "cells = [{ name = \"A\", step = 2 },", "step of \"A\" = 2, but its query requires 1"),
        (
            "sql = \"SELECT ward, COUNT(*) FROM visits GROUP BY ward\"",
            "bounds = { age = \"0..9\" }\nsql = \"SELECT MEDIAN(age) FROM visits\"",
            "ranks do not add up over parties",
        ),
        ("SELECT", "SELEC", "invalid query"),
    ] {
        assert!(text.contains(from), "{from}");
        let error = CheckedTask::new(text.replace(from, to).parse().unwrap()).unwrap_err();
        assert!(error.is_usage() && error.to_string().contains(why), "{to}: {error}");
    }
}

/// The file is read once: changing it afterwards has no effect.
#[test]
fn a_task_file_that_changes_after_the_check_changes_nothing() {
    let hospital = Hospital::new();
    let config = hospital.config();
    let checked = CheckedTask::read(&config.task).unwrap();
    let mut own = OwnRows::open(&checked, &config.tables).unwrap();
    // A unit with three rows has three times the ε that this promises.
    let weaker = hospital.text.replace("unit = \"row\"", "unit = \"patient\"\nmax_rows = 3\nmax_groups = 1");
    for later in [weaker, hospital.text.replace("epsilon = 10", "epsilon = 0.001"), "no task".into()] {
        hospital.write("task.toml", &later);
        let outcome = run(&config, checked.task(), &mut own).unwrap();
        assert_eq!(outcome.transcript.task.hash(), checked.task().hash());
        assert!((outcome.release.value()[0] - 40).abs() < 20, "{:?}", outcome.release);
    }
    assert_eq!(hospital.charges(), 3);
}

/// The rows of one task cannot be used for another.
#[test]
fn a_statistic_runs_with_the_task_that_it_was_checked_against() {
    let hospital = Hospital::new();
    let config = hospital.config();
    let checked = CheckedTask::read(&config.task).unwrap();
    let mut own = rows(&checked, &hospital.path("visits.csv")).unwrap();
    let other: Task = hospital.text.replace("week 46", "week 47").parse().unwrap();
    let refused = [
        run(&config, &other, &mut own).unwrap_err(),
        reticent_party::check(&config, &other, &own).unwrap_err(),
        simulate(&other, vec![rows(&checked, &hospital.path("visits.csv")).unwrap()]).unwrap_err(),
    ];
    for error in refused {
        assert!(matches!(error, Error::OtherTask { .. }) && error.is_usage(), "{error}");
    }
    assert_eq!((hospital.charges(), hospital.path("state").exists()), (0, false));
    reticent_party::check(&config, checked.task(), &own).unwrap();
    simulate(checked.task(), vec![own]).unwrap();
}

/// The rows of a dataset with a budget cannot be released at the expense of another one.
#[test]
fn rows_with_a_budget_of_their_own_are_not_charged_to_another_dataset() {
    let hospital = Hospital::new();
    let config = hospital.config();
    let checked = CheckedTask::read(&config.task).unwrap();
    let mut own = OwnRows::open(&checked, &config.tables).unwrap();
    let name = reticent_ledger::dataset_of_file(&hospital.path("visits.csv")).unwrap();
    let ledger = DurableLedger::open(&Location::File(hospital.path("ledger.sqlite"))).unwrap();
    let budget = Budget::Limit(Guarantee::Pure("100".parse().unwrap()));
    let terms = Some(Terms { unit: "row".into(), adjacency: Adjacency::AddRemove });
    ledger.register(&Dataset { name: name.clone(), budget, terms }).unwrap();
    let refused = [
        reticent_party::check(&config, checked.task(), &own).unwrap_err(),
        run(&config, checked.task(), &mut own).unwrap_err(),
    ];
    for error in refused {
        assert!(matches!(&error, Error::OtherBudget { owner, .. } if *owner == name) && error.is_usage(), "{error}");
    }
    assert_eq!(hospital.charges(), 0);
    run(&Config { dataset: name, ..config }, checked.task(), &mut own).unwrap();
}

#[test]
fn tables_that_do_not_fit_are_refused_before_a_row_is_read() {
    let hospital = Hospital::new();
    let checked = CheckedTask::read(&hospital.path("task.toml")).unwrap();
    let missing = OwnRows::open(&checked, &BTreeMap::new()).unwrap_err();
    assert!(matches!(&missing, Error::NoTable { table } if table == "visits"), "{missing}");
    hospital.write("floors.csv", "floor\n1\n");
    for file in ["nowhere.csv", "floors.csv"] {
        let error = rows(&checked, &hospital.path(file)).unwrap_err();
        assert!(matches!(error, Error::Query(_)) && error.is_usage(), "{error}");
    }
}
