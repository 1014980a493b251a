//! Outcomes as a ledger keeps them today must read the same with whatever the code becomes.
//!
//! Outcomes carry no version: a change must read these fixtures, and add another.

use reticent_subsample::kept::Unanswered;
use reticent_subsample::{Kept, Outcome};

fn read_back(kept: &str, expected: &[Kept]) {
    let kept: Vec<&str> = kept.lines().collect();
    assert_eq!(kept.len(), expected.len());
    for (kept, expected) in kept.into_iter().zip(expected) {
        assert_eq!(expected.to_text(), kept);
        assert_eq!(Kept::from_text(kept).as_ref(), Ok(expected));
    }
}

/// Before the number of runs without an answer was released, and where the statistic runs once.
#[test]
fn outcomes_alone_read_back() {
    let mean = Outcome::Mean { value: 45.431_875_681_877_14, half_width: 7.660_191_377_003_987, level: 0.95 };
    let outcomes = [Outcome::Answer("north".into()), mean, Outcome::Refused, Outcome::Failed];
    read_back(include_str!("fixtures/outcomes.ndjson"), &outcomes.map(Kept::from));
}

#[test]
fn counted_outcomes_read_back() {
    let unanswered = Some(Unanswered { number: 3, of: 200, half_width: 6.0, level: 0.95 });
    let mean = Outcome::Mean { value: 45.431_875_681_877_14, half_width: 7.660_191_377_003_987, level: 0.95 };
    let mut expected =
        [Outcome::Answer("north".into()), mean, Outcome::Refused].map(|outcome| Kept { outcome, unanswered }).to_vec();
    expected.push(Outcome::OtherRows.into());
    read_back(include_str!("fixtures/counted.ndjson"), &expected);
}
