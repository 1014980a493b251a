//! Contribution bounds: given, or implied by the query.

use reticent::message;
use reticent::message::Piece;

use crate::algebra::Statistic;
use crate::error::{Error, Result};
use crate::options::{Options, Unit};
use crate::release::contribution::UnitContribution;
use crate::resolve::Resolved;

/// How much one unit can contribute.
///
/// There are no defaults: a bound that drops most rows gives an answer that is off by far more than its error bar.
/// Where the query itself limits a unit's rows (they were aggregated by unit), or only counts units, the bound drops
/// nothing and need not be given.
///
/// # Errors
/// If a bound is required but not given.
pub(crate) fn contribution(resolved: &Resolved, unit: &Unit, options: &Options) -> Result<UnitContribution> {
    let grouped = !resolved.keys.is_empty();
    let Unit::Column(unit) = unit else { return Ok(UnitContribution::each_row(options.adjacency, grouped)) };
    let known = resolved.measured.rows.rows_per_unit();
    let counts_units = resolved.measured.statistics.iter().all(|one| *one == Statistic::Units);
    let rows = options.max_rows.or(known).or(counts_units.then_some(1));
    let groups = options.max_groups.or(known).or((!grouped).then_some(1));
    match (rows, groups) {
        (Some(rows), Some(groups)) => Ok(UnitContribution::new(options.adjacency, grouped, groups, rows)?),
        _ => Err(missing(unit, rows.is_none(), groups.is_none())),
    }
}

fn missing(unit: &str, rows: bool, groups: bool) -> Error {
    let mut missing = Vec::new();
    if rows {
        missing.push(message!(["max-rows"], " N (max rows per {unit} and group)"));
    }
    if groups {
        missing.push(message!(["max-groups"], " N (max groups per {unit})"));
    }
    let mut message = message!("one {unit} may have many rows, so contribution limits are required: add ");
    for (place, bound) in missing.into_iter().enumerate() {
        message.extend((place > 0).then(|| Piece::Text(" and ".into())));
        message.extend(bound);
    }
    message.extend(message!(
        ". Choose a limit that nearly every {unit} stays within, from what you know without this data: rows beyond it are \
         dropped, and the noise grows with it; ",
        ["dry-run"],
        " shows the noise without charging"
    ));
    Error::option(message)
}
