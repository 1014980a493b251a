//! Nothing but the answer depends on the rows.

use super::hospitals::{Ended, Hospitals, visits};

/// A table, one with a row less, and tables with invalid rows.
fn tables() -> Vec<String> {
    let whole = visits(30);
    let fewer = whole.rsplit_once("u29").expect("a last row").0.to_owned();
    let hostile = whole.clone() + "u30,\"A\nu31,A,nan\n,,\n\"\",B,1e999\n";
    vec![whole, fewer, hostile, "patient,ward,age\n".into()]
}

fn same(all: &[Ended]) {
    for other in &all[1..] {
        assert_eq!(all[0], *other);
    }
}

#[test]
fn refusals_and_aborts_are_the_same_whatever_the_rows_are() {
    let hospitals = Hospitals::new("neighbours", 2);
    hospitals.agree_on_wards();
    let ended = |prepare: &dyn Fn()| -> Vec<Ended> {
        let run = |table: &String| {
            hospitals.write("p0.csv", table);
            prepare();
            hospitals.start("p0").end()
        };
        tables().iter().map(run).collect()
    };
    // Nobody joins.
    hospitals.configure("p0", "join_seconds = 1\nround_seconds = 1\n");
    let alone = ended(&|| ());
    assert_eq!(alone[0].code, Some(1));
    same(&alone);
    // Not enough budget left.
    let overdrawn = ended(&|| hospitals.budget("p0", "100"));
    assert_eq!(overdrawn[0].code, Some(4));
    same(&overdrawn);
}

#[test]
fn what_others_hear_of_an_answer_is_the_same_but_for_the_answer() {
    let hospitals = Hospitals::new("neighbours-answer", 2);
    hospitals.agree_on_wards();
    let mut words = Vec::new();
    for table in tables() {
        hospitals.write("p0.csv", &table);
        let _ = std::fs::remove_dir_all(hospitals.folder.join("p0.state"));
        let _ = std::fs::remove_dir_all(hospitals.folder.join("p1.state"));
        hospitals.budget("p0", "1000");
        hospitals.budget("p1", "1000");
        let mut ended = hospitals.run_all();
        let listener = ended.pop().expect("two");
        assert_eq!(listener.code, Some(0), "{}", listener.stderr);
        let keys: Vec<String> = listener.counts().into_iter().map(|(ward, _)| ward).collect();
        words.push((listener.stderr.clone(), listener.object("summary"), listener.object("parties"), keys));
    }
    assert!(words.windows(2).all(|pair| pair[0] == pair[1]), "{words:?}");
}
