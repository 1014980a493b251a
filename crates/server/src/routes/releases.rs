//! Releases: the newest, the history, as CSV, as a chart.

use std::cmp::Reverse;
use std::fmt::Write as _;
use std::sync::Arc;

use axum::extract::{Path, State};
use axum::http::header;
use axum::response::{IntoResponse, Response};
use futures::stream;
use reticent::release::LEVEL;
use reticent::text::csv_field;
use reticent_plot::Chart;
use reticent_stream::{Keys, Released, StepRelease, Stream};
use serde::{Serialize, Serializer};
use utoipa::{IntoParams, ToSchema};

use super::streams::named;
use crate::app::App;
use crate::body::{Params, Sender};
use crate::error::{Error, Problem, Result};
use crate::reply::{PAGE, held, held_json};

/// The default and the largest number of releases per response, if they have few keys.
const RELEASES: u64 = 100;
const MOST_RELEASES: u64 = 10_000;
/// How much is read at a time for CSV. As CSV, a release is up to four times as long as its JSON: every line has the step.
const CSV_PIECE: usize = PAGE / CSV_GROWTH;
const CSV_GROWTH: usize = 4;
/// The default number of steps in a chart.
const CHART_STEPS: u64 = 120;
/// The most keys in a chart: those with the largest released values.
const CHART_KEYS: usize = 5;

/// The release at the end of a step.
#[derive(Debug, Clone, Serialize, ToSchema)]
pub struct ReleaseView {
    /// Counted from 1.
    pub step: u64,
    /// When the step ended.
    #[schema(example = "2026-03-02T10:00:00Z")]
    pub closed: String,
    /// The noisy running sum of a stream without keys.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub value: Option<i64>,
    /// The noisy running sums of a stream with keys.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub values: Option<Vec<KeyValue>>,
    /// The half-width of the 95 % interval of one value; covers noise only.
    pub half_width: f64,
}

/// A key's running sum.
#[derive(Debug, Clone, Serialize, ToSchema)]
pub struct KeyValue {
    /// The key.
    #[schema(value_type = String)]
    #[serde(serialize_with = "text")]
    pub key: Arc<str>,
    /// Its noisy running sum.
    pub value: i64,
}

fn text<S: Serializer>(key: &Arc<str>, serializer: S) -> std::result::Result<S::Ok, S::Error> {
    serializer.serialize_str(key)
}

impl From<&StepRelease> for ReleaseView {
    fn from(release: &StepRelease) -> Self {
        let (value, values) = match &release.released {
            Released::One(value) => (Some(value.value), None),
            Released::Keyed(keyed) => {
                let values = keyed.values.iter().map(|(key, value)| KeyValue { key: Arc::clone(key), value: *value });
                (None, Some(values.collect()))
            }
        };
        let (step, closed, half_width) = (release.step, release.closed.to_string(), release.released.half_width());
        Self { step, closed, value, values, half_width }
    }
}

/// The releases to return.
#[derive(Debug, IntoParams)]
#[into_params(parameter_in = Query)]
pub struct Page {
    /// The first step, counted from 1.
    #[param(minimum = 1)]
    pub from: Option<u64>,
    /// The most releases to return, up to 10000. A response with many keys has fewer releases: it has at most about a
    /// megabyte, unless a single release has more.
    #[param(minimum = 1, maximum = 10000)]
    pub limit: Option<u64>,
}

/// Releases.
#[derive(Debug, Serialize, ToSchema)]
pub struct ReleaseList {
    /// In order of their steps.
    pub releases: Vec<ReleaseView>,
    /// Pass this as `from` to get the next releases, even if there are fewer than `limit` here; null at the end.
    pub next: Option<u64>,
}

/// The releases, step by step
///
/// A response has at most about a megabyte: follow `next` until it is null to get all of them.
#[utoipa::path(get, path = "/v1/streams/{name}/releases", operation_id = "list_releases", tag = "releases",
    params(("name" = String, Path, description = "The stream"), Page), responses(
    (status = 200, description = "The releases; they never change", body = ReleaseList),
    (status = 400, description = "Invalid request; the message says how to fix it", body = Problem),
    (status = 404, description = "No such stream", body = Problem),
    (status = "4XX", description = "Unauthorized, forbidden or rate-limited", body = Problem)))]
