//! `POST /api/v1/alertmanager`: others' alerts, in the form of Alertmanager's webhook, each answered with a diagnosis
//! of its time.

use super::answers::Answer;
use super::client_id::ClientId;
use super::jobs::{Job, NewJob, Progress};
use super::parameters::{Query, now};
use super::problem::{ApiError, ProblemDocument};
use super::queries::{TenantQueries, small_body};
use super::running::JobSize;
use crate::alerts::suspect_factor;
use crate::api::state::AppState;
use crate::settings::AlertSettings;
use crate::tenants::Tenant;
use axum::extract::{Request, State};
use axum::response::{IntoResponse, Response};
use axum::{Extension, Json};
use http::StatusCode;
use laggard_diagnose::{BaselineChoice, DiagnoseSettings, RequestSelection};
use laggard_model::Timestamp;
use laggard_params::{Moment, Window};
use laggard_report::Report;
use laggard_report::rfc3339;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, HashSet};
use std::sync::Arc;
use utoipa::{IntoParams, ToSchema};

/// Alerts of one message that are diagnosed; Alertmanager groups related alerts.
const ALERTS_MAX: usize = 8;

/// Suspects listed for each.
const SUSPECTS_MAX: usize = 5;

/// Longest window: an alert may have been firing for days.
const WINDOW_MAX_NS: i64 = 6 * 3_600 * 1_000_000_000;

/// A message of Alertmanager; unused fields are ignored.
#[derive(Deserialize, ToSchema)]
pub(crate) struct Message {
    /// `4` since 2018.
    #[serde(default)]
    version: String,
    /// The alerts of a group.
    alerts: Vec<OthersAlert>,
}

/// One alert.
#[derive(Clone, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct OthersAlert {
    /// Its labels.
    #[serde(default)]
    labels: BTreeMap<String, String>,
    /// When it began, RFC 3339.
    starts_at: String,
    /// When it ended; the year 1 while it fires.
    #[serde(default)]
    ends_at: Option<String>,
    /// Its id in Alertmanager.
    #[serde(default)]
    fingerprint: Option<String>,
}

/// The requested response.
#[derive(Clone, Copy, Default, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(crate) struct AlertmanagerParameters {
    /// Whether the answers come at once (true if absent), instead of jobs.
    wait: Option<bool>,
}

/// The answers.
#[derive(Serialize, ToSchema)]
pub(crate) struct Diagnoses {
    /// One a window and service, in the order of the alerts.
    diagnoses: Vec<Diagnosis>,
    /// Alerts that are not diagnosed: they are about the same, or there are too many.
    omitted: u64,
}

/// The diagnosis of the time of an alert.
#[derive(Serialize, ToSchema)]
pub(crate) struct Diagnosis {
    /// The name of the alert.
    fingerprint: Option<String>,
    /// Its name.
    alertname: Option<String>,
    /// Start and end of the window, and of what it was compared with: RFC 3339.
    since: String,
    until: String,
    baseline_since: String,
    baseline_until: String,
    /// The service that requests enter at; absent for all.
    service: Option<String>,
    /// The job that answers, for `/api/v1/jobs/{id}`.
    job: String,
    /// The page that shows it.
    page: String,
    /// The verdict in a word; absent before the end, and where there is a problem.
    verdict: Option<String>,
    /// The answer in a sentence or two.
    headline: Option<String>,
    suspects: Vec<SuspectRow>,
    /// Why there is no answer.
    problem: Option<String>,
}

/// An operation that makes requests slow.
#[derive(Serialize, ToSchema)]
pub(crate) struct SuspectRow {
    service: String,
    operation: String,
    replicas: Vec<String>,
    /// Time of its calls over that on the other replicas if `replicas` are to blame, else over that in the baseline.
    factor: Option<f64>,
    /// Share of the excess latency; null where that is not measurable.
    share: Option<f64>,
    traces: Vec<String>,
}

