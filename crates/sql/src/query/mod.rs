//! A query, from its text to its answer.
//!
//! | module | holds |
//! |---|---|
//! | `advice` | what would make its errors smaller |
//! | `checks` | what a query must satisfy beyond being private |
//! | `cost` | what it takes whatever the rows, compared with limits before the charge |
//! | `forecast` | the errors to expect, before anything is spent |
//! | `noise_only` | columns whose error bars leave out the bias of clamping |
//! | `plan` | what is measured, how the budget is split, and what it costs |
//! | `share` | the aggregates with their weights, and the design that shares the budget among them |
//! | `weighed` | the answer where contribution limits are chosen privately |
//! | `words` | what will be done, in words and in its summary |

mod advice;
mod checks;
mod cost;
mod forecast;
mod ladder;
mod noise_only;
mod plan;
mod share;
mod weighed;
mod words;

use std::collections::BTreeSet;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use reticent::Permit;
use reticent::mechanism::range::ClampingBounds;
use reticent::message;
use reticent::privacy::{Adjacency, Guarantee};
use reticent::secrets::Quiet;
use reticent_bounding::{Bounding, ChoiceKey, ContributionCaps, Groups, Job, Layout, PublicKeys};
use reticent_table::Table;

use crate::algebra::expr::MOST_TEXTS;
use crate::algebra::{Data, Expr, Limits, Stability, Statistic, TooLarge};
use crate::answer::{Answer, AskedBar, Summary};
use crate::bounded::Bounded;
use crate::engine::{self, Engine};
use crate::error::{Error, Result};
use crate::keys::KnownKeys;
use crate::options::{Options, Range, Unit};
use crate::outcome::QueryOutcome;
use crate::release::contribution::UnitContribution;
use crate::release::search::{Found, Search};
use crate::release::{self, Cell, Design, derived, draw};
use crate::resolve::text::{on_a_large_stack, parse};
use crate::resolve::{Origin, Resolved, Resolver};
use crate::usage::Usage;
use checks::{check_bounds, refuse_common_files, unit_name};
use cost::Cost;
use plan::Plan;
use share::{design, weights};
use weighed::Weighed;

pub use ladder::{Ladder, Rung};

/// A table of the query.
#[derive(Debug)]
pub struct Input {
    /// Where the rows are.
    pub table: Table,
    /// Whether the table is public.
    pub public: bool,
}

/// A query that can be answered privately. No private row has been read yet.
pub struct Query {
    inputs: Vec<Input>,
    resolved: Resolved,
    options: Options,
    engine: Engine,
    design: Design,
    contribution: UnitContribution,
    keys: Option<KnownKeys>,
    weights: Vec<u32>,
    unit: Unit,
    search: Option<Search>,
    weighing: Option<Weighed>,
    guarantee: Guarantee,
    cost: Cost,
}

/// The bytes for each group in each column of the answer: its interval, the value shown and its text.
const BYTES_PER_CELL: usize = 96;

/// Before a search for bounds, or without one.
const NOTHING_FOUND: &Found = &[];

/// A further requirement that the caller has.
pub(crate) type Requirement = fn(&Resolved, Option<&KnownKeys>, &Options) -> Result<()>;

impl std::fmt::Debug for Query {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("Query").field("design", &self.design).finish_non_exhaustive()
    }
}

impl Query {
    /// Parses the SQL and plans the measurements. Only headers and footers are read, and public tables in full.
    ///
    /// # Errors
    /// If it is not valid SQL, refers to something that does not exist, cannot be answered privately, or is too large.
    pub fn prepare(sql: &str, inputs: Vec<Input>, options: Options) -> Result<Self> {
        Self::prepare_if(sql, inputs, options, |_, _, _| Ok(()))
    }

