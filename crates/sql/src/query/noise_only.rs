//! Columns whose error bars leave out the bias of clamping.

use super::Query;
use crate::options::Range;
use crate::release::derived;
use crate::release::design::Output;
use crate::resolve::Origin;

impl Query {
    /// For each column of the answer, whether clamping to bounds that are found moves its exact value: of sums, means and
    /// variances, and of what is computed from them. Nothing bounds the values outside, so no error bar can include
    /// this. Ranks and counts stay as they are.
    pub(super) fn noise_only(&self) -> Vec<bool> {
        let (asked, columns) = (&self.resolved.asked, &self.resolved.columns);
        let is_moved = |output: &Output| matches!(output, Output::Sum(_) | Output::Mean(_) | Output::Variance { .. });
        let is_biased = |place: usize| asked[place].range == Some(Range::Auto) && is_moved(&self.design.outputs[place]);
        let depends = derived::dependencies(&self.resolved.above, self.resolved.keys.len(), asked.len());
        let of = |(place, (_, origin)): (usize, &(String, Origin))| match origin {
            Origin::Key(_) => false,
            Origin::Asked(asked) => is_biased(*asked),
            Origin::Derived => {
                let on = depends.get(place).and_then(Option::as_ref);
                on.is_some_and(|on| on.iter().any(|&asked| is_biased(asked)))
            }
        };
        columns.iter().enumerate().map(of).collect()
    }
}
