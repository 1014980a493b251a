//! The page on which people answer a survey: compiled in, but for the WebAssembly, which is built by itself.

use std::sync::Arc;

use axum::extract::State;
use axum::http::{HeaderValue, header};
use axum::response::{IntoResponse, Response};

use super::dashboard::asset;
use crate::app::App;
use crate::error::{Error, Result};

const PAGE: &str = include_str!("../../assets/survey.html");
const SCRIPT: &str = include_str!("../../assets/survey.js");
const STYLE: &str = include_str!("../../assets/survey.css");
/// The same file that other pages use.
const CLIENT: &str = include_str!("../../../wasm/js/reticent.js");

/// As the dashboard's, but WebAssembly may be compiled.
const CONTENT_SECURITY_POLICY: HeaderValue = HeaderValue::from_static(
    "default-src 'none'; script-src 'self' 'wasm-unsafe-eval'; style-src 'self'; img-src 'self'; connect-src 'self'; \
     form-action 'none'; base-uri 'none'; frame-ancestors 'none'",
);

/// The page, of whichever survey: its script asks for the task.
pub async fn page() -> Response {
    let mut response = asset("text/html; charset=utf-8", PAGE);
    response.headers_mut().insert(header::CONTENT_SECURITY_POLICY, CONTENT_SECURITY_POLICY);
    response
}

/// What it does.
pub async fn script() -> Response {
    asset("text/javascript; charset=utf-8", SCRIPT)
}

/// How it looks.
pub async fn style() -> Response {
    asset("text/css; charset=utf-8", STYLE)
}

/// A person's device.
pub async fn client() -> Response {
    asset("text/javascript; charset=utf-8", CLIENT)
}

/// What randomises.
pub async fn module(State(app): State<Arc<App>>) -> Result<Response> {
    let missing = || {
        Error::Missing(
            "survey_module is not set in the configuration; docs/local.md says how the module is built".into(),
        )
    };
    let bytes = app.surveys.module().ok_or_else(missing)?.to_vec();
    Ok(([(header::CONTENT_TYPE, "application/wasm"), (header::CACHE_CONTROL, "no-cache")], bytes).into_response())
}
