//! Bounds that are found privately.

use std::collections::BTreeMap;

use reticent::Permit;
use reticent::exact::Rational;
use reticent::mechanism::RangeMechanism;
use reticent::mechanism::range::BINS;
use reticent::privacy::{Epsilon, Guarantee};
use reticent::statistic::{Bounds, Contribution, Grid, Rows};
use reticent_bounding::{Groups, Measure, Measured};

use super::contribution::Touched;
use super::design::Design;
use crate::algebra::Expr;
use crate::answer::Share;
use crate::error::{Error, Result};
use crate::options::{Options, Range};
use crate::resolve::Resolved;

/// The part of ε that all searches together cost: one in so many.
const ONE_IN: u64 = 10;

/// The search for the bounds of some columns, in a first pass over the rows.
#[derive(Debug, Clone)]
pub struct Search {
    /// What is left for the answer.
    pub rest: Guarantee,
    /// How many rows of a unit are looked at.
    pub rows: u64,
    /// What bounds are wanted of, and how it was written.
    wanted: Vec<(Expr, String)>,
    mechanism: RangeMechanism,
}

impl Search {
    /// For the columns whose bounds are to be found; nothing if there are none.
    ///
    /// # Errors
    /// If the budget is ρ, or too small.
    pub fn new(resolved: &Resolved, options: &Options, touched: &Touched) -> Result<Option<Self>> {
        let mut wanted: Vec<(Expr, String)> = Vec::new();
        for (asked, statistic) in resolved.asked.iter().zip(&resolved.measured.statistics) {
            if let (Some(Range::Auto), Some(of)) = (&asked.range, statistic.ranged())
                && wanted.iter().all(|(_, words)| *words != asked.of)
            {
                wanted.push((of.clone(), asked.of.clone()));
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
                let column = &wanted[0].1;
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
        Ok(self.wanted.iter().map(|(_, words)| (words.clone(), grid.clone())).collect())
    }

    /// What is counted in the first pass, where keys are inputs like all others.
    pub fn measures(&self, design: &Design, keys: usize) -> Vec<Measure> {
        let column = |of: &Expr| keys + design.inputs.iter().position(|input| input == of).unwrap_or_default();
        self.wanted.iter().map(|(of, _)| Measure::Magnitudes { column: column(of) }).collect()
    }

    /// Releases the bounds.
    ///
    /// # Errors
    /// If the permit does not cover the costs.
    pub fn find(&self, groups: &Groups, permit: &mut Permit) -> Result<BTreeMap<String, Bounds>> {
        let mut found = BTreeMap::new();
        for (place, (_, words)) in self.wanted.iter().enumerate() {
            let counts = match groups.groups.first().map(|group| &group.measured[place]) {
                Some(Measured::Bins(counts)) => counts.clone(),
                _ => vec![0; BINS],
            };
            found.insert(words.clone(), self.mechanism.release(counts, permit)?.into_value());
        }
        Ok(found)
    }

    /// What it costs and gave, in words.
    pub fn shares(&self, found: &BTreeMap<String, Bounds>) -> Vec<Share> {
        let share = |(_, name): &(Expr, String)| {
            let what = match found.get(name) {
                Some(bounds) => format!("bounds of {name}: {bounds}"),
                None => format!("bounds of {name}"),
            };
            let noise = format!("powers of two with at least about {} rows", self.mechanism.threshold());
            Share { what, cost: self.mechanism.guarantee().to_string(), noise, half_width: None }
        };
        self.wanted.iter().map(share).collect()
    }
}
