//! How much of a unit counts: as it was said, or as the query itself tells.

use crate::algebra::Statistic;
use crate::error::{Error, Result};
use crate::options::{Options, Unit};
use crate::release::contribution::Touched;
use crate::resolve::Resolved;

/// What one unit can touch.
///
/// No cap is assumed: one that leaves most rows out gives an answer that is wrong by far more than its error bar says. Where the query
/// itself tells how many rows a unit has at most (they were aggregated by unit), or only counts units, the cap leaves nothing out
/// and needs not be said.
///
/// # Errors
/// If a cap is needed and not said.
pub(crate) fn touched(resolved: &Resolved, unit: &Unit, options: &Options) -> Result<Touched> {
    let grouped = !resolved.keys.is_empty();
    let Unit::Column(unit) = unit else { return Ok(Touched::each_row(options.adjacency, grouped)?) };
    let known = resolved.measured.rows.rows_per_unit();
    let counts_units = resolved.measured.statistics.iter().all(|one| *one == Statistic::Units);
    let rows = options.max_rows.or(known).or(counts_units.then_some(1));
    let groups = options.max_groups.or(known).or((!grouped).then_some(1));
    match (rows, groups) {
        (Some(rows), Some(groups)) => Ok(Touched::new(options.adjacency, grouped, groups, rows)?),
        _ => Err(missing(unit, rows.is_none(), groups.is_none())),
    }
}

fn missing(unit: &str, rows: bool, groups: bool) -> Error {
    let rows = rows.then(|| format!("--max-rows N (how many rows of one {unit} count in a group)"));
    let groups = groups.then(|| format!("--max-groups N (in how many groups one {unit} counts)"));
    let flags: Vec<String> = rows.into_iter().chain(groups).collect();
    Error::Option(format!(
        "one {unit} may have many rows, and how many of them count is not said: add {}. Take what nearly every {unit} stays within, \
         from what you know without this data: rows beyond it are left out, and the noise grows with it. With --dry-run the noise is \
         shown and nothing is charged",
        flags.join(" and ")
    ))
}
