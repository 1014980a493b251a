//! The HTTP routes.
//!
//! | module | holds |
//! |---|---|
//! | [`streams`] | creating and listing streams |
//! | [`events`] | sending events |
//! | [`releases`] | releases: the newest, the history, as CSV, as a chart |
//! | [`live`] | releases as they are made |
//! | [`datasets`] | budgets and spending |
//! | [`query`] | private SQL, and its tables |
//! | [`surveys`] | surveys of the local model: tasks, reports, estimates |
//! | [`health`] | liveness, readiness and metrics for operators |
//! | [`openapi`] | the API description |
//! | [`number`] | exact numbers, as JSON numbers or strings |
//! | [`dashboard`] | the dashboard |
//! | [`survey_page`] | the page on which people answer a survey |
//!
//! Every route is in [`table`] once, with the permission it requires; the guard, the router, the description and the
//! tests are derived from it. A route that is not in the table does not exist.

pub mod dashboard;
pub mod datasets;
pub mod events;
pub mod health;
pub mod live;
pub mod number;
pub mod openapi;
pub mod query;
pub mod releases;
pub mod streams;
pub mod survey_page;
pub mod surveys;

use std::any::Any;
use std::sync::{Arc, LazyLock};

use axum::Router;
use axum::http::{HeaderName, HeaderValue, Method, header};
use axum::middleware::{from_fn, from_fn_with_state};
use axum::response::{IntoResponse, Response};
use axum::routing::{MethodRouter, get, post};
use tower_http::catch_panic::CatchPanicLayer;
use tower_http::set_header::SetResponseHeaderLayer;

use crate::access::guard;
use crate::app::App;
use crate::error::Error;
use crate::role::Permission;

/// Only this server's own files: no inline scripts, no framing.
const CONTENT_SECURITY_POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' blob:; \
                                       connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'";

/// A route.
#[derive(Debug, Clone)]
pub struct Route {
    /// The method.
    pub method: Method,
    /// The path.
    pub path: &'static str,
    /// The permission it requires.
    pub permission: Permission,
    handler: MethodRouter<Arc<App>>,
}

/// All routes.
pub fn table() -> Vec<Route> {
    use Permission::{Ask, Look, Manage, Open, Read, Send};
    let route = |method, path, permission, handler| Route { method, path, permission, handler };
    let read = |path, permission, handler| route(Method::GET, path, permission, handler);
    let write = |path, permission, handler| route(Method::POST, path, permission, handler);
    vec![
        read("/", Open, get(dashboard::page)),
        read("/assets/app.js", Open, get(dashboard::script)),
        read("/assets/style.css", Open, get(dashboard::style)),
        read("/assets/icon.svg", Open, get(dashboard::icon)),
        read("/survey/{task}", Open, get(survey_page::page)),
        read("/assets/survey.js", Open, get(survey_page::script)),
        read("/assets/survey.css", Open, get(survey_page::style)),
        read("/assets/reticent.js", Open, get(survey_page::client)),
        read("/assets/reticent.wasm", Open, get(survey_page::module)),
        read("/healthz", Open, get(health::alive)),
        read("/readyz", Open, get(health::ready)),
        read("/metrics", Read, get(health::metrics)),
        read("/openapi.json", Open, get(openapi::description)),
        read("/v1/whoami", Read, get(health::who)),
        read("/v1/streams", Read, get(streams::list)),
        write("/v1/streams", Manage, post(streams::create)),
        read("/v1/streams/{name}", Read, get(streams::show)),
        write(events::PATH, Send, post(events::send)),
        read("/v1/streams/{name}/releases", Read, get(releases::history)),
        read("/v1/streams/{name}/releases/now", Read, get(releases::now)),
        read("/v1/streams/{name}/releases/stream", Read, get(live::follow)),
        read("/v1/streams/{name}/releases.csv", Read, get(releases::csv)),
        read("/v1/streams/{name}/chart.svg", Read, get(releases::chart)),
        read("/v1/datasets", Read, get(datasets::list)),
        write("/v1/datasets", Manage, post(datasets::register)),
        read("/v1/datasets/{name}", Read, get(datasets::show)),
        read("/v1/datasets/{name}/history", Read, get(datasets::history)),
        read("/v1/tables", Read, get(query::tables)),
        write("/v1/query", Ask, post(query::ask)),
        read("/v1/local", Read, get(surveys::list)),
        read("/v1/local/{task}", Look, get(surveys::show)),
        write("/v1/local/{task}/reports", Send, post(surveys::send)),
        read("/v1/local/{task}/estimate", Read, get(surveys::estimate)),
    ]
}

static TABLE: LazyLock<Vec<Route>> = LazyLock::new(table);

/// The permission a route requires; `None` if there is no such route.
pub(crate) fn permission(method: &Method, path: &str) -> Option<Permission> {
    TABLE.iter().find(|route| route.method == *method && route.path == path).map(|route| route.permission)
}

/// Whether it is also served in a reserved place: health and metrics, events and reports are.
pub(crate) fn is_short(permission: Permission, path: &str) -> bool {
    permission == Permission::Send || ["/healthz", "/readyz", "/metrics"].contains(&path)
}

/// The survey that a request reads or answers, if it does: open surveys need no token.
pub(crate) fn answered_survey<'path>(matched: &str, path: &'path str) -> Option<&'path str> {
    let rest = path.strip_prefix("/v1/local/")?;
    match matched {
        "/v1/local/{task}" => Some(rest),
        "/v1/local/{task}/reports" => rest.strip_suffix("/reports"),
        _ => None,
    }
}

/// The methods that a path supports.
pub(crate) fn methods(path: &str) -> Vec<String> {
    TABLE.iter().filter(|route| route.path == path).map(|route| route.method.to_string()).collect()
}

/// All routes, guarded.
pub fn router(app: Arc<App>) -> Router {
    let mut router = Router::new();
    for Route { path, handler, .. } in table() {
        router = router.route(path, handler);
    }
    let header = |name: HeaderName, value: &'static str| {
        SetResponseHeaderLayer::if_not_present(name, HeaderValue::from_static(value))
    };
    router
        .route_layer(from_fn_with_state(Arc::clone(&app), guard))
        .fallback(missing)
        .layer(CatchPanicLayer::custom(panicked))
        .layer(from_fn(events::close_behind))
        .layer(header(header::CONTENT_SECURITY_POLICY, CONTENT_SECURITY_POLICY))
        .layer(header(header::X_CONTENT_TYPE_OPTIONS, "nosniff"))
        .layer(header(header::REFERRER_POLICY, "no-referrer"))
        .layer(header(header::CACHE_CONTROL, "no-store"))
        .with_state(app)
}

async fn missing() -> Error {
    Error::Missing("no such path; /openapi.json describes the API".into())
}

/// A fixed text: a panic's own message may contain data from rows.
fn panicked(_: Box<dyn Any + Send>) -> Response {
    Error::Machine("internal error; what was charged stays charged".into()).into_response()
}

/// A JSON response.
pub(crate) fn json(value: &impl serde::Serialize) -> Response {
    let text = serde_json::to_string(value).expect("plain data");
    ([(header::CONTENT_TYPE, "application/json")], text).into_response()
}
