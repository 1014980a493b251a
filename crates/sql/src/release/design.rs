//! What is measured for a query, and how the budget is split.

use std::collections::HashMap;

use reticent::Error as CoreError;
use reticent::exact::Rational;
use reticent::mechanism::stable::{StableMedian, StableMode};
use reticent::mechanism::{Batch, Part, PerGroup, Quantiles, Selection, Threshold};
use reticent::message;
use reticent::privacy::{Delta, Epsilon, Guarantee, Rho};
use reticent::release::{LEVEL, joint_level};
use reticent::statistic::{Grid, Sensitivity};

use reticent_bounding::{Measure, WEIGHT_BITS};

use super::contribution::UnitContribution;
use super::top::TopGroups;
use crate::algebra::{Expr, Statistic};
use crate::error::{Error, Result};

/// The most groups of a weighed unit that count, if keys come from the data.
pub const MOST_GROUPS: u64 = 128;

/// The start of the description of [`Additive::Ends`].
pub const COUNT_AND_SUM: &str = "count and sum of";

/// Numbers that noise is added to: one or more per group.
#[derive(Debug, Clone, PartialEq)]
pub enum Additive {
    /// Rows.
    Rows,
    /// Units.
    Units,
    /// Rows that have a value, by the index of the measure.
    Present(usize),
    /// Rows that have a value, and rows that have none: two bins.
    Presence(usize),
    /// Count and sum of values.
    Ends(usize, Grid),
    /// Sums of squares.
    Squares(usize, Grid),
    /// Counts in bins.
    Bins(usize, u32),
}

/// Numbers with their share of the budget.
#[derive(Debug, Clone)]
pub struct Paid {
    /// What they are.
    pub part: Additive,
    /// A description.
    pub words: String,
    /// The share of the budget.
    pub cost: Guarantee,
    /// The weight in the split.
    pub weight: u32,
    /// The most that one unit can move them, all groups together.
    pub sensitivity: Sensitivity,
    /// The index in the batch; `None` if a threshold releases them.
    pub batched: Option<usize>,
}

/// Values from which quantiles are released.
#[derive(Debug, Clone)]
pub struct Ranks {
    /// The index of the measure.
    pub measure: usize,
    /// The grid.
    pub grid: Grid,
    /// The fractions, ascending.
    pub shares: Vec<Rational>,
    /// The mechanism.
    pub mechanism: PerGroup<Quantiles>,
}

/// How an aggregate's value is computed from released numbers.
#[derive(Debug, Clone, PartialEq)]
pub enum Output {
    /// A number of an additive part.
    Count(usize),
    /// The number of values, from their ends.
    CountOfEnds(usize),
    /// The number of values, of those that are present and missing.
    Present(usize),
    /// The number of rows, as the values that are present and missing.
    PresentOrMissing(usize),
    /// A sum.
    Sum(usize),
    /// A sum of weighed rows: the number of values times their mean.
    SumOf {
        /// The part that counts the values.
        present: usize,
        /// The part of the ends.
        ends: usize,
    },
    /// A mean.
    Mean(usize),
    /// A variance, from ends and squares.
    Variance {
        /// The part of the ends.
        ends: usize,
        /// The part of the squares.
        squares: usize,
        /// Divide by n − 1?
        sample: bool,
        /// Take the square root?
        root: bool,
    },
    /// Counts in bins.
    Histogram(usize),
    /// A quantile: the index of the [`Ranks`], and of the fraction in it.
    Quantile(usize, usize),
    /// A stable median.
    Median(usize),
    /// A stable mode.
    Mode(usize),
}

