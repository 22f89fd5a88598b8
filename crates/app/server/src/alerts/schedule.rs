//! Evaluates every tenant's latest window, one after the other, as long as the server runs.

use super::detection::Detection;
use super::evaluate::Evaluation;
use super::finding::AlertFinding;
use super::incidents::verdict::Evidence;
use super::lifecycle::{Changes, Interval};
use super::servers::schedule::evaluate_servers;
use super::state::Alerts;
use super::store_reader::{CALL_BYTES, ReadError, StoreReader};
use super::tenant_alerts::{EvaluationOutcome, EvaluationRecord, TenantAlerts};
use crate::tenants::{Tenant, Tenants};
use laggard_engine::LocalEngine;
use laggard_model::{Nanos, Timestamp};
use laggard_params::Window;
use laggard_system::{available_threads, now};
use std::collections::BTreeMap;
use std::num::NonZeroUsize;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio::runtime::Handle;

/// How long an evaluation waits for its turn among the queries.
const QUEUE_MAX: Duration = Duration::from_secs(5);

/// After a long evaluation, the next one waits for this multiple of its duration, so that at most a fifth of the time is used.
const PAUSE_FACTOR: u32 = 4;

/// Data older than this, or than a window, are not evaluated.
const DATA_AGE_MAX: Nanos = Nanos::from_secs(900);

/// Requests stopped arriving when the latest is older than this, after they had arrived as they were made at so many
/// evaluations: otherwise the data are history that was imported.
const SILENT_AFTER: Nanos = Nanos::from_secs(120);
const LIVE_EVALUATIONS: u32 = 10;

/// Verdicts of one evaluation; further incidents wait for the next.
const VERDICTS_MAX: usize = 3;

/// Contents of a tenant's store at an evaluation.
#[derive(Clone, Copy)]
struct StoreContents {
    /// Start of the latest request, by the clocks of its senders, which may be ahead of the server's.
    newest: Timestamp,
    spans: u64,
    /// When they were first seen, by the server's clock.
    seen: Timestamp,
    /// The end of the evaluated window, which is never in the future.
    evaluated_until: Timestamp,
    /// Evaluations at which new requests had just arrived.
    live: u32,
}

impl StoreContents {
    /// Contents at a time of the server's clock, and what is remembered of the last evaluation.
    fn new(newest: Timestamp, spans: u64, before: Option<StoreContents>, at: Timestamp) -> StoreContents {
        let same = before.filter(|before| (before.newest, before.spans) == (newest, spans));
        let seen = same.map_or(at, |same| same.seen);
        let contents = StoreContents { newest, spans, seen, evaluated_until: newest.min(at), live: 0 };
        let live = before.map_or(0, |before| before.live);
        let has_arrived = contents.latest() > at.minus(SILENT_AFTER);
        StoreContents { live: if has_arrived { live.saturating_add(1) } else { live }, ..contents }
    }

    /// When the latest request was made: no later than it was seen, whatever its sender's clock says.
    fn latest(&self) -> Timestamp {
        self.newest.min(self.seen)
    }

    /// Whether these were evaluated when the contents were those `before`. Requests dated ahead of the server's clock are not
    /// until their time has come, unless they are so far ahead that it would take too many evaluations.
    fn are_known(&self, before: &StoreContents, at: Timestamp) -> bool {
        (self.newest, self.spans) == (before.newest, before.spans)
            && (self.newest <= before.evaluated_until || self.newest > at.plus(DATA_AGE_MAX))
    }
}

/// Runs until the server stops. Evaluations never overlap: this task awaits each.
pub(super) async fn run(alerts: Arc<Alerts>) {
    let every = alerts.settings.every.duration();
    let mut evaluated: BTreeMap<Box<str>, StoreContents> = BTreeMap::new();
    let mut pause = every;
    loop {
        tokio::select! {
            () = alerts.stopping.cancelled() => return,
            () = tokio::time::sleep(pause) => {}
        }
        let started = Instant::now();
        for tenant in alerts.tenants.all() {
            let before = evaluated.remove(&tenant.name);
            if let Some(contents) = evaluate_tenant(&alerts, &tenant, before).await {
                evaluated.insert(tenant.name.clone(), contents);
            }
        }
        pause = every.saturating_sub(started.elapsed()).max(started.elapsed() * PAUSE_FACTOR).min(every * 60);
    }
}

