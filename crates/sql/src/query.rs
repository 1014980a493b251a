//! A query, from its text to its answer.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use datafusion::arrow::array::{ArrayRef, Int64Array, RecordBatch, StringArray};
use datafusion::arrow::compute::{CastOptions, cast, cast_with_options};
use datafusion::arrow::datatypes::{DataType, Field, Schema};
use datafusion::catalog::MemTable;
use datafusion::common::Column;
use datafusion::common::tree_node::TreeNodeRecursion;
use datafusion::datasource::provider_as_source;
use datafusion::logical_expr::expr::InList;
use datafusion::logical_expr::{Expr, ExprSchemable, LogicalPlan, LogicalPlanBuilder};
use datafusion::physical_plan::ExecutionPlan;
use datafusion::physical_plan::execution_plan::reset_plan_states;
use datafusion::prelude::SessionContext;
use datafusion::scalar::ScalarValue;
use datafusion::sql::parser::Statement;
use datafusion::sql::sqlparser::ast::Statement as SqlStatement;
use reticent::Permit;
use reticent::privacy::{Adjacency, Guarantee};
use reticent::statistic::{Bounds, Grid};

use crate::answer::{Answer, HALF_WIDTHS, Summary};
use crate::bound::{self, Caps, ChoiceKey, Groups, Layout, PublicKeys};
use crate::check::{self, Checked, Origin, Owner, above, ranges};
use crate::error::{Error, Result, no_such, planning};
use crate::options::{Options, Range, Unit};
use crate::release::contribution::Touched;
use crate::release::design::Wanted;
use crate::release::search::Search;
use crate::release::{self, Design, draw};
use crate::runner::Runner;
use crate::session;
use crate::statement;
use crate::table::{Kind, Table, reading};
use crate::usage::Usage;

/// More public keys than any table can show.
const MOST_KEYS: usize = 10_000_000;

/// A table of the query.
#[derive(Debug)]
pub struct Input {
    /// Where its rows are.
    pub table: Table,
    /// Is it nobody's secret?
    pub public: bool,
}

/// A query that can be answered privately. No row was read yet.
pub struct Query {
    session: SessionContext,
    checked: Checked,
    options: Options,
    design: Design,
    touched: Touched,
    plan: Arc<dyn ExecutionPlan>,
    keys: Option<KnownKeys>,
    names: Vec<String>,
    origins: Vec<Origin>,
    weights: Vec<u32>,
    unit: Unit,
    search: Option<Search>,
    guarantee: Guarantee,
}

/// Public keys as they are compared with rows, and as they were written.
#[derive(Debug, Clone)]
pub(crate) struct KnownKeys {
    /// In the types of the plan: every combination, the last column changing fastest.
    pub typed: PublicKeys,
    /// The texts of each column by itself.
    texts: Vec<Vec<String>>,
}

impl KnownKeys {
    /// How many there are.
    pub fn len(&self) -> usize {
        self.texts.iter().map(Vec::len).product()
    }

    /// As it was written: a text for each column.
    pub fn written(&self, key: usize) -> Vec<&str> {
        let mut repeat = self.len();
        let text = |column: &'_ Vec<String>| {
            repeat /= column.len();
            key / repeat % column.len()
        };
        let places: Vec<usize> = self.texts.iter().map(text).collect();
        self.texts.iter().zip(places).map(|(column, place)| column[place].as_str()).collect()
    }
}

/// What a query must be beyond private, for who asks it.
pub(crate) type Also = fn(&Checked, Option<&KnownKeys>, &Options) -> Result<()>;

impl std::fmt::Debug for Query {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("Query").field("design", &self.design).finish_non_exhaustive()
    }
}

impl Query {
    /// Reads and checks the SQL, and plans what is measured. Only headers, footers and public tables are looked at.
    ///
    /// # Errors
    /// If it is not SQL, names what is not there, or cannot be answered privately.
    pub async fn prepare(sql: &str, inputs: Vec<Input>, options: Options) -> Result<Self> {
        Self::prepare_if(sql, inputs, options, |_, _, _| Ok(())).await
    }

