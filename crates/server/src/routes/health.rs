//! Is it alive, is it ready, figures for operators.

use std::sync::Arc;

use axum::Extension;
use axum::extract::State;
use axum::http::header;
use axum::response::{IntoResponse, Response};
use serde::Serialize;
use utoipa::ToSchema;

use super::json;
use crate::access::Caller;
use crate::app::App;
use crate::error::{Error, Problem, Result};
use crate::role::Role;

/// Is the process alive?
#[utoipa::path(get, path = "/healthz", operation_id = "alive", tag = "operation", responses((status = 200, description = "It is", body = String)))]
pub async fn alive() -> &'static str {
    "alive\n"
}

/// Can it take requests: are the ledger and the tokens there, can charges be kept, and can steps be closed?
#[utoipa::path(get, path = "/readyz", operation_id = "ready", tag = "operation", responses(
    (status = 200, description = "It can", body = String),
    (status = 500, description = "It cannot", body = Problem)))]
pub async fn ready(State(app): State<Arc<App>>) -> Result<&'static str> {
    // Strangers may ask: they are not told where anything is.
    let failing = "what is due or charged cannot be kept at present; the log of the service says why";
    if app.is_failing() { Err(Error::Machine(failing.into())) } else { Ok("ready\n") }
}

/// Figures for Prometheus; not one depends on events or rows
#[utoipa::path(get, path = "/metrics", operation_id = "metrics", tag = "operation", responses(
    (status = 200, description = "The figures", body = String),
    (status = "4XX", description = "Who may not", body = Problem)))]
pub async fn metrics(State(app): State<Arc<App>>) -> Response {
    let text = app.metrics.text(&app.streams, app.is_failing());
    ([(header::CONTENT_TYPE, "text/plain; version=0.0.4; charset=utf-8")], text).into_response()
}

/// Who asks.
#[derive(Debug, Serialize, ToSchema)]
pub struct Who {
    /// As the ledger knows them.
    pub name: String,
    /// What they may do.
    pub role: Role,
}

/// Who asks, as the service sees it
#[utoipa::path(get, path = "/v1/whoami", operation_id = "who_am_i", tag = "operation", responses(
    (status = 200, description = "Name and role", body = Who),
    (status = "4XX", description = "Who may not", body = Problem)))]
pub async fn who(Extension(caller): Extension<Caller>) -> Response {
    json(&Who { name: caller.name, role: caller.role })
}