pub async fn history(
    State(app): State<Arc<App>>,
    Sender(sender): Sender,
    Path(name): Path<String>,
    params: Params,
) -> Result<Response> {
    let stream = named(&app, &name)?;
    let params = params.only(&["from", "limit"])?;
    let page = Page { from: params.number("from", 1..=u64::MAX)?, limit: params.number("limit", 1..=MOST_RELEASES)? };
    let (from, limit) = (page.from.unwrap_or(1), page.limit.unwrap_or(RELEASES) as usize);
    let newest = stream.status().steps;
    let room = app.replies.room(&sender, longest(&stream).max(PAGE)).await?;
    let releases = app.reading(&sender, move || Ok(stream.piece(from, limit, PAGE)?)).await?;
    let next = releases.last().map(|last| last.step + 1).filter(|next| *next <= newest);
    let list = ReleaseList { releases: releases.iter().map(ReleaseView::from).collect(), next };
    Ok(held_json(&app, &list, room))
}

/// About how many bytes a release takes as JSON: none has more keys than the newest.
pub(super) fn longest(stream: &Stream) -> usize {
    stream.now().map_or(0, |newest| newest.json_bytes())
}

/// The newest release
#[utoipa::path(get, path = "/v1/streams/{name}/releases/now", operation_id = "newest_release", tag = "releases",
    params(("name" = String, Path, description = "The stream")), responses(
    (status = 200, description = "The newest release", body = ReleaseView),
    (status = 404, description = "No such stream, or its first step has not ended yet", body = Problem),
    (status = "4XX", description = "Unauthorized, forbidden or rate-limited", body = Problem)))]
pub async fn now(State(app): State<Arc<App>>, Sender(sender): Sender, Path(name): Path<String>) -> Result<Response> {
    let newest = named(&app, &name)?.now();
    let newest =
        newest.ok_or_else(|| Error::Missing("the first step has not ended yet; try again when it has".into()))?;
    let room = app.replies.room(&sender, newest.json_bytes()).await?;
    Ok(held_json(&app, &ReleaseView::from(&*newest), room))
}

/// All releases, as CSV
#[utoipa::path(get, path = "/v1/streams/{name}/releases.csv", operation_id = "releases_as_csv", tag = "releases",
    params(("name" = String, Path, description = "The stream")), responses(
    (status = 200, description = "One line per value", body = String, content_type = "text/csv"),
    (status = 404, description = "No such stream", body = Problem),
    (status = "4XX", description = "Unauthorized, forbidden or rate-limited", body = Problem)))]
pub async fn csv(State(app): State<Arc<App>>, Sender(sender): Sender, Path(name): Path<String>) -> Result<Response> {
    let stream = named(&app, &name)?;
    let keyed = *stream.definition().keys() != Keys::None;
    let header = if keyed { "step,closed,key,value,half_width\n" } else { "step,closed,value,half_width\n" };
    // Releases made while it is sent are not included.
    let newest = stream.status().steps;
    let header = (header.to_owned(), app.replies.none(&sender));
    let reading = Arc::clone(&app);
    let pieces = stream::try_unfold((reading, sender, stream, 0), move |(app, sender, stream, last)| async move {
        if last >= newest {
            return Ok(None);
        }
        let failed = |_| std::io::Error::other("the releases could not be read to their end");
        let most = longest(&stream).max(CSV_PIECE).saturating_mul(CSV_GROWTH);
        let mut room = app.replies.worth_waiting(&sender, most).await.map_err(failed)?;
        let read = Arc::clone(&stream);
        let releases = app.reading(&sender, move || Ok(read.piece(last + 1, usize::MAX, CSV_PIECE)?)).await;
        let releases = releases.map_err(failed)?;
        let Some(last) = releases.last().map(|release| release.step) else { return Ok(None) };
        let mut lines = String::new();
        releases.iter().filter(|release| release.step <= newest).for_each(|release| csv_lines(release, &mut lines));
        room.shrink(lines.len());
        Ok(Some(((lines, room), (app, sender, stream, last))))
    });
    let whole = app.replies.body(futures::StreamExt::chain(stream::iter([Ok(header)]), pieces));
    let disposition = format!("attachment; filename=\"{name}.csv\"");
    let headers =
        [(header::CONTENT_TYPE, "text/csv; charset=utf-8".to_owned()), (header::CONTENT_DISPOSITION, disposition)];
    Ok((headers, whole).into_response())
}

fn csv_lines(release: &StepRelease, text: &mut String) {
    let StepRelease { step, closed, released } = release;
    let half_width = released.half_width();
    match released {
        Released::One(value) => {
            let _ = writeln!(text, "{step},{closed},{},{half_width}", value.value);
        }
        Released::Keyed(keyed) => {
            for (key, value) in &keyed.values {
                let key = csv_field(key);
                let _ = writeln!(text, "{step},{closed},{key},{value},{half_width}");
            }
        }
    }
}