    /// As [`Query::prepare`], if it is also what `also` says.
    pub(crate) async fn prepare_if(sql: &str, inputs: Vec<Input>, options: Options, also: Also) -> Result<Self> {
        let statement = statement::parse(sql)?;
        let session = session::new();
        register(&session, &inputs, &options, &Usage::of(&statement))?;
        let plan = plan(&session, statement, &inputs).await?;
        let owner_of = |table: &str| owner(table, &inputs, &options);
        let mut checked = check::check(&plan, &owner_of)?;
        check_unique(&session, &checked).await?;
        let unit = match (&checked.rows.owner, unit_name(&plan, &inputs, &options)?) {
            (Owner::Unit(_), Some(name)) => Unit::Column(name),
            _ => Unit::Row,
        };

        let grouped = !checked.keys.is_empty();
        let touched = match unit {
            Unit::Row => Touched::each_row(options.adjacency, grouped)?,
            Unit::Column(_) => Touched::new(options.adjacency, grouped, options.max_groups, options.max_rows)?,
        };
        let origins = checked.above.origins();
        let names: Vec<String> = plan.schema().fields().iter().map(|field| field.name().clone()).collect();
        let keys = public_keys(&mut checked, &origins, &names, &options)?;
        also(&checked, keys.as_ref(), &options)?;
        let weights = weights(&checked, &origins, &names, &options)?;
        let search = Search::new(&checked, &options, &touched)?;
        let (rest, found) = match &search {
            Some(search) => (search.rest.clone(), search.grids_before()?),
            None => (options.guarantee.clone(), BTreeMap::new()),
        };
        let select_keys = grouped && keys.is_none();
        let design = design(&checked, &options, &weights, &touched, select_keys, &rest, &found)?;
        let costs = search.iter().flat_map(Search::costs).chain([design.guarantee.clone()]);
        let guarantee = Guarantee::sequential(costs)?.expect("something is asked");
        let wanted: Vec<Expr> = checked.keys.iter().chain(&design.inputs).cloned().collect();
        let rows = checked.rows.select(wanted)?;
        let state = session.state();
        let plan = state.create_physical_plan(&rows).await.map_err(|error| planning(&error))?;
        Ok(Self {
            session,
            checked,
            options,
            design,
            touched,
            plan,
            keys,
            names,
            origins,
            weights,
            unit,
            search,
            guarantee,
        })
    }

    /// What the answer promises, which is what it costs.
    pub fn guarantee(&self) -> &Guarantee {
        &self.guarantee
    }

    /// Whose privacy is protected.
    pub fn unit(&self) -> &Unit {
        &self.unit
    }

    /// Which tables are neighbours.
    pub fn adjacency(&self) -> Adjacency {
        self.options.adjacency
    }

    /// What will be released, how, and at what price.
    ///
    /// # Errors
    /// None in practice.
    pub fn summary(&self) -> Result<Summary> {
        self.summary_of(&self.design, &BTreeMap::new())
    }

    fn summary_of(&self, design: &Design, found: &BTreeMap<String, Bounds>) -> Result<Summary> {
        let mut split = release::explain::shares(design)?;
        if let Some(search) = &self.search {
            split.extend(search.shares(found));
        }
        Ok(Summary {
            guarantee: self.guarantee.to_string(),
            unit: self.unit.to_string(),
            adjacency: self.options.adjacency.to_string(),
            max_groups: self.touched.groups(),
            max_rows: self.touched.max_rows(),
            split,
            half_widths: HALF_WIDTHS.into(),
        })
    }

    /// What one unit may contribute.
    pub fn touched(&self) -> &Touched {
        &self.touched
    }

