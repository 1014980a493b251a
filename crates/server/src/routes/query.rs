//! Private SQL.

use std::collections::BTreeMap;
use std::sync::Arc;

use axum::Extension;
use axum::extract::State;
use axum::response::Response;
use reticent::Permit;
use reticent::ledger::{Charge, Ledger, OnInterruption, ReleaseOutcome, RunResult};
use reticent_ledger::{DurableLedger, Hash, LONGEST_NAME, fresh_id};
use reticent_sql::advice::DryRun;
use reticent_sql::answer::{Answer, Entry, Summary};
use reticent_sql::settings::clock;
use reticent_sql::{Asked, Limits, Query, QueryOutcome, Settings, dialect, text};
use serde::{Deserialize, Serialize, Serializer};
use serde_json::value::RawValue;
use tokio::sync::OwnedSemaphorePermit;
use utoipa::ToSchema;

use super::number::Number;
use crate::access::Caller;
use crate::app::{App, Capped};
use crate::body::{JsonText, Sender};
use crate::error::{Error, Problem, Result};
use crate::reply::{self, held};
use crate::tables::TableView;

/// A query. The privacy unit, the adjacency and the budget are set by the table's policy, not by the query.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct Question {
    /// The query.
    #[schema(example = "SELECT department, COUNT(*) AS people FROM staff GROUP BY department")]
    pub sql: String,
    /// The answer's epsilon.
    pub epsilon: Option<Number>,
    /// The answer's delta, together with epsilon; required for group selection (unknown keys).
    pub delta: Option<Number>,
    /// Instead of epsilon: the answer's rho, in zero-concentrated differential privacy.
    pub rho: Option<Number>,
    /// Confirms an epsilon above 10 or a delta above 0.001, which give almost no protection.
    #[serde(default)]
    pub allow_large_epsilon: bool,
    /// The request id, of at most 4096 bytes: repeating the request costs nothing and always returns the same answer.
    #[schema(max_length = 4096)]
    pub request_id: Option<String>,
    /// Spends nothing, and shows what would be released, the errors to expect, what they come from, and what would make
    /// them smaller.
    #[serde(default)]
    pub dry_run: bool,
    /// How many rows a group is expected to have, for the errors that a dry run predicts; 1000 if not given.
    pub expect_rows: Option<u64>,
    /// Clamping bounds by column, chosen without looking at the data: `0..120`, or `auto` to find them privately.
    #[serde(default)]
    pub bounds: BTreeMap<String, String>,
    /// Public keys by column: all of them appear in the answer, and no others.
    #[serde(default)]
    pub keys: BTreeMap<String, Vec<String>>,
    /// Shares of the budget, by the name of an aggregate in the answer.
    #[serde(default)]
    pub weights: BTreeMap<String, u32>,
    /// The most groups to which a unit contributes. If neither this nor `max_rows` is given, limits are chosen privately.
    pub max_groups: Option<u64>,
    /// The most rows that a unit contributes to each group.
    pub max_rows: Option<u64>,
}

/// An answer.
#[derive(Debug, Serialize, ToSchema)]
pub struct AnswerView {
    /// The request id: repeating the request with it costs nothing and returns the same answer.
    pub request_id: String,
    /// The dataset whose budget was charged.
    pub dataset: String,
    /// The names of the columns.
    pub columns: Vec<String>,
    /// The rows: keys as they are, aggregates as `{"value", "half_width"}` at 95 %, with
    /// `"noise_only": true` if clamping to found bounds may have moved them further, or `{"refused": true}`.
    #[schema(value_type = Vec<Vec<serde_json::Value>>)]
    #[serde(serialize_with = "as_json")]
    pub rows: Vec<Vec<Entry>>,
    /// Its guarantee and cost.
    #[schema(value_type = Object)]
    pub summary: Summary,
}

/// What a query would release. Nothing was charged.
#[derive(Debug, Serialize, ToSchema)]
pub struct Preview {
    /// The dataset whose budget would be charged.
    pub dataset: String,
    /// Its guarantee, cost and noise; the errors to expect (`forecast`); and what would make them smaller (`advice`).
    #[schema(value_type = Object)]
    pub dry_run: DryRun,
    /// The same in words.
    pub words: String,
}