/// Why this server can say nothing about a tenant now.
fn unsuitable(tenants: &Tenants, tenant: &Tenant) -> Option<Skipped> {
    // That nothing new is seen does not mean that nothing happens.
    if tenant.store.is_outdated() {
        let text = "what other servers have stored cannot be read";
        return Some(Skipped::new(EvaluationOutcome::Unreadable, text));
    }
    let text = tenants.evaluated_elsewhere()?;
    Some(Skipped::new(EvaluationOutcome::Elsewhere, text))
}

/// One evaluation of one tenant. Returns the contents of the store, unless they are to be evaluated again.
async fn evaluate_tenant(
    alerts: &Arc<Alerts>,
    tenant: &Arc<Tenant>,
    before: Option<StoreContents>,
) -> Option<StoreContents> {
    let now = now();
    let store = tenant.store.figures();
    let contents = store.newest.map(|newest| StoreContents::new(newest, store.spans, before, now));
    let lack_requests = alerts.tenant_alerts.tenant(&tenant.name).state().alerts.lack_requests();
    let is_silent = contents.is_some_and(|contents| is_silent(contents, now, lack_requests));
    let end = contents.map(|contents| if is_silent { now } else { contents.evaluated_until });
    let run = EvaluationRun { alerts: alerts.clone(), at: now, end, is_silent };
    let skipped = unsuitable(&alerts.tenants, tenant).or_else(|| run.skip(contents, before));
    let permit = match skipped {
        Some(_) => None,
        None => tokio::time::timeout(QUEUE_MAX, alerts.queries.clone().acquire_owned()).await.ok(),
    };
    let (tenant, handle) = (tenant.clone(), Handle::current());
    let done = tokio::task::spawn_blocking(move || {
        let tenant_alerts = run.alerts.tenant_alerts.tenant(&tenant.name);
        let reader = StoreReader {
            view: tenant.store.view(),
            handle,
            memory_bytes: run.alerts.memory.at_most_a_quarter(run.alerts.settings.memory.bytes()) as u64,
            memory: run.alerts.memory.clone(),
            threads: half_of_the_processors(),
        };
        let changes = match (skipped, permit) {
            (Some(skipped), _) => run.record_skipped(&tenant_alerts, skipped),
            (None, None) => {
                let skipped = Skipped::new(EvaluationOutcome::Busy, "too many queries were running");
                run.record_skipped(&tenant_alerts, skipped)
            }
            (None, Some(_permit)) => {
                let mut changes = evaluate_servers(&run.alerts, &tenant_alerts, &reader, run.at);
                changes.add(run.evaluate(&tenant_alerts, &reader));
                changes
            }
        };
        run.reach_verdicts(&tenant_alerts, &reader, &tenant);
        log_changes(&tenant.name, &tenant_alerts, &changes);
        if !changes.is_empty() || !tenant_alerts.state().alerts.active.is_empty() {
            tenant_alerts.save();
        }
        run.alerts.wake();
        let outcome = tenant_alerts.state().last.as_ref().map(|record| record.outcome);
        outcome.is_some_and(EvaluationOutcome::is_final)
    });
    match done.await {
        Ok(is_final) => contents.filter(|_| is_final),
        Err(error) => {
            tracing::error!(%error, "an evaluation of a tenant's alerts failed");
            None
        }
    }
}

/// Whether requests stopped arriving.
fn is_silent(contents: StoreContents, at: Timestamp, lack_requests: bool) -> bool {
    let is_known = contents.live >= LIVE_EVALUATIONS && contents.latest() >= at.minus(DATA_AGE_MAX);
    contents.latest() <= at.minus(SILENT_AFTER) && (is_known || lack_requests)
}

/// Leaves processors free for the queries of people.
fn half_of_the_processors() -> NonZeroUsize {
    NonZeroUsize::new(available_threads().get() / 2).unwrap_or(NonZeroUsize::MIN)
}