    /// What will be done, in words; nothing of it depends on rows.
    pub fn words(&self) -> String {
        let (groups, rows) = (self.touched.groups(), self.touched.max_rows());
        let mut text = match &self.unit {
            Unit::Row => "Every row is somebody else.".to_owned(),
            Unit::Column(unit) => format!(
                "All rows with the same {unit} are one person's, of which at most {rows} count in each of at most {groups} \
                 groups, chosen at random; rows without a {unit} are dropped."
            ),
        };
        text += match self.options.adjacency {
            Adjacency::AddRemove => " Whether any one of them is in the table at all is protected.",
            Adjacency::Replace => " What the table says of any one of them is protected; how many there are is not.",
        };
        let keys = self.checked.keys.iter().map(check::words).collect::<Vec<_>>().join(", ");
        match (&self.keys, self.design.selects_keys()) {
            (Some(known), _) => {
                let number = known.len();
                text += &format!(
                    " The {number} keys of {keys} are public: all of them appear, empty ones too, and no others."
                );
            }
            (None, true) => {
                text += &format!(" The keys of {keys} come from the data: those of few people do not appear.");
            }
            (None, false) => text += " There is one answer for all rows.",
        }
        text
    }

    /// Reads the rows and releases the answer. The permit must be worth [`Query::guarantee`].
    ///
    /// # Errors
    /// [`Error::Reading`] if the rows cannot be read to their end.
    pub async fn answer(&self, permit: &mut Permit, key: ChoiceKey) -> Result<Answer> {
        self.answer_on(&self.session, permit, key).await
    }

    /// As [`Query::answer`], but the rows are read wherever `runner` says.
    ///
    /// # Errors
    /// [`Error::Reading`] if the rows cannot be read to their end.
    pub async fn answer_on(&self, runner: &dyn Runner, permit: &mut Permit, key: ChoiceKey) -> Result<Answer> {
        let (mut design, mut found) = (Cow::Borrowed(&self.design), BTreeMap::new());
        if let Some(search) = &self.search {
            let layout = Layout {
                unit: self.has_unit(),
                keys: 0,
                measures: search.measures(&self.design, self.checked.keys.len()),
            };
            let caps = Caps { groups: 1, rows: search.rows };
            let groups = self.measure(runner, &layout, caps, None, key.clone()).await?;
            found = search.find(&groups, permit)?;
            let grids = found.iter().map(|(name, bounds)| (name.clone(), Grid::new(bounds))).collect();
            let Self { checked, options, weights, touched, .. } = self;
            let select_keys = self.design.selects_keys();
            design = Cow::Owned(self::design(checked, options, weights, touched, select_keys, &search.rest, &grids)?);
        }
        let groups = self.groups(runner, &design, key).await?;
        let released = draw::draw(&design, groups, permit)?;
        self.answer_of(&released, self.summary_of(&design, &found)?).await
    }

    /// The answer that released numbers are.
    pub(crate) async fn answer_of(&self, released: &release::Released, summary: Summary) -> Result<Answer> {
        let table = self.post_process(released).await?;
        Answer::new(&table, self.names.clone(), &self.origins, released, summary)
    }

    /// What is measured before noise, with frozen choices. **Not private**: for tests only.
    ///
    /// # Errors
    /// As [`Query::answer`].
    #[cfg(feature = "test-util")]
    pub async fn exact(&self, key: ChoiceKey) -> Result<release::exact::Exact> {
        self.exact_on(&self.session, key).await
    }

    /// As [`Query::exact`], but the rows are read wherever `runner` says. **Not private**: for tests only.
    ///
    /// # Errors
    /// As [`Query::answer`].
    #[cfg(feature = "test-util")]
    pub async fn exact_on(&self, runner: &dyn Runner, key: ChoiceKey) -> Result<release::exact::Exact> {
        let groups = self.groups(runner, &self.design, key).await?;
        release::exact::exact(&self.design, &self.touched, &groups)
    }

    /// The plan of the engine, as text: for tests that compare neighbouring tables.
    #[cfg(feature = "test-util")]
    pub fn plan_text(&self) -> String {
        datafusion::physical_plan::displayable(self.plan.as_ref()).indent(true).to_string()
    }

    fn has_unit(&self) -> bool {
        matches!(self.unit, Unit::Column(_))
    }

