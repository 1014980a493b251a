//! What a request brings: bytes, also packed ones, and JSON. Read with a limit of size and of time.

use std::io::Read;
use std::sync::Arc;
use std::time::Duration;

use axum::body::{Body, Bytes, to_bytes};
use axum::extract::{FromRequest, FromRequestParts, Query, Request};
use axum::http::request::Parts;
use axum::http::{HeaderMap, header};
use serde::de::DeserializeOwned;

use crate::app::App;
use crate::error::{Error, Result};

/// A request that takes longer to arrive is given up.
const PATIENCE: Duration = Duration::from_secs(30);

/// All bytes, unpacked if they are packed by gzip.
#[derive(Debug)]
pub struct Unpacked(pub Vec<u8>);

impl FromRequest<Arc<App>> for Unpacked {
    type Rejection = Error;

    async fn from_request(request: Request, app: &Arc<App>) -> Result<Self> {
        let (parts, body) = request.into_parts();
        let limit = app.limits.body_bytes;
        let bytes = read(body, limit).await?;
        if !is_gzip(&parts.headers)? {
            return Ok(Self(bytes.into()));
        }
        app.blocking(move || unpack(&bytes, limit)).await.map(Self)
    }
}

/// A JSON object, in the words of a parameter if something is wrong.
#[derive(Debug)]
pub struct Json<T>(pub T);

impl<T: DeserializeOwned> FromRequest<Arc<App>> for Json<T> {
    type Rejection = Error;

    async fn from_request(request: Request, app: &Arc<App>) -> Result<Self> {
        let kind = request.headers().get(header::CONTENT_TYPE).and_then(|kind| kind.to_str().ok());
        let kind = kind.map(|kind| kind.split(';').next().unwrap_or_default().trim());
        if !kind.is_some_and(|kind| kind.eq_ignore_ascii_case("application/json")) {
            return Err(Error::MediaType("send JSON, with the header `Content-Type: application/json`"));
        }
        let Unpacked(bytes) = Unpacked::from_request(request, app).await?;
        serde_json::from_slice(&bytes).map(Self).map_err(|error| from_serde(&error.to_string(), "the JSON"))
    }
}

/// The parameters of an address.
#[derive(Debug)]
pub struct Params<T>(pub T);

impl<S: Sync, T: DeserializeOwned> FromRequestParts<S> for Params<T> {
    type Rejection = Error;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self> {
        let read = Query::<T>::try_from_uri(&parts.uri);
        read.map(|Query(params)| Self(params)).map_err(|error| {
            let text = error.body_text();
            let text = text.strip_prefix("Failed to deserialize query string: ").unwrap_or(&text);
            // `limit: invalid digit found in string`
            match text.split_once(": ") {
                Some((field, reason)) if !field.contains(' ') => {
                    Error::field(field, format!("the parameter {field} cannot be read: {reason}"))
                }
                _ => from_serde(text, "the address"),
            }
        })
    }
}

/// What serde says, with the field that it speaks of.
fn from_serde(text: &str, what: &str) -> Error {
    let field = text.split('`').nth(1).filter(|_| text.contains("field `"));
    let message = format!("{what} cannot be read: {text}");
    match field {
        Some(field) => Error::field(field, message),
        None => Error::asked(message),
    }
}

async fn read(body: Body, limit: usize) -> Result<Bytes> {
    let read = tokio::time::timeout(PATIENCE, to_bytes(body, limit)).await.map_err(|_| Error::TooSlow)?;
    // Either it is too long or the connection broke, and then nobody reads the answer.
    read.map_err(|_| Error::TooLarge(limit))
}

fn is_gzip(headers: &HeaderMap) -> Result<bool> {
    match headers.get(header::CONTENT_ENCODING).map(|value| value.as_bytes()) {
        None | Some(b"identity" | b"") => Ok(false),
        Some(b"gzip" | b"x-gzip") => Ok(true),
        Some(_) => Err(Error::MediaType("of all content encodings only gzip is understood")),
    }
}

/// Unpacks at most `limit` bytes: a small body can unpack to a very large one.
fn unpack(bytes: &[u8], limit: usize) -> Result<Vec<u8>> {
    let mut unpacked = Vec::new();
    let most = u64::try_from(limit).unwrap_or(u64::MAX).saturating_add(1);
    flate2::read::MultiGzDecoder::new(bytes)
        .take(most)
        .read_to_end(&mut unpacked)
        .map_err(|_| Error::asked("the body is not what gzip makes; pack it again, or leave Content-Encoding out"))?;
    if unpacked.len() > limit { Err(Error::TooLarge(limit)) } else { Ok(unpacked) }
}
