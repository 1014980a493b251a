//! The noise on additive parts.

use reticent::mechanism::{Batch, Part};
use reticent::privacy::Guarantee;
use reticent::release::LEVEL;
use reticent::statistic::Sensitivity;

use super::parts::Additive;
use super::purse::Purse;
use crate::error::Result;
use crate::release::box_noise::BoxNoise;
use crate::release::contribution::UnitContribution;

/// The noise on additive parts: on each number, or one draw for several numbers of a group.
#[derive(Debug, Clone, Default)]
pub struct Noise {
    /// On each number.
    pub batch: Option<Batch>,
    /// On several numbers of a group.
    pub boxed: Option<BoxNoise>,
}

/// Where the noise on a part comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Source {
    /// The batch, by index.
    Batch(usize),
    /// The box.
    Box,
    /// The threshold that decides about keys.
    Threshold,
}

/// A part with its weight.
pub(super) type Weighted<'a> = (&'a Additive, u32);

/// How far one unit can move the numbers of a part, all groups together.
pub(super) fn sensitivity(part: &Additive, touched: &UnitContribution) -> reticent::Result<Sensitivity> {
    match part {
        Additive::Rows | Additive::Present(_) => touched.count(),
        Additive::Units => touched.units(),
        Additive::Ends(_, grid) => touched.ends(grid),
        Additive::Squares(_, grid) => touched.squares(grid),
        Additive::Bins(..) | Additive::Presence(_) => touched.bins(),
    }
}