    /// What the plan's columns are to a design.
    fn layout(&self, design: &Design) -> Layout {
        Layout { unit: self.has_unit(), keys: self.checked.keys.len(), measures: design.measures.clone() }
    }

    /// What is measured of each group. **Not private.**
    pub(crate) async fn groups(&self, runner: &dyn Runner, design: &Design, key: ChoiceKey) -> Result<Groups> {
        let caps = Caps { groups: self.touched.groups(), rows: self.touched.max_rows() };
        let keys = self.keys.as_ref().map(|keys| &keys.typed);
        self.measure(runner, &self.layout(design), caps, keys, key).await
    }

    /// Which of the public keys, as they were written, each group is of; nothing if two of them are one key here.
    pub(crate) fn order_of_groups(&self) -> Result<Option<Vec<u32>>> {
        match &self.keys {
            None => Ok(Some(vec![0])),
            Some(keys) => {
                let order = keys.typed.order(&self.layout(&self.design), &self.plan.schema());
                order.map_err(|error| planning(&error))
            }
        }
    }

    /// Where its rows are read, unless somebody else is told to.
    pub(crate) fn session(&self) -> &SessionContext {
        &self.session
    }

    /// How it is to be answered.
    pub(crate) fn options(&self) -> &Options {
        &self.options
    }

    /// What is measured, and how it would be paid for here.
    pub(crate) fn design(&self) -> &Design {
        &self.design
    }

    /// What it groups by, in the user's words.
    pub(crate) fn key_words(&self) -> Vec<String> {
        self.checked.keys.iter().map(check::words).collect()
    }

    /// Its public keys.
    pub(crate) fn known_keys(&self) -> Option<&KnownKeys> {
        self.keys.as_ref()
    }

    /// Reads the rows.
    async fn measure(
        &self,
        runner: &dyn Runner,
        layout: &Layout,
        caps: Caps,
        keys: Option<&PublicKeys>,
        key: ChoiceKey,
    ) -> Result<Groups> {
        let caps = self.has_unit().then_some(caps);
        reading(async {
            // A plan runs once; a search for bounds makes two runs.
            let rows = reset_plan_states(Arc::clone(&self.plan))?;
            let partitions = self.session.copied_config().target_partitions();
            let plan = Arc::new(bound::plan(rows, layout, caps, keys, key, partitions)?);
            let output = runner.run(plan.clone()).await?;
            bound::merge(&plan, output)
        })
        .await
    }

    /// What the query does with released values.
    async fn post_process(&self, released: &release::Released) -> Result<Vec<RecordBatch>> {
        let failed = |_| Error::Reading;
        let schema = &self.checked.above.schema;
        let asked = self.checked.asked.iter().zip(&released.columns);
        let values = asked.map(|(asked, cells)| release::values::column(cells, &asked.data_type));
        let values = values.collect::<Result<Vec<_>, _>>().map_err(failed)?;
        let rows: ArrayRef = Arc::new(Int64Array::from_iter_values(0..released.groups as i64));
        let keys = released.keys.iter().zip(schema.fields()).map(|(key, field)| cast(key, field.data_type()));
        let keys = keys.collect::<Result<Vec<_>, _>>().map_err(|_| Error::Reading)?;
        let columns: Vec<ArrayRef> = keys.into_iter().chain(values).chain([rows]).collect();
        let numbered =
            |(place, column): (usize, &ArrayRef)| Field::new(format!("c{place}"), column.data_type().clone(), true);
        let fields: Vec<Field> = columns.iter().enumerate().map(numbered).collect();
        let fields = Arc::new(Schema::new(fields));
        let batch = RecordBatch::try_new(Arc::clone(&fields), columns).map_err(|_| Error::Reading)?;
        let source = MemTable::try_new(fields, vec![vec![batch]]).map_err(failed)?;
        let count = schema.fields().len();
        let named = |place: usize| {
            let column = Expr::Column(Column::from_name(format!("c{place}")));
            if place == count {
                return column.alias(above::ROW);
            }
            let (qualifier, field) = schema.qualified_field(place);
            column.alias_qualified(qualifier.cloned(), field.name())
        };
        let plan = LogicalPlanBuilder::scan("released", provider_as_source(Arc::new(source)), None)
            .and_then(|plan| plan.project((0..=count).map(named)))
            .and_then(LogicalPlanBuilder::build)
            .map_err(failed)?;
        let plan = self.checked.above.on(plan)?;
        session::run(&self.session, &plan).await.map_err(failed)
    }
}