impl Output {
    /// The same with other numbers of parts.
    fn renumbered(&self, number: impl Fn(usize) -> usize) -> Self {
        match self.clone() {
            Self::Count(part) => Self::Count(number(part)),
            Self::CountOfEnds(part) => Self::CountOfEnds(number(part)),
            Self::Present(part) => Self::Present(number(part)),
            Self::PresentOrMissing(part) => Self::PresentOrMissing(number(part)),
            Self::Sum(part) => Self::Sum(number(part)),
            Self::SumOf { present, ends } => Self::SumOf { present: number(present), ends: number(ends) },
            Self::Mean(part) => Self::Mean(number(part)),
            Self::Histogram(part) => Self::Histogram(number(part)),
            Self::Variance { ends, squares, sample, root } => {
                Self::Variance { ends: number(ends), squares: number(squares), sample, root }
            }
            other @ (Self::Quantile(..) | Self::Median(_) | Self::Mode(_)) => other,
        }
    }
}

/// What is measured for a query, and how the budget is split.
///
/// # Privacy
/// The budget is split by weight over everything that is released: each additive part, each quantile, each stable
/// answer, and group selection if keys come from the data (unless units are counted anyway: then that count decides).
/// The costs add up to at most the query's budget: [`Design::guarantee`].
#[derive(Debug, Clone)]
pub struct Design {
    /// The expressions computed for each row.
    pub inputs: Vec<Expr>,
    /// The same in the user's words.
    pub input_words: Vec<String>,
    /// What is measured of them.
    pub measures: Vec<Measure>,
    /// Numbers that get noise.
    pub additive: Vec<Paid>,
    /// The joint noise on all of them.
    pub batch: Option<Batch>,
    /// Quantiles.
    pub ranks: Vec<Ranks>,
    /// Stable medians: index of the measure, grid and mechanism.
    pub medians: Vec<(usize, Grid, PerGroup<StableMedian>)>,
    /// Stable modes.
    pub modes: Vec<(usize, PerGroup<StableMode>)>,
    /// Group selection, if keys are unknown and units are not counted.
    pub selection: Option<Selection>,
    /// Group selection by a noisy count of units, and the index of that count among the numbers.
    pub threshold: Option<(Threshold, usize)>,
    /// Selection of the groups with the highest counts, if only these are released.
    pub top: Option<TopGroups>,
    /// One for each aggregate.
    pub outputs: Vec<Output>,
    /// The total cost.
    pub guarantee: Guarantee,
    /// Whether rows are weighed, and all numbers in units of 2^−[`WEIGHT_BITS`].
    pub weighed: bool,
}

/// An aggregate to be planned.
#[derive(Debug, Clone)]
pub struct Wanted<'asked> {
    /// As written.
    pub words: &'asked str,
    /// The argument, as written.
    pub of: &'asked str,
    /// The statistic.
    pub statistic: &'asked Statistic,
    /// The grid of its values, if they have a range.
    pub grid: Option<Grid>,
    /// The weight in the split.
    pub weight: u32,
}

impl Design {
    /// Plans these aggregates.
    ///
    /// # Errors
    /// If the kind of budget does not allow one of them, or it is too small for any noise.
    pub fn new(
        wanted: &[Wanted<'_>],
        touched: &UnitContribution,
        select_keys: bool,
        budget: &Guarantee,
    ) -> Result<Self> {
        let mut draft = Draft { weighed: touched.weights().is_some(), ..Draft::default() };
        let outputs = wanted.iter().map(|one| draft.place(one)).collect::<Result<Vec<_>>>()?;
        draft.pay(outputs, touched, select_keys, budget)
    }
}

/// 0.05 over a number below 2^64 is more than 10^−22, and every law of noise has half-widths up to a level of 1 − 10^−60.
const AT_EVERY_LEVEL: &str = "noise has a half-width at a level between 0.95 and 1 - 1e-22";

/// The level of one of this many numbers that must hold at once at 95 %.
fn level_of(together: u64) -> Rational {
    joint_level(&Rational::try_from(LEVEL).expect("0.95 is finite"), together)
}

impl Design {
    /// Whether keys come from the data.
    pub fn selects_keys(&self) -> bool {
        self.selection.is_some() || self.threshold.is_some()
    }

