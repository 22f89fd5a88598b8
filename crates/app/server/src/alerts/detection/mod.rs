//! Which windows an evaluation compares.

use super::evaluate::{Evaluation, EvaluationSettings, Finding, TooFewRequests, evaluate};
use super::lifecycle::{Alert, AlertList, Rules};
use laggard_engine::{LocalEngine, Requests};
use laggard_model::{Nanos, Timestamp};
use laggard_params::Window;
use std::sync::Arc;

/// Everything detection depends on.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Detection {
    /// Length of the evaluated window.
    pub window: Nanos,
    /// Length of the baseline before it.
    pub baseline: Nanos,
    /// From which slow-down on an operation counts.
    pub settings: EvaluationSettings,
    /// When alerts fire and resolve.
    pub rules: Rules,
}

const DAY: Nanos = Nanos::from_secs(86_400);
const INSTANT: Nanos = Nanos::from_ns(1);

impl Detection {
    /// The window that ends at a time.
    pub fn window_at(&self, end: Timestamp) -> Window {
        Window { since: end.minus(self.window).plus(INSTANT), until: end }
    }

    /// The baseline before a time.
    pub fn baseline_before(&self, end: Timestamp) -> Window {
        Window { since: end.minus(self.baseline).plus(INSTANT), until: end }
    }

    /// The same time a day earlier, with half a window before and after it: daily jobs are not punctual to the second.
    /// Not longer, or what is usual at this time of day would be rare in it.
    pub fn day_before(&self, end: Timestamp) -> Window {
        let half = Nanos::from_ns(self.window.ns() / 2);
        let window = self.window_at(end.minus(DAY));
        Window { since: window.since.minus(half), until: window.until.plus(half) }
    }

    /// Every interval that an evaluation of the window with this end may need.
    pub fn needed(&self, alerts: &AlertList, end: Timestamp) -> Vec<Window> {
        let window = self.window_at(end);
        let before = self.baseline_before(window.since.minus(INSTANT));
        let mut needed = vec![before.join(window)];
        needed.extend(alerts.healthy_until(|_| true).map(|until| self.baseline_before(until)));
        needed
    }

    /// Evaluates the window that ends at a time: which operations are slower than just before, and not as slow a day
    /// earlier; and whether those with an alert are still slower than before it. `day` returns the requests of the day
    /// before; it is called only where there is something to compare.
    ///
    /// # Errors
    /// When there are too few requests.
    pub fn evaluate(
        &self,
        alerts: &AlertList,
        requests: &Requests,
        day: impl FnOnce(Window) -> Option<Arc<Requests>>,
        end: Timestamp,
        engine: LocalEngine,
    ) -> Result<Evaluation, TooFewRequests> {
        let window = self.window_at(end);
        let before = self.baseline_before(window.since.minus(INSTANT));
        let mut evaluation = evaluate(requests, window, before, self.settings, engine)?;
        self.keep_active(alerts, requests, &mut evaluation, engine);
        let slower_min = self.settings.slower_min;
        evaluation.findings.retain(|finding| {
            let is_enough = finding.is_failing() || finding.slower >= slower_min;
            is_enough && finding.is_certain() || alerts.firing().any(|alert| alert.is_about(finding))
        });
        let is_new = |finding: &Finding| !alerts.active.iter().any(|alert| alert.is_about(finding));
        if evaluation.findings.iter().any(is_new) {
            self.drop_daily(alerts, day, end, &mut evaluation, engine);
        }
        evaluation.findings = by_service(evaluation.findings);
        Ok(evaluation)
    }

    /// While an operation stays slow, the baseline just before the window becomes as slow as the window. So active
    /// alerts are compared with the baseline before them.
    fn keep_active(
        &self,
        alerts: &AlertList,
        requests: &Requests,
        evaluation: &mut Evaluation,
        engine: LocalEngine,
    ) {
        let missing = |alert: &Alert| !evaluation.findings.iter().any(|finding| alert.is_about(finding));
        let Some(until) = alerts.healthy_until(missing) else { return };
        let baseline = self.baseline_before(until);
        let Ok(then) = evaluate(requests, evaluation.window, baseline, self.settings, engine) else {
            // The old baseline may be deleted by now; then the absence of a finding means nothing.
            evaluation.is_complete = false;
            return;
        };
        let still = then.findings.into_iter().filter(|finding| {
            alerts.active.iter().any(|alert| alert.is_about(finding))
                && !evaluation.findings.iter().any(|known| known.service == finding.service)
        });
        let still: Vec<Finding> = still.collect();
        evaluation.findings.extend(still);
    }

    /// Drops findings that are as slow every day at this time.
    fn drop_daily(
        &self,
        alerts: &AlertList,
        day: impl FnOnce(Window) -> Option<Arc<Requests>>,
        end: Timestamp,
        evaluation: &mut Evaluation,
        engine: LocalEngine,
    ) {
        let baseline = self.day_before(end);
        let Some(requests) = day(baseline) else { return };
        let Ok(then) = evaluate(&requests, evaluation.window, baseline, self.settings, engine) else {
            return;
        };
        evaluation.findings.retain(|finding| {
            let known = alerts.active.iter().any(|alert| alert.is_about(finding));
            let slower = then
                .findings
                .iter()
                .any(|other| other.service == finding.service && other.operation == finding.operation);
            known || slower || alerts.was_about(finding, baseline)
        });
    }
}

/// One finding per service: that of its most suspicious operation, which names the others.
fn by_service(findings: Vec<Finding>) -> Vec<Finding> {
    let mut out: Vec<Finding> = Vec::new();
    for finding in findings {
        match out.iter_mut().find(|known| known.service == finding.service) {
            None => out.push(finding),
            Some(known) => {
                known.slower = known.slower.max(finding.slower);
                known.other_operations.push(finding.operation);
            }
        }
    }
    out
}

#[cfg(test)]
mod tests;
