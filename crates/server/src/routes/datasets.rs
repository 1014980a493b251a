//! Budgets, and what was spent of them.

use std::ops::ControlFlow;
use std::sync::Arc;

use axum::Extension;
use axum::extract::{Path, State};
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use reticent::exact::Rational;
use reticent::ledger::Releases;
use reticent_ledger::{Account, Budget, Dataset, Event, Record, Spend, Terms};
use reticent_sql::settings::without_places;
use reticent_sql::settings::words::guarantee;
use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};

use super::json;
use super::number::Number;
use crate::access::Caller;
use crate::app::App;
use crate::body::{Json, Params};
use crate::error::{Error, Problem, Result};
use crate::role::Role;

/// So many entries at a time, unless asked otherwise, and at most.
const ENTRIES: u64 = 100;
const MOST_ENTRIES: u64 = 1000;
/// A share is a float for a bar; the exact sums stand beside it.
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
    /// Whose privacy.
    pub unit: String,
    /// Which inputs are neighbours.
    pub adjacency: String,
    /// How much.
    pub spent: Sum,
}

/// A dataset and its budget.
#[derive(Debug, Serialize, ToSchema)]
pub struct DatasetView {
    /// Its name.
    pub name: String,
    /// All that may ever be spent; none if there is no limit.
    pub limit: Option<Sum>,
    /// What is left of it; none if there is no limit.
    pub left: Option<Sum>,
    /// The part of the limit that was spent, from 0 to 1, of that currency of which least is left; none without a limit.
    pub share_spent: Option<f64>,
    /// What was spent, under each unit and adjacency; those of the limit first.
    pub spent: Vec<Spent>,
    /// How often it was charged.
    pub charges: u64,
    /// The entry of a charge that ended without an answer: nothing more is charged until the owner has looked into it and reopened the
    /// dataset. None if that is not so.
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
            suspended: account.suspended,
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
    /// In the order in which they were registered.
    pub datasets: Vec<DatasetView>,
}

/// All datasets with their budgets
#[utoipa::path(get, path = "/v1/datasets", operation_id = "list_datasets", tag = "budgets", responses(
    (status = 200, description = "All datasets", body = DatasetList),
    (status = "4XX", description = "Who may not", body = Problem)))]
pub async fn list(State(app): State<Arc<App>>) -> Result<Response> {
    let ledger = Arc::clone(&app.ledger);
    let accounts = app.blocking(move || Ok(ledger.accounts()?)).await?;
    Ok(json(&DatasetList { datasets: accounts.iter().map(DatasetView::of).collect() }))
}

/// One dataset with its budget
#[utoipa::path(get, path = "/v1/datasets/{name}", operation_id = "show_dataset", tag = "budgets",
    params(("name" = String, Path, description = "The dataset; a slash in its name is written %2F")), responses(
    (status = 200, description = "The dataset", body = DatasetView),
    (status = 404, description = "There is none", body = Problem),
    (status = "4XX", description = "Who may not", body = Problem)))]
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
    /// Whose privacy the budget protects: `row`, a column, or `event`.
    #[schema(example = "row")]
    pub unit: String,
    /// `add-remove` (the default) or `replace`.
    pub adjacency: Option<String>,
    /// All that may ever be spent: epsilon.
    pub epsilon: Option<Number>,
    /// With epsilon: delta.
    pub delta: Option<Number>,
    /// All that may ever be spent, as rho.
    pub rho: Option<Number>,
    /// Confirms an epsilon above 10 or a delta above 0.001, which promise next to nothing.
    #[serde(default)]
    pub allow_large_epsilon: bool,
}

/// Sets the budget of a dataset, once and for all
#[utoipa::path(post, path = "/v1/datasets", operation_id = "register_dataset", tag = "budgets", request_body = NewDataset, responses(
    (status = 201, description = "It has this budget, now or since before", body = DatasetView),
    (status = 400, description = "What is wrong, and what to write instead", body = Problem),
    (status = 409, description = "It has another budget, or has spent more already", body = Problem),
    (status = "4XX", description = "Who may not", body = Problem)))]
