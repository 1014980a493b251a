//! Clients that report to two aggregators, each in its own process.

use std::net::TcpStream;
use std::process::{Child, Command, Stdio};

use super::aborts::until;
use super::hospitals::Hospitals;
use super::ports::free;

const NAMES: [&str; 2] = ["p0", "p1"];

/// A receiver that ends with the test.
struct Receiver(Child);

impl Drop for Receiver {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Two aggregators with a task, a configuration and a ledger each.
fn aggregators(name: &str, least: u32) -> (Hospitals, Vec<String>) {
    let all: Vec<String> = (0..4).map(|_| free()).collect();
    let hospitals = Hospitals::at(name, all[..2].to_vec());
    // An ε with no noise left.
    let mut task = format!(
        "title = \"Screens\"\nstatistic = \"histogram\"\nbuckets = [\"none\", \"some\", \"many\"]\nepsilon = 400\nallow_large_epsilon = true\ncolluders = 1\n\
         minimum_reports = {least}\n"
    );
    for (place, name) in NAMES.iter().enumerate() {
        let key = hospitals.read(format!("{name}.pub"));
        let (address, reports) = (&all[place], &all[2 + place]);
        task += &format!(
            "[[aggregator]]\nname = \"{name}\"\nkey = \"{}\"\naddress = \"{address}\"\nreports = \"{reports}\"\n",
            key.trim()
        );
        let ledger = format!("{name}-reports.sqlite");
        let budget = ["--epsilon", "1000", "--allow-large-epsilon", "--unit", "report", "--adjacency", "replace"];
        hospitals.succeeds(&[&["ledger", "create", "screens", "--ledger", &ledger], &budget[..]].concat());
        let config = format!(
            "task = \"screens.toml\"\naggregator = \"{name}\"\nkey = \"{name}.key\"\nstore = \"{name}.reports\"\nledger = \"{ledger}\"\n\
             dataset = \"screens\"\n"
        );
        hospitals.write(&format!("{name}-aggregates.toml"), &config);
    }
    hospitals.write("screens.toml", &task);
    (hospitals, all[2..].to_vec())
}

fn start(hospitals: &Hospitals, action: &str, name: &str) -> Child {
    let mut command: Command = hospitals.program();
    command.args(["party", "aggregate", action, "--config", &format!("{name}-aggregates.toml")]);
    if action == "collect" {
        command.args(["--format", "json", "--record", &format!("{name}-record.json")]);
    }
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("the program starts")
}

#[test]
fn aggregators_open_nothing_but_the_sum() {
    let (hospitals, addresses) = aggregators("aggregators", 5);
    let _receivers: Vec<Receiver> = NAMES.iter().map(|name| Receiver(start(&hospitals, "receive", name))).collect();
    addresses.iter().for_each(|address| until(|| TcpStream::connect(address).is_ok()));
    hospitals.write("answers.txt", "some\nmany\nsome\nnone\nsome\n");
    hospitals.succeeds(&["party", "report", "--task", "screens.toml", "--answers", "answers.txt"]);
    let answered = hospitals.run(&["party", "report", "--task", "screens.toml", "--answer", "often"]);
    assert_eq!(answered.code, Some(2), "{}", answered.stderr);
    let status = hospitals.succeeds(&["party", "aggregate", "status", "--config", "p0-aggregates.toml"]).stdout;
    assert!(status.contains("\"waiting\":5"), "{status}");
    let collecting: Vec<Child> = NAMES.iter().map(|name| start(&hospitals, "collect", name)).collect();
    let collected: Vec<_> = collecting.into_iter().map(|child| child.wait_with_output().expect("it ends")).collect();
    for one in &collected {
        assert_eq!(one.status.code(), Some(0), "{}", String::from_utf8_lossy(&one.stderr));
        assert_eq!(one.stdout, collected[0].stdout);
    }
    let printed = String::from_utf8_lossy(&collected[0].stdout);
    let values: Vec<i64> = printed
        .lines()
        .map(|line| serde_json::from_str::<serde_json::Value>(line).expect("an object a line"))
        .filter_map(|object| object["value"].as_i64())
        .collect();
    assert_eq!(values, [1, 3, 1], "{printed}");
    let read = hospitals.succeeds(&[
        "party",
        "aggregate",
        "read",
        "p1-record.json",
        "--task",
        "screens.toml",
        "--format",
        "json",
    ]);
    assert_eq!(read.stdout, printed);
    let simulated = hospitals.succeeds(&[
        "party",
        "aggregate",
        "simulate",
        "--task",
        "screens.toml",
        "--answers",
        "answers.txt",
        "--format",
        "csv",
    ]);
    assert!(simulated.stdout.contains("some,3,"), "{}", simulated.stdout);
    let none = hospitals.succeeds(&["party", "aggregate", "abandon", "--config", "p0-aggregates.toml"]);
    assert!(none.stderr.contains("there is no batch to abandon"), "{}", none.stderr);
}

#[test]
fn too_few_reports_are_not_opened() {
    let (hospitals, _) = aggregators("few", 100);
    hospitals.write("answers.txt", "some\nmany\n");
    let simulated =
        hospitals.run(&["party", "aggregate", "simulate", "--task", "screens.toml", "--answers", "answers.txt"]);
    assert_eq!(simulated.code, Some(3));
    assert!(
        simulated.stderr.contains("nothing was opened or charged") && simulated.stdout.is_empty(),
        "{}",
        simulated.stderr
    );
}
