//! Private search for bounds.

use reticent::Permit;
use reticent::exact::Rational;
use reticent::mechanism::ApproxBounds;
use reticent::mechanism::range::{BINS, ClampingBounds};
use reticent::message;
use reticent::privacy::{Epsilon, Guarantee};
use reticent::release::Release;
use reticent::statistic::{Bounds, Contribution, Grid, Rows};
use reticent_bounding::{Groups, Measure, Measured};

use super::contribution::UnitContribution;
use super::design::Design;
use crate::algebra::Expr;
use crate::answer::{FoundBounds, Share};
use crate::error::{Error, Result};
use crate::options::{Options, Range};
use crate::resolve::Resolved;

/// All searches together cost this share of ε.
///
/// A search that gets ε′ needs about 40/ε′ rows: with less than ⅖, a thousand rows are not enough at ε = 0.1. More of ε
/// also leaves fewer rows beyond the bounds, and the answer more noise. Simulated with 100,000 rows at ε = 0.1 and shares
/// from 0.1 to 0.5, the median error of a mean is least from 0.3 on for a tail like t^−2 (1.2 % of the mean), and at 0.1
/// for t^−3 (0.19 %, but 0.23 % at ⅖) and for log-normal values (0.26 %, but 0.48 % at ⅖). So ⅖ serves small tables,
/// and costs large ones, whose errors are small, less than a factor of two.
const SHARE: (i64, u64) = (2, 5);

/// The width of the bounds that stand for those that are to be found.
pub const PLACEHOLDER_WIDTH: f64 = 2.0;

/// Bounds that no column of the query was given: an aggregate whose bounds are to be found is not merged with another of
/// the same column, so that before the search a query has all the parts that it can have afterwards.
fn placeholder(resolved: &Resolved) -> Bounds {
    let given = |bounds: &Bounds| {
        resolved.asked.iter().any(|asked| matches!(&asked.range, Some(Range::Public(given)) if given == bounds))
    };
    let around = |middle: i64| {
        let end = |end: i64| Rational::from(middle + end);
        Bounds::new(end(-1), end(1)).expect("the lower one is smaller")
    };
    (0..).map(around).find(|bounds| !given(bounds)).expect("a query has fewer ranges than there are numbers")
}

/// The search for the bounds of some columns, in a first pass over the rows.
///
/// # Privacy
/// If too few rows determine the bounds, none are made up: the search refuses, and so does every aggregate that needs
/// them. Its part of the budget is spent, and so is that of the answer: the cost of a query does not depend on the
/// rows.
#[derive(Debug, Clone)]
pub struct Search {
    /// What is left for the answer.
    pub rest: Guarantee,
    /// How many rows of a unit are used.
    pub rows: u64,
    /// The expressions whose bounds are needed, and how they were written.
    wanted: Vec<(Expr, String)>,
    /// Bounds of [`PLACEHOLDER_WIDTH`] that stand for those that are not found.
    placeholder: Bounds,
    mechanism: ApproxBounds,
}

/// The result of a search, one for each expression: `None` if it was refused.
pub type Found = [Option<ClampingBounds>];

