//! The page on which people answer a survey: compiled in.

use axum::http::{HeaderValue, header};
use axum::response::Response;

use super::dashboard::asset;

const PAGE: &str = include_str!("../../assets/survey.html");
const SCRIPT: &str = include_str!("../../assets/survey.js");
const STYLE: &str = include_str!("../../assets/survey.css");
/// The same file that other pages use.
const CLIENT: &str = include_str!("../../../wasm/js/reticent.js");
/// What `cargo xtask wasm` builds, and compares.
const MODULE: &[u8] = include_bytes!("../../../wasm/reticent.wasm");

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
pub async fn module() -> Response {
    asset("application/wasm", MODULE)
}