    /// Like [`Query::prepare`], but the query must also satisfy a `requirement`.
    pub(crate) fn prepare_if(
        sql: &str,
        mut inputs: Vec<Input>,
        options: Options,
        requirement: Requirement,
    ) -> Result<Self> {
        Table::read_together(inputs.iter_mut().map(|input| &mut input.table))?;
        let limits = Limits::from_now();
        let mut resolved = on_a_large_stack(&limits, || {
            let statement = parse(sql, &limits)?;
            Resolver::new(&inputs, &options, Usage::of(&statement), Some(options.now), limits).resolve(&statement)
        })?;
        check_bounds(&resolved, &inputs, &options)?;
        let rows = &resolved.measured.rows;
        let (texts, most) = (resolved.measured.long_texts(), limits.long_texts);
        if texts > most as u64 {
            let what = format!("its joins with public tables could turn 1 row into {texts} long texts");
            return Err(TooLarge::new(what, most).into());
        }
        refuse_common_files(&inputs, rows.tables())?;
        let unit = match rows.stability() {
            Stability::Unit => Unit::Column(unit_name(&inputs, rows.tables().iter().copied(), &options)),
            Stability::Row(copies) => {
                if copies.values().any(|&copies| copies > 1) {
                    let why = message!("name the unit's column with ", ["unit"], ", or use each table once");
                    return Err(Error::unsupported("a query in which one row counts several times", why));
                }
                Unit::Row
            }
        };
        let bounded = Bounded::new(&resolved, &unit, &options)?;
        let keys = KnownKeys::of(&mut resolved, &options)?;
        requirement(&resolved, keys.as_ref(), &options)?;
        let weights = weights(&resolved, &options)?;
        let groups = keys.as_ref().map(|keys| keys.len() as u64);
        let Plan { design, contribution, search, weighing, guarantee } =
            Plan::new(&resolved, bounded, groups, &weights, &options, &limits)?;
        let cost = Cost::of(&resolved, &design, keys.as_ref(), together(&resolved).len());
        cost.check(&limits)?;
        let computed: Vec<Expr> = resolved.measured.keys.iter().chain(&design.inputs).cloned().collect();
        let texts = engine::texts(&resolved.measured.rows, &computed);
        if texts > MOST_TEXTS {
            return Err(TooLarge::new(format!("it computes or compares {texts} texts for each row"), MOST_TEXTS).into());
        }
        let engine = Engine::default();
        Ok(Self {
            inputs,
            resolved,
            options,
            engine,
            design,
            contribution,
            keys,
            weights,
            unit,
            search,
            weighing,
            guarantee,
            cost,
        })
    }

    /// Sets the limits of its run.
    pub fn with_engine(self, engine: Engine) -> Self {
        Self { engine, ..self }
    }

    /// How it is run.
    pub fn engine(&self) -> &Engine {
        &self.engine
    }

    /// The guarantee of the answer, which is also its cost.
    pub fn guarantee(&self) -> &Guarantee {
        &self.guarantee
    }

    /// The privacy unit.
    pub fn unit(&self) -> &Unit {
        &self.unit
    }

    /// Whether it has groups.
    pub fn is_grouped(&self) -> bool {
        !self.resolved.keys.is_empty()
    }

    /// The adjacency.
    pub fn adjacency(&self) -> Adjacency {
        self.options.adjacency
    }

    /// How much one unit may contribute.
    pub(crate) fn contribution(&self) -> &UnitContribution {
        &self.contribution
    }

    /// The contribution bounds; `None` if they are chosen privately.
    fn caps(&self) -> Option<ContributionCaps> {
        let caps = ContributionCaps { groups: self.contribution.groups(), rows: self.contribution.max_rows() };
        self.weighing.is_none().then_some(caps)
    }

    /// Reads the rows and releases the answer. The permit must cover [`Query::guarantee`].
    ///
    /// # Errors
    /// [`Error::Reading`] if the rows cannot be read to the end.
    pub fn answer(&self, permit: &mut Permit) -> Result<Answer> {
        permit.within(&self.guarantee, |permit| self.released(permit))
    }

    fn released(&self, permit: &mut Permit) -> Result<Answer> {
        let _quiet = Quiet::new();
        let key = ChoiceKey::new(permit.secret()?);
        let found = self.find_bounds(key.clone(), permit)?;
        let (design, mut released, limits) = match &self.weighing {
            Some(weighed) => self.draw_weighed(weighed, &found, key, permit)?,
            None => {
                let design = self.first_design(&found)?;
                let groups = self.groups(&design, key)?;
                let released = draw::draw(&design, groups, None, &self.together(), permit)?;
                (design, released, Vec::new())
            }
        };
        if let Some(search) = &self.search {
            let asked = self.resolved.asked.iter().zip(&self.resolved.measured.statistics);
            for ((asked, statistic), cells) in asked.zip(&mut released.columns) {
                let is_auto = asked.range == Some(Range::Auto);
                if is_auto && statistic.ranged().is_none_or(|of| search.found(of, &found).is_none()) {
                    cells.fill(Cell::REFUSED);
                }
            }
        }
        self.answer_of(&design, &released, self.summary_of(&design, &found, limits))
    }

    /// Releases the bounds that are to be found.
    fn find_bounds(&self, key: ChoiceKey, permit: &mut Permit) -> Result<Vec<Option<ClampingBounds>>> {
        let Some(search) = &self.search else { return Ok(Vec::new()) };
        // Keys count as inputs too.
        let measures = search.measures(&self.design, self.resolved.keys.len());
        let layout = Layout { unit: self.has_unit(), keys: 0, measures };
        let caps = ContributionCaps { groups: 1, rows: search.rows };
        let groups = self.measure(layout, caps, None, key)?;
        search.find(&groups, permit)
    }