/// An evaluation to run.
struct EvaluationRun {
    alerts: Arc<Alerts>,
    at: Timestamp,
    /// The end of its window.
    end: Option<Timestamp>,
    /// Whether requests stopped arriving.
    is_silent: bool,
}

/// Why nothing is evaluated.
struct Skipped {
    outcome: EvaluationOutcome,
    text: String,
}

impl Skipped {
    fn new(outcome: EvaluationOutcome, text: impl Into<String>) -> Skipped {
        Skipped { outcome, text: text.into() }
    }
}

impl EvaluationRun {
    fn detection(&self) -> &Detection {
        &self.alerts.detection
    }

    /// Why an evaluation would be useless. `before`: contents of the store at the last evaluation, if there was one.
    fn skip(&self, contents: Option<StoreContents>, before: Option<StoreContents>) -> Option<Skipped> {
        let Some(end) = self.end else {
            return Some(Skipped::new(EvaluationOutcome::NothingNew, "nothing is stored yet"));
        };
        let oldest = self.at.minus(self.detection().window.max(DATA_AGE_MAX));
        if end < oldest {
            return Some(Skipped::new(
                EvaluationOutcome::OldData,
                "the latest requests are older than the window; imported historical data never triggers alerts",
            ));
        }
        let is_known =
            before.zip(contents).is_some_and(|(before, contents)| contents.are_known(&before, self.at));
        (is_known && !self.is_silent)
            .then(|| Skipped::new(EvaluationOutcome::NothingNew, "no new requests since the last evaluation"))
    }

    fn record_skipped(&self, tenant_alerts: &TenantAlerts, skipped: Skipped) -> Changes {
        let window = self.end.map(|end| self.detection().window_at(end));
        let record = EvaluationRecord {
            at_ns: self.at.unix_ns(),
            outcome: skipped.outcome,
            text: skipped.text,
            took_ns: now().since(self.at).non_negative().map_or(0, Nanos::ns),
            window: window.map(Interval::from),
            baseline: None,
            sampled_one_in: 1,
        };
        let rules = self.detection().rules;
        tenant_alerts.record(record, |alerts| {
            let mut changes = alerts.expire(rules, self.at);
            changes.add(alerts.expire_servers(rules, self.at));
            changes
        })
    }

    fn evaluate(&self, tenant_alerts: &TenantAlerts, reader: &StoreReader) -> Changes {
        let started = Instant::now();
        // A bug in one evaluation must not end all of them.
        let result = catch_unwind(AssertUnwindSafe(|| self.try_evaluate(tenant_alerts, reader)));
        let result = result.unwrap_or_else(|_| {
            Err(Skipped::new(EvaluationOutcome::Failed, "the evaluation failed; see the log"))
        });
        let (evaluation, sampled_one_in) = match result {
            Ok(done) => done,
            Err(skipped) => return self.record_skipped(tenant_alerts, skipped),
        };
        let failing = evaluation.all().filter(|(finding, ..)| finding.is_failing()).count();
        let text = match evaluation.all().count() {
            0 => "nothing is slower than before".to_owned(),
            _ if let Some(change) = evaluation.all().find_map(|(finding, ..)| finding.traffic()) => {
                change.0.log_text().to_owned()
            }
            1 if failing == 1 => "one operation fails more often than before".to_owned(),
            1 => "one operation makes requests slower than before".to_owned(),
            several if failing > 0 => {
                format!("{several} operations make requests slower or fail more often than before")
            }
            several => format!("{several} operations make requests slower than before"),
        };
        let record = EvaluationRecord {
            at_ns: self.at.unix_ns(),
            outcome: EvaluationOutcome::Evaluated,
            text,
            took_ns: started.elapsed().as_nanos() as u64,
            window: Some(evaluation.window.into()),
            baseline: Some(evaluation.baseline.into()),
            sampled_one_in,
        };
        tenant_alerts.record(record, |alerts| alerts.apply(&evaluation, self.detection().rules, self.at))
    }