    /// The released count whose own noise decides whether its group is shown, which half-widths do not account for: its
    /// description, and the smallest count shown.
    pub fn deciding(&self) -> Option<(&str, u64)> {
        let (threshold, _) = self.threshold.as_ref()?;
        let decides = self.additive.iter().find(|paid| paid.batched.is_none())?;
        let threshold = threshold.threshold();
        let in_rows = if self.weighed { threshold.div_ceil(1 << WEIGHT_BITS) } else { threshold };
        Some((decides.words.as_str(), in_rows))
    }

    /// The half-width of the noise on one number of a part, where `together` such numbers must hold at once at 95 %.
    pub fn half_width(&self, paid: &Paid, together: u64) -> u64 {
        let level = level_of(together);
        let half_width = match (paid.batched, &self.batch, &self.threshold) {
            (Some(place), Some(batch), _) => batch.half_width(place, &level),
            (_, _, Some((threshold, _))) => threshold.noise().half_width(&level),
            _ => unreachable!("every part is in the batch or decides about keys"),
        };
        half_width.expect(AT_EVERY_LEVEL)
    }

    /// The same for the sum, or the difference, of two numbers of a part.
    pub fn half_width_of_two(&self, paid: &Paid, together: u64) -> u64 {
        match (paid.batched, &self.batch) {
            (Some(place), Some(batch)) => {
                batch.noise(place).half_width_of_sum(2, &level_of(together)).expect(AT_EVERY_LEVEL)
            }
            _ => self.half_width(paid, 2 * together).saturating_mul(2),
        }
    }

    /// The variance of the noise on one number of a part.
    pub fn variance(&self, paid: &Paid) -> f64 {
        match (paid.batched, &self.batch, &self.threshold) {
            (Some(place), Some(batch), _) => batch.noise(place).variance(),
            (_, _, Some((threshold, _))) => threshold.noise().variance(),
            _ => unreachable!("every part is in the batch or decides about keys"),
        }
    }

