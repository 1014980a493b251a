//! One party's numbers before noise.

/// One party's exact numbers, in the order of the [`Shape`](super::Shape). **Not private**: `Debug` shows
/// only how many there are.
pub struct Exact(Vec<i64>);

impl Exact {
    pub(super) fn new(numbers: Vec<i64>) -> Self {
        Self(numbers)
    }

    /// The numbers, only to be passed to the mechanism that adds noise.
    pub fn for_noise(&self) -> &[i64] {
        &self.0
    }
}

impl std::fmt::Debug for Exact {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(formatter, "Exact({} numbers)", self.0.len())
    }
}