/// An answer, or with `dry_run` a preview.
#[derive(Debug, Serialize, ToSchema)]
#[serde(untagged)]
pub enum QueryResult {
    /// The answer.
    Answer(Box<AnswerView>),
    /// What it would cost.
    Preview(Box<Preview>),
}

/// Runs a query on the tables, or shows what it would cost
#[utoipa::path(post, path = "/v1/query", operation_id = "query", tag = "query", request_body = Question, responses(
    (status = 200, description = "The answer, or with `dry_run` what it would cost", body = QueryResult),
    (status = 400, description = "Invalid request; the message says how to fix it. Nothing was charged", body = Problem),
    (status = 402, description = "Not enough left of the budget or the token's cap; nothing was charged", body = Problem),
    (status = 409, description = "The request id was used for a different request; or the request was charged before and has no outcome: it is still in \
progress, or it was interrupted and is not computed again", body = Problem),
    (status = "4XX", description = "Invalid request; the message says how to fix it. Nothing was charged", body = Problem),
    (status = 503, description = "Too many replies are still being sent; the answer is stored, and repeating the request with the id in the message \
costs nothing", body = Problem),
    (status = 500, description = "The table could not be read to its end; what was charged stays charged", body = Problem)))]
pub async fn ask(
    State(app): State<Arc<App>>,
    Extension(caller): Extension<Caller>,
    text: JsonText,
) -> Result<Response> {
    let Identity { request_id, dry_run } = text.parse()?;
    // It is kept while the request waits, and the memory for bodies does not cover it.
    if let Some(request) = request_id.as_ref().filter(|request| request.len() > LONGEST_NAME) {
        let message = format!(
            "request_id is {} bytes long, but it may have at most {LONGEST_NAME}; choose a shorter one",
            request.len()
        );
        return Err(Error::field("request_id", message));
    }
    // Before a query slot is taken: waiting for the same request must not block others.
    let own = match (request_id, dry_run) {
        (Some(request), false) => Some(app.asking.turn(&request).await),
        _ => None,
    };
    let turn = app.queries.place(&caller.name).await;
    // Runs on if the client disconnects: it was charged, and its answer is stored for when the client returns.
    let asking = tokio::spawn(async move {
        let _own = own;
        let question = text.parse()?;
        answer(app, caller, question, turn).await
    });
    asking
        .await
        .map_err(|_| Error::Machine("the table could not be read to its end; what was charged stays charged".into()))?
}

/// What is known of a query while it waits. The rest is parsed when its turn has come: parsed queries that wait would take
/// memory without limit.
#[derive(Deserialize)]
struct Identity {
    request_id: Option<String>,
    #[serde(default)]
    dry_run: bool,
}

/// A query's slot.
type Turn = [OwnedSemaphorePermit; 2];

