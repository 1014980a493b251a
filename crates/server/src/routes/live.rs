//! Releases as they are made: server-sent events.

use std::collections::VecDeque;
use std::io;
use std::sync::Arc;
use std::time::Duration;

use axum::Extension;
use axum::extract::{Path, State};
use axum::http::{HeaderMap, header};
use axum::response::{IntoResponse, Response};
use futures::stream;
use reticent_stream::{StepRelease, Stream, Subscription};
use tokio::sync::watch;
use utoipa::IntoParams;

use super::releases::{ReleaseView, longest};
use super::streams::named;
use crate::access::Caller;
use crate::app::App;
use crate::body::Params;
use crate::error::{Error, Problem, Result};
use crate::places::Place;
use crate::reply::PIECE;
use crate::room::Room;

/// How often something is sent at least, by the clock, so that proxies keep the connection open.
const KEEP_ALIVE: Duration = Duration::from_secs(15);
const COMMENT: &str = ":\n\n";
/// How many releases a lagging follower reads at a time, if they have few keys.
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
    let place = app.followers.take(caller.name.clone());
    let place = place.ok_or(Error::Busy("there are too many followers, in total or with this token"))?;
    let (newest, stopping) = (stream.subscribe(), app.stopping.subscribe());
    let follower = Follower {
        app: Arc::clone(&app),
        caller: caller.name,
        stream,
        newest,
        stopping,
        next,
        ready: VecDeque::new(),
        _place: place,
    };
    let events = stream::unfold(follower, |mut follower| async move {
        let event = follower.next().await?;
        Some((io::Result::Ok(event), follower))
    });
    let headers = [(header::CONTENT_TYPE, "text/event-stream"), (header::CACHE_CONTROL, "no-cache")];
    Ok((headers, app.replies.body(events)).into_response())
}

/// A follower of a stream.
struct Follower {
    app: Arc<App>,
    caller: String,
    stream: Arc<Stream>,
    newest: Subscription,
    stopping: watch::Receiver<bool>,
    /// The next step to be sent.
    next: u64,
    ready: VecDeque<Arc<StepRelease>>,
    _place: Place<String>,
}

impl Follower {
    /// The next event, with the memory that it takes; `None` if the stream or the service ends, or if there is no memory:
    /// the client connects again and gets what it missed.
    async fn next(&mut self) -> Option<(String, Room)> {
        loop {
            if *self.stopping.borrow() {
                return None;
            }
            let newest = self.stream.status().steps;
            if self.next <= newest {
                // Before a release is read: most followers that wait for memory hold none.
                let room = self.app.replies.worth_waiting(&self.caller, longest(&self.stream)).await.ok()?;
                let Some(release) = self.due().await? else { continue };
                self.next = release.step + 1;
                let text = serde_json::to_string(&ReleaseView::from(&*release)).expect("plain data");
                return Some((format!("event: release\nid: {}\ndata: {text}\n\n", release.step), room));
            }
            tokio::select! {
                changed = self.newest.changed() => { changed?; }
                _ = self.stopping.wait_for(|stopping| *stopping) => return None,
                () = tokio::time::sleep(KEEP_ALIVE) => return Some((COMMENT.into(), self.app.replies.none(&self.caller))),
            }
        }
    }

    /// The release of the next step, or the oldest after it that is still stored; `None` inside if there is none, `None`
    /// if the disk cannot be read.
    async fn due(&mut self) -> Option<Option<Arc<StepRelease>>> {
        if let Some(release) = self.ready.pop_front() {
            return Some(Some(release));
        }
        // The usual case: it need not be read from the disk.
        if let Some(release) = self.stream.now().filter(|release| release.step == self.next) {
            return Some(Some(release));
        }
        let (stream, next) = (Arc::clone(&self.stream), self.next);
        let newest = stream.status().steps;
        let missed = self.app.reading(&self.caller, move || Ok(stream.piece(next, CATCH_UP, PIECE)?)).await.ok()?;
        if missed.is_empty() {
            self.next = newest + 1;
        }
        self.ready = missed.into_iter().map(Arc::new).collect();
        Some(self.ready.pop_front())
    }
}
