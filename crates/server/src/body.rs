//! Request bodies: bytes, possibly compressed, and JSON. Reading is limited in size and time.

use std::collections::BTreeMap;
use std::convert::Infallible;
use std::io::Read;
use std::ops::RangeInclusive;
use std::sync::Arc;
use std::time::Duration;

use axum::body::{Body, HttpBody as _};
use axum::extract::{FromRequest, FromRequestParts, Request};
use axum::http::request::Parts;
use axum::http::{Extensions, HeaderMap, header};
use futures::StreamExt as _;
use percent_encoding::percent_decode_str;
use reticent::secrets::burn_stack;
use serde::de::DeserializeOwned;

use crate::access::Caller;
use crate::app::App;
use crate::error::{Error, Result};
use crate::listen::{Peer, RESERVED_SILENCE};
use crate::room::Room;

/// The most bytes that one compressed byte expands to: a match of 258 bytes takes two bits (deflate, RFC 1951).
const EXPANSION: usize = 1032;
/// 64 KiB: more than unpacking takes on the stack, even in unoptimised builds.
const UNPACKING_FRAMES: usize = 1 << 16;

/// The most values in a JSON object, counted by its commas. The smallest, an empty text of three bytes, takes 24 bytes when it
/// is parsed, and twice that while a list of them grows: 48 MiB in all.
const MOST_VALUES: usize = 1 << 20;

/// Whose memory a request takes: the caller's, or if there is none, as for open surveys, its address's. No caller's name
/// has a space in it.
#[derive(Debug)]
pub struct Sender(pub String);

impl Sender {
    fn of(extensions: &Extensions) -> Self {
        let caller = extensions.get::<Caller>().map(|caller| caller.name.clone());
        let peer = || extensions.get::<Peer>().map(|peer| format!("from {}", peer.source));
        Self(caller.or_else(peer).unwrap_or_default())
    }
}

impl<S: Sync> FromRequestParts<S> for Sender {
    type Rejection = Infallible;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, Infallible> {
        Ok(Self::of(&parts.extensions))
    }
}

/// All bytes, decompressed if they are gzipped, and the memory that they take.
#[derive(Debug)]
pub struct Unpacked(pub Vec<u8>, pub Room);

impl FromRequest<Arc<App>> for Unpacked {
    type Rejection = Error;

    async fn from_request(request: Request, app: &Arc<App>) -> Result<Self> {
        let (parts, body) = request.into_parts();
        let (caller, peer) = (parts.extensions.get::<Caller>(), parts.extensions.get::<Peer>());
        // Without a caller, it can only be the answer to an open survey.
        let limit = if caller.is_some() { app.limits.body_bytes } else { app.limits.open_body_bytes };
        let packed = is_gzip(&parts.headers)?;
        let mut room = app.bodies.of(&Sender::of(&parts.extensions).0);
        let reserved = peer.is_some_and(|peer| peer.reserved.is_some());
        let time = if reserved { RESERVED_SILENCE } else { Duration::from_secs(app.limits.request_seconds) };
        let bytes = tokio::time::timeout(time, read(body, limit, &mut room)).await.map_err(|_| Error::TooSlow)??;
        if let Some(peer) = peer {
            peer.arrived();
        }
        if !packed {
            return Ok(Self(bytes, room));
        }
        room.grow(bytes.capacity() + bytes.len().saturating_mul(EXPANSION).min(limit)).await?;
        let unpacking = move || {
            let unpacked = unpack(&bytes, limit);
            // `read_to_end` probes for the end with a few bytes on the stack.
            burn_stack::<UNPACKING_FRAMES>();
            unpacked
        };
        let bytes = app.blocking(unpacking).await?;
        room.shrink(bytes.len());
        Ok(Self(bytes, room))
    }
}

/// A JSON object, parsed when it is needed: a parsed value can take many times the memory of its text.
#[derive(Debug)]
pub struct JsonText {
    bytes: Vec<u8>,
    _room: Room,
}

impl JsonText {
    /// The value; errors name the invalid field.
    ///
    /// # Errors
    /// If it is not such a value.
    pub fn parse<T: DeserializeOwned>(&self) -> Result<T> {
        serde_json::from_slice(&self.bytes).map_err(|error| from_serde(&error.to_string()))
    }
}

impl FromRequest<Arc<App>> for JsonText {
    type Rejection = Error;

    async fn from_request(request: Request, app: &Arc<App>) -> Result<Self> {
        let kind = request.headers().get(header::CONTENT_TYPE).and_then(|kind| kind.to_str().ok());
        let kind = kind.map(|kind| kind.split(';').next().unwrap_or_default().trim());
        if !kind.is_some_and(|kind| kind.eq_ignore_ascii_case("application/json")) {
            return Err(Error::MediaType("send JSON, with the header `Content-Type: application/json`"));
        }
        let Unpacked(bytes, room) = Unpacked::from_request(request, app).await?;
        if bytes.iter().filter(|byte| **byte == b',').count() >= MOST_VALUES {
            return Err(Error::asked(format!("the JSON has too many values; at most {MOST_VALUES} are allowed")));
        }
        Ok(Self { bytes, _room: room })
    }
}

