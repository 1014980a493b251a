//! Releases: the newest, the history, as CSV, as a chart.

use std::fmt::Write as _;
use std::sync::Arc;

use axum::body::Body;
use axum::extract::{Path, State};
use axum::http::header;
use axum::response::{IntoResponse, Response};
use futures::stream;
use reticent::release::LEVEL;
use reticent::text::csv_field;
use reticent_plot::Chart;
use reticent_stream::{Keys, Released, StepRelease, Stream};
use serde::Serialize;
use utoipa::{IntoParams, ToSchema};

use super::json;
use super::streams::named;
use crate::app::App;
use crate::body::Params;
use crate::error::{Error, Problem, Result};

/// The default and the largest number of releases per response.
const RELEASES: u64 = 100;
const MOST_RELEASES: u64 = 10_000;
/// How many releases are read at a time for CSV: a release with many keys is large.
const CSV_RELEASES: usize = 500;
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
    pub key: String,
    /// Its noisy running sum.
    pub value: i64,
}

impl From<&StepRelease> for ReleaseView {
    fn from(release: &StepRelease) -> Self {
        let (value, values) = match &release.released {
            Released::One(value) => (Some(value.value), None),
            Released::Keyed(keyed) => {
                let values = keyed.values.iter().map(|(key, value)| KeyValue { key: key.to_string(), value: *value });
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
    /// The most releases to return, up to 10000.
    #[param(minimum = 1, maximum = 10000)]
    pub limit: Option<u64>,
}

/// Releases.
#[derive(Debug, Serialize, ToSchema)]
pub struct ReleaseList {
    /// In order of their steps.
    pub releases: Vec<ReleaseView>,
    /// Pass this as `from` to get the next releases; null at the end.
    pub next: Option<u64>,
}

/// The releases, step by step
#[utoipa::path(get, path = "/v1/streams/{name}/releases", operation_id = "list_releases", tag = "releases",
    params(("name" = String, Path, description = "The stream"), Page), responses(
    (status = 200, description = "The releases; they never change", body = ReleaseList),
    (status = 400, description = "Invalid request; the message says how to fix it", body = Problem),
    (status = 404, description = "No such stream", body = Problem),
    (status = "4XX", description = "Unauthorized, forbidden or rate-limited", body = Problem)))]
pub async fn history(State(app): State<Arc<App>>, Path(name): Path<String>, params: Params) -> Result<Response> {
    let stream = named(&app, &name)?;
    let params = params.only(&["from", "limit"])?;
    let page = Page { from: params.number("from", 1..=u64::MAX)?, limit: params.number("limit", 1..=MOST_RELEASES)? };
    let (from, limit) = (page.from.unwrap_or(1), page.limit.unwrap_or(RELEASES) as usize);
    let newest = stream.status().steps;
    let releases = app.blocking(move || Ok(stream.history(from, limit)?)).await?;
    let next = releases.last().map(|last| last.step + 1).filter(|next| *next <= newest);
    Ok(json(&ReleaseList { releases: releases.iter().map(ReleaseView::from).collect(), next }))
}

/// The newest release
#[utoipa::path(get, path = "/v1/streams/{name}/releases/now", operation_id = "newest_release", tag = "releases",
    params(("name" = String, Path, description = "The stream")), responses(
    (status = 200, description = "The newest release", body = ReleaseView),
    (status = 404, description = "No such stream, or its first step has not ended yet", body = Problem),
    (status = "4XX", description = "Unauthorized, forbidden or rate-limited", body = Problem)))]
pub async fn now(State(app): State<Arc<App>>, Path(name): Path<String>) -> Result<Response> {
    let newest = named(&app, &name)?.now();
    let newest =
        newest.ok_or_else(|| Error::Missing("the first step has not ended yet; try again when it has".into()))?;
    Ok(json(&ReleaseView::from(&*newest)))
}

/// All releases, as CSV
#[utoipa::path(get, path = "/v1/streams/{name}/releases.csv", operation_id = "releases_as_csv", tag = "releases",
    params(("name" = String, Path, description = "The stream")), responses(
    (status = 200, description = "One line per value", body = String, content_type = "text/csv"),
    (status = 404, description = "No such stream", body = Problem),
    (status = "4XX", description = "Unauthorized, forbidden or rate-limited", body = Problem)))]
pub async fn csv(State(app): State<Arc<App>>, Path(name): Path<String>) -> Result<Response> {
    let stream = named(&app, &name)?;
    let keyed = *stream.definition().keys() != Keys::None;
    let header = if keyed { "step,closed,key,value,half_width\n" } else { "step,closed,value,half_width\n" };
    // Releases made while it is sent are not included.
    let newest = stream.status().steps;
    let pieces = stream::try_unfold((app, stream, 0), move |(app, stream, last)| async move {
        if last >= newest {
            return Ok::<_, std::io::Error>(None);
        }
        let reading = Arc::clone(&stream);
        let releases = app.blocking(move || Ok(reading.history(last + 1, CSV_RELEASES)?)).await;
        let releases = releases.map_err(|_| std::io::Error::other("the releases could not be read to their end"))?;
        let Some(last) = releases.last().map(|release| release.step) else { return Ok(None) };
        let lines: String = releases.iter().filter(|release| release.step <= newest).map(csv_lines).collect();
        Ok(Some((lines, (app, stream, last))))
    });
    let whole = futures::StreamExt::chain(stream::iter([Ok(header.to_owned())]), pieces);
    let disposition = format!("attachment; filename=\"{name}.csv\"");
    let headers =
        [(header::CONTENT_TYPE, "text/csv; charset=utf-8".to_owned()), (header::CONTENT_DISPOSITION, disposition)];
    Ok((headers, Body::from_stream(whole)).into_response())
}

fn csv_lines(release: &StepRelease) -> String {
    let StepRelease { step, closed, released } = release;
    let half_width = released.half_width();
    let mut text = String::new();
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
    text
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
pub async fn chart(State(app): State<Arc<App>>, Path(name): Path<String>, params: Params) -> Result<Response> {
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
    let drawing = move || {
        let first = stream.status().steps.saturating_sub(steps) + 1;
        let releases = stream.history(first, steps as usize)?;
        Ok(drawn(&stream, &releases, look.key.as_deref()).to_svg(width, height))
    };
    let svg = app.blocking(drawing).await?;
    Ok(([(header::CONTENT_TYPE, "image/svg+xml")], svg).into_response())
}

fn drawn(stream: &Stream, releases: &[StepRelease], key: Option<&str>) -> Chart {
    let title = stream.definition().name();
    let point = |release: &StepRelease, value: i64| (release.step, value, release.released.half_width());
    let Some(Released::Keyed(newest)) = releases.last().map(|release| &release.released) else {
        let points = releases.iter().filter_map(|release| match &release.released {
            Released::One(value) => Some(point(release, value.value)),
            Released::Keyed(_) => None,
        });
        return reticent_plot::releases(title, LEVEL, points);
    };
    let newest = newest.values.iter().filter(|(name, _)| key.is_none_or(|key| **name == *key));
    let newest = newest.map(|(name, value)| (name.to_string(), *value));
    reticent_plot::releases_by_key(title, LEVEL, CHART_KEYS, newest, |key| {
        let value = |release: &StepRelease| match &release.released {
            Released::Keyed(keyed) => keyed.values.iter().find(|(name, _)| **name == *key).map(|(_, value)| *value),
            Released::One(_) => None,
        };
        releases.iter().filter_map(|release| Some(point(release, value(release)?))).collect()
    })
}