    /// The budget of the answer, after that of a search for bounds.
    fn budget(&self) -> &Guarantee {
        self.search.as_ref().map_or(&self.options.guarantee, |search| &search.rest)
    }

    /// The design for the contribution that was planned with; it changes only if bounds were to be found.
    fn first_design(&self, found: &Found) -> Result<Design> {
        if self.search.is_none() {
            return Ok(self.design.clone());
        }
        let budget = self.weighing.as_ref().map_or(self.budget(), |weighed| &weighed.weights.rest);
        self.design_with(&self.contribution, budget, found)
    }

    /// The design with the bounds that were found.
    fn design_with(&self, touched: &UnitContribution, budget: &Guarantee, found: &Found) -> Result<Design> {
        let found = self.search.as_ref().map(|search| (search, found));
        design(&self.resolved, &self.weights, touched, self.design.selects_keys(), budget, found)
    }

    /// Computes the answer from the released numbers of a design.
    ///
    /// What happens here depends on released values and public tables alone, so an answer that is too large, or that
    /// cannot be computed, is no failure of the run: otherwise a query could be written that fails whatever the rows.
    pub(crate) fn answer_of(&self, design: &Design, released: &release::Released, summary: Summary) -> Result<Answer> {
        let mut reserved = self.engine.memory.reserve();
        let cells = released.groups.saturating_mul(self.resolved.columns.len());
        reserved.try_grow(cells.saturating_mul(BYTES_PER_CELL)).map_err(|_| Error::AnswerTooLarge)?;
        let kinds = self.resolved.measured.kinds();
        let values = released.columns.iter().zip(&kinds[self.resolved.keys.len()..]);
        let values = values.map(|(cells, kind)| release::values::column(cells, *kind));
        let columns = released.keys.iter().cloned().chain(values).collect();
        let given = Data::new(kinds, columns, released.groups).ok_or(Error::Reading)?;
        let limits = Limits::from_now();
        let limits = Limits { public_bytes: limits.public_bytes.min(self.engine.memory.limit()), ..limits };
        let above = || -> Result<_> {
            let bar =
                |together: usize, place: usize, group: usize| draw::joint_bar(design, released, together, place, group);
            let derived = derived::intervals(&self.resolved.above, &self.depends(), released, &bar, &limits)?;
            Ok((self.resolved.above.compute(&given, &limits)?, derived))
        };
        let above = || catch_unwind(AssertUnwindSafe(above)).unwrap_or(Err(Error::AnswerTooLarge));
        let (computed, derived) = on_a_large_stack(&limits, above).map_err(|error| match error {
            Error::TooLarge(_) | Error::AnswerTooLarge => Error::AnswerTooLarge,
            _ => Error::Reading,
        })?;
        // The answer has a copy of every text; and joins may have made many rows of few groups.
        let bytes = computed.data.bytes();
        let rows = computed.data.rows().saturating_mul(Answer::bytes_per_row(self.resolved.columns.len()));
        if bytes > QueryOutcome::LONGEST || reserved.try_grow(bytes.saturating_add(rows)).is_err() {
            return Err(Error::AnswerTooLarge);
        }
        let bar = |asked: usize| match &self.resolved.measured.statistics[asked] {
            Statistic::StableMedian(_) | Statistic::StableMode(_) => AskedBar::None,
            Statistic::Quantile { .. } => AskedBar::Interval,
            _ => AskedBar::HalfWidth,
        };
        Ok(Answer::new(&computed, &self.resolved.columns, bar, self.noise_only(), released, &derived, summary))
    }

    /// For each column of the answer that has a bar of its own, how many aggregates with a bar it depends on.
    fn depends(&self) -> Vec<Option<usize>> {
        depends(&self.resolved)
    }

    /// Whether some column is computed from noisy values and has no bar.
    pub(crate) fn has_unbarred(&self) -> bool {
        dependencies(&self.resolved).contains(&None)
    }

    /// How many bars must hold at once, for some column.
    pub(crate) fn together(&self) -> BTreeSet<usize> {
        together(&self.resolved)
    }

    /// The measurements before noise, with fixed random choices. **Not private**: for tests only.
    ///
    /// # Errors
    /// As for [`Query::answer`].
    #[cfg(feature = "test-util")]
    pub fn exact(&self, key: ChoiceKey) -> Result<release::exact::Exact> {
        if let Some(weighed) = &self.weighing {
            return self.exact_weighed(weighed, key);
        }
        let groups = self.groups(&self.design, key)?;
        release::exact::exact(&self.design, &self.contribution, &groups)
    }