    /// Reaches the verdicts on incidents that need one, a few at a time.
    fn reach_verdicts(&self, tenant_alerts: &TenantAlerts, reader: &StoreReader, tenant: &Tenant) {
        let (events, recordings) = (&tenant.events, &tenant.recordings);
        let list = tenant_alerts.state().alerts.clone();
        let due =
            list.incidents.iter().filter(|incident| incident.needs_verdict(recordings, self.end, self.at));
        for incident in due.take(VERDICTS_MAX) {
            let (detection, list, now) = (self.detection(), &list, self.at);
            let evidence =
                Evidence { reader, events, recordings, detection, list, at: now, newest: self.end };
            // A bug in one verdict must not keep people from being notified.
            let reached = catch_unwind(AssertUnwindSafe(|| evidence.verdict(incident))).ok().flatten();
            let mut state = tenant_alerts.state();
            let mut all = state.alerts.incidents.iter_mut();
            if let Some(stored) = all.find(|stored| stored.id == incident.id) {
                stored.was_examined = true;
                if let Some((verdict, onset)) = reached {
                    stored.verdict = Some(verdict);
                    // The first evaluation may not have known it.
                    stored.since_ns = onset.map_or(stored.since_ns, Timestamp::unix_ns);
                }
            }
        }
    }

    /// The evaluation, and of how many traces one was read.
    fn try_evaluate(
        &self,
        tenant_alerts: &TenantAlerts,
        reader: &StoreReader,
    ) -> Result<(Evaluation, u64), Skipped> {
        let end = self.end.expect("an evaluation without data is skipped");
        let alerts = tenant_alerts.state().alerts.clone();
        let has_baseline = self.detection().baselines(end).any(|baseline| reader.spans(baseline) > 0);
        if !has_baseline && !self.is_silent && alerts.active.is_empty() {
            // Of a new system, many spans would be read for nothing.
            return Err(Skipped::new(
                EvaluationOutcome::TooLittleData,
                "nothing is stored from before the window, so that there is no baseline yet",
            ));
        }
        let mut detection = self.fit_to_memory(reader, end);
        let mut needed = detection.needed(&alerts, end);
        detection.retain_other_windows(end, |window| fits(reader, window));
        needed.extend(detection.needed_of_others(&alerts, end));
        let sample = reader.requests(&needed).map_err(unread)?;
        let (requests, sampled_one_in) = (&sample.requests, sample.sampled_one_in);
        let day = |day: Window| {
            let windows: Vec<Window> = needed.iter().copied().chain([day]).collect();
            reader.requests(&windows).map(|sample| sample.requests).ok()
        };
        let engine = LocalEngine::new(reader.threads);
        if self.is_silent {
            let evaluation = detection.evaluate_traffic(&alerts, requests, day, end, engine);
            let quiet =
                || Skipped::new(EvaluationOutcome::NothingNew, "no new requests since the last evaluation");
            return evaluation.map(|evaluation| (evaluation, sampled_one_in)).ok_or_else(quiet);
        }
        let evaluation = detection.evaluate(&alerts, requests, day, end, engine).map_err(|few| {
            Skipped::new(
                EvaluationOutcome::TooLittleData,
                format!(
                    "the window has {} complete requests and its baseline {}; {} are needed in each",
                    few.window, few.baseline, detection.settings.requests_min
                ),
            )
        })?;
        Ok((evaluation, sampled_one_in))
    }

    /// With a shorter baseline where the configured one does not fit; never shorter than the window.
    fn fit_to_memory(&self, reader: &StoreReader, end: Timestamp) -> Detection {
        let mut detection = self.detection().clone();
        let all = |detection: &Detection| {
            let window = detection.window_at(end);
            detection.baseline_before(window.since).join(window)
        };
        while detection.baseline > detection.window && !fits(reader, all(&detection)) {
            let half = Nanos::from_ns(detection.baseline.ns() / 2);
            detection.baseline = half.max(detection.window);
        }
        detection
    }
}

fn fits(reader: &StoreReader, window: Window) -> bool {
    reader.spans(window) <= reader.memory_bytes / CALL_BYTES
}

