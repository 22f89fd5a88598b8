//! Looks at every tenant's last window, one after the other, as long as the server runs.

use super::Alerts;
use super::book::{Changes, Span};
use super::looks::Detection;
use super::reading::{Read, ReadProblem, Reading};
use super::watched::{Look, LookOutcome, Watched};
use crate::api::{data_threads, now};
use crate::shared::{AppState, Tenant};
use laggard_engine::LocalEngine;
use laggard_model::{Nanos, Timestamp};
use laggard_params::Window;
use std::num::NonZeroUsize;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio::runtime::Handle;

/// How long a look waits for a place among the queries.
const QUEUE_MAX: Duration = Duration::from_secs(5);

/// After a look that took long, the next one waits so many times as long: looking takes a fifth of the time at most.
const REST: u32 = 4;

/// Data older than this, or than a window, are not about now.
const OLD: Nanos = Nanos::from_secs(900);

/// What a tenant's store held when it was looked at.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Seen {
    newest: Timestamp,
    spans: u64,
}

/// Looks until the server stops. A look never overlaps another one: this task awaits each.
pub(super) async fn run(state: AppState) {
    let every = state.alerts.settings.every.duration();
    let mut seen = std::collections::BTreeMap::new();
    let mut pause = every;
    loop {
        tokio::select! {
            () = state.stopping.cancelled() => return,
            () = tokio::time::sleep(pause) => {}
        }
        let started = Instant::now();
        for tenant in state.tenants.all() {
            let before = seen.remove(&tenant.name);
            if let Some(judged) = look(&state, &tenant, before).await {
                seen.insert(tenant.name.clone(), judged);
            }
        }
        pause = every.saturating_sub(started.elapsed()).max(started.elapsed() * REST).min(every * 60);
    }
}

/// One look at one tenant. Returns what the store held, unless that is to be looked at again.
async fn look(state: &AppState, tenant: &Arc<Tenant>, before: Option<Seen>) -> Option<Seen> {
    let alerts = state.alerts.clone();
    let at = now();
    let store = tenant.store.state();
    let seen = store.newest.map(|newest| Seen { newest, spans: store.spans_stored });
    let asked = Asked { alerts, at, end: seen.map(|seen| seen.newest.min(at)) };
    let skip = asked.skip(seen, before);
    let permit = match skip {
        Some(_) => None,
        None => tokio::time::timeout(QUEUE_MAX, state.api.queries.clone().acquire_owned()).await.ok(),
    };
    let (tenant, handle) = (tenant.clone(), Handle::current());
    let stretch = state.settings.raw.store.slice.nanos();
    let done = tokio::task::spawn_blocking(move || {
        let watched = asked.alerts.watched.of(&tenant.name);
        let reading = Reading {
            view: tenant.store.view(),
            handle,
            memory_bytes: asked.alerts.settings.memory.0,
            stretch,
            threads: half_of_the_processors(),
        };
        let changes = match (skip, permit) {
            (Some(skipped), _) => asked.pass(&watched, skipped),
            (None, None) => {
                asked.pass(&watched, Skipped::new(LookOutcome::Busy, "questions of people went first"))
            }
            (None, Some(_permit)) => asked.judge(&watched, &reading),
        };
        tell_log(&tenant.name, &watched, &changes);
        if !changes.is_empty() || asked.changed(&watched) {
            watched.save();
        }
        asked.alerts.wake();
        let outcome = watched.standing().last.as_ref().map(|look| look.outcome);
        outcome.is_some_and(LookOutcome::is_final)
    });
    match done.await {
        Ok(is_final) => seen.filter(|_| is_final),
        Err(error) => {
            tracing::error!(%error, "a look at a tenant's alerts failed outside of judging");
            None
        }
    }
}

/// Questions of people shall find a processor that is free.
fn half_of_the_processors() -> NonZeroUsize {
    NonZeroUsize::new(data_threads().get() / 2).unwrap_or(NonZeroUsize::MIN)
}

/// A look that is to be done.
struct Asked {
    alerts: Arc<Alerts>,
    at: Timestamp,
    /// The end of its window.
    end: Option<Timestamp>,
}

/// Why nothing is judged.
struct Skipped {
    outcome: LookOutcome,
    text: String,
}

impl Skipped {
    fn new(outcome: LookOutcome, text: impl Into<String>) -> Skipped {
        Skipped { outcome, text: text.into() }
    }
}

impl Asked {
    fn detection(&self) -> Detection {
        self.alerts.detection
    }

    /// Whether there is any use in looking. `before`: what the store held the last time, if there was one.
    fn skip(&self, seen: Option<Seen>, before: Option<Seen>) -> Option<Skipped> {
        let Some(end) = self.end else {
            return Some(Skipped::new(LookOutcome::NothingNew, "nothing is stored yet"));
        };
        let oldest = self.at.minus(self.detection().window.max(OLD));
        if end < oldest {
            return Some(Skipped::new(
                LookOutcome::OldData,
                "the latest requests are older than the window; alerts are about now",
            ));
        }
        (before.is_some() && before == seen)
            .then(|| Skipped::new(LookOutcome::NothingNew, "nothing came since the last look"))
    }