/// Diagnoses the time of others' alerts
#[utoipa::path(
    post, path = "/api/v1/alertmanager", tag = "alerts", params(AlertmanagerParameters),
    request_body(content = Message, description = "What Alertmanager sends to a webhook, version 4"),
    responses(
        (status = 200, description = "With the answers", body = Diagnoses),
        (status = 202, description = "With wait=false: jobs", body = Diagnoses),
        (status = "4XX", body = ProblemDocument), (status = 503, body = ProblemDocument)
    )
)]
pub(crate) async fn alertmanager(
    State(state): State<AppState>,
    Extension(tenant): Extension<Arc<Tenant>>,
    Query(parameters): Query<AlertmanagerParameters>,
    request: Request,
) -> Result<Response, ApiError> {
    let message = read(&small_body(request).await?)?;
    let (accepted, omitted) = questions(&message.alerts, &state.alerts.settings, now())?;
    let mut jobs = Vec::new();
    for question in &accepted {
        let (tenant_queries, question) = (TenantQueries::of(&state, &tenant), question.clone());
        let client = ClientId::current();
        let new = NewJob { tenant: &tenant.name, client, question: "alertmanager", size: JobSize::Long };
        let submitted = state.api.jobs.submit(new, move |progress| {
            diagnose(&tenant_queries, &question, progress).map(Answer::from_report)
        });
        match submitted {
            Ok(job) => jobs.push(job),
            Err(problem) => {
                // Alertmanager sends it all again.
                jobs.iter().for_each(|job| state.api.jobs.cancel(job));
                return Err(problem);
            }
        }
    }
    let waits = parameters.wait != Some(false);
    if waits {
        wait_for(&state, &jobs).await?;
    }
    let pages = &state.alerts.pages;
    let diagnoses = accepted.iter().zip(&jobs).map(|(question, job)| question.answer(job, pages)).collect();
    let status = if waits { StatusCode::OK } else { StatusCode::ACCEPTED };
    Ok((status, Json(Diagnoses { diagnoses, omitted })).into_response())
}

fn read(body: &[u8]) -> Result<Message, ApiError> {
    let message: Message = serde_json::from_slice(body)
        .map_err(|error| ApiError::invalid(format_args!("no message of Alertmanager's webhook: {error}")))?;
    if message.version.is_empty() || message.version == "4" {
        return Ok(message);
    }
    Err(ApiError::invalid(format_args!("version {:?} of the webhook is not known; 4 is", message.version)))
}

async fn wait_for(state: &AppState, jobs: &[Arc<Job>]) -> Result<(), ApiError> {
    let waiting = Waiting { state, jobs };
    for job in waiting.jobs {
        let mut watch = job.progress.subscribe();
        tokio::select! {
            _ = watch.wait_for(|progress| progress.state.has_ended()) => {}
            () = state.stopping.cancelled() => {
                return Err(ApiError::new(super::problem::ProblemKind::Busy, "the server is stopping"));
            }
        }
    }
    Ok(())
}

/// Cancels the jobs when the client disconnects.
struct Waiting<'a> {
    state: &'a AppState,
    jobs: &'a [Arc<Job>],
}

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        let open = self.jobs.iter().filter(|job| job.outcome().is_none());
        open.for_each(|job| self.state.api.jobs.cancel(job));
    }
}

/// The diagnosis of one alert.
#[derive(Clone, PartialEq, Debug)]
struct Question {
    fingerprint: Option<String>,
    alertname: Option<String>,
    window: Window,
    baseline: Window,
    service: Option<String>,
}

/// A question for each alert that is about something else than those before it.
fn questions(
    alerts: &[OthersAlert],
    settings: &AlertSettings,
    now: Timestamp,
) -> Result<(Vec<Question>, u64), ApiError> {
    let mut known = HashSet::new();
    let mut accepted = Vec::new();
    for alert in alerts {
        let question = question(alert, settings, now)?;
        let about = (question.window.since, question.window.until, question.service.clone());
        if accepted.len() < ALERTS_MAX && known.insert(about) {
            accepted.push(question);
        }
    }
    let omitted = (alerts.len() - accepted.len()) as u64;
    Ok((accepted, omitted))
}

