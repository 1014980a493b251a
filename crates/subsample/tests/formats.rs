//! Outcomes as a ledger keeps them today must read the same with whatever the code becomes.
//!
//! Outcomes carry no version: a change must read this fixture, and add another.

use reticent_subsample::Kept;

#[test]
fn kept_outcomes_read_back() {
    let expected = [
        Kept::Answer("north".into()),
        Kept::Mean { value: 45.431_875_681_877_14, half_width: 7.660_191_377_003_987, level: 0.95 },
        Kept::Refused,
        Kept::Failed,
    ];
    let kept: Vec<&str> = include_str!("fixtures/outcomes.ndjson").lines().collect();
    assert_eq!(kept.len(), expected.len());
    for (kept, expected) in kept.into_iter().zip(expected) {
        assert_eq!(expected.to_text(), kept);
        assert_eq!(Kept::from_text(kept), Ok(expected));
    }
}
