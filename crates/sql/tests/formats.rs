//! An outcome as a ledger keeps it today must read the same with whatever the code becomes.
//!
//! Outcomes carry no version: a change must read this fixture, and add another.

use reticent_sql::QueryOutcome;
use reticent_sql::answer::Entry;

#[test]
fn a_kept_answer_reads_back() {
    let kept = include_str!("fixtures/outcome.json").trim();
    let outcome = QueryOutcome::from_text(kept).expect("it was kept");
    assert_eq!(outcome.to_text(), kept);
    let answer = outcome.answer().unwrap();
    assert_eq!((answer.columns, answer.rows.len(), answer.refused), (vec!["n".into(), "mean_age".into()], 1, false));
    assert_eq!(answer.rows[0][0], Entry::Released { value: 52.into(), half_width: 12.0 });
    assert_eq!(answer.summary.guarantee, "ε = 0.5");
    assert_eq!(QueryOutcome::from_text("\"failed\""), Some(QueryOutcome::Failed));
}
