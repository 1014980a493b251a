//! Sending events.

use std::convert::Infallible;
use std::sync::Arc;

use axum::body::Body;
use axum::extract::{MatchedPath, Path, Request, State};
use axum::http::{HeaderValue, StatusCode, header};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use futures::stream;
use reticent_stream::{Mode, Stream};
use serde::Serialize;
use utoipa::ToSchema;

use super::json;
use super::streams::named;
use crate::app::App;
use crate::body::Unpacked;
use crate::error::{Problem, Result};
use crate::room::Room;

/// The path to which events are sent.
pub const PATH: &str = "/v1/streams/{name}/events";

/// Marks a response to events that a curator has counted: the connection may stay open.
#[derive(Debug, Clone, Copy)]
struct Curators;

/// The delivery guarantee for the events of a request. It depends only on the stream.
#[derive(Debug, Serialize, ToSchema)]
pub struct Acknowledged {
    /// `durable`: they can be neither lost nor counted twice. `at most once`: the stream is pan-private, and a crash
    /// may lose them.
    pub acknowledged: &'static str,
}

/// Sends events, one per line: `{"id": "a1", "key": "north", "value": 3}`, or a bare number
///
/// No line is an error: a missing value counts as 1, anything but a number as 0, and values out of range are clamped.
/// Ids seen within the stream's window are not counted again. The body may be gzipped (`Content-Encoding: gzip`).
#[utoipa::path(post, path = "/v1/streams/{name}/events", operation_id = "send_events", tag = "streams",
    params(("name" = String, Path, description = "The stream")),
    request_body(content((String = "application/x-ndjson"), (String = "text/plain"), (String = "application/octet-stream")),
        description = "One event per line"), responses(
    (status = 200, description = "The events can be neither lost nor counted twice", body = Acknowledged),
    (status = 202, description = "The events are counted at most once", body = Acknowledged),
    (status = 404, description = "No such stream", body = Problem),
    (status = 409, description = "The stream has ended", body = Problem),
    (status = 413, description = "The request is too large", body = Problem),
    (status = "4XX", description = "Unauthorized, forbidden or rate-limited", body = Problem)))]
pub async fn send(
    State(app): State<Arc<App>>,
    Path(name): Path<String>,
    Unpacked(mut body, room): Unpacked,
) -> Result<Response> {
    let stream = named(&app, &name)?;
    match stream.definition().mode() {
        Mode::Curator => {
            app.blocking(move || Ok(stream.ingest_ndjson(&mut body)?)).await?;
            let mut answer = json(&Acknowledged { acknowledged: "durable" });
            answer.extensions_mut().insert(Curators);
            Ok(answer)
        }
        Mode::PanPrivate => {
            if stream.status().ended {
                return Err(reticent_stream::Error::Ended(name).into());
            }
            Ok(acknowledged_first(app, stream, body, room))
        }
    }
}

/// A response that is sent before the events are counted. The other way round, a client that got no response because of
/// a crash would send them again, and they would be in two noise trees, while the guarantee is for one.
fn acknowledged_first(app: Arc<App>, stream: Arc<Stream>, body: Vec<u8>, room: Room) -> Response {
    let text = serde_json::to_string(&Acknowledged { acknowledged: "at most once" }).expect("plain data");
    let pieces = stream::unfold((Some(text), Some((app, stream, body, room))), |(text, left)| async move {
        if let Some(text) = text {
            return Some((Ok::<_, Infallible>(text), (None, left)));
        }
        // While this yields, the connection sends what it has.
        tokio::task::yield_now().await;
        if let Some((app, stream, mut body, _room)) = left {
            // An error can no longer be reported, and nothing may be counted twice.
            let _ = app.blocking(move || Ok(stream.ingest_ndjson(&mut body)?)).await;
        }
        None
    });
    let headers = [(header::CONTENT_TYPE, "application/json")];
    (StatusCode::ACCEPTED, headers, Body::from_stream(pieces)).into_response()
}

/// Closes the connection after events, unless a curator has counted them, and after requests to unknown paths: an open
/// connection keeps its buffer, and in it what it has read. Whether it is closed depends only on the stream.
pub async fn close_behind(request: Request, next: Next) -> Response {
    let path = request.extensions().get::<MatchedPath>().map(MatchedPath::as_str);
    let may_hold_events = path.is_none_or(|path| path == PATH);
    let mut response = next.run(request).await;
    if may_hold_events && response.extensions().get::<Curators>().is_none() {
        response.headers_mut().insert(header::CONNECTION, HeaderValue::from_static("close"));
    }
    response
}
