//! Replies that are large.

use std::convert::Infallible;

use axum::body::{Body, Bytes};
use axum::http::header;
use axum::response::{IntoResponse, Response};
use futures::stream;

use crate::room::Room;

/// Sent at a time.
const PIECE: usize = 1 << 16;

/// A JSON reply, with the memory that it takes until it has been sent.
pub fn held(text: String, room: Room) -> Response {
    let headers = [(header::CONTENT_TYPE, "application/json".into()), (header::CONTENT_LENGTH, text.len().to_string())];
    let pieces = stream::unfold((Bytes::from(text), room), async |(mut rest, room)| {
        let piece = rest.split_to(rest.len().min(PIECE));
        (!piece.is_empty()).then_some((Ok::<_, Infallible>(piece), (rest, room)))
    });
    (headers, Body::from_stream(pieces)).into_response()
}
