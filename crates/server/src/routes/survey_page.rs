//! The page on which people answer a survey: compiled in.

use axum::http::{HeaderValue, header};
use axum::response::Response;

use super::dashboard::asset;

const PAGE: &str = include_str!("../../assets/survey.html");
const SCRIPT: &str = include_str!("../../assets/survey.js");
const STYLE: &str = include_str!("../../assets/survey.css");
/// The client library, also used by other pages.
const CLIENT: &str = include_str!("../../../wasm/js/reticent.js");
/// Built by `cargo xtask wasm`, which also checks that it is up to date.
const MODULE: &[u8] = include_bytes!("../../../wasm/reticent.wasm");

/// Like the dashboard's, but WebAssembly may be compiled.
const CONTENT_SECURITY_POLICY: HeaderValue = HeaderValue::from_static(
    "default-src 'none'; script-src 'self' 'wasm-unsafe-eval'; style-src 'self'; img-src 'self'; connect-src 'self'; \
     form-action 'none'; base-uri 'none'; frame-ancestors 'none'",
);

/// The page, the same for every survey: its script fetches the task.
pub async fn page() -> Response {
    let mut response = asset("text/html; charset=utf-8", PAGE);
    response.headers_mut().insert(header::CONTENT_SECURITY_POLICY, CONTENT_SECURITY_POLICY);
    response
}

/// Its script.
pub async fn script() -> Response {
    asset("text/javascript; charset=utf-8", SCRIPT)
}

/// Its style sheet.
pub async fn style() -> Response {
    asset("text/css; charset=utf-8", STYLE)
}

/// The client library: a person's device.
pub async fn client() -> Response {
    asset("text/javascript; charset=utf-8", CLIENT)
}

/// The WebAssembly module that randomises.
pub async fn module() -> Response {
    asset("application/wasm", MODULE)
}
