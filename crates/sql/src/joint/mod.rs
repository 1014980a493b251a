//! Queries that several parties answer together.
//!
//! Each party has rows of its own and trusts nobody else with them. Every party computes the same exact statistic of
//! its own rows: a vector of integers whose shape is public. A protocol adds these vectors up, with noise, and the sum
//! is presented as the answer to the query.
//!
//! | module | contents |
//! |---|---|
//! | [`shape`] | which numbers there are, in which order, and how far one unit moves them |
//! | `refuse` | queries without such a shape, and what to write instead |
//! | [`exact`] | one party's numbers before noise |

pub mod exact;
mod refuse;
pub mod shape;

use std::collections::BTreeSet;

use reticent::exact::Rational;
use reticent::privacy::Guarantee;
use reticent::release::{LEVEL, joint_level};
use reticent_bounding::{ChoiceKey, Groups};
use reticent_table::Table;

pub use exact::Exact;
pub use shape::{Part, Shape};

use crate::answer::{Answer, Share, Shows, Summary, half_widths};
use crate::engine::MEMORY;
use crate::error::{Error, Result};
use crate::limits::RunLimits;
use crate::options::Options;
use crate::query::{Input, Query};
use crate::release::design::Paid;
use crate::release::draw;
use crate::resolve::text;

/// A query that parties can answer together: counts, sums, means, variances and histograms, of all rows or of groups
/// with public keys. No row has been read yet.
///
/// # Privacy
/// [`Shape::sensitivity`] is the most that one unit of one party's rows can move that party's vector in the L1 norm,
/// for the unit and adjacency of the options. It follows from the same clamping bounds, contribution limits and grids
/// as a release by [`Query`].
///
/// Numbers of different kinds (a count of rows, a sum in grid steps) share one vector and one noise distribution. A
/// factor per kind gives it the same share of the budget as it would have separately: see [`Part::times`].
///
/// # Accuracy
/// Counts are as accurate as those of [`Query`] with pure ε, if the noise on the sum is that of a central curator. Sums
/// and means are rounded to 1/64 of what one unit can move them by, and have about 3 % more noise.
pub struct JointQuery {
    query: Query,
    shape: Shape,
    /// For each measured group, its index in the shape.
    order: Vec<u32>,
}

impl std::fmt::Debug for JointQuery {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("JointQuery").field("shape", &self.shape).finish_non_exhaustive()
    }
}

/// The noise on every number of the sum, and where it comes from.
pub struct Noise<'law> {
    /// The guarantee, in words.
    pub guarantee: String,
    /// The distribution, in words.
    pub words: String,
    /// The number of parties whose vectors were added up.
    pub parties: u32,
    /// For a probability, the number of steps that the noise on one number stays within.
    pub half_width: &'law dyn Fn(&Rational) -> reticent::Result<u64>,
}

impl std::fmt::Debug for Noise<'_> {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("Noise").field("words", &self.words).finish_non_exhaustive()
    }
}

impl JointQuery {
    /// Parses and checks the SQL against one party's own tables. Only headers and footers are read.
    ///
    /// # Errors
    /// As for [`Query::prepare`]; [`Error::NotJoint`] if the query has no shape that is public and the same at every
    /// party.
    pub fn prepare(sql: &str, inputs: Vec<Input>, options: Options) -> Result<Self> {
        refuse::other_guarantees(&options.guarantee)?;
        // How active people are is known to no party alone.
        let options = Options { may_weigh: false, ..options };
        let query = Query::prepare_if(sql, inputs, options, refuse::shapeless)?;
        query.check_memory(&RunLimits { memory: Some(MEMORY as u64), ..RunLimits::default() })?;
        let shape = Shape::of(&query)?;
        let order = query.order_of_groups()?.ok_or_else(|| refuse::equal_keys(&query))?;
        Ok(Self { query, shape, order })
    }

    /// The same query without tables, for those who know only the SQL and the options: it has the same [`Shape`] and
    /// gives the same [`answer`](JointQuery::answer).
    ///
    /// # Errors
    /// As for [`JointQuery::prepare`].
    pub fn imagined(sql: &str, options: Options) -> Result<Self> {
        let inputs = tables(sql)?.iter().map(|name| Input { table: Table::imagined(name), public: false }).collect();
        Self::prepare(sql, inputs, options)
    }

    /// The shape of the vector. It depends only on the SQL and the options.
    pub fn shape(&self) -> &Shape {
        &self.shape
    }