async fn answer(app: Arc<App>, caller: Caller, question: Question, mut turn: Turn) -> Result<Response> {
    text::check_bytes(&question.sql, &Limits::default())?;
    let asked = Asked {
        epsilon: question.epsilon.map(|number| number.0),
        delta: question.delta.map(|number| number.0),
        rho: question.rho.map(|number| number.0),
        allow_large_epsilon: question.allow_large_epsilon,
        max_groups: question.max_groups.map(|number| number.to_string()),
        max_rows: question.max_rows.map(|number| number.to_string()),
        bounds: question.bounds.into_iter().collect(),
        keys: question.keys.into_iter().collect(),
        weights: question.weights.into_iter().map(|(name, weight)| (name, weight.to_string())).collect(),
        ..Asked::default()
    };
    let (preparing, sql) = (Arc::clone(&app), question.sql);
    let prepared = app.blocking(move || {
        if dialect::split(&sql)?.1.unit.is_some() {
            let why = "privacy_unit_column: the privacy unit is set by the table's policy; leave it out";
            return Err(Error::field("sql", why));
        }
        let chosen = preparing.tables.chosen(&sql, &preparing.ledger)?;
        let dataset = chosen.dataset.map(str::to_owned);
        let settings = Settings::new(&sql, &asked, chosen.inputs, &chosen.policies)?;
        let description = settings.description(|list| Hash::of(list).to_string());
        let query = Query::prepare(&settings.sql, settings.inputs, settings.options)?;
        query.check_memory(&preparing.runs)?;
        let preview = if question.dry_run { Some(query.dry_run(question.expect_rows)?) } else { None };
        Ok((dataset, description, query, preview))
    });
    let (dataset, description, query, preview) = prepared.await?;
    let dataset =
        dataset.ok_or_else(|| Error::field("sql", "the query uses no private table; nothing needs protection"))?;
    if let Some(dry_run) = preview {
        let preview = Preview { dataset, dry_run, words: query.words() };
        return reply::json(&app, &caller.name, &QueryResult::Preview(Box::new(preview))).await;
    }
    let request = question.request_id.map_or_else(fresh_id, Ok)?;
    let (ledger, whose, id) = (Arc::clone(&app.ledger), dataset.clone(), request.clone());
    let before = app.blocking(move || Ok(ledger.request(&whose, &id)?)).await?;
    // A repeated request uses the clock of its charge.
    let description = clock::charged(description, before.map(|(charge, _)| charge.description));
    let charge = Charge::new(dataset, request, query.guarantee().clone())
        .caller(&caller.name)
        .description(description)
        .unit(query.unit().to_string(), query.adjacency());
    let query = query.with_engine(app.runs.engine());
    let (paid, capped) = (charge.clone(), Capped { app: Arc::clone(&app), caller });
    let run =
        move || capped.release(&paid, OnInterruption::Abandon, |permit| -> Result<RunResult> { Ok(query.run(permit)) });
    let mut text = match app.blocking(run).await? {
        ReleaseOutcome::Fresh(text) | ReleaseOutcome::Replayed(text) => text,
        ReleaseOutcome::Unfinished => return Err(reticent_ledger::Error::Unfinished.into()),
    };
    let room = match app.replies.room_now(&charge.caller, text.len()) {
        Some(room) => room,
        None => {
            // Other answers are still being sent, perhaps to this caller, who does not read them: this one waits on the
            // disk, and other queries run in the meantime.
            let bytes = std::mem::take(&mut text).len();
            drop(turn);
            let room = app
                .replies
                .worth_waiting(&charge.caller, bytes)
                .await
                .map_err(|_| Error::Unsent(charge.request.clone()))?;
            turn = app.queries.place(&charge.caller).await;
            let (ledger, paid) = (Arc::clone(&app.ledger), charge.clone());
            text = app.blocking(move || stored(&ledger, &paid)).await?;
            room
        }
    };
    let written = move || {
        let answer = view(charge, QueryOutcome::stored_answer(&text)?);
        Ok(serde_json::to_string(&QueryResult::Answer(Box::new(answer))).expect("texts and numbers are JSON"))
    };
    let text = app.blocking(written).await?;
    drop(turn);
    Ok(held(&app, "application/json", text, room))
}

/// The stored outcome of a charge that has one.
fn stored(ledger: &DurableLedger, charge: &Charge) -> Result<String> {
    let nothing_to_compute = |_: Permit| Err(Error::from(reticent_ledger::Error::Unfinished));
    match ledger.release(charge, OnInterruption::Abandon, nothing_to_compute)? {
        ReleaseOutcome::Fresh(text) | ReleaseOutcome::Replayed(text) => Ok(text),
        ReleaseOutcome::Unfinished => Err(reticent_ledger::Error::Unfinished.into()),
    }
}

/// Entries as they are written, cell by cell.
fn as_json<S: Serializer>(rows: &[Vec<Entry>], serializer: S) -> std::result::Result<S::Ok, S::Error> {
    let cell = |entry: &Entry| RawValue::from_string(entry.to_json()).expect("an entry is JSON");
    serializer.collect_seq(rows.iter().map(|row| row.iter().map(cell).collect::<Vec<_>>()))
}

fn view(charge: Charge, answer: Answer) -> AnswerView {
    AnswerView {
        request_id: charge.request,
        dataset: charge.dataset,
        columns: answer.columns,
        rows: answer.rows,
        summary: answer.summary,
    }
}

/// All tables.
#[derive(Debug, Serialize, ToSchema)]
pub struct TableList {
    /// By name.
    pub tables: Vec<TableView>,
}

/// The tables that can be queried
#[utoipa::path(get, path = "/v1/tables", operation_id = "list_tables", tag = "query", responses(
    (status = 200, description = "All tables", body = TableList),
    (status = "4XX", description = "Unauthorized, forbidden or rate-limited", body = Problem)))]
pub async fn tables(State(app): State<Arc<App>>, Sender(sender): Sender) -> Result<Response> {
    reply::json(&app, &sender, &TableList { tables: app.tables.views() }).await
}
