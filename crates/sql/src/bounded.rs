//! Contribution bounds: given, or implied by the query.

use reticent::message;
use reticent::message::Piece;

use crate::algebra::Statistic;
use crate::error::{Error, Result};
use crate::options::{Options, Unit};
use crate::release::contribution::UnitContribution;
use crate::release::weights::has_weights;
use crate::resolve::Resolved;

/// How one unit's contribution is bounded.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Bounded {
    /// By given numbers, or by the query itself.
    By(UnitContribution),
    /// By weights that are chosen privately.
    Weighed,
}

impl Bounded {
    /// The limits that are given, or that the query implies; weights otherwise.
    ///
    /// There are no default limits: one that drops most rows gives an answer that is off by far more than its error bar. Where
    /// the query itself limits a unit's rows (they were aggregated by unit), or only counts units, the bound drops nothing
    /// and need not be given. Otherwise rows are weighed.
    ///
    /// # Errors
    /// If a bound is required but not given.
    pub(crate) fn new(resolved: &Resolved, unit: &Unit, options: &Options) -> Result<Self> {
        let grouped = !resolved.keys.is_empty();
        let by = |groups, rows| Ok(Self::By(UnitContribution::new(options.adjacency, grouped, groups, rows)?));
        let Unit::Column(unit) = unit else {
            return Ok(Self::By(UnitContribution::each_row(options.adjacency, grouped)));
        };
        let known = resolved.measured.rows.rows_per_unit();
        let statistics = &resolved.measured.statistics;
        let counts_units = statistics.iter().all(|one| *one == Statistic::Units);
        let rows = options.max_rows.or(known).or(counts_units.then_some(1));
        let groups = options.max_groups.or(known).or((!grouped).then_some(1));
        let is_given = options.max_rows.is_some() || options.max_groups.is_some();
        match (rows, groups) {
            (Some(rows), Some(groups)) => by(groups, rows),
            _ if is_given || !options.may_weigh || !statistics.iter().all(has_weights) => {
                let unranked = statistics.iter().position(|one| !has_weights(one));
                let why = unranked.filter(|_| !is_given).map(|place| resolved.asked[place].words.as_str());
                Err(missing(unit, rows.is_none(), groups.is_none(), why))
            }
            _ => Ok(Self::Weighed),
        }
    }
}

fn missing(unit: &str, rows: bool, groups: bool, unranked: Option<&str>) -> Error {
    let mut missing = Vec::new();
    if rows {
        missing.push(message!(["max-rows"], " N (max rows per {unit} and group)"));
    }
    if groups {
        missing.push(message!(["max-groups"], " N (max groups per {unit})"));
    }
    let mut message = match unranked {
        Some(aggregate) => {
            message!(
                "one {unit} may have many rows, and contribution limits for {aggregate} cannot be chosen automatically: add "
            )
        }
        None => message!("one {unit} may have many rows, so contribution limits are required: add "),
    };
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
