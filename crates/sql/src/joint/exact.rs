//! The numbers of one party, on their way to the noise.

/// One party's exact numbers, in the order of the [`Shape`](super::Shape). **Not private.**
/// It shows itself nowhere.
pub struct Exact(Vec<i64>);

impl Exact {
    pub(super) fn new(numbers: Vec<i64>) -> Self {
        Self(numbers)
    }

    /// The numbers, for what adds noise to them and for nothing else.
    pub fn for_noise(&self) -> &[i64] {
        &self.0
    }
}

impl std::fmt::Debug for Exact {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(formatter, "Exact({} numbers)", self.0.len())
    }
}