fn register(session: &SessionContext, inputs: &[Input], options: &Options, usage: &Usage) -> Result<()> {
    let bounded: BTreeSet<&str> =
        options.bounds.keys().map(|name| name.rsplit_once('.').map_or(name.as_str(), |(_, column)| column)).collect();
    for Input { table, .. } in inputs {
        let unit = match options.unit_of(table.name()) {
            Unit::Column(name) => Some(name.clone()),
            Unit::Row => None,
        };
        let columns = table.columns().unwrap_or_else(|| {
            usage.mentioned.iter().cloned().chain(unit.clone()).collect::<BTreeSet<_>>().into_iter().collect()
        });
        let kinds: Vec<(String, Kind)> = columns
            .into_iter()
            .map(|name| {
                let number = usage.numbers.contains(&name) || bounded.contains(name.as_str());
                // Two people must not become one because their ids are the same float.
                let number = number && unit.as_ref() != Some(&name);
                (name, if number { Kind::Number } else { Kind::Text })
            })
            .collect();
        let provider = table.provider(&kinds)?;
        session
            .register_table(datafusion::common::TableReference::bare(table.name().to_owned()), provider)
            .map_err(|error| planning(&error))?;
    }
    Ok(())
}

async fn plan(session: &SessionContext, statement: SqlStatement, inputs: &[Input]) -> Result<LogicalPlan> {
    let state = session.state();
    let statement = Statement::Statement(Box::new(statement));
    let tables = state.resolve_table_references(&statement).map_err(|error| planning(&error))?;
    let names: Vec<&str> = inputs.iter().map(|input| input.table.name()).collect();
    if let Some(unknown) = tables.iter().find(|table| table.schema().is_some() || !names.contains(&table.table())) {
        return Err(Error::Name(no_such("table", &unknown.to_string(), &names)));
    }
    let plan = state.statement_to_plan(statement).await;
    let plan = plan.and_then(|plan| state.analyzer().execute_and_check(plan, state.config_options(), |_, _| {}));
    plan.map_err(|error| planning(&error))
}

fn owner(table: &str, inputs: &[Input], options: &Options) -> Result<Owner> {
    let input = inputs.iter().find(|input| input.table.name() == table);
    let names: Vec<&str> = inputs.iter().map(|input| input.table.name()).collect();
    let input = input.ok_or_else(|| Error::Name(no_such("table", table, &names)))?;
    if input.public {
        return Ok(Owner::Public);
    }
    let Unit::Column(unit) = options.unit_of(table) else { return Ok(Owner::Row) };
    if let Some(columns) = input.table.columns()
        && !columns.contains(unit)
    {
        let columns: Vec<&str> = columns.iter().map(String::as_str).collect();
        let fault = no_such("column", unit, &columns);
        return Err(Error::table(table, format!("its unit is missing: {fault} (--unit {table}.COLUMN names it)")));
    }
    Ok(Owner::Unit(vec![Column::from_name(unit)]))
}

/// The unit as the ledger knows it: the column of the private tables that the query reads.
fn unit_name(plan: &LogicalPlan, inputs: &[Input], options: &Options) -> Result<Option<String>> {
    let mut names = BTreeSet::new();
    let visited = plan.apply_with_subqueries(|node| {
        if let LogicalPlan::TableScan(scan) = node {
            let read = inputs.iter().find(|input| !input.public && input.table.name() == scan.table_name.table());
            if let Some(Unit::Column(name)) = read.map(|input| options.unit_of(input.table.name())) {
                names.insert(name.clone());
            }
        }
        Ok(TreeNodeRecursion::Continue)
    });
    visited.map_err(|error| planning(&error))?;
    // Tables that are joined on the unit may call it differently; the ledger knows it by all its names.
    let names: Vec<String> = names.into_iter().collect();
    Ok((!names.is_empty()).then(|| names.join(", ")))
}