impl Search {
    /// The search for the columns whose bounds are to be found; `None` if there are none.
    ///
    /// # Errors
    /// If the budget is ρ, or too small.
    pub fn new(resolved: &Resolved, options: &Options, touched: &UnitContribution) -> Result<Option<Self>> {
        let mut wanted: Vec<(Expr, String)> = Vec::new();
        for (asked, statistic) in resolved.asked.iter().zip(&resolved.measured.statistics) {
            if let (Some(Range::Auto), Some(of)) = (&asked.range, statistic.ranged())
                && wanted.iter().all(|(other, _)| other != of)
            {
                wanted.push((of.clone(), asked.of.clone()));
            }
        }
        if wanted.is_empty() {
            return Ok(None);
        }
        let share = |epsilon: &Epsilon, part: &Rational| Epsilon::new(epsilon.value() * part);
        let one = Rational::new(SHARE.0, SHARE.1)?;
        let each = &one / &Rational::from(wanted.len() as u64);
        let left = Rational::ONE - one;
        let (found, rest) = match &options.guarantee {
            Guarantee::Pure(epsilon) => (share(epsilon, &each)?, Guarantee::Pure(share(epsilon, &left)?)),
            Guarantee::Approx(epsilon, delta) => {
                (share(epsilon, &each)?, Guarantee::Approx(share(epsilon, &left)?, delta.clone()))
            }
            Guarantee::Zcdp(_) => {
                let column = &wanted[0].1;
                return Err(Error::option(message!(
                    "finding bounds needs a share of ε, which a ρ budget does not have: use ",
                    ["epsilon"],
                    ", or give them with ",
                    ["bounds"],
                    " {column}=LO..HI"
                )));
            }
        };
        let rows = touched.groups().saturating_mul(touched.max_rows());
        let contribution = Contribution::overall(touched.adjacency(), Rows::AtMost(rows))?;
        let mechanism = ApproxBounds::new(&contribution, &found)?;
        Ok(Some(Self { rest, rows, wanted, placeholder: placeholder(resolved), mechanism }))
    }

    /// The cost of each search.
    pub fn costs(&self) -> Vec<Guarantee> {
        vec![self.mechanism.guarantee().clone(); self.wanted.len()]
    }

    /// The grid of an expression whose bounds were found; an arbitrary grid otherwise, whose noise is drawn and
    /// discarded.
    pub fn grid(&self, of: &Expr, found: &Found) -> Grid {
        Grid::new(self.found(of, found).unwrap_or(&self.placeholder))
    }

    /// The bounds that were found for an expression.
    pub fn found<'found>(&self, of: &Expr, found: &'found Found) -> Option<&'found Bounds> {
        let place = self.wanted.iter().position(|(wanted, _)| wanted == of)?;
        Some(&found.get(place)?.as_ref()?.bounds)
    }

    /// Whether its bounds are to be found.
    pub fn is_for(&self, of: &Expr) -> bool {
        self.wanted.iter().any(|(wanted, _)| wanted == of)
    }

    /// The counts of the first pass. Keys count as inputs too.
    pub fn measures(&self, design: &Design, keys: usize) -> Vec<Measure> {
        let column = |of: &Expr| keys + design.inputs.iter().position(|input| input == of).unwrap_or_default();
        self.wanted.iter().map(|(of, _)| Measure::Magnitudes { column: column(of) }).collect()
    }

    /// Releases the bounds.
    ///
    /// # Errors
    /// If the permit does not cover the costs.
    pub fn find(&self, groups: &Groups, permit: &mut Permit) -> Result<Vec<Option<ClampingBounds>>> {
        let mut found = Vec::new();
        for place in 0..self.wanted.len() {
            let counts = match groups.groups.first().map(|group| &group.measured[place]) {
                Some(Measured::Bins(counts)) => counts.as_slice(),
                _ => &[0; BINS],
            };
            found.push(self.mechanism.release(counts, permit)?.released().map(Release::into_value));
        }
        Ok(found)
    }

    /// The cost, in words.
    pub fn shares(&self) -> Vec<Share> {
        let share = |(_, name): &(Expr, String)| {
            let noise = format!("report noisy max; {} rows on one side of 0 are enough", self.mechanism.enough());
            let (what, cost) = (format!("bounds of {name}"), self.mechanism.guarantee().to_string());
            Share { what, cost, noise, half_width: None }
        };
        self.wanted.iter().map(share).collect()
    }

    /// The result, in words.
    pub fn words(&self, found: &Found) -> Vec<FoundBounds> {
        let words = |((_, name), found): (&(Expr, String), &Option<ClampingBounds>)| FoundBounds {
            column: name.clone(),
            bounds: found.as_ref().map(|found| found.bounds.to_string()),
            most_below: found.as_ref().map(|found| found.most_below),
            most_above: found.as_ref().map(|found| found.most_above),
            enough: found.is_none().then(|| self.mechanism.enough()),
        };
        self.wanted.iter().zip(found).map(words).collect()
    }
}