fn question(alert: &OthersAlert, settings: &AlertSettings, now: Timestamp) -> Result<Question, ApiError> {
    let time = |name: &str, text: &str| {
        let read = Moment::parse_exact(text).map(|moment| moment.at(now));
        read.map_err(|error| ApiError::invalid(format_args!("{name} is {text:?}: {error}")))
    };
    let starts = time("startsAt", &alert.starts_at)?;
    // Alertmanager writes the year 1 for an unknown end.
    let ends = alert.ends_at.as_deref().filter(|text| !text.starts_with("0001-"));
    let ends = ends.map(|text| time("endsAt", text)).transpose()?;
    let until = ends.unwrap_or(now).min(now);
    if starts > until {
        return Err(ApiError::invalid(format_args!(
            "startsAt {:?} is after its end, or to come",
            alert.starts_at
        )));
    }
    let lead = settings.lead.nanos();
    let earliest = Timestamp::from_unix_ns(until.unix_ns().saturating_sub(WINDOW_MAX_NS));
    let since = starts.minus(lead).max(earliest);
    let baseline = Window {
        since: since.minus(settings.baseline.nanos()),
        until: since.minus(laggard_model::Nanos::from_ns(1)),
    };
    let label = |name: &String| alert.labels.get(name).filter(|value| !value.is_empty());
    Ok(Question {
        fingerprint: alert.fingerprint.clone(),
        alertname: alert.labels.get("alertname").cloned(),
        window: Window { since, until },
        baseline,
        service: settings.service_labels.iter().find_map(label).cloned(),
    })
}

/// The service of the labels may be one that no request enters at; then all requests are diagnosed.
fn diagnose(
    tenant_queries: &TenantQueries,
    question: &Question,
    progress: &Progress,
) -> Result<Report, ApiError> {
    let settings = |service| DiagnoseSettings {
        since: question.window.since,
        until: question.window.until,
        baseline: BaselineChoice::Within { since: question.baseline.since, until: question.baseline.until },
        selection: RequestSelection { service, ..RequestSelection::default() },
        ..DiagnoseSettings::default()
    };
    let report = tenant_queries.diagnose(&settings(question.service.clone()), progress)?;
    match question.service.is_some() && report.input.requests == 0 {
        true => tenant_queries.diagnose(&settings(None), progress),
        false => Ok(report),
    }
}

impl Question {
    fn answer(&self, job: &Job, pages: &str) -> Diagnosis {
        let outcome = job.outcome();
        let answer = outcome.and_then(Result::ok);
        let report = answer.and_then(Answer::report::<Report>);
        let problem = outcome.and_then(Result::err).map(|problem| problem.detail().to_owned());
        Diagnosis {
            fingerprint: self.fingerprint.clone(),
            alertname: self.alertname.clone(),
            since: rfc3339(self.window.since),
            until: rfc3339(self.window.until),
            baseline_since: rfc3339(self.baseline.since),
            baseline_until: rfc3339(self.baseline.until),
            service: self.service.clone(),
            job: job.id.to_string(),
            page: format!("{pages}/verdict?job={}", job.id),
            verdict: answer.map(|answer| answer.verdict().to_owned()),
            headline: report.map(|report| report.headline.clone()),
            suspects: report.map(suspects).unwrap_or_default(),
            problem,
        }
    }
}

