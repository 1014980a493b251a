//! A query that several parties answer together.
//!
//! Each party has rows of its own and trusts nobody else with them. Every party computes the same exact statistic of its own
//! rows: a vector of whole numbers whose shape is public. A protocol adds these vectors up, with noise, and what the sum
//! says is shown as the answer of the query.
//!
//! | module | holds |
//! |---|---|
//! | [`shape`] | which numbers there are, in which order, and how far one unit moves them |
//! | `refuse` | what has no such shape, and what to write instead |
//! | [`exact`] | the numbers of one party, on their way to the noise |

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

use crate::answer::{Answer, HALF_WIDTHS, Share, Summary};
use crate::error::{Error, Result};
use crate::options::Options;
use crate::query::{Input, Query};
use crate::release::design::Paid;
use crate::release::draw;
use crate::resolve::text;

/// A query that parties can answer together: counts, sums, means, variances and histograms, of all rows or of groups with
/// public keys. No row was read yet.
///
/// # Privacy
/// [`Shape::sensitivity`] is how far one unit of one party's rows can move that party's vector, summed over all its numbers
/// (L1), for the unit and the adjacency of the options. It follows from the same bounds, caps and grids as a release by
/// [`Query`] alone.
///
/// Numbers of different kinds (a count of rows, a sum in grid steps) share one vector and one noise. Each kind has a factor, so
/// that it has its share of the budget, as it would have alone: see [`Part::times`].
///
/// # Accuracy
/// Counts are as accurate as those of [`Query`] with pure ε, if the noise on the sum is that of a curator. Sums and means are
/// rounded to a 64th of what one unit can move them by, and have some 3 % more noise.
pub struct JointQuery {
    query: Query,
    shape: Shape,
    /// Which of the shape's groups each measured group is.
    order: Vec<u32>,
}

impl std::fmt::Debug for JointQuery {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("JointQuery").field("shape", &self.shape).finish_non_exhaustive()
    }
}

/// The noise on every number of the sum, and how it came there.
pub struct Noise<'law> {
    /// What is promised, in words.
    pub guarantee: String,
    /// The law, in words.
    pub words: String,
    /// How many parties' vectors were added up.
    pub parties: u32,
    /// The noise on one number is within this many steps, with at least this probability.
    pub half_width: &'law dyn Fn(&Rational) -> reticent::Result<u64>,
}

impl std::fmt::Debug for Noise<'_> {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("Noise").field("words", &self.words).finish_non_exhaustive()
    }
}

impl JointQuery {
    /// Reads and checks the SQL against one party's own tables. Only headers and footers are looked at.
    ///
    /// # Errors
    /// As [`Query::prepare`]; [`Error::NotJoint`] if the query has no shape that is public and the same at every party.
    pub fn prepare(sql: &str, inputs: Vec<Input>, options: Options) -> Result<Self> {
        refuse::other_guarantees(&options.guarantee)?;
        let query = Query::prepare_if(sql, inputs, options, refuse::shapeless)?;
        let shape = Shape::of(&query)?;
        let order = query.order_of_groups()?.ok_or_else(|| refuse::equal_keys(&query))?;
        Ok(Self { query, shape, order })
    }

    /// The same query without any table, for who knows the SQL and the options alone: it has the same [`Shape`], and gives
    /// the same [`answer`](JointQuery::answer).
    ///
    /// # Errors
    /// As [`JointQuery::prepare`].
    pub fn imagined(sql: &str, options: Options) -> Result<Self> {
        let inputs = tables(sql)?.iter().map(|name| Input { table: Table::imagined(name), public: false }).collect();
        Self::prepare(sql, inputs, options)
    }

    /// Which numbers there are. It depends on the SQL and the options alone.
    pub fn shape(&self) -> &Shape {
        &self.shape
    }

    /// What will be done, in words; nothing of it depends on rows.
    pub fn words(&self) -> String {
        self.query.words()
    }

    /// Reads this party's rows and computes its numbers, exactly. **Not private**: to be called after the party's own charge
    /// is durable, for the noise that was charged for, and for nothing else.
    ///
    /// # Errors
    /// [`Error::Reading`] if the rows cannot be read to their end.
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

    /// The answer that the sum of all parties' vectors, with noise, is.
    ///
    /// # Errors
    /// If the sum is not of this shape.
    pub fn answer(&self, sum: &[i64], noise: &Noise<'_>) -> Result<Answer> {
        if sum.len() != self.shape.cells() {
            let (is, must) = (sum.len(), self.shape.cells());
            return Err(Error::Option(format!("the sum has {is} numbers, but the query has {must}")));
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
        let released = draw::of_numbers(design, keys, &additive, half_width)?;
        let share = |(part, paid): (&Part, &Paid)| -> Result<Share> {
            let noise = format!("{}; one unit moves it by at most {} steps", noise.words, part.moves);
            Ok(Share { what: part.words.clone(), cost: paid.cost.to_string(), noise, half_width: None })
        };
        let split = self.shape.parts.iter().zip(&design.additive).map(share).collect::<Result<_>>()?;
        let Shape { unit, adjacency, max_groups, max_rows, .. } = self.shape.clone();
        let (guarantee, bounds, half_widths) = (noise.guarantee.clone(), Vec::new(), HALF_WIDTHS.into());
        let summary = Summary { guarantee, unit, adjacency, max_groups, max_rows, split, bounds, half_widths };
        self.query.answer_of(&released, summary)
    }

    /// Groups in the order of the keys as they were written, which is the same at every party, whatever the types of its
    /// columns are.
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

/// The tables that a query names.
///
/// # Errors
/// If it is not SQL.
pub fn tables(sql: &str) -> Result<BTreeSet<String>> {
    text::tables(sql)
}

/// The ε that all numbers of a joint query cost together.
///
/// # Errors
/// If the options promise something else.
pub fn epsilon(options: &Options) -> Result<&reticent::privacy::Epsilon> {
    refuse::other_guarantees(&options.guarantee)?;
    match &options.guarantee {
        Guarantee::Pure(epsilon) => Ok(epsilon),
        other => Err(Error::Option(format!("{other} is not pure"))),
    }
}
