//! The exact numbers of a design's parts.

use reticent::statistic::{Ends, Grid, Moments};
use reticent_bounding::{Group, Measured};

use super::design::Additive;

/// How many numbers of a part each group has.
pub(crate) fn width(part: &Additive) -> usize {
    match part {
        Additive::Ends(..) | Additive::Presence(_) => 2,
        Additive::Bins(_, bins) => *bins as usize,
        Additive::Rows | Additive::Units | Additive::Present(_) | Additive::Squares(..) => 1,
    }
}

/// The exact numbers of a part, group by group.
pub(crate) fn numbers(part: &Additive, groups: &[Group]) -> Vec<i64> {
    let of = |group: &Group| -> Vec<i64> {
        match part {
            Additive::Rows => vec![whole(group.rows)],
            Additive::Units => vec![whole(group.units)],
            Additive::Present(measure) => vec![present(group, *measure)],
            Additive::Presence(measure) => {
                let present = present(group, *measure);
                vec![present, whole(group.rows).saturating_sub(present)]
            }
            Additive::Ends(measure, grid) => {
                let ends = ends(&moments(group, *measure), grid);
                vec![ends.above_lower, ends.below_upper]
            }
            Additive::Squares(measure, _) => vec![moments(group, *measure).squares],
            Additive::Bins(measure, bins) => match &group.measured[*measure] {
                Measured::Bins(counts) => counts.clone(),
                _ => vec![0; *bins as usize],
            },
        }
    };
    groups.iter().flat_map(of).collect()
}

/// The moments of a measure.
pub(super) fn moments(group: &Group, measure: usize) -> Moments {
    match &group.measured[measure] {
        Measured::Moments(moments) => *moments,
        _ => Moments::default(),
    }
}

/// The number of values of a measure.
pub(super) fn present(group: &Group, measure: usize) -> i64 {
    match &group.measured[measure] {
        Measured::Count(count) => *count,
        _ => 0,
    }
}

pub(super) fn whole(count: u64) -> i64 {
    i64::try_from(count).unwrap_or(i64::MAX)
}

/// A = S + N·(mid − L) and B = N·(U − mid) − S: the same statistic in another form.
fn ends(moments: &Moments, grid: &Grid) -> Ends {
    let (count, sum) = (i128::from(moments.count), i128::from(moments.sum));
    let clamp = |sum: i128| sum.clamp(i64::MIN.into(), i64::MAX.into()) as i64;
    let above = sum + count * i128::from(grid.middle() - grid.lower());
    let below = count * i128::from(grid.upper() - grid.middle()) - sum;
    Ends { above_lower: clamp(above), below_upper: clamp(below) }
}
