//! A file in the format of today, made by the program, must open with whatever the code becomes.
//!
//! A change of the format must raise its version and add a fixture. This one stays as it is: it must still open, or be refused with the
//! text that `docs/formats.md` tells.

use reticent::local::{Admission, Answers, Task};
use reticent_collector::Collector;
use rusqlite::Connection;

#[test]
fn reports_of_version_1_are_estimated_and_other_versions_refused() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("reports.sqlite");
    let connection = Connection::open(&path).unwrap();
    connection.execute_batch(include_str!("fixtures/reports-1.sql")).unwrap();
    let written: String = connection.query_row("SELECT written FROM task", [], |row| row.get(0)).unwrap();
    let admission = Admission::new(serde_json::from_str::<Task>(&written).unwrap());
    let collector = Collector::open(&path).unwrap();
    assert_eq!(collector.count(&admission.id()).unwrap(), 5);
    let Answers::Choices(rows) = collector.estimate(&admission).unwrap().answers else {
        panic!("choices were asked for")
    };
    // One, two and two reports of the three choices; at ε = 1 a choice is told with probability e/(e + 2), another with 1/(e + 2).
    let (truth, lie) = (1f64.exp() / (1f64.exp() + 2.0), 1.0 / (1f64.exp() + 2.0));
    for (row, reports) in rows.iter().zip([1.0, 2.0, 2.0]) {
        assert!((row.count - (reports - 5.0 * lie) / (truth - lie)).abs() < 1e-9, "{rows:?}");
    }
    drop(collector);
    connection.pragma_update(None, "user_version", 2).unwrap();
    let refused = Collector::open(&path).unwrap_err().to_string();
    assert!(refused.ends_with("is damaged, not a file of reports, or not from this version"), "{refused}");
}
