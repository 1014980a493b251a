//! Creating and listing streams.

use std::sync::Arc;

use axum::Extension;
use axum::extract::{Path, State};
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use reticent_stream::{Definition, Draft, Stream};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::json;
use super::number::Number;
use crate::access::Caller;
use crate::app::App;
use crate::body::{Json, Sender};
use crate::error::{Error, Problem, Result};
use crate::reply;

/// The definition of a stream.
#[derive(Debug, ToSchema)]
#[allow(dead_code, reason = "the shape of a draft, for the API description")]
pub struct StreamDefinition {
    /// Letters a–z, digits, `-` and `_`.
    #[schema(example = "visits", pattern = "^[a-z0-9][a-z0-9_-]{0,63}$")]
    name: String,
    /// The dataset whose budget is charged, which must be registered. Defaults to `stream/NAME`.
    dataset: Option<String>,
    /// The length of a step: `1s` to `1d`, `event`, or `N events`.
    #[schema(example = "1m")]
    step: String,
    /// The number of steps. Defaults to no end.
    #[schema(minimum = 1)]
    horizon: Option<u64>,
    /// The epsilon of all releases together.
    epsilon: Option<Number>,
    /// With epsilon: the delta of all releases together.
    delta: Option<Number>,
    /// Instead of epsilon: the rho of all releases together.
    rho: Option<Number>,
    /// Confirms an epsilon above 10 or a delta above 0.001, which give almost no protection.
    allow_large_epsilon: Option<bool>,
    /// The privacy unit: `event`, `step` or `events:N`.
    unit: Option<String>,
    /// `add-remove` or `replace`.
    adjacency: Option<String>,
    /// Clamping bounds, `LO..HI`.
    #[schema(example = "0..1")]
    range: Option<String>,
    /// The continual counter. Defaults to `auto`.
    counter: Option<String>,
    /// `none`, `selected` (needs delta), or a list of keys.
    keys: Option<StreamKeys>,
    /// `curator` or `pan-private`.
    mode: Option<String>,
    /// For how many steps an id is remembered; 0 ignores ids.
    dedup: Option<u64>,
    /// How many steps of releases are stored. Defaults to all.
    history: Option<u64>,
}

/// Keys of a stream.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(untagged)]
#[allow(dead_code, reason = "the shape of a draft, for the API description")]
pub enum StreamKeys {
    /// `none` or `selected`.
    Word(String),
    /// Public keys, known in advance.
    Known(Vec<String>),
}

/// A stream and its progress.
#[derive(Debug, Serialize, ToSchema)]
pub struct StreamView {
    /// Its definition.
    #[schema(value_type = StreamDefinition)]
    pub definition: Draft,
    /// The dataset whose budget was charged.
    pub dataset: String,
    /// The guarantee of all releases together, in words.
    pub guarantee: String,
    /// What the guarantee means.
    pub guarantee_in_words: String,
    /// What the half-widths of its releases cover.
    pub half_widths: String,
    /// The number of steps released.
    pub steps: u64,
    /// Whether all steps of its horizon were released.
    pub ended: bool,
}

impl StreamView {
    fn of(stream: &Stream) -> Self {
        let definition = stream.definition();
        let status = stream.status();
        Self {
            dataset: definition.dataset().to_owned(),
            guarantee: definition.guarantee().to_string(),
            guarantee_in_words: definition.guarantee_words(),
            half_widths: definition.half_width_words(),
            definition: definition.clone().into(),
            steps: status.steps,
            ended: status.ended,
        }
    }
}

/// All streams.
#[derive(Debug, Serialize, ToSchema)]
pub struct StreamList {
    /// By name.
    pub streams: Vec<StreamView>,
    /// Streams that cannot be opened.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub unopened: Vec<Unopened>,
}

/// A stream that cannot be opened.
#[derive(Debug, Serialize, ToSchema)]
pub struct Unopened {
    /// Its name.
    pub name: String,
    /// Why.
    pub reason: String,
}

/// A stream by its name.
pub(super) fn named(app: &App, name: &str) -> Result<Arc<Stream>> {
    let unopened = || app.streams.unopened().into_iter().find(|(unopened, _)| unopened == name);
    app.streams.get(name).ok_or_else(|| match unopened() {
        Some((_, error)) => error.into(),
        None => Error::Missing(format!("there is no stream {name:?}; GET /v1/streams lists them")),
    })
}

/// All streams
#[utoipa::path(get, path = "/v1/streams", operation_id = "list_streams", tag = "streams", responses(
    (status = 200, description = "All streams", body = StreamList),
    (status = "4XX", description = "Unauthorized, forbidden or rate-limited", body = Problem)))]
pub async fn list(State(app): State<Arc<App>>, Sender(sender): Sender) -> Result<Response> {
    let unopened = app.streams.unopened().into_iter();
    let list = StreamList {
        streams: app.streams.list().iter().map(|stream| StreamView::of(stream)).collect(),
        unopened: unopened.map(|(name, error)| Unopened { name, reason: error.to_string() }).collect(),
    };
    reply::json(&app, &sender, &list).await
}

/// Creates a stream, and charges its budget for all of its releases
#[utoipa::path(post, path = "/v1/streams", operation_id = "create_stream", tag = "streams", request_body = StreamDefinition, responses(
    (status = 201, description = "Created and charged", body = StreamView),
    (status = 400, description = "Invalid request; the message says how to fix it. Nothing was charged", body = Problem),
    (status = 402, description = "Not enough budget left; nothing was charged", body = Problem),
    (status = 409, description = "The name is taken; nothing was charged", body = Problem),
    (status = "4XX", description = "Invalid request; the message says how to fix it. Nothing was charged", body = Problem)))]
pub async fn create(
    State(app): State<Arc<App>>,
    Extension(caller): Extension<Caller>,
    Json(draft): Json<Draft>,
) -> Result<Response> {
    let definition = Definition::try_from(draft)?;
    let creating = Arc::clone(&app);
    let stream = app.blocking(move || Ok(creating.streams.create(definition, &caller.name)?)).await?;
    app.follow_nats(&stream);
    tracing::info!(stream = stream.definition().name(), "stream created");
    Ok((StatusCode::CREATED, json(&StreamView::of(&stream))).into_response())
}

/// One stream
#[utoipa::path(get, path = "/v1/streams/{name}", operation_id = "show_stream", tag = "streams",
    params(("name" = String, Path, description = "The stream")), responses(
    (status = 200, description = "The stream", body = StreamView),
    (status = 404, description = "Not found", body = Problem),
    (status = "4XX", description = "Unauthorized, forbidden or rate-limited", body = Problem)))]
pub async fn show(State(app): State<Arc<App>>, Sender(sender): Sender, Path(name): Path<String>) -> Result<Response> {
    let stream = named(&app, &name)?;
    reply::json(&app, &sender, &StreamView::of(&stream)).await
}