/// The appearance of a chart.
#[derive(Debug, IntoParams)]
#[into_params(parameter_in = Query)]
pub struct Look {
    /// In pixels, 200 to 2000.
    #[param(minimum = 200, maximum = 2000)]
    pub width: Option<u64>,
    /// In pixels, 150 to 2000.
    #[param(minimum = 150, maximum = 2000)]
    pub height: Option<u64>,
    /// How many of the last steps to show, up to 10000.
    #[param(minimum = 1, maximum = 10000)]
    pub steps: Option<u64>,
    /// Show only this key.
    pub key: Option<String>,
}

/// The releases, as a chart with an error band
#[utoipa::path(get, path = "/v1/streams/{name}/chart.svg", operation_id = "releases_as_chart", tag = "releases",
    params(("name" = String, Path, description = "The stream"), Look), responses(
    (status = 200, description = "The chart", body = String, content_type = "image/svg+xml"),
    (status = 400, description = "Invalid request; the message says how to fix it", body = Problem),
    (status = 404, description = "No such stream", body = Problem),
    (status = "4XX", description = "Unauthorized, forbidden or rate-limited", body = Problem)))]
pub async fn chart(
    State(app): State<Arc<App>>,
    Sender(sender): Sender,
    Path(name): Path<String>,
    params: Params,
) -> Result<Response> {
    let stream = named(&app, &name)?;
    let params = params.only(&["width", "height", "steps", "key"])?;
    let look = Look {
        width: params.number("width", 200..=2000)?,
        height: params.number("height", 150..=2000)?,
        steps: params.number("steps", 1..=MOST_RELEASES)?,
        key: params.text("key").map(str::to_owned),
    };
    let (width, height) = (look.width.unwrap_or(720) as u32, look.height.unwrap_or(360) as u32);
    let steps = look.steps.unwrap_or(CHART_STEPS);
    let room = app.replies.room(&sender, PAGE).await?;
    let drawing = move || Ok(drawn(&stream, steps, look.key.as_deref())?.to_svg(width, height));
    let svg = app.reading(&sender, drawing).await?;
    Ok(held(&app, "image/svg+xml", svg, room))
}

/// Of releases with many keys, only what is drawn stays in memory.
fn drawn(stream: &Stream, steps: u64, only: Option<&str>) -> Result<Chart> {
    let title = stream.definition().name();
    let Some(newest) = stream.now() else { return Ok(reticent_plot::releases(title, LEVEL, [])) };
    let first = (newest.step + 1).saturating_sub(steps).max(1);
    let Released::Keyed(keyed) = &newest.released else {
        let [points] = &points(stream, first, newest.step, &[0])?[..] else { unreachable!("one for each place") };
        return Ok(reticent_plot::releases(title, LEVEL, points.iter().copied()));
    };
    let shown = keyed.values.iter().enumerate().filter(|(_, (key, _))| only.is_none_or(|only| **key == *only));
    // A key keeps its place.
    let mut largest: Vec<_> = shown.clone().map(|(place, (key, value))| (Reverse(*value), key, place)).collect();
    largest.sort_unstable();
    largest.truncate(CHART_KEYS);
    let places: Vec<usize> = largest.iter().map(|(_, _, place)| *place).collect();
    let points = points(stream, first, newest.step, &places)?;
    let all = shown.map(|(_, (key, value))| (key.to_string(), *value));
    Ok(reticent_plot::releases_by_key(title, LEVEL, CHART_KEYS, all, |key| {
        let drawn = largest.iter().zip(&points).find(|((_, name, _), _)| ***name == *key);
        drawn.map(|(_, points)| points.clone()).unwrap_or_default()
    }))
}

/// Of each value, by its place in a release: steps, values and half-widths.
fn points(stream: &Stream, first: u64, last: u64, places: &[usize]) -> Result<Vec<Vec<(u64, i64, f64)>>> {
    let (mut points, mut next) = (vec![Vec::new(); places.len()], first);
    while next <= last {
        let piece = stream.piece(next, usize::MAX, PAGE)?;
        let Some(newest) = piece.last() else { break };
        next = newest.step + 1;
        for StepRelease { step, released, .. } in piece.iter().filter(|release| release.step <= last) {
            for (points, place) in points.iter_mut().zip(places) {
                let value = match released {
                    Released::One(value) => Some(value.value),
                    Released::Keyed(keyed) => keyed.values.get(*place).map(|(_, value)| *value),
                };
                points.extend(value.map(|value| (*step, value, released.half_width())));
            }
        }
    }
    Ok(points)
}
