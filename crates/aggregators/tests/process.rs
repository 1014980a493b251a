//! Aggregators and clients over real connections on this machine.

use std::fs;
use std::net::TcpListener;
use std::path::Path;
use std::sync::atomic::{AtomicU32, Ordering};
use std::thread;

use reticent::error::Explained;
use reticent::privacy::{Adjacency, Guarantee};
use reticent_aggregators::{Collected, Config, Process, Received, Record, Report, Task, upload};
use reticent_ledger::{Budget, Dataset, DurableLedger, Location, Terms};
use reticent_party::PrivateKey;

/// An address that is free and stays so until it is used: its port is outside the range that systems assign to outgoing
/// connections, is handed out once, and other processes start elsewhere.
fn free() -> String {
    static ASKED: AtomicU32 = AtomicU32::new(0);
    loop {
        let port = 20_000 + (128 * std::process::id() + ASKED.fetch_add(1, Ordering::Relaxed)) % 12_000;
        if let Ok(listener) = TcpListener::bind(format!("127.0.0.1:{port}")) {
            return listener.local_addr().unwrap().to_string();
        }
    }
}

/// Keys, task, configurations and ledgers of this many aggregators.
fn set_up(folder: &Path, aggregators: usize) -> Vec<Process> {
    let mut text = String::from(
        "title = \"How many?\"\nstatistic = \"histogram\"\nbuckets = [\"none\", \"some\", \"many\"]\nepsilon = 1\n\
         colluders = 1\nminimum_reports = 20\n",
    );
    for place in 0..aggregators {
        let key = PrivateKey::create(&folder.join(format!("{place}.key"))).unwrap();
        text += &format!("[[aggregator]]\nname = \"a{place}\"\nkey = \"{key}\"\n");
        text += &format!("address = \"{}\"\nreports = \"{}\"\n", free(), free());
    }
    fs::write(folder.join("task.toml"), text).unwrap();
    let process = |place: usize| {
        let ledger = DurableLedger::create(&Location::File(folder.join(format!("{place}.sqlite")))).unwrap();
        let budget = Budget::Limit(Guarantee::Pure("1".parse().unwrap()));
        let terms = Some(Terms { unit: "report".into(), adjacency: Adjacency::Replace });
        ledger.register(&Dataset { name: "survey".into(), budget, terms }).unwrap();
        let path = folder.join(format!("{place}.toml"));
        let config = format!(
            "task = \"task.toml\"\naggregator = \"a{place}\"\nkey = \"{place}.key\"\nstore = \"{place}.reports\"\n\
             ledger = \"{place}.sqlite\"\ndataset = \"survey\"\n"
        );
        fs::write(&path, config).unwrap();
        Process::new(Config::read(&path).unwrap()).unwrap()
    };
    (0..aggregators).map(process).collect()
}

fn collect(processes: &[Process]) -> Vec<reticent_aggregators::Result<Collected>> {
    thread::scope(|scope| {
        let running: Vec<_> = processes.iter().map(|process| scope.spawn(|| process.collect())).collect();
        running.into_iter().map(|thread| thread.join().unwrap()).collect()
    })
}

#[test]
fn clients_send_and_aggregators_collect() {
    for aggregators in [2, 3] {
        let folder = tempfile::tempdir().unwrap();
        let processes = set_up(folder.path(), aggregators);
        for process in &processes {
            let reception = process.reception().unwrap();
            thread::spawn(move || reception.run());
        }
        let task = Task::read(&folder.path().join("task.toml")).unwrap();
        let report = |answer| Report::new(&task, task.statistic().read(answer).unwrap()).unwrap();
        let reports: Vec<Report> = (0..60).map(|client| report(["none", "some", "some"][client % 3])).collect();
        // Some together, some alone, and some twice.
        let kept = |kept, refused| vec![Received { kept, refused }; aggregators];
        assert_eq!(upload(&task, &reports[..50]).unwrap(), kept(50, 0));
        for report in &reports[50..] {
            assert_eq!(upload(&task, std::slice::from_ref(report)).unwrap(), kept(1, 0));
        }
        assert_eq!(upload(&task, &reports[40..]).unwrap(), kept(0, 20));
        let mut records = collect(&processes).into_iter().map(|outcome| match outcome.unwrap() {
            Collected::Released { release, record } => (release.value().clone(), record),
            other => panic!("{other:?}"),
        });
        let (sums, record) = records.next().unwrap();
        assert!(records.all(|(_, other)| other == record));
        assert_eq!((record.reports(), record.dropped()), (60, 0));
        // Exceeded once in 10^7 runs.
        assert!(sums.iter().zip([20, 40, 0]).all(|(sum, exact)| (sum - exact).abs() < 60), "{sums:?}");
        assert_eq!(Record::read(&record.to_json(), &task).unwrap().sums(&task).unwrap(), sums);
        // The same reports are never accepted again, and the budget is exhausted.
        assert_eq!(upload(&task, &reports).unwrap(), kept(0, 60));
        let more: Vec<Report> = (0..20).map(|_| report("many")).collect();
        upload(&task, &more).unwrap();
        assert!(collect(&processes).iter().any(|outcome| outcome.as_ref().is_err_and(|error| error.is_overdrawn())));
        assert_eq!(processes[0].store().unwrap().waiting().unwrap(), 20);
    }
}

#[test]
fn a_client_of_another_task_or_with_another_key_is_told_so_and_nothing_is_kept() {
    let folder = tempfile::tempdir().unwrap();
    let processes = set_up(folder.path(), 2);
    let reception = processes[0].reception().unwrap();
    thread::spawn(move || reception.run());
    let text = fs::read_to_string(folder.path().join("task.toml")).unwrap();
    let other: Task = text.replace("How many?", "How much?").parse().unwrap();
    let report = Report::new(&other, other.statistic().read("some").unwrap()).unwrap();
    // Even if the answer arrives long before everything is sent.
    for reports in [1, 40_000] {
        let error = upload(&other, &vec![report.clone(); reports]).unwrap_err();
        assert!(error.to_string().contains("it has a different task"), "{error}");
    }
    let stranger = PrivateKey::generate().unwrap().public();
    let key = processes[0].site().key;
    let impostor: Task = text.replace(&key.to_string(), &stranger.to_string()).parse().unwrap();
    let report = Report::new(&impostor, impostor.statistic().read("some").unwrap()).unwrap();
    assert!(upload(&impostor, std::slice::from_ref(&report)).is_err());
    assert_eq!(processes[0].store().unwrap().waiting().unwrap(), 0);
}
