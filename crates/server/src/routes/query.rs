//! Private SQL.

use std::collections::BTreeMap;
use std::sync::Arc;

use axum::Extension;
use axum::extract::State;
use axum::response::Response;
use reticent::ledger::{Answered, Charge, Ended, Interrupted, Ledger, UNFINISHED};
use reticent_ledger::fresh_id;
use reticent_ledger::hash::Hash;
use reticent_sql::algebra::Limits;
use reticent_sql::answer::{Answer, Summary};
use reticent_sql::resolve::text;
use reticent_sql::settings::clock;
use reticent_sql::{Asked, Outcome, Query, Settings, dialect};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use utoipa::ToSchema;

use super::json;
use super::number::Number;
use crate::access::Caller;
use crate::app::{App, Capped};
use crate::body::Json;
use crate::error::{Error, Problem, Result};
use crate::tables::TableView;

/// A query. Unit, neighbours and budget are those of the table's policy and cannot be asked for.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct Question {
    /// The query.
    #[schema(example = "SELECT department, COUNT(*) AS people FROM staff GROUP BY department")]
    pub sql: String,
    /// What the answer promises: epsilon.
    pub epsilon: Option<Number>,
    /// With epsilon: delta, which keys that only the data knows need.
    pub delta: Option<Number>,
    /// What the answer promises instead: rho, in zero-concentrated differential privacy.
    pub rho: Option<Number>,
    /// Confirms an epsilon above 10 or a delta above 0.001, which promise next to nothing.
    #[serde(default)]
    pub allow_large_epsilon: bool,
    /// Names the request: asked again it costs nothing, and the answer is the same for ever.
    pub request_id: Option<String>,
    /// Spends nothing, and says what would be released, with which noise, at what cost.
    #[serde(default)]
    pub dry_run: bool,
    /// Ranges of columns, chosen without looking at the data: `0..120`, or `auto` to find them privately.
    #[serde(default)]
    pub bounds: BTreeMap<String, String>,
    /// Keys that are public, by column: all of them appear in the answer, and no others.
    #[serde(default)]
    pub keys: BTreeMap<String, Vec<String>>,
    /// Shares of the budget, by the name of an aggregate in the answer.
    #[serde(default)]
    pub weights: BTreeMap<String, u32>,
    /// In how many groups a unit counts.
    pub max_groups: Option<u64>,
    /// With how many rows in each.
    pub max_rows: Option<u64>,
}

/// An answer.
#[derive(Debug, Serialize, ToSchema)]
pub struct AnswerView {
    /// The request: asked again under this id it costs nothing and gives the same.
    pub request_id: String,
    /// Whose budget was charged.
    pub dataset: String,
    /// The names of the columns.
    pub columns: Vec<String>,
    /// The rows: keys as they are, aggregates as `{"value", "half_width"}` at 95 %, or `{"refused": true}`.
    pub rows: Vec<Vec<Value>>,
    /// What it promises and cost.
    #[schema(value_type = Object)]
    pub summary: Summary,
}

/// What a query would do. Nothing was charged.
#[derive(Debug, Serialize, ToSchema)]
pub struct Preview {
    /// Whose budget would be charged.
    pub dataset: String,
    /// What it would promise and cost, and with which noise.
    #[schema(value_type = Object)]
    pub dry_run: Summary,
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

/// Asks a query of the tables, or shows what it would cost
#[utoipa::path(post, path = "/v1/query", operation_id = "query", tag = "query", request_body = Question, responses(
    (status = 200, description = "The answer, or with `dry_run` what it would cost", body = QueryResult),
    (status = 400, description = "What is wrong, and what to write instead; nothing was charged", body = Problem),
    (status = 402, description = "Not enough is left of the budget, or of the token's cap; nothing was charged", body = Problem),
    (status = 409, description = "The request was another one; or it was charged before and has no outcome: it is still being answered, \
or it was interrupted and is not computed again", body = Problem),
    (status = "4XX", description = "What is wrong, and what to write instead; nothing was charged", body = Problem),
    (status = 500, description = "The table could not be read to its end; what was charged stays charged", body = Problem)))]
pub async fn ask(
    State(app): State<Arc<App>>,
    Extension(caller): Extension<Caller>,
    Json(question): Json<Question>,
) -> Result<Response> {
    // Whoever goes away does not stop it: it was charged, and its answer is kept for when they come back.
    let asking = tokio::spawn(answer(app, caller, question));
    asking
        .await
        .map_err(|_| Error::Machine("the table could not be read to its end; what was charged stays charged".into()))?
}