fn suspects(report: &Report) -> Vec<SuspectRow> {
    let row = |suspect: &laggard_report::Suspect| {
        let (factor, _) = suspect_factor(suspect);
        SuspectRow {
            service: suspect.service.clone(),
            operation: suspect.operation.clone(),
            replicas: suspect.replicas.clone(),
            factor,
            share: Some(suspect.share).filter(|share| share.is_finite()),
            traces: suspect.trace_ids.clone(),
        }
    };
    report.suspects.iter().take(SUSPECTS_MAX).map(row).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    const NOW: Timestamp = Timestamp::from_unix_ns(1_768_212_000_000_000_000);

    fn alert(starts: &str, ends: &str, labels: serde_json::Value) -> OthersAlert {
        let alert = json!({"labels": labels, "startsAt": starts, "endsAt": ends, "fingerprint": "f", "status": "firing"});
        serde_json::from_value(alert).unwrap()
    }

    #[test]
    fn an_alert_becomes_a_window_with_a_lead_and_a_baseline_before_it() {
        let received = alert(
            "2026-01-12T09:30:00Z",
            "0001-01-01T00:00:00Z",
            json!({"job": "cart", "alertname": "Slow"}),
        );
        let diagnosed = question(&received, &AlertSettings::default(), NOW).unwrap();
        let text = |window: Window| (rfc3339(window.since), rfc3339(window.until));
        let (since, until) = text(diagnosed.window);
        assert_eq!(
            (since.as_str(), until.as_str()),
            ("2026-01-12T09:15:00.000Z", "2026-01-12T10:00:00.000Z")
        );
        let (since, until) = text(diagnosed.baseline);
        assert_eq!(
            (since.as_str(), until.as_str()),
            ("2026-01-12T07:15:00.000Z", "2026-01-12T09:14:59.999Z")
        );
        assert_eq!(
            (diagnosed.service.as_deref(), diagnosed.alertname.as_deref()),
            (Some("cart"), Some("Slow"))
        );
    }

    #[test]
    fn the_first_present_label_names_the_service() {
        let service = |labels| {
            let received = alert("2026-01-12T09:30:00Z", "2026-01-12T09:40:00Z", labels);
            question(&received, &AlertSettings::default(), NOW).unwrap().service
        };
        assert_eq!(service(json!({"job": "b", "service": "a"})).as_deref(), Some("a"));
        assert_eq!(service(json!({"service_name": "b", "service": ""})).as_deref(), Some("b"));
        assert_eq!(service(json!({"instance": "x"})), None);
    }

    #[test]
    fn long_alerts_have_a_bounded_window_and_invalid_ones_are_rejected() {
        let settings = AlertSettings::default();
        let old = alert("2025-01-12T09:30:00Z", "", json!({}));
        assert!(question(&old, &settings, NOW).is_err(), "an empty end is not a time");
        let old = alert("2025-01-12T09:30:00Z", "0001-01-01T00:00:00Z", json!({}));
        let diagnosed = question(&old, &settings, NOW).unwrap();
        assert_eq!(diagnosed.window.until.unix_ns() - diagnosed.window.since.unix_ns(), WINDOW_MAX_NS);
        let later = alert("2027-01-12T09:30:00Z", "0001-01-01T00:00:00Z", json!({}));
        assert!(question(&later, &settings, NOW).is_err());
    }

    #[test]
    fn each_window_is_diagnosed_once_up_to_a_limit() {
        let settings = AlertSettings::default();
        let same = alert("2026-01-12T09:30:00Z", "0001-01-01T00:00:00Z", json!({"job": "cart"}));
        let (accepted, omitted) = questions(&vec![same; 50], &settings, NOW).unwrap();
        assert_eq!((accepted.len(), omitted), (1, 49));
        let each = |index: usize| {
            alert("2026-01-12T09:30:00Z", "0001-01-01T00:00:00Z", json!({"job": format!("{index}")}))
        };
        let (accepted, omitted) = questions(&(0..20).map(each).collect::<Vec<_>>(), &settings, NOW).unwrap();
        assert_eq!((accepted.len(), omitted), (ALERTS_MAX, 12));
    }
}
