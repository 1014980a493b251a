//! Sending events.

use std::sync::Arc;

use axum::extract::{Path, State};
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use reticent_stream::Mode;
use serde::Serialize;
use utoipa::ToSchema;
use zeroize::Zeroize;

use super::json;
use super::streams::named;
use crate::app::App;
use crate::body::Unpacked;
use crate::error::{Problem, Result};

/// What is promised about the events of a request. It depends on the stream alone.
#[derive(Debug, Serialize, ToSchema)]
pub struct Acknowledged {
    /// `durable`: they can neither be lost nor counted twice. `at most once`: the stream is pan-private, and they may be lost in
    /// a crash.
    pub acknowledged: &'static str,
}

/// Sends events, one a line: `{"id": "a1", "key": "north", "value": 3}`, or a bare number
///
/// No line is an error: a value that is missing is 1, what is no number is 0, and what is out of range is clamped. Ids that were
/// seen within the stream's window are not counted again. May be packed by gzip (`Content-Encoding: gzip`).
#[utoipa::path(post, path = "/v1/streams/{name}/events", tag = "streams",
    params(("name" = String, Path, description = "The stream")),
    request_body(content = String, content_type = "application/x-ndjson", description = "One event a line"), responses(
    (status = 200, description = "They can neither be lost nor counted twice", body = Acknowledged),
    (status = 202, description = "They are counted at most once", body = Acknowledged),
    (status = 404, description = "There is no such stream", body = Problem),
    (status = 409, description = "The stream has ended", body = Problem),
    (status = 413, description = "Too many bytes at once", body = Problem),
    (status = "4XX", description = "Who may not, or too often", body = Problem)))]
pub async fn send(
    State(app): State<Arc<App>>,
    Path(name): Path<String>,
    Unpacked(mut body): Unpacked,
) -> Result<Response> {
    let stream = named(&app, &name)?;
    let mode = stream.definition().mode();
    let sent = app
        .blocking(move || {
            let events = stream.events_from_ndjson(&body);
            // Not a copy more than there must be of what nobody may find.
            if mode == Mode::PanPrivate {
                body.zeroize();
            }
            Ok(stream.ingest(events)?)
        })
        .await;
    sent?;
    Ok(match mode {
        Mode::Curator => json(&Acknowledged { acknowledged: "durable" }),
        Mode::PanPrivate => {
            (StatusCode::ACCEPTED, json(&Acknowledged { acknowledged: "at most once" })).into_response()
        }
    })
}