/// Each private row may match one row of a public table at most, where the row is the unit.
async fn check_unique(session: &SessionContext, checked: &Checked) -> Result<()> {
    for unique in &checked.rows.unique {
        let failed = |error: datafusion::error::DataFusionError| planning(&error);
        let keys = unique.keys.clone();
        let grouped = LogicalPlanBuilder::from(unique.plan.clone())
            .aggregate(
                keys.clone(),
                [datafusion::functions_aggregate::expr_fn::count(datafusion::prelude::lit(1)).alias("n")],
            )
            .and_then(|plan| plan.filter(Expr::Column(Column::from_name("n")).gt(datafusion::prelude::lit(1))))
            .and_then(|plan| plan.limit(0, Some(1)))
            .and_then(LogicalPlanBuilder::build)
            .map_err(failed)?;
        let twice = session::run(session, &grouped).await.map_err(failed)?;
        if twice.iter().any(|batch| batch.num_rows() > 0) {
            let words = keys.iter().map(check::words).collect::<Vec<_>>().join(", ");
            return Err(Error::not_private(
                format!("a join with a public table in which {words} is not unique"),
                "one private row would count several times; make it unique, or name the unit's column with --unit",
            ));
        }
    }
    Ok(())
}

/// The keys that are public, if all are; rows with other values of those that are known are dropped.
///
/// A key is named by its column, by its own words, or by its name in the answer. A column that the query does not group by
/// may have keys as well: a policy lists those of the whole table.
fn public_keys(
    checked: &mut Checked,
    origins: &[Origin],
    names: &[String],
    options: &Options,
) -> Result<Option<KnownKeys>> {
    let failed = |error: datafusion::error::DataFusionError| planning(&error);
    let mut known: Vec<Option<(ArrayRef, Vec<&str>)>> = vec![None; checked.keys.len()];
    for (name, values) in &options.keys {
        let is = |key: &Expr| match key.clone().unalias() {
            Expr::Column(column) => column.name == *name || column.flat_name() == *name,
            other => check::words(&other) == *name,
        };
        let in_answer = names.iter().zip(origins).find_map(|(column, origin)| match origin {
            Origin::Key(place) if column == name => Some(*place),
            _ => None,
        });
        let schema = checked.rows.plan.schema();
        let Some(place) = checked.keys.iter().position(is).or(in_answer) else {
            if checked.keys.is_empty() || schema.fields().iter().any(|field| field.name() == name) {
                continue;
            }
            let keys: Vec<String> = checked.keys.iter().map(check::words).collect();
            let keys: Vec<&str> = keys.iter().map(String::as_str).collect();
            return Err(Error::Option(format!("--keys {name}=…: {}", no_such("key in GROUP BY", name, &keys))));
        };
        let to = checked.keys[place].get_type(schema).map_err(failed)?;
        known[place] = Some(typed(name, values, &to)?);
    }
    if known.is_empty() {
        return Ok(None);
    }
    if known.iter().all(Option::is_some) {
        return product(&known.into_iter().flatten().collect::<Vec<_>>()).map(Some);
    }
    for (key, values) in checked.keys.clone().iter().zip(known) {
        let Some((values, _)) = values else { continue };
        let list = (0..values.len()).map(|row| ScalarValue::try_from_array(&values, row));
        let list = list.map(|value| value.map(|value| Expr::Literal(value, None))).collect::<Result<Vec<_>, _>>();
        let list = InList::new(Box::new(key.clone().unalias()), list.map_err(failed)?, false);
        checked.rows = checked.rows.clone().filtered(&Expr::InList(list))?;
    }
    Ok(None)
}