async fn answer(app: Arc<App>, caller: Caller, question: Question) -> Result<Response> {
    // Before it waits, and waits in memory.
    text::check_bytes(&question.sql, &Limits::default())?;
    // Before a place among the queries is taken: whoever waits for itself must not keep others waiting.
    let _own = match (&question.request_id, question.dry_run) {
        (Some(request), false) => Some(app.asking.turn(request).await),
        _ => None,
    };
    let _turn = app.queries.acquire().await.map_err(|_| Error::Machine("the service stops".into()))?;
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
            let why = "privacy_unit_column: whose privacy is protected is for the table's policy to say; leave it out";
            return Err(Error::field("sql", why));
        }
        let chosen = preparing.tables.chosen(&sql, &preparing.ledger)?;
        let dataset = chosen.dataset.map(str::to_owned);
        let settings = Settings::new(&sql, &asked, chosen.inputs, &chosen.policies)?;
        let description = settings.description(|list| Hash::of(list).to_string());
        let query = Query::prepare(&settings.sql, settings.inputs, settings.options)?;
        query.check_memory(&preparing.runs)?;
        Ok((dataset, description, query))
    });
    let (dataset, description, query) = prepared.await?;
    let dataset =
        dataset.ok_or_else(|| Error::field("sql", "no private table is asked about; nothing needs protection"))?;
    if question.dry_run {
        let preview = Preview { dataset, dry_run: query.summary()?, words: query.words() };
        return Ok(json(&QueryResult::Preview(Box::new(preview))));
    }
    let request = question.request_id.map_or_else(fresh_id, Ok)?;
    let (ledger, whose, id) = (Arc::clone(&app.ledger), dataset.clone(), request.clone());
    let before = app.blocking(move || Ok(ledger.request(&whose, &id)?)).await?;
    // The clock of a request is the one of when it was charged.
    let before = before.and_then(|before| clock::remembered(&description, &before.description));
    let charge = Charge::new(dataset, request, query.guarantee().clone())
        .caller(&caller.name)
        .description(before.unwrap_or(description))
        .unit(query.unit().to_string(), query.adjacency());
    let query = query.with_engine(app.runs.engine());
    let (paid, capped) = (charge.clone(), Capped { app: Arc::clone(&app), caller });
    let run = move || {
        capped.release(&paid, Interrupted::StaysOpen, |mut permit| -> Result<Ended> {
            let outcome = query.outcome(&mut permit);
            Ok(match outcome {
                Outcome::Failed => Ended::Failed(outcome.to_text()),
                Outcome::Answer(_) => Ended::Released(outcome.to_text()),
            })
        })
    };
    let text = match app.blocking(run).await? {
        Answered::Now(text) | Answered::Before(text) => text,
        Answered::Never => return Err(Error::Conflict(UNFINISHED.into())),
    };
    let outcome = Outcome::from_text(&text)
        .ok_or_else(|| Error::Conflict("what the ledger keeps for this request is not the answer to a query".into()))?;
    // Whatever it is, it was charged: no longer a matter of what was asked.
    let answer = outcome.answer().map_err(|error| Error::Machine(error.to_string()))?;
    Ok(json(&QueryResult::Answer(Box::new(view(charge, answer)))))
}

fn view(charge: Charge, answer: Answer) -> AnswerView {
    let entry = |entry: &reticent_sql::answer::Entry| serde_json::from_str(&entry.to_json()).unwrap_or(Value::Null);
    AnswerView {
        request_id: charge.request,
        dataset: charge.dataset,
        columns: answer.columns,
        rows: answer.rows.iter().map(|row| row.iter().map(entry).collect()).collect(),
        summary: answer.summary,
    }
}

/// All tables.
#[derive(Debug, Serialize, ToSchema)]
pub struct TableList {
    /// By name.
    pub tables: Vec<TableView>,
}

/// The tables that can be asked about
#[utoipa::path(get, path = "/v1/tables", operation_id = "list_tables", tag = "query", responses(
    (status = 200, description = "All tables", body = TableList),
    (status = "4XX", description = "Who may not", body = Problem)))]
pub async fn tables(State(app): State<Arc<App>>) -> Response {
    json(&TableList { tables: app.tables.views() })
}
