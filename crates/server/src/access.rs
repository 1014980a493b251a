//! Who asks, and whether they may.
//!
//! With tokens, a request needs one, whatever the address. Before the first token is made, the service listens on the loopback
//! address only and whoever can reach it is its owner; but a page in the owner's browser is not the owner, so such requests must
//! name a loopback host (no foreign name that resolves to it) and must not come from another site. Nor is whoever comes through a
//! proxy on this machine: what was forwarded needs a token. Surveys that the configuration calls open are answered by anybody.

use std::net::IpAddr;
use std::sync::Arc;
use std::time::Instant;

use axum::extract::{MatchedPath, Request, State};
use axum::http::{HeaderMap, HeaderValue, Method, Version, header};
use axum::middleware::Next;
use axum::response::Response;

use crate::app::App;
use crate::error::{Error, Result};
use crate::listen::Peer;
use crate::role::{Permission, Role};
use crate::routes;
use crate::tokens::Token;

/// The caller's name where there are no tokens.
const LOCAL: &str = "local";
/// Whoever answers an open survey; no token can have this name.
const ANYBODY: &str = "";
/// What is said to whoever has no token that counts.
const NO_TOKEN: &str =
    "this needs a token: send the header `Authorization: Bearer TOKEN`; `reticent token create` makes one";

/// What is said to whoever comes through a proxy before there are tokens.
const FORWARDED: &str =
    "this came through a proxy, so it needs a token, and there are none yet: `reticent token create` makes one";
/// What proxies add to a request, beside all that begin with `x-forwarded`.
const OF_PROXIES: [&str; 7] =
    ["forwarded", "via", "x-real-ip", "x-client-ip", "x-cluster-client-ip", "true-client-ip", "cf-connecting-ip"];

/// Who asks.
#[derive(Debug, Clone)]
pub struct Caller {
    /// As the ledger knows them.
    pub name: String,
    /// What they may do.
    pub role: Role,
    /// Their token, if they have one.
    pub token: Option<Arc<Token>>,
}

/// Lets a request through if its caller may, and not too often.
pub async fn guard(
    State(app): State<Arc<App>>,
    path: MatchedPath,
    mut request: Request,
    next: Next,
) -> Result<Response> {
    let method = if request.method() == Method::HEAD { Method::GET } else { request.method().clone() };
    let permission = routes::permission(&method, path.as_str())
        .ok_or_else(|| Error::Method(routes::methods(path.as_str()).join(", ")))?;
    if let Some(peer) = request.extensions().get::<Peer>() {
        if peer.reserved.is_some() && !routes::is_short(permission, path.as_str()) {
            return Err(Error::Busy("there are too many connections, altogether or from this address"));
        }
        // Nothing else has a body in a reserved place.
        if permission != Permission::Send {
            peer.arrived();
        }
    }
    if permission == Permission::Open {
        return Ok(next.run(request).await);
    }
    if let Some(survey) = routes::answered_survey(path.as_str(), request.uri().path())
        && app.surveys.is_open(survey)
    {
        return answer_openly(&app, request, next).await;
    }
    let caller = caller(&app, request.version(), request.headers()).await?;
    if !app.rate.admits(&caller.name, Instant::now()) {
        return Err(Error::TooMany);
    }
    if !caller.role.may(permission) {
        return Err(Error::Forbidden(refusal(caller.role, permission)));
    }
    // How often events are sent depends on the events.
    if permission != Permission::Send {
        app.metrics.asked(&method, path.as_str(), caller.role);
    }
    request.extensions_mut().insert(caller);
    Ok(next.run(request).await)
}

/// Whoever answers an open survey is nobody here, on whichever site the survey stands: all share one limit, nothing is noted, and
/// nothing of theirs but the report is looked at.
async fn answer_openly(app: &App, request: Request, next: Next) -> Result<Response> {
    if !app.rate.admits(ANYBODY, Instant::now()) {
        return Err(Error::TooMany);
    }
    let mut response = next.run(request).await;
    response.headers_mut().insert(header::ACCESS_CONTROL_ALLOW_ORIGIN, HeaderValue::from_static("*"));
    Ok(response)
}

