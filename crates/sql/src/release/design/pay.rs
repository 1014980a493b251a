//! The split of the budget.

use reticent::mechanism::{PerGroup, Selection, Threshold};
use reticent::privacy::Guarantee;
use reticent_bounding::WEIGHT_BITS;

use super::draft::Draft;
use super::noise::{Noise, Source, sensitivity};
use super::parts::{Additive, Output, Paid, Ranks};
use super::purse::Purse;
use super::{Design, MOST_GROUPS};
use crate::error::Result;
use crate::release::contribution::UnitContribution;

impl Draft {
    pub fn pay(
        mut self,
        mut outputs: Vec<Output>,
        touched: &UnitContribution,
        select_keys: bool,
        budget: &Guarantee,
    ) -> Result<Design> {
        match self.weighed {
            // A count of values comes with their sum, if that is released anyway.
            false => self.merge_counts(&mut outputs),
            true if select_keys => self.count_rows_or_units(),
            true => self.merge_presence(&mut outputs),
        }
        let weights = |all: &mut dyn Iterator<Item = u32>| all.map(u64::from).sum::<u64>();
        // Where units are counted anyway, that count decides which keys appear.
        let rows_decide = self.weighed || touched.is_each_row();
        let counts_units = |part: &Additive| *part == Additive::Units || (rows_decide && *part == Additive::Rows);
        let decides = self.additive.iter().position(|(part, ..)| select_keys && counts_units(part));
        let in_batch = |place: &usize| Some(*place) != decides;
        let batched = weights(&mut (0..self.additive.len()).filter(in_batch).map(|place| self.additive[place].2));
        let deciding = decides.map_or(u64::from(select_keys), |place| self.additive[place].2.into());
        let others = weights(&mut self.ranks.iter().map(|(.., weight)| *weight))
            + weights(&mut self.medians.iter().map(|(.., weight)| *weight))
            + weights(&mut self.modes.iter().map(|(.., weight)| *weight))
            + deciding;
        let need_delta = self.medians.len() + self.modes.len() + usize::from(select_keys);
        let purse = Purse::new(budget, batched + others, others > 0, need_delta, batched > 0)?;

        let parts: Vec<_> = (0..self.additive.len())
            .filter(in_batch)
            .map(|place| (&self.additive[place].0, self.additive[place].2))
            .collect();
        let (noise, sources) =
            if parts.is_empty() { (Noise::default(), Vec::new()) } else { Noise::narrowest(&parts, touched, &purse)? };
        // If the noise on sums needs no δ, the other parts get all of it.
        let needs_delta = noise.costs().any(|cost| cost.delta().is_some());
        let purse = if parts.is_empty() || needs_delta { purse } else { purse.without_batch() };
        let rows = touched.in_groups();
        let mut parts: Vec<Guarantee> = noise.costs().collect();
        let mut ranks = Vec::new();
        for (measure, grid, shares, weight) in self.ranks {
            let mut ascending = shares.clone();
            ascending.sort();
            let epsilon = purse.epsilon(weight.into())?;
            let mechanism = PerGroup::quantiles(&ascending, grid.lower(), grid.upper(), &rows, &epsilon)?;
            parts.push(mechanism.guarantee().clone());
            // Outputs refer to fractions in the order they were requested.
            for output in &mut outputs {
                if let Output::Quantile(place, share) = output
                    && *place == ranks.len()
                {
                    *share = ascending.iter().position(|one| *one == shares[*share]).expect("the same shares");
                }
            }
            ranks.push(Ranks { measure, grid, shares: ascending, mechanism });
        }
        let mut medians = Vec::new();
        for (measure, grid, weight) in self.medians {
            let mechanism = PerGroup::stable_median(&rows, &purse.epsilon(weight.into())?, &purse.delta()?)?;
            parts.push(mechanism.guarantee().clone());
            medians.push((measure, grid, mechanism));
        }
        let mut modes = Vec::new();
        for (measure, weight) in self.modes {
            let mechanism = PerGroup::stable_mode(&rows, &purse.epsilon(weight.into())?, &purse.delta()?)?;
            parts.push(mechanism.guarantee().clone());
            modes.push((measure, mechanism));
        }
        let threshold = match decides {
            None => None,
            Some(place) => {
                let (epsilon, delta) = (purse.epsilon(deciding)?, purse.delta()?);
                let adjacency = touched.adjacency();
                let threshold = match (touched.weights(), &self.additive[place].0) {
                    (None, _) => Threshold::new(touched.groups(), adjacency, &epsilon, &delta)?,
                    (Some(caps), part) => {
                        let cap = if *part == Additive::Units { caps.groups } else { caps.rows };
                        let total = cap.saturating_mul(1 << WEIGHT_BITS);
                        Threshold::of_weights(total, MOST_GROUPS, adjacency, &epsilon, &delta)?
                    }
                };
                parts.push(threshold.guarantee().clone());
                Some((threshold, place))
            }
        };
        let selection = match select_keys && decides.is_none() {
            false => None,
            true => {
                let (epsilon, delta) = (purse.epsilon(1)?, purse.delta()?);
                let selection = Selection::new(touched.groups(), touched.adjacency(), &epsilon, &delta)?;
                parts.push(selection.guarantee().clone());
                Some(selection)
            }
        };
        let guarantee = Guarantee::sequential(parts)?.expect("something is asked");
        let mut additive = Vec::new();
        let (mut sources, is_pure) =
            (sources.into_iter(), noise.costs().all(|cost| matches!(cost, Guarantee::Pure(_))));
        for (place, (part, words, weight)) in self.additive.into_iter().enumerate() {
            let sensitivity = sensitivity(&part, touched)?;
            let source = if Some(place) == decides { None } else { sources.next() }.unwrap_or(Source::Threshold);
            let cost = match (&threshold, source) {
                (Some((threshold, _)), Source::Threshold) => threshold.guarantee().clone(),
                (_, Source::Box) => Guarantee::Pure(purse.epsilon(weight.into())?),
                _ if is_pure => Guarantee::Pure(purse.epsilon(weight.into())?),
                _ => purse.share(weight.into())?,
            };
            additive.push(Paid { part, words, cost, weight, sensitivity, source });
        }
        let (inputs, input_words, measures) = (self.inputs, self.words, self.measures);
        Ok(Design {
            inputs,
            input_words,
            measures,
            additive,
            noise,
            ranks,
            medians,
            modes,
            selection,
            threshold,
            top: None,
            outputs,
            guarantee,
            weighed: self.weighed,
        })
    }
}
