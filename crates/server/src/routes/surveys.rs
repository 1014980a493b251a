//! Surveys of the local model: tasks, reports, estimates.

use std::collections::BTreeMap;
use std::sync::Arc;

use axum::Extension;
use axum::extract::{Path, State};
use axum::response::Response;
use reticent::local::Task;
use reticent::privacy::Delta;
use reticent_collector::{Collector, Estimated};
use serde::Serialize;
use utoipa::ToSchema;

use super::json;
use crate::access::Caller;
use crate::app::App;
use crate::body::{Params, Sender, Unpacked};
use crate::error::{Error, Problem, Result};
use crate::reply;
use crate::surveys::Survey;

/// A survey.
#[derive(Debug, Serialize, ToSchema)]
pub struct SurveyView {
    /// Its name in URLs.
    pub name: String,
    /// The question.
    pub question: String,
    /// The task's hash, which every report contains.
    pub task: String,
    /// The guarantee of one report, in words.
    pub guarantee: String,
    /// Whether anyone may answer, without a token.
    pub open: bool,
    /// The number of reports counted.
    pub reports: u64,
}

/// All surveys.
#[derive(Debug, Serialize, ToSchema)]
pub struct SurveyList {
    /// By name.
    pub surveys: Vec<SurveyView>,
}

/// The outcome for the reports of a request.
#[derive(Debug, Serialize, ToSchema)]
pub struct CollectedView {
    /// How many were counted, durably.
    pub counted: u64,
    /// How many were rejected, by reason: `unreadable`, `other-task`, `duplicate`, `wrong-period` or `wrong-shape`.
    pub rejected: BTreeMap<String, u64>,
}

/// The estimates from all reports: `choices`, `mean` or `texts`.
///
/// Standard errors and intervals are given if every device reports once (`memoisation` is `never`, and
/// `lifetime-epsilon` pays for one answer). Otherwise reports are not people: counts are of reports, and `no_interval`
/// says why there are no intervals.
#[derive(Debug, Serialize, ToSchema)]
pub struct EstimateView {
    #[serde(flatten)]
    #[schema(value_type = Object)]
    estimated: Estimated,
    /// The guarantee against an observer of the shuffled reports, if `delta` was given.
    #[serde(skip_serializing_if = "Option::is_none")]
    shuffled: Option<String>,
}

fn named(app: &App, name: &str) -> Result<(Arc<Survey>, Arc<Collector>)> {
    let missing = || Error::Missing(format!("there is no survey {name:?}; surveys are defined in the configuration"));
    let survey = app.surveys.get(name).ok_or_else(missing)?;
    Ok((Arc::clone(survey), Arc::clone(app.surveys.collector().ok_or_else(missing)?)))
}

/// All surveys
#[utoipa::path(get, path = "/v1/local", operation_id = "list_surveys", tag = "surveys", responses(
    (status = 200, description = "All surveys", body = SurveyList),
    (status = "4XX", description = "Unauthorized, forbidden or rate-limited", body = Problem)))]
pub async fn list(State(app): State<Arc<App>>, Sender(sender): Sender) -> Result<Response> {
    let asking = Arc::clone(&app);
    let surveys = app.blocking(move || asking.surveys.list().map(|survey| view(&asking, survey)).collect()).await?;
    reply::json(&app, &sender, &SurveyList { surveys }).await
}

fn view(app: &App, survey: &Survey) -> Result<SurveyView> {
    let (task, id) = (survey.admission.task(), survey.admission.id());
    let reports = app.surveys.collector().map_or(Ok(0), |collector| collector.count(&id))?;
    Ok(SurveyView {
        name: survey.name.clone(),
        question: task.question().into(),
        task: id.to_string(),
        guarantee: task.guarantee().to_string(),
        open: survey.open,
        reports,
    })
}

/// A survey's task: everything a device needs
#[utoipa::path(get, path = "/v1/local/{task}", operation_id = "show_survey", tag = "surveys",
    params(("task" = String, Path, description = "The survey")), responses(
    (status = 200, description = "The task", body = Object),
    (status = 404, description = "Not found", body = Problem),
    (status = "4XX", description = "Unauthorized, forbidden or rate-limited", body = Problem)))]