fn refusal(role: Role, permission: Permission) -> String {
    let who: Vec<&str> = Role::ALL.into_iter().filter(|role| role.may(permission)).map(Role::name).collect();
    format!("a token of the role {role} may not do this; one of the role {} may", who.join(" or "))
}

async fn caller(app: &Arc<App>, version: Version, headers: &HeaderMap) -> Result<Caller> {
    let given = headers.get(header::AUTHORIZATION).and_then(|value| value.to_str().ok());
    let given = given.and_then(|value| value.strip_prefix("Bearer ")).map(|token| token.trim().to_owned());
    let tokens = Arc::clone(&app.tokens);
    let found = app
        .blocking(move || match given {
            Some(given) => tokens.holder(&given).map(|token| (token, true)),
            None => tokens.any().map(|any| (None, any)),
        })
        .await?;
    match found {
        (Some(token), _) => Ok(Caller { name: token.name.clone(), role: token.role, token: Some(Arc::new(token)) }),
        (None, false) if app.is_loopback() => {
            refuse_other_sites(headers)?;
            refuse_forwarded(version, headers)?;
            Ok(Caller { name: LOCAL.into(), role: Role::Owner, token: None })
        }
        (None, _) => Err(Error::Unknown(NO_TOKEN)),
    }
}

/// Without tokens the address is all that protects: pages of other sites must not borrow it.
fn refuse_other_sites(headers: &HeaderMap) -> Result<()> {
    let text = |name| headers.get(name).and_then(|value| value.to_str().ok());
    let host = text(header::HOST).unwrap_or_default();
    if !is_loopback_host(host) {
        let message =
            "without tokens this answers to 127.0.0.1, [::1] and localhost only; make one with `reticent token create`";
        return Err(Error::Forbidden(message.into()));
    }
    let same =
        |origin: &str| origin.split_once("://").is_some_and(|(_, authority)| authority.eq_ignore_ascii_case(host));
    if text(header::ORIGIN).is_some_and(|origin| !same(origin)) {
        return Err(Error::Forbidden("a page of another site asks for this; that needs a token".into()));
    }
    Ok(())
}

/// Without tokens whoever asks must be on this machine, and a proxy asks for others. One that tells nothing of it, as nginx by
/// default, speaks HTTP/1.0, which browsers and curl do not.
fn refuse_forwarded(version: Version, headers: &HeaderMap) -> Result<()> {
    let of_a_proxy = |name: &str| OF_PROXIES.contains(&name) || name.starts_with("x-forwarded");
    if version < Version::HTTP_11 || headers.keys().any(|name| of_a_proxy(name.as_str())) {
        return Err(Error::Unknown(FORWARDED));
    }
    Ok(())
}

/// Is this the name of this machine to itself?
fn is_loopback_host(host: &str) -> bool {
    let name = match host.strip_prefix('[') {
        Some(rest) => rest.split(']').next().unwrap_or_default(),
        None => host.rsplit_once(':').map_or(host, |(name, _)| name),
    };
    name.eq_ignore_ascii_case("localhost") || name.parse::<IpAddr>().is_ok_and(|address| address.is_loopback())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_loopback_hosts_of_the_same_origin_are_the_owner() {
        let asks = |host: &str, origin: Option<&str>| {
            let mut headers = HeaderMap::new();
            headers.insert(header::HOST, host.parse().unwrap());
            if let Some(origin) = origin {
                headers.insert(header::ORIGIN, origin.parse().unwrap());
            }
            refuse_other_sites(&headers).is_ok()
        };
        for host in ["127.0.0.1:8080", "localhost", "[::1]:80", "LOCALHOST:1"] {
            assert!(asks(host, None), "{host}");
        }
        assert!(asks("localhost:8080", Some("http://localhost:8080")));
        for host in ["evil.example:8080", "127.0.0.1.evil.example", "10.0.0.1", ""] {
            assert!(!asks(host, None), "{host}");
        }
        assert!(!asks("localhost:8080", Some("http://evil.example")));
        assert!(!asks("localhost:8080", Some("http://localhost:9090")));
        assert!(!asks("localhost:8080", Some("null")));
    }
}
