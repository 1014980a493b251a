//! Bounds that are found privately.

use std::collections::BTreeMap;

use datafusion::logical_expr::Expr;
use reticent::Permit;
use reticent::exact::Rational;
use reticent::mechanism::RangeMechanism;
use reticent::mechanism::range::BINS;
use reticent::privacy::{Epsilon, Guarantee};
use reticent::statistic::{Bounds, Contribution, Grid, Rows};

use super::contribution::Touched;
use super::design::Design;
use crate::answer::Share;
use crate::bound::{Groups, Measure, Measured};
use crate::check::{Checked, ranges, words};
use crate::error::{Error, Result};
use crate::options::{Options, Range};

/// The part of ε that all searches together cost: one in so many.
const ONE_IN: u64 = 10;

/// The search for the bounds of some columns, in a first pass over the rows.
#[derive(Debug, Clone)]
pub struct Search {
    /// What is left for the answer.
    pub rest: Guarantee,
    /// How many rows of a unit are looked at.
    pub rows: u64,
    wanted: Vec<Expr>,
    mechanism: RangeMechanism,
}

impl Search {
    /// For the columns whose bounds are to be found; nothing if there are none.
    ///
    /// # Errors
    /// If the budget is ρ, or too small.
    pub fn new(checked: &Checked, options: &Options, touched: &Touched) -> Result<Option<Self>> {
        let mut wanted: Vec<Expr> = Vec::new();
        for of in checked.asked.iter().filter_map(|asked| asked.statistic.ranged()) {
            if ranges::range(of, &options.bounds)? == Range::Auto && !wanted.contains(of) {
                wanted.push(of.clone());
            }
        }
        if wanted.is_empty() {
            return Ok(None);
        }
        let share = |epsilon: &Epsilon, part: &Rational| Epsilon::new(epsilon.value() * part);
        let one = Rational::new(1, ONE_IN)?;
        let each = &one / &Rational::from(wanted.len() as u64);
        let left = Rational::ONE - one;
        let (found, rest) = match &options.guarantee {
            Guarantee::Pure(epsilon) => (share(epsilon, &each)?, Guarantee::Pure(share(epsilon, &left)?)),
            Guarantee::Approx(epsilon, delta) => {
                (share(epsilon, &each)?, Guarantee::Approx(share(epsilon, &left)?, delta.clone()))
            }
            Guarantee::Zcdp(_) => {
                let column = words(&wanted[0]);
                return Err(Error::Option(format!(
                    "bounds are found for a part of ε, not of ρ: use --epsilon, or give them with --bounds {column}=LO..HI"
                )));
            }
        };
        let rows = touched.groups().saturating_mul(touched.max_rows());
        let contribution = Contribution::overall(touched.adjacency(), Rows::AtMost(rows))?;
        let mechanism = RangeMechanism::new(&contribution, &found)?;
        Ok(Some(Self { rest, rows, wanted, mechanism }))
    }

    /// What the searches cost.
    pub fn costs(&self) -> Vec<Guarantee> {
        vec![self.mechanism.guarantee().clone(); self.wanted.len()]
    }

    /// Some grid for each, until the search is done.
    ///
    /// # Errors
    /// Never.
    pub fn grids_before(&self) -> Result<BTreeMap<String, Grid>> {
        let grid = Grid::new(&"-1..1".parse::<Bounds>()?);
        Ok(self.wanted.iter().map(|of| (words(of), grid.clone())).collect())
    }

    /// What is counted in the first pass, where keys are inputs like all others.
    pub fn measures(&self, design: &Design, keys: usize) -> Vec<Measure> {
        let column = |of: &Expr| keys + design.inputs.iter().position(|input| input == of).unwrap_or_default();
        self.wanted.iter().map(|of| Measure::Magnitudes { column: column(of) }).collect()
    }

    /// Releases the bounds.
    ///
    /// # Errors
    /// If the permit does not cover the costs.
    pub fn find(&self, groups: &Groups, permit: &mut Permit) -> Result<BTreeMap<String, Bounds>> {
        let mut found = BTreeMap::new();
        for (place, of) in self.wanted.iter().enumerate() {
            let counts = match groups.groups.first().map(|group| &group.measured[place]) {
                Some(Measured::Bins(counts)) => counts.clone(),
                _ => vec![0; BINS],
            };
            found.insert(words(of), self.mechanism.release(counts, permit)?.into_value());
        }
        Ok(found)
    }

    /// What it costs and gave, in words.
    pub fn shares(&self, found: &BTreeMap<String, Bounds>) -> Vec<Share> {
        let share = |of: &Expr| {
            let name = words(of);
            let what = match found.get(&name) {
                Some(bounds) => format!("bounds of {name}: {bounds}"),
                None => format!("bounds of {name}"),
            };
            let noise = format!("powers of two with at least about {} rows", self.mechanism.threshold());
            Share { what, cost: self.mechanism.guarantee().to_string(), noise, half_width: None }
        };
        self.wanted.iter().map(share).collect()
    }
}
