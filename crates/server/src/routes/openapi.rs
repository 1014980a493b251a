//! The API description, generated from the code.

use std::sync::LazyLock;

use axum::http::header;
use axum::response::{IntoResponse, Response};
use utoipa::openapi::security::{Http, HttpAuthScheme, SecurityScheme};
use utoipa::{Modify, OpenApi};

use super::{datasets, events, health, live, query, releases, streams, surveys};

#[derive(OpenApi)]
#[openapi(
    info(
        title = "Reticent",
        description = "Private streams and private SQL. Every number is released with noise and an error bar, and its cost is \
                       first charged to a budget."
    ),
    paths(
        streams::list,
        streams::create,
        streams::show,
        events::send,
        releases::history,
        releases::now,
        live::follow,
        releases::csv,
        releases::chart,
        datasets::list,
        datasets::register,
        datasets::show,
        datasets::history,
        query::tables,
        query::ask,
        surveys::list,
        surveys::show,
        surveys::send,
        surveys::estimate,
        health::who,
        health::alive,
        health::ready,
        health::metrics
    ),
    security((), ("token" = [])),
    modifiers(&Tokens)
)]
struct Description;

struct Tokens;

impl Modify for Tokens {
    fn modify(&self, description: &mut utoipa::openapi::OpenApi) {
        let components = description.components.get_or_insert_default();
        let scheme = SecurityScheme::Http(Http::new(HttpAuthScheme::Bearer));
        components.add_security_scheme("token", scheme);
    }
}

/// The description.
pub async fn description() -> Response {
    static TEXT: LazyLock<String> =
        LazyLock::new(|| serde_json::to_string(&Description::openapi()).expect("plain data"));
    // It needs no token, so it must not take memory for each reader.
    ([(header::CONTENT_TYPE, "application/json")], TEXT.as_str()).into_response()
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn every_route_is_described_and_nothing_else() {
        let described: serde_json::Value = serde_json::to_value(Description::openapi()).unwrap();
        let described = described["paths"].as_object().unwrap().iter();
        let described: BTreeSet<(String, String)> = described
            .flat_map(|(path, methods)| {
                methods
                    .as_object()
                    .unwrap()
                    .keys()
                    .map(|method| (path.clone(), method.to_uppercase()))
                    .collect::<Vec<_>>()
            })
            .collect();
        let is_page = |path: &str| {
            ["/", "/openapi.json"].contains(&path) || path.starts_with("/assets/") || path.starts_with("/survey/")
        };
        let routes = super::super::table().into_iter().filter(|route| !is_page(route.path));
        let routes: BTreeSet<(String, String)> =
            routes.map(|route| (route.path.to_owned(), route.method.to_string())).collect();
        assert_eq!(described, routes);
    }

    /// Client generators make a function of each operation, named by its identifier.
    #[test]
    fn every_operation_has_an_identifier_of_its_own() {
        let described: serde_json::Value = serde_json::to_value(Description::openapi()).unwrap();
        let operations = described["paths"].as_object().unwrap().values().flat_map(|path| path.as_object().unwrap());
        let mut ids: Vec<&str> = operations.map(|(_, operation)| operation["operationId"].as_str().unwrap()).collect();
        let all = ids.len();
        ids.sort_unstable();
        ids.dedup();
        assert_eq!(ids.len(), all, "{ids:?}");
    }
}