fn unread(error: ReadError) -> Skipped {
    match error {
        ReadError::TooMuch(spans) => Skipped::new(
            EvaluationOutcome::TooMuchData,
            format!("the window and its baseline have {spans} spans, which exceeds alerts.memory"),
        ),
        ReadError::NoMemory(bytes) => Skipped::new(
            EvaluationOutcome::Busy,
            format!("{} MiB of memory are needed, and not free", bytes.div_ceil(1 << 20)),
        ),
        ReadError::Store(error) => Skipped::new(EvaluationOutcome::Unreadable, error.to_string()),
    }
}

pub(super) fn log_changes(tenant: &str, tenant_alerts: &TenantAlerts, changes: &Changes) {
    let state = tenant_alerts.state();
    let find = |id: &String| {
        let mut all = state.alerts.active.iter().chain(&state.alerts.resolved);
        all.find(|alert| alert.id == *id)
    };
    for alert in changes.fired.iter().filter_map(find) {
        match &alert.finding {
            AlertFinding::Operation(finding) => {
                let what = if let Some((change, _)) = finding.traffic() {
                    change.log_text()
                } else if finding.is_failing() {
                    "an operation fails more often"
                } else {
                    alert.kind().log_text()
                };
                tracing::warn!(tenant, service = %finding.service, operation = %finding.operation, slower = finding.slower, "{what}");
            }
            AlertFinding::Server(finding) => {
                tracing::warn!(tenant, tier = %finding.tier, server = %finding.server, device = finding.device(), "{}", alert.kind().log_text());
            }
            AlertFinding::Objective(finding) => {
                tracing::warn!(tenant, objective = %finding.objective, burn_rate = finding.burn_rate, budget_left = finding.budget_left, "{}", alert.kind().log_text());
            }
        }
    }
    for alert in changes.resolved.iter().filter_map(find) {
        tracing::info!(
            tenant,
            kind = alert.kind().name(),
            id = alert.id,
            why = alert.ended,
            "an alert is resolved"
        );
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn time(second: i64) -> Timestamp {
        Timestamp::from_unix_ns(second * 1_000_000_000)
    }

    #[test]
    fn requests_ahead_of_the_clock_are_known_when_a_window_has_reached_them() {
        let first = StoreContents::new(time(1_005), 10, None, time(1_000));
        assert_eq!(first.evaluated_until, time(1_000), "no window ends in the future");
        let second = StoreContents::new(time(1_005), 10, Some(first), time(1_060));
        assert!(!second.are_known(&first, time(1_060)), "five seconds of them were not evaluated");
        assert_eq!(second.evaluated_until, time(1_005));
        let third = StoreContents::new(time(1_005), 10, Some(second), time(1_120));
        assert!(third.are_known(&second, time(1_120)));
        let new = StoreContents::new(time(1_005), 11, Some(second), time(1_120));
        assert!(!new.are_known(&second, time(1_120)));
    }

    #[test]
    fn requests_far_ahead_of_the_clock_are_not_evaluated_again_and_again() {
        let first = StoreContents::new(time(90_000), 10, None, time(1_000));
        let second = StoreContents::new(time(90_000), 10, Some(first), time(1_060));
        assert!(second.are_known(&first, time(1_060)));
    }

    /// A sender whose clock is an hour ahead does not hide that requests stop.
    #[test]
    fn requests_that_stop_are_missed_even_if_clocks_of_senders_are_ahead() {
        for ahead in [0, 3_600] {
            let mut before = None;
            let mut contents = |minute: i64, spans: u64| {
                let newest = time(60 * minute.min(20) + ahead);
                let contents = StoreContents::new(newest, spans, before, time(60 * minute));
                before = Some(contents);
                is_silent(contents, time(60 * minute), false)
            };
            assert!((1..=20).all(|minute| !contents(minute, 100 * minute as u64)));
            assert!(!contents(21, 2_000), "for a minute");
            assert!((22..=35).all(|minute| contents(minute, 2_000)), "{ahead} s ahead");
            assert!(!contents(36, 2_000), "after a quarter of an hour nothing is evaluated");
        }
    }
}
