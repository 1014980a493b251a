//! What is measured for a query, how the budget is split, and what it costs.

use reticent::privacy::Guarantee;

use super::NOTHING_FOUND;
use super::share::design;
use super::weighed::Weighed;
use crate::algebra::Limits;
use crate::bounded::Bounded;
use crate::error::Result;
use crate::options::Options;
use crate::release::Design;
use crate::release::contribution::UnitContribution;
use crate::release::search::Search;
use crate::release::top::{Ranking, TopGroups};
use crate::resolve::Resolved;

/// What is measured for a query, how the budget is split, and what it costs.
pub(super) struct Plan {
    pub design: Design,
    pub contribution: UnitContribution,
    pub search: Option<Search>,
    pub weighing: Option<Weighed>,
    pub guarantee: Guarantee,
}

impl Plan {
    /// `keys` is the number of public groups; `None` if keys come from the data, or there are none.
    ///
    /// # Errors
    /// If there is no noise for the budget, or planning takes too long.
    pub fn new(
        resolved: &Resolved,
        bounded: Bounded,
        keys: Option<u64>,
        weights: &[u32],
        options: &Options,
        limits: &Limits,
    ) -> Result<Self> {
        let grouped = !resolved.keys.is_empty();
        // Where rows are weighed, bounds are searched for in one row of each unit.
        let touched = match bounded {
            Bounded::By(touched) => touched,
            Bounded::Weighed => UnitContribution::new(options.adjacency, false, 1, 1)?,
        };
        let search = Search::new(resolved, options, &touched)?;
        let rest = search.as_ref().map_or(&options.guarantee, |search| &search.rest);
        let select_keys = grouped && keys.is_none();
        let found = search.as_ref().map(|search| (search, NOTHING_FOUND));
        let planned = |touched: &UnitContribution, budget: &Guarantee| {
            // Limits that are chosen privately take a dozen designs.
            limits.check_size(0, 0)?;
            design(resolved, weights, touched, select_keys, budget, found)
        };
        let (weighing, contribution, design) = match bounded {
            Bounded::By(touched) => {
                let all = planned(&touched, rest)?;
                // Bounds that are found would change the design, and parties release all at once.
                let groups = keys.filter(|_| search.is_none() && options.may_weigh);
                let ranking = groups.zip(Ranking::of(&resolved.above, resolved.keys.len()));
                let top = ranking.and_then(|(groups, ranking)| {
                    let (budget, of_selected) = TopGroups::rest(ranking, &touched, rest)?;
                    let selected = planned(&of_selected, &budget).ok()?;
                    TopGroups::better(&all, selected, ranking, &touched, groups, rest).transpose()
                });
                (None, touched, top.transpose()?.unwrap_or(all))
            }
            Bounded::Weighed => {
                let groups = if grouped { keys } else { Some(1) };
                let statistics = &resolved.measured.statistics;
                let (weighed, design) = Weighed::new(statistics, groups, grouped, options.adjacency, rest, &planned)?;
                let touched = weighed.least()?;
                (Some(weighed), touched, design)
            }
        };
        // Bounds that are found change the noise, and with it, perhaps, whether δ is needed: all that is left is charged.
        let answer = match (&weighing, &search) {
            (Some(weighed), _) => weighed.costs(),
            (None, Some(search)) => vec![search.rest.clone()],
            (None, None) => vec![design.guarantee.clone()],
        };
        let costs = search.iter().flat_map(Search::costs).chain(answer);
        let guarantee = Guarantee::sequential(costs)?.expect("something is asked");
        Ok(Self { design, contribution, search, weighing, guarantee })
    }
}