    fn pass(&self, watched: &Watched, skipped: Skipped) -> Changes {
        let window = self.end.map(|end| self.detection().window_at(end));
        let look = Look {
            at_ns: self.at.unix_ns(),
            outcome: skipped.outcome,
            text: skipped.text,
            took_ns: now().since(self.at).non_negative().map_or(0, Nanos::ns),
            window: window.map(Span::from),
            baseline: None,
            kept_one_in: 1,
        };
        watched.note(look, |book| book.pass(self.detection().rules, self.at))
    }

    fn judge(&self, watched: &Watched, reading: &Reading) -> Changes {
        let started = Instant::now();
        // A bug in one look must not end looking.
        let judged = catch_unwind(AssertUnwindSafe(|| self.judged(watched, reading)));
        let judged = judged
            .unwrap_or_else(|_| Err(Skipped::new(LookOutcome::Failed, "judging failed; the log tells more")));
        let (judgment, kept_one_in) = match judged {
            Ok(judged) => judged,
            Err(skipped) => return self.pass(watched, skipped),
        };
        let text = match judgment.found.len() {
            0 => "nothing is slower than before".to_owned(),
            1 => "one operation makes requests slower than before".to_owned(),
            several => format!("{several} operations make requests slower than before"),
        };
        let look = Look {
            at_ns: self.at.unix_ns(),
            outcome: LookOutcome::Judged,
            text,
            took_ns: started.elapsed().as_nanos() as u64,
            window: Some(judgment.window.into()),
            baseline: Some(judgment.baseline.into()),
            kept_one_in,
        };
        watched.note(look, |book| book.take(&judgment, self.detection().rules, self.at))
    }

    fn judged(&self, watched: &Watched, reading: &Reading) -> Result<(super::Judgment, u64), Skipped> {
        let end = self.end.expect("a look without data is skipped");
        let book = watched.standing().book.clone();
        let detection = self.fitting(reading, end);
        let needed = detection.needed(&book, end);
        let Read { requests, kept_one_in } = reading.requests(&needed).map_err(unread)?;
        let day = |day: Window| {
            let windows: Vec<Window> = needed.iter().copied().chain([day]).collect();
            reading.requests(&windows).map(|read| read.requests).ok()
        };
        let looked = detection.look(&book, &requests, day, end, LocalEngine::new(reading.threads));
        let judgment = looked.map_err(|few| {
            Skipped::new(
                LookOutcome::TooLittleData,
                format!(
                    "the window has {} complete requests and what it is compared with {}; {} are needed in each",
                    few.window, few.baseline, detection.judge.requests_min
                ),
            )
        })?;
        Ok((judgment, kept_one_in))
    }

    /// With a shorter baseline where the long one holds more than fits; never shorter than the window.
    fn fitting(&self, reading: &Reading, end: Timestamp) -> Detection {
        let mut detection = self.detection();
        while detection.baseline > detection.window && !reading.fits(&detection, end) {
            let half = Nanos::from_ns(detection.baseline.ns() / 2);
            detection.baseline = half.max(detection.window);
        }
        detection
    }

    /// Whether there is something to keep that the last save does not have.
    fn changed(&self, watched: &Watched) -> bool {
        !watched.standing().book.active.is_empty()
    }
}

impl Reading {
    fn fits(&self, detection: &Detection, end: Timestamp) -> bool {
        let window = detection.window_at(end);
        let whole = detection.baseline_before(window.since).join(window);
        self.spans(whole) <= self.memory_bytes / super::reading::CALL_BYTES
    }
}

fn unread(problem: ReadProblem) -> Skipped {
    match problem {
        ReadProblem::TooMuch(spans) => Skipped::new(
            LookOutcome::TooMuchData,
            format!(
                "the window and what it is compared with hold {spans} spans, more than alerts.memory has room for"
            ),
        ),
        ReadProblem::Store(error) => Skipped::new(LookOutcome::Unreadable, error.to_string()),
    }
}

fn tell_log(tenant: &str, watched: &Watched, changes: &Changes) {
    let standing = watched.standing();
    let find = |id: &String| {
        let all = standing.book.active.iter().chain(&standing.book.over);
        all.into_iter().find(|alert| alert.id == *id)
    };
    for alert in changes.fired.iter().filter_map(find) {
        tracing::warn!(tenant, service = %alert.found.service, operation = %alert.found.operation, slower = alert.found.slower, "an operation makes requests slow");
    }
    for alert in changes.resolved.iter().filter_map(find) {
        tracing::info!(tenant, service = %alert.found.service, operation = %alert.found.operation, why = alert.ended, "an alert is over");
    }
}