/// A JSON object that is parsed at once.
#[derive(Debug)]
pub struct Json<T>(pub T);

impl<T: DeserializeOwned> FromRequest<Arc<App>> for Json<T> {
    type Rejection = Error;

    async fn from_request(request: Request, app: &Arc<App>) -> Result<Self> {
        JsonText::from_request(request, app).await?.parse().map(Self)
    }
}

/// The query parameters of a URL, each at most once.
#[derive(Debug)]
pub struct Params(BTreeMap<String, String>);

impl<S: Sync> FromRequestParts<S> for Params {
    type Rejection = Error;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self> {
        let mut params = BTreeMap::new();
        for pair in parts.uri.query().unwrap_or_default().split('&').filter(|pair| !pair.is_empty()) {
            let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
            let decoded = |text: &str| percent_decode_str(&text.replace('+', " ")).decode_utf8_lossy().into_owned();
            let name = decoded(name);
            if params.insert(name.clone(), decoded(value)).is_some() {
                return Err(Error::field(name.clone(), format!("the parameter {name} is given twice; give it once")));
            }
        }
        Ok(Self(params))
    }
}

impl Params {
    /// Refuses all parameters but these, so that a typo does not go unnoticed.
    ///
    /// # Errors
    /// If there is an unknown parameter.
    pub fn only(self, known: &[&str]) -> Result<Self> {
        match self.0.keys().find(|name| !known.contains(&name.as_str())) {
            Some(name) => {
                let known = if known.is_empty() { "none".into() } else { known.join(", ") };
                Err(Error::field(name.clone(), format!("there is no parameter {name}; known parameters: {known}")))
            }
            None => Ok(self),
        }
    }

    /// A whole number within a range; `None` if it is not given.
    ///
    /// # Errors
    /// If it is not such a number.
    pub fn number(&self, name: &'static str, range: RangeInclusive<u64>) -> Result<Option<u64>> {
        let Some(text) = self.0.get(name) else { return Ok(None) };
        let number = text.parse().ok().filter(|number| range.contains(number));
        let (low, high) = (range.start(), range.end());
        let message = || match *high {
            u64::MAX => format!("{name} is {text}, but it must be a whole number, {low} or more"),
            high => format!("{name} is {text}, but it must be a whole number from {low} to {high}"),
        };
        number.map(Some).ok_or_else(|| Error::field(name, message()))
    }

    /// A parameter's text; `None` if it is not given.
    pub fn text(&self, name: &str) -> Option<&str> {
        self.0.get(name).map(String::as_str)
    }
}

/// Serde's message, with the field that it names.
fn from_serde(text: &str) -> Error {
    let field = text.split('`').nth(1).filter(|_| text.contains("field `"));
    let message = format!("invalid JSON: {text}");
    match field {
        Some(field) => Error::field(field, message),
        None => Error::asked(message),
    }
}

/// Memory is reserved as the bytes arrive: announcing a large body, or none, reserves nothing.
async fn read(body: Body, limit: usize, room: &mut Room) -> Result<Vec<u8>> {
    let announced = body.size_hint().upper().and_then(|length| usize::try_from(length).ok());
    let most = announced.unwrap_or(limit);
    if most > limit {
        return Err(Error::TooLarge(limit));
    }
    let (mut pieces, mut bytes) = (body.into_data_stream(), Vec::new());
    while let Some(piece) = pieces.next().await {
        let piece =
            piece.map_err(|_| Error::asked("the request body is incomplete, or not in the form its headers say"))?;
        let length = bytes.len() + piece.len();
        if length > limit {
            return Err(Error::TooLarge(limit));
        }
        if length > bytes.capacity() {
            let capacity = length.saturating_mul(2).min(most).max(length);
            room.grow(capacity).await?;
            bytes.reserve_exact(capacity - bytes.len());
        }
        bytes.extend_from_slice(&piece);
    }
    Ok(bytes)
}

fn is_gzip(headers: &HeaderMap) -> Result<bool> {
    match headers.get(header::CONTENT_ENCODING).map(|value| value.as_bytes()) {
        None | Some(b"identity" | b"") => Ok(false),
        Some(b"gzip" | b"x-gzip") => Ok(true),
        Some(_) => Err(Error::MediaType("the only supported content encoding is gzip")),
    }
}

/// Decompresses at most `limit` bytes: a small body can expand to a very large one.
fn unpack(bytes: &[u8], limit: usize) -> Result<Vec<u8>> {
    let mut unpacked = Vec::new();
    let most = u64::try_from(limit).unwrap_or(u64::MAX).saturating_add(1);
    flate2::read::MultiGzDecoder::new(bytes)
        .take(most)
        .read_to_end(&mut unpacked)
        .map_err(|_| Error::asked("the body is not valid gzip; compress it again, or leave out Content-Encoding"))?;
    if unpacked.len() > limit { Err(Error::TooLarge(limit)) } else { Ok(unpacked) }
}
