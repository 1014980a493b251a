//! Budgets and spending.

use std::ops::ControlFlow;
use std::sync::Arc;

use axum::Extension;
use axum::extract::{Path, State};
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use reticent::exact::Rational;
use reticent::ledger::Releases;
use reticent_ledger::{Account, Budget, Dataset, Event, Record, Spend};
use reticent_sql::settings::without_places;
use reticent_sql::settings::words::guarantee;
use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};

use super::json;
use super::number::Number;
use crate::access::Caller;
use crate::app::App;
use crate::body::{Json, Params, Sender};
use crate::error::{Error, Problem, Result};
use crate::reply::{self, PAGE, held_json, json_bytes};
use crate::role::Role;

/// The default and the largest number of entries per response, if they are short.
const ENTRIES: u64 = 100;
const MOST_ENTRIES: u64 = 1000;
/// The most digits of `next`.
const NUMBER: usize = 20;
/// A share is a float for a progress bar; the exact sums are given with it.
const SHARE_DIGITS: u32 = 6;

/// A sum, exactly.
#[derive(Debug, Serialize, ToSchema)]
pub struct Sum {
    /// ε.
    #[schema(example = "0.5")]
    pub epsilon: String,
    /// δ.
    #[schema(example = "1e-8")]
    pub delta: String,
    /// ρ.
    #[schema(example = "0")]
    pub rho: String,
    /// In words.
    #[schema(example = "ε = 0.5, δ = 1e-8")]
    pub words: String,
}

impl Sum {
    fn of(spend: &Spend) -> Self {
        Self {
            epsilon: spend.epsilon.to_string(),
            delta: spend.delta.to_string(),
            rho: spend.rho.to_string(),
            words: spend.to_string(),
        }
    }

    fn left(spend: &Spend) -> Self {
        Self { words: spend.rounded_down(), ..Self::of(spend) }
    }
}

/// What was spent under one unit and adjacency.
#[derive(Debug, Serialize, ToSchema)]
pub struct Spent {
    /// The privacy unit.
    pub unit: String,
    /// Which inputs are neighbours.
    pub adjacency: String,
    /// The sum.
    pub spent: Sum,
}

/// A dataset and its budget.
#[derive(Debug, Serialize, ToSchema)]
pub struct DatasetView {
    /// Its name.
    pub name: String,
    /// The total budget; null if there is no limit.
    pub limit: Option<Sum>,
    /// What is left of it; null if there is no limit.
    pub left: Option<Sum>,
    /// The share of the limit that was spent, from 0 to 1, in the currency of which least is left; null without a
    /// limit.
    pub share_spent: Option<f64>,
    /// What was spent, for each unit and adjacency; those of the limit first.
    pub spent: Vec<Spent>,
    /// The number of charges.
    pub charges: u64,
    /// How many runs users have interrupted. When they do may depend on how long a run takes, and so on the rows.
    pub interrupted: u64,
    /// The entry of a charge that ended without an answer: nothing more is charged until the owner has investigated and
    /// reopened the dataset. Null if it is not suspended.
    pub suspended: Option<u64>,
}

impl DatasetView {
    fn of(account: &Account) -> Self {
        let limit = match &account.dataset.budget {
            Budget::Limit(limit) => Some(Spend::of(limit)),
            Budget::Unlimited => None,
        };
        let under_limit = account.spent.first().map_or(Spend::NOTHING, |(_, spent)| spent.clone());
        let spent = account.spent.iter().map(|(terms, spent)| Spent {
            unit: terms.unit.clone(),
            adjacency: terms.adjacency.to_string(),
            spent: Sum::of(spent),
        });
        Self {
            name: account.dataset.name.clone(),
            left: account.dataset.budget.left(&under_limit).as_ref().map(Sum::left),
            share_spent: limit.as_ref().map(|limit| share(&under_limit, limit)),
            limit: limit.as_ref().map(Sum::of),
            spent: spent.collect(),
            charges: account.charges,
            interrupted: account.interrupted,
            suspended: account.suspended.map(|suspension| suspension.entry),
        }
    }
}

fn share(spent: &Spend, limit: &Spend) -> f64 {
    let part = |spent: &Rational, limit: &Rational| {
        if limit.is_zero() { 0.0 } else { (spent / limit).round_up(SHARE_DIGITS).to_f64() }
    };
    let parts = [part(&spent.epsilon, &limit.epsilon), part(&spent.delta, &limit.delta), part(&spent.rho, &limit.rho)];
    parts.into_iter().fold(0.0, f64::max)
}

/// All datasets.
#[derive(Debug, Serialize, ToSchema)]
pub struct DatasetList {
    /// In order of registration.
    pub datasets: Vec<DatasetView>,
}