pub async fn show(State(app): State<Arc<App>>, Sender(sender): Sender, Path(name): Path<String>) -> Result<Response> {
    let (survey, _) = named(&app, &name)?;
    let task: &Task = survey.admission.task();
    reply::json(&app, &sender, task).await
}

/// Sends reports, randomised on the devices, one per line
///
/// A report counts, once, if it contains the hash of exactly this task. No line is an error; the response says how many
/// count. The same reports may be sent again after a failure: none counts twice. The body may be gzipped
/// (`Content-Encoding: gzip`).
#[utoipa::path(post, path = "/v1/local/{task}/reports", operation_id = "send_reports", tag = "surveys",
    params(("task" = String, Path, description = "The survey")),
    request_body(content((String = "application/x-ndjson"), (String = "text/plain"), (String = "application/octet-stream")),
        description = "One report per line"), responses(
    (status = 200, description = "How many were counted, durably, and how many rejected", body = CollectedView),
    (status = 404, description = "No such survey", body = Problem),
    (status = 409, description = "The task has expired", body = Problem),
    (status = 413, description = "The request is too large", body = Problem),
    (status = "4XX", description = "Unauthorized, forbidden or rate-limited", body = Problem)))]
pub async fn send(
    State(app): State<Arc<App>>,
    Path(name): Path<String>,
    Unpacked(body, _room): Unpacked,
) -> Result<Response> {
    let (survey, collector) = named(&app, &name)?;
    let now = u64::try_from(jiff::Timestamp::now().as_second()).unwrap_or(0);
    let task = survey.admission.task();
    if task.has_expired(now) {
        return Err(Error::Conflict(format!("the survey {name} expired on {}", task.expires())));
    }
    let collected = app.blocking(move || Ok(collector.collect_lines(&survey.admission, &body[..], now)?)).await?;
    let rejected = collected.rejected.into_iter().map(|(reason, count)| (reason.to_owned(), count)).collect();
    Ok(json(&CollectedView { counted: collected.counted, rejected }))
}

/// The estimates from all reports; costs nothing and can be repeated
///
/// Intervals, standard errors and the shuffler's amplification are statements about people. They are given only if
/// every device reports once: `memoisation` is `never`, and `lifetime-epsilon` is less than twice `epsilon`, which is
/// the default. Amplification is not stated either if the reports show that they are from several periods
/// (`time-precision`).
#[utoipa::path(get, path = "/v1/local/{task}/estimate", operation_id = "estimate_survey", tag = "surveys",
    params(("task" = String, Path, description = "The survey"),
        ("delta" = Option<String>, Query, description = "If reports went through a shuffler: the delta of the guarantee"),
        ("honest" = Option<u64>, Query, description = "With delta: how many of the reports are honest, one per person. Defaults to all")),
    responses(
    (status = 200, description = "The estimates", body = EstimateView),
    (status = 404, description = "No such survey", body = Problem),
    (status = 409, description = "There are fewer reports than the minimum batch, or the shuffler's guarantee cannot be stated; the message says why",
        body = Problem),
    (status = "4XX", description = "Invalid request; the message says how to fix it", body = Problem)))]
pub async fn estimate(
    State(app): State<Arc<App>>,
    Extension(caller): Extension<Caller>,
    Path(name): Path<String>,
    params: Params,
) -> Result<Response> {
    let (survey, collector) = named(&app, &name)?;
    let params = params.only(&["delta", "honest"])?;
    let delta: Option<Delta> = params.text("delta").map(str::parse).transpose()?;
    let honest = params.number("honest", 1..=u64::MAX)?;
    let turn = app.queries.place(&caller.name).await;
    let view = app.blocking(move || {
        // Until it is done, even if the client has left.
        let _turn = turn;
        let estimated = collector.estimate(&survey.admission)?;
        let shuffled = delta.map(|delta| estimated.shuffled(survey.admission.task(), honest, &delta)).transpose()?;
        Ok(EstimateView { estimated, shuffled: shuffled.map(|(guarantee, _)| guarantee.to_string()) })
    });
    reply::json(&app, &caller.name, &view.await?).await
}
