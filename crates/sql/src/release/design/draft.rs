//! What is needed for a query's aggregates, before the budget is split.

use reticent::exact::Rational;
use reticent::statistic::Grid;
use reticent_bounding::Measure;

use super::Wanted;
use super::parts::{Additive, COUNT_AND_SUM, Output};
use crate::algebra::{Expr, Statistic};
use crate::error::{Error, Result};

/// What is needed, before the budget is split.
#[derive(Debug, Default)]
pub(super) struct Draft {
    pub weighed: bool,
    pub inputs: Vec<Expr>,
    pub words: Vec<String>,
    pub measures: Vec<Measure>,
    pub additive: Vec<(Additive, String, u32)>,
    pub ranks: Vec<(usize, Grid, Vec<Rational>, u32)>,
    pub medians: Vec<(usize, Grid, u32)>,
    pub modes: Vec<(usize, u32)>,
}

impl Draft {
    fn input(&mut self, of: &Expr, words: &str) -> usize {
        self.inputs.iter().position(|one| one == of).unwrap_or_else(|| {
            self.inputs.push(of.clone());
            self.words.push(words.to_owned());
            self.inputs.len() - 1
        })
    }

    fn measure(&mut self, measure: Measure) -> usize {
        self.measures.iter().position(|one| is_same(one, &measure)).unwrap_or_else(|| {
            self.measures.push(measure);
            self.measures.len() - 1
        })
    }

    /// One measure for count, sum and squares of a column on one grid. The noise is scaled to the grid, so another grid
    /// is another measure, even of the same column: `x` and `(x)` may have different bounds.
    fn moments(&mut self, of: &Expr, words: &str, grid: &Grid, with_squares: bool) -> usize {
        let column = self.input(of, words);
        let same = |one: &Measure| matches!(one, Measure::Moments { column: other, grid: others, .. } if (*other, others) == (column, grid));
        if let Some(place) = self.measures.iter().position(same) {
            if let Measure::Moments { squares, .. } = &mut self.measures[place] {
                *squares |= with_squares;
            }
            return place;
        }
        self.measure(Measure::Moments { column, grid: grid.clone(), squares: with_squares })
    }

    /// Adds a part, with the largest weight that any aggregate gives it.
    pub fn part(&mut self, part: Additive, words: String, weight: u32) -> usize {
        match self.additive.iter().position(|(one, ..)| *one == part) {
            Some(place) => {
                self.additive[place].2 = self.additive[place].2.max(weight);
                place
            }
            None => {
                self.additive.push((part, words, weight));
                self.additive.len() - 1
            }
        }
    }

    fn ends(&mut self, of: &Expr, words: &str, grid: &Grid, weight: u32) -> usize {
        let measure = self.moments(of, words, grid, false);
        let words = format!("{COUNT_AND_SUM} {words}");
        self.part(Additive::Ends(measure, grid.clone()), words, weight)
    }

    fn present(&mut self, of: &Expr, words: &str, weight: u32) -> usize {
        let column = self.input(of, words);
        let measure = self.measure(Measure::Present { column });
        self.part(Additive::Present(measure), format!("values of {words}"), weight)
    }

    pub fn place(&mut self, wanted: &Wanted<'_>) -> Result<Output> {
        let (words, weight) = (wanted.of, wanted.weight);
        let grid = || wanted.grid.clone().ok_or_else(|| Error::Bounds { column: wanted.words.to_owned() });
        Ok(match wanted.statistic {
            Statistic::Rows => Output::Count(self.part(Additive::Rows, "rows".into(), weight)),
            Statistic::Units => Output::Count(self.part(Additive::Units, "units".into(), weight)),
            Statistic::Present(of) => Output::Count(self.present(of, words, weight)),
            Statistic::Sum(of) if self.weighed => {
                let present = self.present(of, words, weight);
                Output::SumOf { present, ends: self.ends(of, words, &grid()?, weight) }
            }
            Statistic::Sum(of) => Output::Sum(self.ends(of, words, &grid()?, weight)),
            Statistic::Mean(of) => Output::Mean(self.ends(of, words, &grid()?, weight)),
            Statistic::Variance { of, sample } | Statistic::StandardDeviation { of, sample } => {
                let grid = grid()?;
                let ends = self.ends(of, words, &grid, weight);
                let measure = self.moments(of, words, &grid, true);
                let name = format!("squares of {words}");
                let squares = self.part(Additive::Squares(measure, grid), name, weight);
                let root = matches!(wanted.statistic, Statistic::StandardDeviation { .. });
                Output::Variance { ends, squares, sample: *sample, root }
            }
            Statistic::Histogram { of, bins } => {
                let column = self.input(of, words);
                let measure = self.measure(Measure::Bins { column, grid: grid()?, bins: *bins });
                let words = format!("histogram of {words}");
                Output::Histogram(self.part(Additive::Bins(measure, *bins), words, weight))
            }
            Statistic::Quantile { of, p } => {
                let (column, grid) = (self.input(of, words), grid()?);
                let measure = self.measure(Measure::Values { column, grid: grid.clone() });
                let place = self.ranks.iter().position(|(other, ..)| *other == measure).unwrap_or_else(|| {
                    self.ranks.push((measure, grid, Vec::new(), 0));
                    self.ranks.len() - 1
                });
                let (_, _, shares, total) = &mut self.ranks[place];
                if !shares.contains(p) {
                    shares.push(p.clone());
                    *total += weight;
                }
                let share = shares.iter().position(|one| one == p).expect("just put there");
                Output::Quantile(place, share)
            }
            Statistic::StableMedian(of) => {
                let (column, grid) = (self.input(of, words), grid()?);
                let measure = self.measure(Measure::Values { column, grid: grid.clone() });
                self.medians.push((measure, grid, weight));
                Output::Median(self.medians.len() - 1)
            }
            Statistic::StableMode(of) => {
                let column = self.input(of, words);
                let measure = self.measure(Measure::Items { column });
                self.modes.push((measure, weight));
                Output::Mode(self.modes.len() - 1)
            }
        })
    }
}

/// Whether it is the same measure of the same column.
fn is_same(one: &Measure, other: &Measure) -> bool {
    match (one, other) {
        (Measure::Present { column }, Measure::Present { column: other })
        | (Measure::Items { column }, Measure::Items { column: other }) => column == other,
        (Measure::Values { column, grid }, Measure::Values { column: other, grid: others }) => {
            (column, grid) == (other, others)
        }
        (Measure::Bins { column, grid, bins }, Measure::Bins { column: other, grid: others, bins: many }) => {
            (column, grid, bins) == (other, others, many)
        }
        _ => false,
    }
}