/// All datasets with their budgets
#[utoipa::path(get, path = "/v1/datasets", operation_id = "list_datasets", tag = "budgets", responses(
    (status = 200, description = "All datasets", body = DatasetList),
    (status = "4XX", description = "Unauthorized, forbidden or rate-limited", body = Problem)))]
pub async fn list(State(app): State<Arc<App>>, Sender(sender): Sender) -> Result<Response> {
    let ledger = Arc::clone(&app.ledger);
    let accounts = app.reading(&sender, move || Ok(ledger.accounts()?)).await?;
    reply::json(&app, &sender, &DatasetList { datasets: accounts.iter().map(DatasetView::of).collect() }).await
}

/// One dataset with its budget
#[utoipa::path(get, path = "/v1/datasets/{name}", operation_id = "show_dataset", tag = "budgets",
    params(("name" = String, Path, description = "The dataset; a slash in its name is written %2F")), responses(
    (status = 200, description = "The dataset", body = DatasetView),
    (status = 404, description = "Not found", body = Problem),
    (status = "4XX", description = "Unauthorized, forbidden or rate-limited", body = Problem)))]
pub async fn show(State(app): State<Arc<App>>, Path(name): Path<String>) -> Result<Response> {
    let ledger = Arc::clone(&app.ledger);
    let account = app.blocking(move || ledger.account(&name)?.ok_or_else(|| missing(&name))).await?;
    Ok(json(&DatasetView::of(&account)))
}

fn missing(name: &str) -> Error {
    Error::Missing(format!("the ledger has no dataset {name:?}; GET /v1/datasets lists them"))
}

/// A budget.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct NewDataset {
    /// Its name.
    #[schema(example = "staff")]
    pub name: String,
    /// The privacy unit that the budget protects: `row`, a column, or `event`.
    #[schema(example = "row")]
    pub unit: String,
    /// `add-remove` (the default) or `replace`.
    pub adjacency: Option<String>,
    /// The total budget: epsilon.
    pub epsilon: Option<Number>,
    /// With epsilon: delta.
    pub delta: Option<Number>,
    /// Instead of epsilon: the total budget as rho.
    pub rho: Option<Number>,
    /// Confirms an epsilon above 10 or a delta above 0.001, which give almost no protection.
    #[serde(default)]
    pub allow_large_epsilon: bool,
}

/// Sets the budget of a dataset, for good
#[utoipa::path(post, path = "/v1/datasets", operation_id = "register_dataset", tag = "budgets", request_body = NewDataset, responses(
    (status = 201, description = "The dataset has this budget, now or already before", body = DatasetView),
    (status = 400, description = "Invalid request; the message says how to fix it", body = Problem),
    (status = 409, description = "The dataset has a different budget, or has already spent more", body = Problem),
    (status = "4XX", description = "Unauthorized, forbidden or rate-limited", body = Problem)))]
pub async fn register(State(app): State<Arc<App>>, Json(new): Json<NewDataset>) -> Result<Response> {
    let NewDataset { name, unit, adjacency, epsilon, delta, rho, allow_large_epsilon } = new;
    let text = |number: &Option<Number>| number.as_ref().map(|number| number.0.clone());
    let (epsilon, delta, rho) = (text(&epsilon), text(&delta), text(&rho));
    let limit = guarantee(epsilon.as_deref(), delta.as_deref(), rho.as_deref())?;
    let adjacency = adjacency.as_deref().unwrap_or("add-remove").parse()?;
    let dataset = Dataset::limited(name.clone(), limit, unit, Some(adjacency), allow_large_epsilon)?;
    let ledger = Arc::clone(&app.ledger);
    let account = app
        .blocking(move || {
            ledger.register(&dataset)?;
            ledger.account(&name)?.ok_or_else(|| missing(&name))
        })
        .await?;
    Ok((StatusCode::CREATED, json(&DatasetView::of(&account))).into_response())
}

/// The entries to return.
#[derive(Debug, IntoParams)]
#[into_params(parameter_in = Query)]
pub struct Page {
    /// Only entries after this number.
    pub after: Option<u64>,
    /// The most entries to return, up to 1000. A response with long entries has fewer: it has at most about a megabyte.
    #[param(minimum = 1, maximum = 1000)]
    pub limit: Option<u64>,
}

/// An entry of the ledger.
#[derive(Debug, Serialize, ToSchema)]
pub struct EntryView {
    /// Its number in the ledger.
    pub number: u64,
    /// When it was written.
    pub at: String,
    /// `opened`, `registered`, `limited`, `charged`, `released`, `failed` or `reopened`.
    pub kind: &'static str,
    /// The request that was charged, or whose release was stored; shown only to owners and to the caller itself.
    pub request: Option<String>,
    /// The caller; shown only to the same.
    pub caller: Option<String>,
    /// The query's description; shown only to the same.
    pub description: Option<String>,
    /// The cost or the budget, in words.
    pub cost: Option<String>,
    /// The total after it, under its unit and adjacency.
    pub spent: Option<Sum>,
    /// Whether it is a stream, which keeps releasing.
    pub stream: bool,
}

