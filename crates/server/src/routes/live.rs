//! Releases as they are made: server-sent events.

use std::collections::VecDeque;
use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use axum::Extension;
use axum::extract::{Path, State};
use axum::http::HeaderMap;
use axum::response::sse::{Event, KeepAlive, Sse};
use axum::response::{IntoResponse, Response};
use futures::stream;
use reticent_stream::{StepRelease, Stream, Subscription};
use tokio::sync::watch;
use utoipa::IntoParams;

use super::releases::ReleaseView;
use super::streams::named;
use crate::access::Caller;
use crate::app::App;
use crate::body::Params;
use crate::error::{Error, Problem, Result};
use crate::places::Place;

/// How often something is sent at least, by the clock, so that proxies keep the connection open.
const KEEP_ALIVE: Duration = Duration::from_secs(15);
/// How many releases a lagging follower reads at a time.
const CATCH_UP: usize = 100;

/// Where to start.
#[derive(Debug, IntoParams)]
#[into_params(parameter_in = Query)]
pub struct Start {
    /// The first step to send. Defaults to the next one to be released.
    #[param(minimum = 1)]
    pub from: Option<u64>,
}

/// Sends every release as a server-sent event as it is made, in order and without gaps
///
/// The event's id is the step; a client that reconnects with `Last-Event-ID` gets everything it missed.
#[utoipa::path(get, path = "/v1/streams/{name}/releases/stream", operation_id = "follow_releases", tag = "releases",
    params(("name" = String, Path, description = "The stream"), Start), responses(
    (status = 200, description = "Events `release`, each with a release as JSON", content_type = "text/event-stream", body = String),
    (status = 404, description = "No such stream", body = Problem),
    (status = 503, description = "Too many followers", body = Problem),
    (status = "4XX", description = "Unauthorized, forbidden or rate-limited", body = Problem)))]
pub async fn follow(
    State(app): State<Arc<App>>,
    Extension(caller): Extension<Caller>,
    Path(name): Path<String>,
    params: Params,
    headers: HeaderMap,
) -> Result<Response> {
    let stream = named(&app, &name)?;
    let start = Start { from: params.only(&["from"])?.number("from", 1..=u64::MAX)? };
    let seen = headers.get("last-event-id").and_then(|id| id.to_str().ok()).and_then(|id| id.parse::<u64>().ok());
    let next = match (seen, start.from) {
        (Some(seen), _) => seen.saturating_add(1),
        (None, Some(from)) => from,
        (None, None) => stream.status().steps + 1,
    };
    let place = app.followers.take(caller.name);
    let place = place.ok_or(Error::Busy("there are too many followers, in total or with this token"))?;
    let (newest, stopping) = (stream.subscribe(), app.stopping.subscribe());
    let follower = Follower { app, stream, newest, stopping, next, ready: VecDeque::new(), _place: place };
    let events = stream::unfold(follower, |mut follower| async move {
        let event = follower.next().await?;
        Some((Ok::<_, Infallible>(event), follower))
    });
    Ok(Sse::new(events).keep_alive(KeepAlive::new().interval(KEEP_ALIVE)).into_response())
}

/// A follower of a stream.
struct Follower {
    app: Arc<App>,
    stream: Arc<Stream>,
    newest: Subscription,
    stopping: watch::Receiver<bool>,
    /// The next step to be sent.
    next: u64,
    ready: VecDeque<Arc<StepRelease>>,
    _place: Place<String>,
}

impl Follower {
    /// The next event; `None` if the stream or the service ends.
    async fn next(&mut self) -> Option<Event> {
        loop {
            if *self.stopping.borrow() {
                return None;
            }
            if let Some(release) = self.ready.pop_front() {
                self.next = release.step + 1;
                let text = serde_json::to_string(&ReleaseView::from(&*release)).expect("plain data");
                return Some(Event::default().event("release").id(release.step.to_string()).data(text));
            }
            let newest = self.stream.status().steps;
            if let Some(release) = self.stream.now().filter(|release| release.step == self.next) {
                // The usual case: it need not be read from the disk.
                self.ready.push_back(release);
                continue;
            }
            if self.next <= newest {
                let (stream, next) = (Arc::clone(&self.stream), self.next);
                let missed = self.app.blocking(move || Ok(stream.history(next, CATCH_UP)?)).await.ok()?;
                if missed.is_empty() {
                    // They are no longer stored.
                    self.next = newest + 1;
                }
                self.ready = missed.into_iter().map(Arc::new).collect();
                continue;
            }
            tokio::select! {
                changed = self.newest.changed() => { changed?; }
                _ = self.stopping.wait_for(|stopping| *stopping) => return None,
            }
        }
    }
}