pub async fn register(State(app): State<Arc<App>>, Json(new): Json<NewDataset>) -> Result<Response> {
    let NewDataset { name, unit, adjacency, epsilon, delta, rho, allow_large_epsilon } = new;
    let text = |number: &Option<Number>| number.as_ref().map(|number| number.0.clone());
    let (epsilon, delta, rho) = (text(&epsilon), text(&delta), text(&rho));
    let limit = guarantee(epsilon.as_deref(), delta.as_deref(), rho.as_deref())?;
    let limit = limit.confirmed(allow_large_epsilon).map_err(reticent_sql::Error::from)?;
    let adjacency = adjacency
        .as_deref()
        .unwrap_or("add-remove")
        .parse()
        .map_err(|error: reticent::Error| Error::field("adjacency", error.to_string()))?;
    let dataset = Dataset { name: name.clone(), budget: Budget::Limit(limit), terms: Some(Terms { unit, adjacency }) };
    let ledger = Arc::clone(&app.ledger);
    let account = app
        .blocking(move || {
            ledger.register(&dataset)?;
            ledger.account(&name)?.ok_or_else(|| missing(&name))
        })
        .await?;
    Ok((StatusCode::CREATED, json(&DatasetView::of(&account))).into_response())
}

/// Which entries.
#[derive(Debug, IntoParams)]
#[into_params(parameter_in = Query)]
pub struct Page {
    /// Entries after the one of this number.
    pub after: Option<u64>,
    /// At most so many, up to 1000.
    #[param(minimum = 1, maximum = 1000)]
    pub limit: Option<u64>,
}

/// An entry of the ledger.
#[derive(Debug, Serialize, ToSchema)]
pub struct EntryView {
    /// Its number in the ledger.
    pub number: u64,
    /// When.
    pub at: String,
    /// `opened`, `registered`, `limited`, `charged`, `released`, `failed` or `reopened`.
    pub kind: &'static str,
    /// The request that was charged, or whose release was kept; told to owners, and to whoever was charged.
    pub request: Option<String>,
    /// Who asked; told to the same.
    pub caller: Option<String>,
    /// What was asked; told to the same.
    pub description: Option<String>,
    /// What it cost, in words.
    pub cost: Option<String>,
    /// What was spent with it, under its unit and adjacency.
    pub spent: Option<Sum>,
    /// Is it a stream, which goes on releasing?
    pub stream: bool,
}

impl EntryView {
    /// What was asked, and by whom, is for owners, and for whoever asked; of which file, for owners; what was spent is for all who see
    /// budgets.
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
    /// To be given as `after` for the next ones; none at the end.
    pub next: Option<u64>,
}

/// What was written down about a dataset
#[utoipa::path(get, path = "/v1/datasets/{name}/history", operation_id = "dataset_history", tag = "budgets",
    params(("name" = String, Path, description = "The dataset; a slash in its name is written %2F"), Page), responses(
    (status = 200, description = "The entries", body = EntryList),
    (status = 400, description = "What is wrong, and what to write instead", body = Problem),
    (status = 404, description = "There is none", body = Problem),
    (status = "4XX", description = "Who may not", body = Problem)))]
pub async fn history(
    State(app): State<Arc<App>>,
    Extension(caller): Extension<Caller>,
    Path(name): Path<String>,
    params: Params,
) -> Result<Response> {
    let params = params.only(&["after", "limit"])?;
    let page = Page { after: params.number("after", 0..=u64::MAX)?, limit: params.number("limit", 1..=MOST_ENTRIES)? };
    let (after, limit) = (page.after.unwrap_or(0), page.limit.unwrap_or(ENTRIES) as usize);
    let ledger = Arc::clone(&app.ledger);
    let list = app
        .blocking(move || {
            ledger.dataset(&name)?.ok_or_else(|| missing(&name))?;
            let mut list = EntryList { entries: Vec::new(), next: None };
            ledger.records(after, |record| {
                if record.dataset.as_ref() != Some(&name) {
                    return ControlFlow::Continue(());
                }
                if list.entries.len() == limit {
                    list.next = list.entries.last().map(|entry| entry.number);
                    return ControlFlow::Break(());
                }
                list.entries.push(entry(record).shown_to(&caller));
                ControlFlow::Continue(())
            })?;
            Ok(list)
        })
        .await?;
    Ok(json(&list))
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
        Event::Reopened { caller, .. } => EntryView { caller: Some(caller), ..plain("reopened") },
    }
}
