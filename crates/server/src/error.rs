//! Errors, and how they are reported over HTTP.

use axum::http::{HeaderName, HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use reticent::error::{Class, Explained};
use reticent::message::Spelling;
use serde::Serialize;
use utoipa::ToSchema;

/// `Result` with this crate's [`Error`](enum@Error).
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// Why a request failed. No text depends on events or rows.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The request is invalid; the text says how to fix it.
    #[error("{message}")]
    Asked {
        /// The invalid parameter, if it is one.
        field: Option<String>,
        /// What is wrong, and how to fix it.
        message: String,
    },
    /// Not found.
    #[error("{0}")]
    Missing(String),
    /// In conflict with what exists.
    #[error("{0}")]
    Conflict(String),
    /// The caller is not authenticated.
    #[error("{0}")]
    Unknown(&'static str),
    /// The caller lacks the permission.
    #[error("{0}")]
    Forbidden(String),
    /// Not enough budget left; nothing was charged.
    #[error("{0}")]
    Overdrawn(String),
    /// The request is too large.
    #[error("a request may have at most {0} bytes after decompression; send less at a time")]
    TooLarge(usize),
    /// Too many requests.
    #[error("too many requests: wait a second; when sending events, batch them")]
    TooMany,
    /// There is no capacity for this kind of request at present.
    #[error("{0}; wait a second and try again")]
    Busy(&'static str),
    /// A charged and stored answer for which there is no memory at present.
    #[error(
        "the answer is stored, but other replies are still being sent and leave no memory for it; repeat the request with the request_id \
         {0:?}, which costs nothing"
    )]
    Unsent(String),
    /// The request took too long to arrive.
    #[error("the request did not arrive in time; send it again, faster or in smaller parts")]
    TooSlow,
    /// The path does not support the method.
    #[error("this path does not support the method; it supports {0}")]
    Method(String),
    /// Unsupported media type or content encoding.
    #[error("{0}")]
    MediaType(&'static str),
    /// The disk, the ledger or the machine failed. What was charged stays charged.
    #[error("{0}")]
    Machine(String),
}

/// An error response.
#[derive(Debug, Serialize, ToSchema)]
pub struct Problem {
    /// The error.
    pub error: Detail,
}

/// The details of an error.
#[derive(Debug, Serialize, ToSchema)]
pub struct Detail {
    /// What is wrong, and how to fix it.
    pub message: String,
    /// The invalid parameter, if it is one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub field: Option<String>,
}

impl Error {
    /// An invalid parameter.
    pub fn field(field: impl Into<String>, message: impl Into<String>) -> Self {
        Self::Asked { field: Some(field.into()), message: message.into() }
    }

    /// An invalid request.
    pub fn asked(message: impl Into<String>) -> Self {
        Self::Asked { field: None, message: message.into() }
    }

    /// An error of a library, as this service reports it.
    fn explained(error: &impl Explained) -> Self {
        let message = error.message().spelled(Spelling::Field);
        match error.class() {
            Class::Request => Self::Asked { field: error.setting().map(|name| name.replace('-', "_")), message },
            Class::Missing => Self::Missing(message),
            Class::Conflict | Class::Suspended | Class::Unfinished => Self::Conflict(message),
            Class::Exhausted => Self::Overdrawn(message),
            Class::Stopping => Self::Busy("the service is shutting down"),
            _ => Self::Machine(message),
        }
    }

    /// The HTTP status.
    pub fn status(&self) -> StatusCode {
        match self {
            Self::Asked { .. } => StatusCode::BAD_REQUEST,
            Self::Missing(_) => StatusCode::NOT_FOUND,
            Self::Conflict(_) => StatusCode::CONFLICT,
            Self::Unknown(_) => StatusCode::UNAUTHORIZED,
            Self::Forbidden(_) => StatusCode::FORBIDDEN,
            Self::Overdrawn(_) => StatusCode::PAYMENT_REQUIRED,
            Self::TooLarge(_) => StatusCode::PAYLOAD_TOO_LARGE,
            Self::TooMany => StatusCode::TOO_MANY_REQUESTS,
            Self::Busy(_) | Self::Unsent(_) => StatusCode::SERVICE_UNAVAILABLE,
            Self::TooSlow => StatusCode::REQUEST_TIMEOUT,
            Self::Method(_) => StatusCode::METHOD_NOT_ALLOWED,
            Self::MediaType(_) => StatusCode::UNSUPPORTED_MEDIA_TYPE,
            Self::Machine(_) => StatusCode::INTERNAL_SERVER_ERROR,
        }
    }

    fn header(&self) -> Option<(HeaderName, String)> {
        match self {
            Self::Unknown(_) => Some((header::WWW_AUTHENTICATE, "Bearer".into())),
            Self::TooMany | Self::Busy(_) | Self::Unsent(_) => Some((header::RETRY_AFTER, "1".into())),
            Self::Method(known) => Some((header::ALLOW, known.clone())),
            _ => None,
        }
    }
}

impl IntoResponse for Error {
    fn into_response(self) -> Response {
        let field = match &self {
            Self::Asked { field, .. } => field.clone(),
            _ => None,
        };
        let message = reticent::secrets::hide(&self.to_string()).into_owned();
        let problem = Problem { error: Detail { message, field } };
        let text = serde_json::to_string(&problem).expect("plain data");
        let mut response = (self.status(), [(header::CONTENT_TYPE, "application/json")], text).into_response();
        if let Some((name, value)) = self.header()
            && let Ok(value) = HeaderValue::try_from(value)
        {
            response.headers_mut().insert(name, value);
        }
        response
    }
}

impl Explained for Error {
    fn class(&self) -> Class {
        match self {
            Self::Machine(_) => Class::Machine,
            Self::Overdrawn(_) => Class::Exhausted,
            Self::Missing(_) => Class::Missing,
            Self::Conflict(_) => Class::Conflict,
            _ => Class::Request,
        }
    }
}

macro_rules! from_library {
    ($($library:ident),+) => {$(
        impl From<$library::Error> for Error {
            fn from(error: $library::Error) -> Self {
                Self::explained(&error)
            }
        }
    )+};
}

from_library!(reticent, reticent_ledger, reticent_sql, reticent_stream);

impl From<reticent_collector::Error> for Error {
    fn from(error: reticent_collector::Error) -> Self {
        match error {
            reticent_collector::Error::OtherTask(_) => Self::field("survey", error.to_string()),
            // No request names the file.
            reticent_collector::Error::Damaged(_) => Self::Machine(error.to_string()),
            error => Self::explained(&error),
        }
    }
}

impl From<reticent_table::Error> for Error {
    fn from(error: reticent_table::Error) -> Self {
        reticent_sql::Error::from(error).into()
    }
}

impl From<rusqlite::Error> for Error {
    /// SQLite's own message may quote what was written.
    fn from(_: rusqlite::Error) -> Self {
        Self::Machine("the tokens cannot be read or written; check the disk of the data directory".into())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn settings_become_fields() {
        let error = reticent_sql::Error::Bounds { column: "--max-rows".into() };
        let Error::Asked { field, message } = error.into() else { panic!("the request is at fault") };
        assert_eq!(field.as_deref(), Some("bounds"));
        // A name that looks like a flag stays what it is.
        let expected = "--max-rows needs bounds, chosen without looking at the data: add `bounds` --max-rows=LO..HI";
        assert_eq!(message, expected);
    }
}