impl EntryView {
    /// Queries and callers are shown to owners and to the caller itself, file paths only to owners, and spending to
    /// everyone who may see budgets.
    fn shown_to(self, caller: &Caller) -> Self {
        if caller.role == Role::Owner {
            return self;
        }
        if self.caller.as_ref() == Some(&caller.name) {
            return Self { description: self.description.as_deref().map(without_places), ..self };
        }
        Self { request: None, caller: None, description: None, ..self }
    }
}

/// Entries of a dataset.
#[derive(Debug, Serialize, ToSchema)]
pub struct EntryList {
    /// Oldest first.
    pub entries: Vec<EntryView>,
    /// Pass this as `after` to get the next entries, even if there are fewer than `limit` here; null at the end.
    pub next: Option<u64>,
}

/// The ledger's entries about a dataset
///
/// A response has at most about a megabyte: follow `next` until it is null to get all of them.
#[utoipa::path(get, path = "/v1/datasets/{name}/history", operation_id = "dataset_history", tag = "budgets",
    params(("name" = String, Path, description = "The dataset; a slash in its name is written %2F"), Page), responses(
    (status = 200, description = "The entries", body = EntryList),
    (status = 400, description = "Invalid request; the message says how to fix it", body = Problem),
    (status = 404, description = "Not found", body = Problem),
    (status = 503, description = "Too many replies are still being sent", body = Problem),
    (status = "4XX", description = "Unauthorized, forbidden or rate-limited", body = Problem)))]
pub async fn history(
    State(app): State<Arc<App>>,
    Extension(caller): Extension<Caller>,
    Path(name): Path<String>,
    params: Params,
) -> Result<Response> {
    let params = params.only(&["after", "limit"])?;
    let page = Page { after: params.number("after", 0..=u64::MAX)?, limit: params.number("limit", 1..=MOST_ENTRIES)? };
    let (after, limit) = (page.after.unwrap_or(0), page.limit.unwrap_or(ENTRIES) as usize);
    let (ledger, sender) = (Arc::clone(&app.ledger), caller.name.clone());
    let room = app.replies.room(&sender, PAGE).await?;
    let list = app
        .reading(&sender, move || {
            ledger.dataset(&name)?.ok_or_else(|| missing(&name))?;
            let mut list = EntryList { entries: Vec::new(), next: None };
            let mut bytes = json_bytes(&list) + NUMBER;
            ledger.records(after, |record| {
                if record.dataset.as_ref() != Some(&name) {
                    return ControlFlow::Continue(());
                }
                let entry = entry(record).shown_to(&caller);
                bytes += json_bytes(&entry) + ",".len();
                if list.entries.len() == limit || bytes > PAGE {
                    list.next = list.entries.last().map(|entry| entry.number);
                    return ControlFlow::Break(());
                }
                list.entries.push(entry);
                ControlFlow::Continue(())
            })?;
            Ok(list)
        })
        .await?;
    Ok(held_json(&app, &list, room))
}

fn entry(record: Record) -> EntryView {
    let Record { entry, request, .. } = record;
    let (number, at) = (entry.number, entry.at);
    let plain = |kind| EntryView {
        number,
        at: at.clone(),
        kind,
        request: request.clone(),
        caller: None,
        description: None,
        cost: None,
        spent: None,
        stream: false,
    };
    match entry.event {
        Event::Opened { .. } => plain("opened"),
        Event::Registered(dataset) => EntryView { cost: Some(dataset.budget.to_string()), ..plain("registered") },
        Event::Limited { dataset, spent, .. } => {
            EntryView { cost: Some(dataset.budget.to_string()), spent: Some(Sum::of(&spent)), ..plain("limited") }
        }
        Event::Charged { charge, spent, .. } => EntryView {
            caller: Some(charge.caller.clone()),
            description: Some(charge.description.clone()),
            cost: Some(charge.guarantee.to_string()),
            spent: Some(Sum::of(&spent)),
            stream: charge.releases == Releases::Stream,
            ..plain("charged")
        },
        Event::Released { .. } => plain("released"),
        Event::Failed { .. } => plain("failed"),
        Event::Interrupted { .. } => plain("interrupted"),
        Event::Began { .. } => plain("began"),
        Event::Computed { .. } => plain("computed"),
        Event::Reopened { caller, .. } => EntryView { caller: Some(caller), ..plain("reopened") },
    }
}
