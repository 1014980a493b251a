//! Surveys of the local model: what is asked, reports, estimates.

use std::collections::BTreeMap;
use std::sync::Arc;

use axum::extract::{Path, State};
use axum::response::Response;
use reticent::local::Task;
use reticent::privacy::Delta;
use reticent_collector::{Collector, Estimated};
use serde::Serialize;
use utoipa::ToSchema;

use super::json;
use crate::app::App;
use crate::body::{Params, Unpacked};
use crate::error::{Error, Problem, Result};
use crate::surveys::Survey;

/// A survey.
#[derive(Debug, Serialize, ToSchema)]
pub struct SurveyView {
    /// As addresses call it.
    pub name: String,
    /// What people are asked.
    pub question: String,
    /// The task's hash, which every report carries.
    pub task: String,
    /// What one report promises, in words.
    pub guarantee: String,
    /// May anybody answer, without a token?
    pub open: bool,
    /// How many reports were counted.
    pub reports: u64,
}

/// All surveys.
#[derive(Debug, Serialize, ToSchema)]
pub struct SurveyList {
    /// By name.
    pub surveys: Vec<SurveyView>,
}

/// What became of the reports of a request.
#[derive(Debug, Serialize, ToSchema)]
pub struct CollectedView {
    /// Reports that count, durably.
    pub counted: u64,
    /// How many do not, by the reason: `unreadable`, `other-task`, `duplicate`, `wrong-period` or `wrong-shape`.
    pub rejected: BTreeMap<String, u64>,
}

/// What all reports together say: `choices`, `mean` or `texts`.
///
/// Standard errors and intervals are given if every device reports once (`memoisation` is `never`, and `lifetime-epsilon` pays for one
/// answer). Otherwise reports are not people: counts are of reports, and `no_interval` says why nothing more is stated.
#[derive(Debug, Serialize, ToSchema)]
pub struct EstimateView {
    #[serde(flatten)]
    #[schema(value_type = Object)]
    estimated: Estimated,
    /// What holds against an observer of the shuffled reports, if `delta` was given.
    #[serde(skip_serializing_if = "Option::is_none")]
    shuffled: Option<String>,
}

fn named(app: &App, name: &str) -> Result<(Arc<Survey>, Arc<Collector>)> {
    let missing = || Error::Missing(format!("there is no survey {name:?}; the configuration names them"));
    let survey = app.surveys.get(name).ok_or_else(missing)?;
    Ok((Arc::clone(survey), Arc::clone(app.surveys.collector().ok_or_else(missing)?)))
}

/// All surveys
#[utoipa::path(get, path = "/v1/local", operation_id = "list_surveys", tag = "surveys", responses(
    (status = 200, description = "All surveys", body = SurveyList),
    (status = "4XX", description = "Who may not", body = Problem)))]
pub async fn list(State(app): State<Arc<App>>) -> Result<Response> {
    let asking = Arc::clone(&app);
    let surveys = app.blocking(move || asking.surveys.list().map(|survey| view(&asking, survey)).collect()).await?;
    Ok(json(&SurveyList { surveys }))
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

/// What is asked, how, and for how long: all that a device needs
#[utoipa::path(get, path = "/v1/local/{task}", operation_id = "show_survey", tag = "surveys",
    params(("task" = String, Path, description = "The survey")), responses(
    (status = 200, description = "The task", body = Object),
    (status = 404, description = "There is none", body = Problem),
    (status = "4XX", description = "Who may not", body = Problem)))]
pub async fn show(State(app): State<Arc<App>>, Path(name): Path<String>) -> Result<Response> {
    let (survey, _) = named(&app, &name)?;
    let task: &Task = survey.admission.task();
    Ok(json(task))
}

/// Sends reports, randomised on the devices, one a line
///
/// A report counts if it carries the hash of this very task, once. No line is an error; the answer says how many count. The same
/// reports may be sent again after a failure: none counts twice. May be packed by gzip (`Content-Encoding: gzip`).
#[utoipa::path(post, path = "/v1/local/{task}/reports", operation_id = "send_reports", tag = "surveys",
    params(("task" = String, Path, description = "The survey")),
    request_body(content((String = "application/x-ndjson"), (String = "text/plain"), (String = "application/octet-stream")),
        description = "One report a line"), responses(
    (status = 200, description = "What became of them; those that count do so durably", body = CollectedView),
    (status = 404, description = "There is no such survey", body = Problem),
    (status = 409, description = "The task has expired", body = Problem),
    (status = 413, description = "Too many bytes at once", body = Problem),
    (status = "4XX", description = "Who may not, or too often", body = Problem)))]
pub async fn send(
    State(app): State<Arc<App>>,
    Path(name): Path<String>,
    Unpacked(body, _room): Unpacked,
) -> Result<Response> {
    let (survey, collector) = named(&app, &name)?;
    let now = u64::try_from(jiff::Timestamp::now().as_second()).unwrap_or(0);
    let task = survey.admission.task();
    if task.has_expired(now) {
        return Err(Error::Conflict(format!("the survey {name} has expired on {}", task.expires())));
    }
    let collected = app.blocking(move || Ok(collector.collect_lines(&survey.admission, &body[..], now)?)).await?;
    let rejected = collected.rejected.into_iter().map(|(reason, count)| (reason.to_owned(), count)).collect();
    Ok(json(&CollectedView { counted: collected.counted, rejected }))
}

/// What all reports together say; costs nothing, and may be asked again
///
/// Intervals, standard errors and what a shuffler adds are statements about people. They are made where every device reports once:
/// `memoisation` is `never`, and `lifetime-epsilon` is less than twice `epsilon`, which is the default. What a shuffler adds is not stated
/// either if the reports tell that they are of several periods (`time-precision`).
#[utoipa::path(get, path = "/v1/local/{task}/estimate", operation_id = "estimate_survey", tag = "surveys",
    params(("task" = String, Path, description = "The survey"),
        ("delta" = Option<String>, Query, description = "If reports went through a shuffler: the delta of the statement"),
        ("honest" = Option<u64>, Query, description = "With delta: how many of the reports are honest, one of each person; all unless given")),
    responses(
    (status = 200, description = "The estimates", body = EstimateView),
    (status = 404, description = "There is no such survey", body = Problem),
    (status = 409, description = "There are fewer reports than the minimum batch, or what a shuffler adds cannot be stated; the message says why",
        body = Problem),
    (status = "4XX", description = "What is wrong, and what to write instead", body = Problem)))]
pub async fn estimate(State(app): State<Arc<App>>, Path(name): Path<String>, params: Params) -> Result<Response> {
    let (survey, collector) = named(&app, &name)?;
    let params = params.only(&["delta", "honest"])?;
    let delta: Option<Delta> = params.text("delta").map(str::parse).transpose()?;
    let honest = params.number("honest", 1..=u64::MAX)?;
    let _turn = app.queries.acquire().await.map_err(|_| Error::Machine("the service stops".into()))?;
    let view = app.blocking(move || {
        let estimated = collector.estimate(&survey.admission)?;
        let honest = honest.unwrap_or(estimated.reports).min(estimated.reports);
        let shuffled = delta.map(|delta| estimated.shuffled(survey.admission.task(), honest, &delta)).transpose()?;
        Ok(EstimateView { estimated, shuffled: shuffled.map(|guarantee| guarantee.to_string()) })
    });
    Ok(json(&view.await?))
}
