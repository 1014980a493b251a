//! The aggregates with their weights, and the design that shares the budget among them.

use reticent::message;
use reticent::privacy::Guarantee;
use reticent::statistic::Grid;

use crate::error::{Error, Result, no_such};
use crate::options::{Options, Range};
use crate::release::Design;
use crate::release::contribution::UnitContribution;
use crate::release::design::Wanted;
use crate::release::search::{Found, Search};
use crate::resolve::{Origin, Resolved};

/// The weight of each aggregate, by its expression as written or the name of its column.
pub(super) fn weights(resolved: &Resolved, options: &Options) -> Result<Vec<u32>> {
    let mut weights = vec![1; resolved.asked.len()];
    let asked = || {
        resolved.columns.iter().filter_map(|(name, origin)| match origin {
            Origin::Asked(place) => Some((name.as_str(), *place)),
            _ => None,
        })
    };
    for (name, weight) in &options.weights {
        let by_words = resolved.asked.iter().position(|asked| asked.words.eq_ignore_ascii_case(name));
        let by_name = asked().find(|(column, _)| column == name).map(|(_, place)| place);
        let place = by_name.or(by_words).ok_or_else(|| {
            let known: Vec<&str> = asked().map(|(name, _)| name).collect();
            let fault = no_such("aggregate", name, &known);
            Error::option(message!(["weight"], " {name}=…: {fault}"))
        })?;
        weights[place] = *weight;
    }
    Ok(weights)
}

/// The most grid steps of values that are weighed: with weights of 16 bits and caps of 2^16, a unit moves their sum by less
/// than 2^46.
const WEIGHED_STEPS: i64 = 1 << 14;

pub(super) fn design(
    resolved: &Resolved,
    weights: &[u32],
    contribution: &UnitContribution,
    select_keys: bool,
    budget: &Guarantee,
    search: Option<(&Search, &Found)>,
) -> Result<Design> {
    let mut wanted = Vec::new();
    let asked = resolved.asked.iter().zip(&resolved.measured.statistics);
    for ((asked, statistic), weight) in asked.zip(weights) {
        let grid = match (&asked.range, search, statistic.ranged()) {
            (None, ..) => None,
            (Some(Range::Public(bounds)), ..) => Some(Grid::new(bounds)),
            (Some(Range::Auto), Some((search, found)), Some(of)) => Some(search.grid(of, found)),
            (Some(Range::Auto), ..) => return Err(Error::Bounds { column: asked.of.clone() }),
        };
        let grid = if contribution.weights().is_some() { grid.map(|grid| grid.coarsened(WEIGHED_STEPS)) } else { grid };
        wanted.push(Wanted { words: &asked.words, of: &asked.of, statistic, grid, weight: *weight });
    }
    Design::new(&wanted, contribution, select_keys, budget)
}