    /// The execution plan as text: for tests that compare neighbouring tables.
    #[cfg(feature = "test-util")]
    pub fn plan_text(&self) -> String {
        format!("{:?}", self.resolved.measured)
    }

    fn has_unit(&self) -> bool {
        matches!(self.unit, Unit::Column(_))
    }

    /// The roles of the computed columns in a design.
    fn layout(&self, design: &Design) -> Layout {
        Layout { unit: self.has_unit(), keys: self.resolved.keys.len(), measures: design.measures.clone() }
    }

    /// The measurements of each group. **Not private.**
    pub(crate) fn groups(&self, design: &Design, key: ChoiceKey) -> Result<Groups> {
        let caps = ContributionCaps { groups: self.contribution.groups(), rows: self.contribution.max_rows() };
        let keys = self.keys.as_ref().map(|keys| keys.typed.clone());
        self.measure(self.layout(design), caps, keys, key)
    }

    /// For each group, its index among the public keys as written; `None` if two of these are the same key here.
    pub(crate) fn order_of_groups(&self) -> Result<Option<Vec<u32>>> {
        match &self.keys {
            None => Ok(Some(vec![0])),
            Some(keys) => {
                let schema = engine::schema(&self.resolved.measured.rows, &self.computed());
                let order = keys.typed.order(&self.layout(&self.design), &schema);
                order.map_err(|error| Error::option(error.to_string()))
            }
        }
    }

    /// The options.
    pub(crate) fn options(&self) -> &Options {
        &self.options
    }

    /// What is measured, and how the budget would be split here.
    pub(crate) fn design(&self) -> &Design {
        &self.design
    }

    /// The group keys, in the user's words.
    pub(crate) fn key_words(&self) -> Vec<String> {
        self.resolved.keys.iter().map(|key| key.words.clone()).collect()
    }

    /// The public keys.
    pub(crate) fn known_keys(&self) -> Option<&KnownKeys> {
        self.keys.as_ref()
    }

    /// The expressions computed for each row: keys, then measured values.
    fn computed(&self) -> Vec<Expr> {
        self.resolved.measured.keys.iter().chain(&self.design.inputs).cloned().collect()
    }

    /// Reads the rows. A reader that panics on one of them prints nothing.
    fn measure(
        &self,
        layout: Layout,
        caps: ContributionCaps,
        keys: Option<PublicKeys>,
        choice: ChoiceKey,
    ) -> Result<Groups> {
        let _quiet = Quiet::new();
        let bounding = self.bounding(layout, self.has_unit().then_some(caps), keys, choice)?;
        let rows = &self.resolved.measured.rows;
        self.engine.measure(rows, &self.computed(), &self.inputs, &bounding).map_err(|_| Error::Reading)
    }

    fn bounding(
        &self,
        layout: Layout,
        caps: Option<ContributionCaps>,
        keys: Option<PublicKeys>,
        choice: ChoiceKey,
    ) -> Result<Bounding> {
        let schema = engine::schema(&self.resolved.measured.rows, &self.computed());
        let job = Job { schema, layout, caps, keys, choice };
        let bounding = Bounding::new(&job, &self.engine.memory).map_err(|_| Error::Reading)?;
        Ok(bounding.with_interrupt(self.engine.interrupt.clone()))
    }
}

/// For each column of the answer that is computed from others, how many aggregates with a bar it depends on; `None` if it
/// has no bar. Columns of other origin depend on none.
fn dependencies(resolved: &Resolved) -> Vec<Option<usize>> {
    let Resolved { above, keys, asked, columns, .. } = resolved;
    let all = derived::dependencies(above, keys.len(), asked.len()).into_iter().chain(std::iter::repeat(None));
    let number = |((_, origin), on): (&(String, Origin), Option<Arc<BTreeSet<usize>>>)| match origin {
        Origin::Derived => on.map(|on| on.len()),
        Origin::Key(_) | Origin::Asked(_) => Some(0),
    };
    columns.iter().zip(all).map(number).collect()
}

/// The same for those that have a bar of their own.
fn depends(resolved: &Resolved) -> Vec<Option<usize>> {
    dependencies(resolved).into_iter().map(|number| number.filter(|&number| number > 0)).collect()
}

/// How many bars must hold at once, for some column.
fn together(resolved: &Resolved) -> BTreeSet<usize> {
    depends(resolved).into_iter().flatten().collect()
}

/// A query can be shared between threads.
const _: fn() = || {
    fn shared<T: Send + Sync>() {}
    shared::<Arc<Query>>();
};