/// Key values of the type that the key has, each once, and as they were written.
fn typed<'text>(name: &str, values: &'text [String], to: &DataType) -> Result<(ArrayRef, Vec<&'text str>)> {
    let distinct: BTreeSet<&str> = values.iter().map(String::as_str).collect();
    let distinct: Vec<&str> = distinct.into_iter().collect();
    let text: ArrayRef = Arc::new(StringArray::from(distinct.clone()));
    let safe = CastOptions { safe: true, ..CastOptions::default() };
    let typed = cast_with_options(&text, to, &safe);
    let typed =
        typed.map_err(|_| Error::Option(format!("--keys {name}=…: its values are not of the column's type, {to}")))?;
    match (0..typed.len()).find(|&row| typed.is_null(row)) {
        Some(row) => {
            Err(Error::Option(format!("--keys {name}=…: {:?} is not of the column's type, {to}", distinct[row])))
        }
        None if distinct.is_empty() => Err(Error::Option(format!("--keys {name}=…: there are none"))),
        None => Ok((typed, distinct)),
    }
}

/// Every combination.
fn product(columns: &[(ArrayRef, Vec<&str>)]) -> Result<KnownKeys> {
    let total = columns.iter().try_fold(1usize, |total, (column, _)| total.checked_mul(column.len()));
    let total = total.filter(|&total| total <= MOST_KEYS);
    let total =
        total.ok_or_else(|| Error::Option(format!("there are more than {MOST_KEYS} combinations of --keys")))?;
    let mut repeat = total;
    let mut all = Vec::new();
    for (column, _) in columns {
        repeat /= column.len();
        let places = (0..total).map(|row| (row / repeat % column.len()) as u64);
        let places = datafusion::arrow::array::UInt64Array::from_iter_values(places);
        all.push(datafusion::arrow::compute::take(column, &places, None).map_err(|_| Error::Reading)?);
    }
    let texts = columns.iter().map(|(_, texts)| texts.iter().map(|&text| text.to_owned()).collect()).collect();
    Ok(KnownKeys { typed: PublicKeys { columns: all }, texts })
}

/// The weight of each aggregate, by its own words or by the name of its column.
fn weights(checked: &Checked, origins: &[Origin], names: &[String], options: &Options) -> Result<Vec<u32>> {
    let mut weights = vec![1; checked.asked.len()];
    for (name, weight) in &options.weights {
        let by_words = checked.asked.iter().position(|asked| asked.words.eq_ignore_ascii_case(name));
        let by_name = names.iter().zip(origins).find_map(|(column, origin)| match origin {
            Origin::Asked(place) if column == name => Some(*place),
            _ => None,
        });
        let place = by_name.or(by_words).ok_or_else(|| {
            let columns = names.iter().zip(origins).filter(|(_, origin)| matches!(origin, Origin::Asked(_)));
            let known: Vec<&str> = columns.map(|(name, _)| name.as_str()).collect();
            Error::Option(format!("--weight {name}=…: {}", no_such("aggregate", name, &known)))
        })?;
        weights[place] = *weight;
    }
    Ok(weights)
}

fn design(
    checked: &Checked,
    options: &Options,
    weights: &[u32],
    touched: &Touched,
    select_keys: bool,
    budget: &Guarantee,
    found: &BTreeMap<String, Grid>,
) -> Result<Design> {
    let mut wanted = Vec::new();
    for (asked, weight) in checked.asked.iter().zip(weights) {
        let grid = match asked.statistic.ranged() {
            None => None,
            Some(of) => Some(match ranges::range(of, &options.bounds)? {
                Range::Public(bounds) => Grid::new(&bounds),
                Range::Auto => match found.get(&check::words(of)) {
                    Some(grid) => grid.clone(),
                    None => return Err(Error::Bounds { column: check::words(of) }),
                },
            }),
        };
        wanted.push(Wanted { asked, grid, weight: *weight });
    }
    Design::new(&wanted, touched, select_keys, budget)
}