impl Noise {
    /// The noise on these parts, each with a source, that is predicted to be narrowest.
    ///
    /// Two ways are compared: each part with its share of the budget, by a [`Batch`]; or all parts that can be in a
    /// [`BoxNoise`] with one draw, for their shares of ε together, and the rest by a batch. The smaller product of the 95 %
    /// half-widths of all counts, centred sums and squares decides, which gives a factor in any of them the same weight. It
    /// depends on the query, the contribution bounds, the ranges and the budget, never on rows. A part alone is not put
    /// into a box: count and sum of one column have the same noise there.
    ///
    /// # Errors
    /// If a budget does not allow any of it.
    pub(super) fn narrowest(
        parts: &[Weighted<'_>],
        touched: &UnitContribution,
        purse: &Purse,
    ) -> Result<(Self, Vec<Source>)> {
        let each = Self::new(parts, |_| false, touched, purse);
        let in_box = parts.iter().filter(|(part, _)| BoxNoise::holds(part)).count();
        if in_box < 2 || touched.weights().is_some() || !purse.has_epsilon() {
            return each;
        }
        match (each, Self::new(parts, BoxNoise::holds, touched, purse)) {
            (Ok((each, sources)), Ok((boxed, others))) => {
                let is_narrower = boxed.log_width(parts, &others)? < each.log_width(parts, &sources)?;
                Ok(if is_narrower { (boxed, others) } else { (each, sources) })
            }
            (each, boxed) => each.or(boxed),
        }
    }

    fn new(
        parts: &[Weighted<'_>],
        is_boxed: impl Fn(&Additive) -> bool,
        touched: &UnitContribution,
        purse: &Purse,
    ) -> Result<(Self, Vec<Source>)> {
        let (boxed, batched): (Vec<_>, Vec<_>) = parts.iter().copied().partition(|(part, _)| is_boxed(part));
        let weight = |parts: &[Weighted<'_>]| parts.iter().map(|(_, weight)| u64::from(*weight)).sum();
        let part =
            |(part, weight): &Weighted<'_>| Ok(Part { sensitivity: sensitivity(part, touched)?, weight: *weight });
        let noise = Self {
            boxed: match boxed.is_empty() {
                true => None,
                false => Some(BoxNoise::new(&boxed, touched, &purse.epsilon(weight(&boxed))?)?),
            },
            batch: match batched.is_empty() {
                true => None,
                false => {
                    let parts = batched.iter().map(part).collect::<Result<Vec<_>>>()?;
                    Some(Batch::new(&parts, &purse.share(weight(&batched))?)?)
                }
            },
        };
        let mut places = 0..;
        let source = |(part, _): &Weighted<'_>| match is_boxed(part) {
            true => Source::Box,
            false => Source::Batch(places.next().unwrap_or_default()),
        };
        let sources = parts.iter().map(source).collect();
        Ok((noise, sources))
    }

    /// The logarithm of the product of all half-widths. Half a step is added to each, so that noise that is almost always 0
    /// still counts.
    fn log_width(&self, parts: &[Weighted<'_>], sources: &[Source]) -> Result<f64> {
        let level = LEVEL.try_into()?;
        let mut sum = 0.0;
        for ((part, _), source) in parts.iter().zip(sources) {
            let widths = match (source, &self.batch, &self.boxed) {
                (Source::Batch(place), Some(batch), _) => match part {
                    // N = (A + B)/(U − L) and S = (A − B)/2.
                    Additive::Ends(_, grid) => {
                        let of_two = batch.noise(*place).half_width_of_sum(2, &level)? as f64;
                        vec![of_two / (grid.upper() - grid.lower()) as f64, of_two / 2.0]
                    }
                    _ => vec![batch.half_width(*place, &level)? as f64],
                },
                (Source::Box, _, Some(boxed)) => {
                    boxed.forms(part).iter().map(|form| boxed.half_width(form, &level)).collect::<Result<_, _>>()?
                }
                _ => Vec::new(),
            };
            sum += widths.into_iter().map(|width| libm::log(width + 0.5)).sum::<f64>();
        }
        Ok(sum)
    }

    /// The costs of a release.
    pub fn costs(&self) -> impl Iterator<Item = Guarantee> {
        let batch = self.batch.iter().map(|batch| batch.guarantee().clone());
        batch.chain(self.boxed.iter().map(|boxed| boxed.guarantee().clone()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use reticent::privacy::Adjacency;
    use reticent::statistic::{Bounds, Grid};

    /// One draw where several numbers of a group would share ε, noise on each where that is as good or a δ makes it better.
    #[test]
    fn the_narrower_noise_is_taken() {
        let pure = || Guarantee::Pure("1".parse().unwrap());
        let approx = || Guarantee::Approx("1".parse().unwrap(), "1e-8".parse().unwrap());
        let grid = Grid::new(&"0..100".parse::<Bounds>().unwrap());
        let (ends, squares) = (Additive::Ends(0, grid.clone()), Additive::Squares(0, grid));
        let (rows, bins, present) = (Additive::Rows, Additive::Bins(2, 10), Additive::Present(1));
        let sources = |parts: &[&Additive], groups: u64, budget: Guarantee| {
            let touched = UnitContribution::new(Adjacency::AddRemove, true, groups, 1).unwrap();
            let parts: Vec<Weighted<'_>> = parts.iter().map(|part| (*part, 1)).collect();
            let purse = Purse::new(&budget, parts.len() as u64, false, 0, true).unwrap();
            let (noise, sources) = Noise::narrowest(&parts, &touched, &purse).unwrap();
            let total = Guarantee::sequential(noise.costs()).unwrap().unwrap();
            assert_eq!(total.epsilon(), budget.epsilon());
            sources
        };
        let (boxed, batch) = (Source::Box, Source::Batch);
        assert_eq!(sources(&[&ends], 1, pure()), [batch(0)], "as good");
        assert_eq!(sources(&[&ends, &squares], 1, pure()), [boxed; 2]);
        assert_eq!(sources(&[&rows, &bins, &present], 4, pure()), [boxed, batch(0), boxed]);
        assert_eq!(sources(&[&rows, &bins], 4, pure()), [batch(0), batch(1)]);
        assert_eq!(sources(&[&rows, &ends, &squares], 4, approx()), [boxed; 3]);
        assert_eq!(sources(&[&rows, &ends, &squares], 1000, approx()), [batch(0), batch(1), batch(2)], "Gaussian");
    }
}