    /// A description of what will be done; independent of the rows.
    pub fn words(&self) -> String {
        self.query.words()
    }

    /// Reads this party's rows and computes its exact numbers. **Not private**: call it only after the party's own
    /// charge is durable, and use the result only for the noise that was charged for.
    ///
    /// # Errors
    /// [`Error::Reading`] if the rows cannot be read to the end.
    pub fn measure(&self, key: ChoiceKey) -> Result<Exact> {
        let query = &self.query;
        let groups = self.in_written_order(query.groups(query.design(), key)?)?;
        let mut all = Vec::with_capacity(self.shape.cells());
        for (paid, part) in query.design().additive.iter().zip(&self.shape.parts) {
            all.extend(draw::numbers(&paid.part, &groups.groups).into_iter().map(|number| part.scaled(number)));
        }
        match all.len() == self.shape.cells() {
            true => Ok(Exact::new(all)),
            false => Err(Error::Reading),
        }
    }

    /// Computes the answer from the noisy sum of all parties' vectors.
    ///
    /// # Errors
    /// If the sum does not have this shape.
    pub fn answer(&self, sum: &[i64], noise: &Noise<'_>) -> Result<Answer> {
        if sum.len() != self.shape.cells() {
            let (is, must) = (sum.len(), self.shape.cells());
            return Err(Error::option(format!("the sum has {is} numbers, but the query needs {must}")));
        }
        let design = self.query.design();
        let mut rest = sum;
        let mut additive = Vec::new();
        for part in &self.shape.parts {
            let (numbers, others) = rest.split_at(part.numbers * self.shape.groups());
            additive.push(numbers.iter().map(|&number| part.unscaled(number)).collect());
            rest = others;
        }
        let half_width = |paid: &Paid, together: u64| -> Result<u64> {
            let level = joint_level(&Rational::try_from(LEVEL)?, together);
            let place = design.additive.iter().position(|one| one.part == paid.part).unwrap_or_default();
            Ok(self.shape.parts[place].half_width((noise.half_width)(&level)?, noise.parties))
        };
        let keys = self.query.known_keys().map_or_else(Vec::new, |keys| keys.typed.columns.clone());
        let released = draw::of_numbers(design, keys, additive, &self.query.together(), half_width)?;
        let share = |(part, paid): (&Part, &Paid)| -> Result<Share> {
            let noise = format!("{}; one unit moves it by at most {} steps", noise.words, part.moves);
            Ok(Share { what: part.words.clone(), cost: paid.cost.to_string(), noise, half_width: None })
        };
        let split = self.shape.parts.iter().zip(&design.additive).map(share).collect::<Result<_>>()?;
        let Shape { unit, adjacency, max_groups, max_rows, .. } = self.shape.clone();
        let (guarantee, bounds, half_widths) = (
            noise.guarantee.clone(),
            Vec::new(),
            half_widths(None, Shows { without: self.query.has_unbarred(), ..Shows::default() }),
        );
        let (max_groups, max_rows, limits) = (Some(max_groups), Some(max_rows), Vec::new());
        let summary = Summary { guarantee, unit, adjacency, max_groups, max_rows, limits, split, bounds, half_widths };
        self.query.answer_of(design, &released, summary)
    }

    /// Sorts groups by their keys as written, which is the same order at every party, whatever the types of its
    /// columns.
    fn in_written_order(&self, groups: Groups) -> Result<Groups> {
        let Groups { keys, groups } = groups;
        if groups.len() != self.order.len() {
            return Err(Error::Reading);
        }
        let mut placed: Vec<_> = self.order.iter().zip(groups).collect();
        placed.sort_by_key(|(place, _)| **place);
        Ok(Groups { keys, groups: placed.into_iter().map(|(_, group)| group).collect() })
    }
}

/// The names of the tables in a query.
///
/// # Errors
/// If it is not valid SQL.
pub fn tables(sql: &str) -> Result<BTreeSet<String>> {
    text::tables(sql)
}

/// The ε that all numbers of a joint query cost together.
///
/// # Errors
/// If the options have another kind of guarantee.
pub fn epsilon(options: &Options) -> Result<&reticent::privacy::Epsilon> {
    refuse::other_guarantees(&options.guarantee)?;
    match &options.guarantee {
        Guarantee::Pure(epsilon) => Ok(epsilon),
        other => Err(Error::option(format!("{other} is not pure"))),
    }
}
