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

/// Where events are sent.
pub const PATH: &str = "/v1/streams/{name}/events";

/// On an answer about events: they are a curator's, and the connection may stay.
#[derive(Debug, Clone, Copy)]
struct Curators;

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
#[utoipa::path(post, path = "/v1/streams/{name}/events", operation_id = "send_events", tag = "streams",
    params(("name" = String, Path, description = "The stream")),
    request_body(content((String = "application/x-ndjson"), (String = "text/plain"), (String = "application/octet-stream")),
        description = "One event a line"), responses(
    (status = 200, description = "They can neither be lost nor counted twice", body = Acknowledged),
    (status = 202, description = "They are counted at most once", body = Acknowledged),
    (status = 404, description = "There is no such stream", body = Problem),
    (status = 409, description = "The stream has ended", body = Problem),
    (status = 413, description = "Too many bytes at once", body = Problem),
    (status = "4XX", description = "Who may not, or too often", body = Problem)))]
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

/// An answer that goes out before the events are counted. The other way round, whoever saw no answer because of a crash would
/// send them again, and they would be in two trees of noise, while the promise is for one.
fn acknowledged_first(app: Arc<App>, stream: Arc<Stream>, body: Vec<u8>, room: Room) -> Response {
    let text = serde_json::to_string(&Acknowledged { acknowledged: "at most once" }).expect("plain data");
    let pieces = stream::unfold((Some(text), Some((app, stream, body, room))), |(text, left)| async move {
        if let Some(text) = text {
            return Some((Ok::<_, Infallible>(text), (None, left)));
        }
        // While this waits, the connection sends what it has.
        tokio::task::yield_now().await;
        if let Some((app, stream, mut body, _room)) = left {
            // Nobody can be told any more, and nothing may be counted twice.
            let _ = app.blocking(move || Ok(stream.ingest_ndjson(&mut body)?)).await;
        }
        None
    });
    let headers = [(header::CONTENT_TYPE, "application/json")];
    (StatusCode::ACCEPTED, headers, Body::from_stream(pieces)).into_response()
}

/// Closes the connection behind events, unless a curator has counted them, and behind whatever is sent where there is nothing:
/// while a connection is open its buffer is, and in it what it has read. Whether it is closed depends on the stream alone.
pub async fn close_behind(request: Request, next: Next) -> Response {
    let path = request.extensions().get::<MatchedPath>().map(MatchedPath::as_str);
    let may_hold_events = path.is_none_or(|path| path == PATH);
    let mut response = next.run(request).await;
    if may_hold_events && response.extensions().get::<Curators>().is_none() {
        response.headers_mut().insert(header::CONNECTION, HeaderValue::from_static("close"));
    }
    response
}