    /// The argument of a measure, in the user's words.
    pub fn input_words(&self, measure: usize) -> &str {
        &self.input_words[self.measures[measure].column()]
    }
}

/// What is needed, before the budget is split.
#[derive(Debug, Default)]
struct Draft {
    weighed: bool,
    inputs: Vec<Expr>,
    words: Vec<String>,
    measures: Vec<Measure>,
    additive: Vec<(Additive, String, u32)>,
    ranks: Vec<(usize, Grid, Vec<Rational>, u32)>,
    medians: Vec<(usize, Grid, u32)>,
    modes: Vec<(usize, u32)>,
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
    fn part(&mut self, part: Additive, words: String, weight: u32) -> usize {
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

    fn place(&mut self, wanted: &Wanted<'_>) -> Result<Output> {
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

    fn sensitivity(part: &Additive, touched: &UnitContribution) -> Result<Sensitivity, CoreError> {
        match part {
            Additive::Rows | Additive::Present(_) => touched.count(),
            Additive::Units => touched.units(),
            Additive::Ends(_, grid) => touched.ends(grid),
            Additive::Squares(_, grid) => touched.squares(grid),
            Additive::Bins(..) | Additive::Presence(_) => touched.bins(),
        }
    }

    fn pay(
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

        let parts = (0..self.additive.len())
            .filter(in_batch)
            .map(|place| &self.additive[place])
            .map(|(part, _, weight)| Ok(Part { sensitivity: Self::sensitivity(part, touched)?, weight: *weight }))
            .collect::<Result<Vec<_>, CoreError>>()?;
        let batch = if parts.is_empty() { None } else { Some(Batch::new(&parts, &purse.share(batched)?)?) };
        // If the noise on sums needs no δ, the other parts get all of it.
        let purse = match &batch {
            Some(batch) if batch.guarantee().delta().is_none() => purse.without_batch(),
            _ => purse,
        };
        let rows = touched.in_groups();
        let mut parts: Vec<Guarantee> = batch.iter().map(|batch| batch.guarantee().clone()).collect();
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
        let mut places = 0..;
        for (place, (part, words, weight)) in self.additive.into_iter().enumerate() {
            let sensitivity = Self::sensitivity(&part, touched)?;
            let batched = if Some(place) == decides { None } else { places.next() };
            let cost = match (&threshold, batch.as_ref().map(Batch::guarantee), batched) {
                (Some((threshold, _)), _, None) => threshold.guarantee().clone(),
                (_, Some(Guarantee::Pure(_)), _) => Guarantee::Pure(purse.epsilon(weight.into())?),
                _ => purse.share(weight.into())?,
            };
            additive.push(Paid { part, words, cost, weight, sensitivity, batched });
        }
        let (inputs, input_words, measures) = (self.inputs, self.words, self.measures);
        Ok(Design {
            inputs,
            input_words,
            measures,
            additive,
            batch,
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

    /// Where the sum of a column is released, so is its count.
    fn merge_counts(&mut self, outputs: &mut [Output]) {
        let column_of = |measure: usize| self.measures[measure].column();
        let mut sums: HashMap<usize, usize> = HashMap::new();
        for (place, (part, ..)) in self.additive.iter().enumerate() {
            if let Additive::Ends(measure, _) = part {
                sums.entry(column_of(*measure)).or_insert(place);
            }
        }
        let merged = |part: &Additive| match part {
            Additive::Present(measure) => sums.get(&column_of(*measure)).copied(),
            _ => None,
        };
        let with: Vec<Option<usize>> = self.additive.iter().map(|(part, ..)| merged(part)).collect();
        let before = with.iter().scan(0, |before, with| {
            let kept = *before;
            *before += usize::from(with.is_none());
            Some(kept)
        });
        let before: Vec<usize> = before.collect();
        for output in outputs.iter_mut() {
            *output = match &*output {
                Output::Count(part) => match with[*part] {
                    Some(ends) => Output::CountOfEnds(before[ends]),
                    None => Output::Count(before[*part]),
                },
                other => other.renumbered(|part| before[part]),
            };
        }
        let mut with = with.into_iter();
        self.additive.retain(|_| with.next().flatten().is_none());
    }

    /// Where rows and those with a value are counted, they are two bins: each row is in one of them, so both together cost
    /// as much as either.
    fn merge_presence(&mut self, outputs: &mut [Output]) {
        let position = |is: fn(&Additive) -> bool| self.additive.iter().position(|(part, ..)| is(part));
        let rows = position(|part| *part == Additive::Rows);
        let present = position(|part| matches!(part, Additive::Present(_)));
        let (Some(rows), Some(present)) = (rows, present) else { return };
        let weight = self.additive[rows].2;
        if let (Additive::Present(measure), words, heavier) = &mut self.additive[present] {
            *words = format!("rows, and {words}");
            *heavier = weight.max(*heavier);
            self.additive[present].0 = Additive::Presence(*measure);
        }
        self.additive.remove(rows);
        let moved = |part: usize| if part > rows { part - 1 } else { part };
        for output in outputs.iter_mut() {
            *output = match &*output {
                Output::Count(part) if *part == rows => Output::PresentOrMissing(moved(present)),
                Output::Count(part) if *part == present => Output::Present(moved(present)),
                other => other.renumbered(moved),
            };
        }
    }

    /// Groups of weighed rows are selected by a noisy count of rows or units.
    fn count_rows_or_units(&mut self) {
        if !self.additive.iter().any(|(part, ..)| matches!(part, Additive::Rows | Additive::Units)) {
            self.part(Additive::Rows, "rows".into(), 1);
        }
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

/// The budget and how it is split.
#[derive(Debug, Clone)]
struct Purse {
    budget: Guarantee,
    /// The sum of all weights.
    weights: u64,
    /// The number of parts over which δ is split.
    delta_parts: u64,
    batch_has_delta: bool,
}

impl Purse {
    fn new(budget: &Guarantee, weights: u64, others: bool, need_delta: usize, batched: bool) -> Result<Self> {
        match budget {
            Guarantee::Zcdp(_) if others => {
                return Err(Error::option(message!(
                    "with ",
                    ["rho"],
                    " only counts, sums, means, variances and histograms of known keys can be released; use \
                     ",
                    ["epsilon"],
                    " (and ",
                    ["delta"],
                    "), or list the keys with ",
                    ["keys"]
                )));
            }
            Guarantee::Pure(_) if need_delta > 0 => {
                return Err(Error::option(message!(
                    "group selection and stable aggregates need δ: add ",
                    ["delta"],
                    " 1e-8, or list \
                     the keys with ",
                    ["keys"],
                    " COLUMN=FILE"
                )));
            }
            _ => {}
        }
        let batch_has_delta = batched && matches!(budget, Guarantee::Approx(..));
        let delta_parts = need_delta as u64 + u64::from(batch_has_delta);
        Ok(Self { budget: budget.clone(), weights, delta_parts, batch_has_delta })
    }

    fn without_batch(mut self) -> Self {
        self.delta_parts -= u64::from(self.batch_has_delta);
        self.batch_has_delta = false;
        self
    }

    fn fraction(&self, weight: u64) -> Rational {
        &Rational::from(weight) / &Rational::from(self.weights)
    }

    /// The share of all additive parts together.
    fn share(&self, weight: u64) -> Result<Guarantee> {
        Ok(match &self.budget {
            Guarantee::Pure(_) => Guarantee::Pure(self.epsilon(weight)?),
            Guarantee::Approx(..) => Guarantee::Approx(self.epsilon(weight)?, self.delta()?),
            Guarantee::Zcdp(rho) => Guarantee::Zcdp(Rho::new(rho.value() * &self.fraction(weight))?),
        })
    }

    fn epsilon(&self, weight: u64) -> Result<Epsilon> {
        let epsilon = self.budget.epsilon().expect("checked above: ρ pays for additive parts only");
        Ok(Epsilon::new(epsilon.value() * &self.fraction(weight))?)
    }

    fn delta(&self) -> Result<Delta> {
        let delta = self.budget.delta().expect("checked above: there is a δ");
        Ok(Delta::new(delta.value() / &Rational::from(self.delta_parts.max(1)))?)
    }
}

#[cfg(test)]
mod tests {
    use reticent::statistic::Bounds;

    use super::*;
    use crate::algebra::Type;

    #[test]
    fn a_count_of_values_is_that_of_their_sum() {
        let column = |place: usize| Expr::column(place, Type::Number);
        let (x, y, z) = (column(0), column(1), column(2));
        let statistics = [
            Statistic::Present(y.clone()),
            Statistic::Present(x.clone()),
            Statistic::Rows,
            Statistic::Sum(x),
            Statistic::Present(z),
            Statistic::Sum(y),
        ];
        let grid = Grid::new(&"0..1".parse::<Bounds>().unwrap());
        let mut draft = Draft::default();
        let place = |statistic: &Statistic| {
            let wanted = Wanted { words: "", of: "", statistic, grid: Some(grid.clone()), weight: 1 };
            draft.place(&wanted).unwrap()
        };
        let mut outputs: Vec<Output> = statistics.iter().map(place).collect();
        draft.merge_counts(&mut outputs);
        let (count, sum, of_sum) = (Output::Count, Output::Sum, Output::CountOfEnds);
        assert_eq!(outputs, [of_sum(3), of_sum(1), count(0), sum(1), count(2), sum(3)]);
        let kept: Vec<Additive> = draft.additive.into_iter().map(|(part, ..)| part).collect();
        assert!(matches!(kept[..], [Additive::Rows, Additive::Ends(..), Additive::Present(_), Additive::Ends(..)]));
    }
}
