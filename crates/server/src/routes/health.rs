//! Liveness, readiness and metrics for operators.

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

/// Whether the process is alive
#[utoipa::path(get, path = "/healthz", operation_id = "alive", tag = "operation", responses((status = 200, description = "Alive", body = String)))]
pub async fn alive() -> &'static str {
    "alive\n"
}

/// Whether the service is ready: the ledger and the tokens are accessible, charges can be stored and steps closed
#[utoipa::path(get, path = "/readyz", operation_id = "ready", tag = "operation", responses(
    (status = 200, description = "Ready", body = String),
    (status = 500, description = "Not ready", body = Problem)))]
pub async fn ready(State(app): State<Arc<App>>) -> Result<&'static str> {
    // Anyone may ask, so the reason, which names paths, is only in the log.
    let failing = "charges or releases cannot be stored at present; see the service's log";
    if app.is_failing() { Err(Error::Machine(failing.into())) } else { Ok("ready\n") }
}

/// Metrics for Prometheus; none depends on events or rows
#[utoipa::path(get, path = "/metrics", operation_id = "metrics", tag = "operation", responses(
    (status = 200, description = "The metrics", body = String),
    (status = "4XX", description = "Unauthorized, forbidden or rate-limited", body = Problem)))]
pub async fn metrics(State(app): State<Arc<App>>) -> Response {
    let text = app.metrics.text(&app.streams, app.is_failing());
    ([(header::CONTENT_TYPE, "text/plain; version=0.0.4; charset=utf-8")], text).into_response()
}

/// The caller.
#[derive(Debug, Serialize, ToSchema)]
pub struct Who {
    /// Its name in the ledger.
    pub name: String,
    /// What it may do.
    pub role: Role,
}

/// The caller, as identified by the token
#[utoipa::path(get, path = "/v1/whoami", operation_id = "who_am_i", tag = "operation", responses(
    (status = 200, description = "Name and role", body = Who),
    (status = "4XX", description = "Unauthorized, forbidden or rate-limited", body = Problem)))]
pub async fn who(Extension(caller): Extension<Caller>) -> Response {
    json(&Who { name: caller.name, role: caller.role })
}
