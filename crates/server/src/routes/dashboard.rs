//! The dashboard: compiled in, without third-party scripts, so that it works offline.

use axum::http::header;
use axum::response::{IntoResponse, Response};

const PAGE: &str = include_str!("../../assets/index.html");
const SCRIPT: &str = include_str!("../../assets/app.js");
const STYLE: &str = include_str!("../../assets/style.css");
const ICON: &str = include_str!("../../assets/icon.svg");

pub(super) fn asset(kind: &'static str, content: impl IntoResponse) -> Response {
    // Revalidated each time, so that a page never runs with the script of another version.
    ([(header::CONTENT_TYPE, kind), (header::CACHE_CONTROL, "no-cache")], content).into_response()
}

/// The page.
pub async fn page() -> Response {
    asset("text/html; charset=utf-8", PAGE)
}

/// Its script.
pub async fn script() -> Response {
    asset("text/javascript; charset=utf-8", SCRIPT)
}

/// Its style sheet.
pub async fn style() -> Response {
    asset("text/css; charset=utf-8", STYLE)
}

/// Its icon.
pub async fn icon() -> Response {
    asset("image/svg+xml", ICON)
}
