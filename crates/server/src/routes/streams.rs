//! Creating streams, and what they are.

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
use crate::body::Json;
use crate::error::{Error, Problem, Result};

/// A stream to be created; also what a stream says of itself.
#[derive(Debug, ToSchema)]
#[allow(dead_code, reason = "the shape of a draft, for the description of the interface")]
pub struct StreamDefinition {
    /// Letters a–z, digits, `-` and `_`.
    #[schema(example = "visits", pattern = "^[a-z0-9][a-z0-9_-]{0,63}$")]
    name: String,
    /// Whose budget is charged; one of that name must be registered. `stream/NAME` unless given.
    dataset: Option<String>,
    /// How long a step lasts: `1s` to `1d`, `event`, or `N events`.
    #[schema(example = "1m")]
    step: String,
    /// How many steps; without end unless given.
    #[schema(minimum = 1)]
    horizon: Option<u64>,
    /// What all releases together promise: epsilon.
    epsilon: Option<Number>,
    /// With epsilon: delta.
    delta: Option<Number>,
    /// What all releases together promise instead: rho.
    rho: Option<Number>,
    /// Confirms an epsilon above 10 or a delta above 0.001, which promise next to nothing.
    allow_large_epsilon: Option<bool>,
    /// Whose privacy: `event`, `step` or `steps:N`.
    unit: Option<String>,
    /// `add-remove` or `replace`.
    adjacency: Option<String>,
    /// `LO..HI`: values outside are clamped.
    #[schema(example = "0..1")]
    range: Option<String>,
    /// How the noise is made; `auto` unless given.
    counter: Option<String>,
    /// `none`, `selected` (needs delta), or a list of keys.
    keys: Option<StreamKeys>,
    /// `curator` or `pan-private`.
    mode: Option<String>,
    /// For how many steps an id is remembered; 0 ignores ids.
    dedup: Option<u64>,
    /// How many steps of releases are kept; all unless given.
    history: Option<u64>,
}

/// Keys of a stream.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(untagged)]
#[allow(dead_code, reason = "the shape of a draft, for the description of the interface")]
pub enum StreamKeys {
    /// `none` or `selected`.
    Word(String),
    /// Those that are known beforehand.
    Known(Vec<String>),
}

/// A stream, and how far it is.
#[derive(Debug, Serialize, ToSchema)]
pub struct StreamView {
    /// What it is.
    #[schema(value_type = StreamDefinition)]
    pub definition: Draft,
    /// Whose budget was charged.
    pub dataset: String,
    /// What all releases together promise, in words.
    pub guarantee: String,
    /// What the promise means.
    pub promise: String,
    /// What the half-widths of its releases speak of.
    pub half_widths: String,
    /// How many steps were released.
    pub steps: u64,
    /// Were all steps of its horizon released?
    pub ended: bool,
}

impl StreamView {
    fn of(stream: &Stream) -> Self {
        let definition = stream.definition();
        let status = stream.status();
        Self {
            dataset: definition.dataset().to_owned(),
            guarantee: definition.guarantee().to_string(),
            promise: definition.promise_words(),
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
    /// Those that are there but cannot be opened.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub unopened: Vec<Unopened>,
}

/// A stream that is there but cannot be opened.
#[derive(Debug, Serialize, ToSchema)]
pub struct Unopened {
    /// Its name.
    pub name: String,
    /// Why.
    pub reason: String,
}

/// The stream of a name.
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
    (status = "4XX", description = "Who may not", body = Problem)))]
pub async fn list(State(app): State<Arc<App>>) -> Response {
    let unopened = app.streams.unopened().into_iter();
    json(&StreamList {
        streams: app.streams.list().iter().map(|stream| StreamView::of(stream)).collect(),
        unopened: unopened.map(|(name, error)| Unopened { name, reason: error.to_string() }).collect(),
    })
}

/// Creates a stream, and charges its budget for all that it will ever release
#[utoipa::path(post, path = "/v1/streams", operation_id = "create_stream", tag = "streams", request_body = StreamDefinition, responses(
    (status = 201, description = "It was created, and charged", body = StreamView),
    (status = 400, description = "What is wrong, and what to write instead; nothing was charged", body = Problem),
    (status = 402, description = "Not enough budget left; nothing was charged", body = Problem),
    (status = 409, description = "There is one of that name; nothing was charged", body = Problem),
    (status = "4XX", description = "What is wrong, and what to write instead; nothing was charged", body = Problem)))]
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
    (status = 404, description = "There is none", body = Problem),
    (status = "4XX", description = "Who may not", body = Problem)))]
pub async fn show(State(app): State<Arc<App>>, Path(name): Path<String>) -> Result<Response> {
    Ok(json(&StreamView::of(&*named(&app, &name)?)))
}
