//! Authentication and authorization.
//!
//! Every request needs a token, whatever its address: one that was created or, before the first, this run's
//! [owner's token](crate::tokens::owner). Anyone can answer surveys that the configuration declares open.

use std::sync::Arc;
use std::time::Instant;

use axum::extract::{MatchedPath, Request, State};
use axum::http::{HeaderMap, HeaderValue, Method, header};
use axum::middleware::Next;
use axum::response::Response;

use crate::app::App;
use crate::error::{Error, Result};
use crate::listen::Peer;
use crate::role::{Permission, Role};
use crate::routes;
use crate::tokens::Token;

/// The owner's name while there are no tokens.
const LOCAL: &str = "local";
/// The name of anyone who answers an open survey; no token can have it.
const ANYBODY: &str = "";
/// The error without a valid token.
const NO_TOKEN: &str = "missing, unknown or revoked token: send the header `Authorization: Bearer TOKEN`; `reticent token create` creates one";
/// The error while there are no tokens.
const NO_TOKENS_YET: &str = "this needs the owner's token, since no other was created yet: open the link that `reticent serve` showed, \
                             or send the header `Authorization: Bearer TOKEN` with the token that `reticent token owner` shows";

/// The caller of a request.
#[derive(Debug, Clone)]
pub struct Caller {
    /// Its name in the ledger.
    pub name: String,
    /// What it may do.
    pub role: Role,
    /// Its token, if it has one.
    pub token: Option<Arc<Token>>,
}

/// Lets a request through if its caller has the permission and is within the rate limit.
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
            return Err(Error::Busy("there are too many connections, in total or from this address"));
        }
        // In a reserved place, no other request has a body.
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
    let caller = caller(&app, request.headers()).await?;
    if !app.rate.admits(&caller.name, Instant::now()) {
        return Err(Error::TooMany);
    }
    if !caller.role.may(permission) {
        return Err(Error::Forbidden(refusal(caller.role, permission)));
    }
    // The number of requests that send events depends on the events.
    if permission != Permission::Send {
        app.metrics.asked(&method, path.as_str(), caller.role);
    }
    request.extensions_mut().insert(caller);
    Ok(next.run(request).await)
}

/// Answers to open surveys are anonymous, whatever site shows the survey: all share one rate limit, nothing is
/// recorded, and only the report is read.
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
    format!("the role {role} does not allow this; it requires {}", who.join(" or "))
}

async fn caller(app: &Arc<App>, headers: &HeaderMap) -> Result<Caller> {
    let given = headers.get(header::AUTHORIZATION).and_then(|value| value.to_str().ok());
    let given = given.and_then(|value| value.strip_prefix("Bearer ")).unwrap_or_default().trim().to_owned();
    let asking = Arc::clone(app);
    app.blocking(move || {
        let App { tokens, owner, .. } = &*asking;
        if let Some(token) = tokens.holder(&given)? {
            return Ok(Caller { name: token.name.clone(), role: token.role, token: Some(Arc::new(token)) });
        }
        if tokens.any()? {
            return Err(Error::Unknown(NO_TOKEN));
        }
        match owner.as_ref().filter(|owner| owner.is(&given)) {
            Some(_) => Ok(Caller { name: LOCAL.into(), role: Role::Owner, token: None }),
            None => Err(Error::Unknown(NO_TOKENS_YET)),
        }
    })
    .await
}
