//! The error bars of a group of a given size, before anything is spent.

use std::collections::BTreeSet;

use arrow_array::ArrayRef;
use reticent::exact::Rational;
use reticent::release::{LEVEL, joint_level};
use reticent::statistic::{Grid, Moments};
use reticent_bounding::{Group, Measure, Measured};

use super::design::{Design, Output};
use super::draw::{numbers, without_noise};
use super::interval::Interval;
use super::values::{Bar, Cell, Released, Value};

/// Points by which an even spread is represented.
const POINTS: i64 = 64;

/// A made-up group with these keys and this many rows, each of another unit, whose values are spread evenly over their
/// bounds. No noise is added; its error bars are those to expect. Where rows are weighed, they are those of the least limit.
pub fn typical(design: &Design, keys: Vec<ArrayRef>, rows: u64, together: &BTreeSet<usize>) -> Released {
    let measured = design.measures.iter().map(|measure| evenly(measure, rows)).collect();
    let group = [Group { units: rows, rows, measured }];
    let additive = design.additive.iter().map(|paid| numbers(&paid.part, &group)).collect();
    let mut released = without_noise(design, keys, additive, together);
    // As when drawn: an interval must hold together with as many bars as any column needs.
    let most = together.iter().max().map_or(1, |&most| most as u64);
    let level = joint_level(&Rational::try_from(LEVEL).expect("0.95 is finite"), most);
    for (output, cells) in design.outputs.iter().zip(&mut released.columns) {
        let Output::Quantile(place, share) = output else { continue };
        let ranks = &design.ranks[*place];
        let margin = ranks.mechanism.clone().at_level(&level).mechanism().margins().nth(*share).unwrap_or_default();
        *cells = vec![quantile(&ranks.grid, margin / rows as f64)];
    }
    released
}

/// A quantile in the middle, whose interval reaches over this share of the rows on both sides.
fn quantile(grid: &Grid, share: f64) -> Cell {
    let (lower, upper) = (grid.value(grid.lower()), grid.value(grid.upper()));
    let (middle, reach) = (f64::midpoint(lower, upper), share.min(1.0) * (upper - lower));
    let bar = Bar::Within(Interval { low: middle - reach, high: middle + reach });
    Cell { value: Value::Real(middle), bar }
}

fn evenly(measure: &Measure, rows: u64) -> Measured {
    let whole = i64::try_from(rows).unwrap_or(i64::MAX);
    match measure {
        Measure::Present { .. } => Measured::Count(whole),
        Measure::Moments { grid, .. } => {
            let (lower, upper) = (grid.value(grid.lower()), grid.value(grid.upper()));
            let point = |place: i64| Some(lower + (upper - lower) * (place as f64 + 0.5) / POINTS as f64);
            let spread = Moments::of(grid, (0..POINTS).map(point));
            let squares = i128::from(spread.squares) * i128::from(rows) / i128::from(POINTS);
            let squares = i64::try_from(squares).unwrap_or(i64::MAX);
            Measured::Moments(Moments { count: whole, sum: 0, squares })
        }
        Measure::Bins { bins, .. } => Measured::Bins(vec![whole / i64::from(*bins); *bins as usize]),
        Measure::Magnitudes { .. } => Measured::Bins(Vec::new()),
        // Quantiles, stable medians and modes are not added up.
        Measure::Values { .. } | Measure::Items { .. } => Measured::Values(Vec::new()),
    }
}
