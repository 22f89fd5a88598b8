//! Detection: each evaluation compares the latest window, and some shorter and longer ones, with the time before them, and
//! returns findings, which open alerts, and recoveries, which resolve them.

mod confirmation;
mod consequences;
mod contrast;
mod load;
mod recovery;
mod traffic;

use super::evaluate::{
    Evaluation, EvaluationSettings, Finding, Recovery, TooFewRequests, WindowEvaluation, complete, evaluate,
};
use super::lifecycle::{Alert, AlertList, AlertState, Rules};
use consequences::is_explained;
use laggard_engine::{LocalEngine, Requests};
use laggard_model::{Nanos, Timestamp};
use laggard_params::Window;
use recovery::{Slow, failing_recovery, recovery, was_as_slow};
use std::collections::BTreeMap;
use std::sync::Arc;
pub(super) use traffic::TrafficChange;

/// Everything detection depends on.
#[derive(Clone, PartialEq, Debug)]
pub struct Detection {
    /// Length of the window that each evaluation compares.
    pub window: Nanos,
    /// Length of the baseline before it.
    pub baseline: Nanos,
    /// Lengths of other windows: shorter ones for what is large, which soon have nothing but slow calls, longer ones for operations
    /// and replicas that are called rarely. Each is evaluated a few times in its length, where it fits into memory.
    pub other_windows: Vec<Nanos>,
    /// From which slow-down on an operation counts.
    pub settings: EvaluationSettings,
    /// When alerts fire and resolve.
    pub rules: Rules,
}

const DAY: Nanos = Nanos::from_secs(86_400);
const INSTANT: Nanos = Nanos::from_ns(1);
/// Number of evaluations of another window within its length, at most one for each evaluation of the usual window.
const OTHER_EVALUATIONS: u64 = 12;
/// Minimum length of the baseline of a longer window as a multiple of the window, at least that of the usual window.
const LONG_BASELINE: u64 = 2;
/// Largest p-value of a new alert: evaluations follow each other by a minute, and a level that suits one question is met by chance
/// every few hours.
const CERTAIN_LEVEL: f64 = 1e-3;
/// The same for an operation that is slower than its effect on requests suggests.
const OWN_LEVEL: f64 = 1e-4;
/// The same by a shorter window, whose few minutes differ more from each other than the method can know from an hour.
const SHORT_LEVEL: f64 = 1e-5;
/// The part of the least slow-down of requests from which on an operation counts that only stands out of its service.
const STANDING_OUT_PART: f64 = 0.6;
/// Length of the baseline of a shorter window as a multiple of the window, and its minimum.
const SHORT_BASELINE: u64 = 12;
const SHORT_BASELINE_MIN: Nanos = Nanos::from_secs(3_600);

/// A window and its baseline.
#[derive(Clone, Copy)]
struct Compared {
    window: Window,
    baseline: Window,
}

impl Compared {
    fn last(length: Nanos, baseline: Nanos, end: Timestamp) -> Compared {
        let window = before(length, end);
        Compared { window, baseline: before(baseline, window.since.minus(INSTANT)) }
    }

    fn all(&self) -> Window {
        self.baseline.join(self.window)
    }
}

/// The window of a length that ends at a time.
fn before(length: Nanos, end: Timestamp) -> Window {
    Window { since: end.minus(length).plus(INSTANT), until: end }
}

impl Detection {
    /// The window that ends at a time.
    pub fn window_at(&self, end: Timestamp) -> Window {
        before(self.window, end)
    }

    /// The baseline before a time.
    pub fn baseline_before(&self, end: Timestamp) -> Window {
        before(self.baseline, end)
    }

    fn compared(&self, end: Timestamp) -> Compared {
        Compared::last(self.window, self.baseline, end)
    }

    fn other_compared(&self, length: Nanos, end: Timestamp) -> Compared {
        let times = |factor: u64| Nanos::from_ns(length.ns().saturating_mul(factor));
        let baseline = match length < self.window {
            true => times(SHORT_BASELINE).max(SHORT_BASELINE_MIN).min(self.baseline),
            false => times(LONG_BASELINE).max(self.baseline),
        };
        Compared::last(length, baseline, end)
    }

    /// The baselines of all windows that end at a time.
    pub fn baselines(&self, end: Timestamp) -> impl Iterator<Item = Window> {
        let others = self.other_windows.iter().map(move |length| self.other_compared(*length, end));
        [self.compared(end)].into_iter().chain(others).map(|compared| compared.baseline)
    }

    /// The lengths of the windows that are shorter than the usual one.
    fn shorter_windows(&self) -> impl Iterator<Item = Nanos> {
        self.other_windows.iter().copied().filter(|length| *length < self.window)
    }

    /// The other windows that are to be evaluated again.
    fn due(&self, alerts: &AlertList, end: Timestamp) -> impl Iterator<Item = Nanos> {
        self.other_windows.iter().copied().filter(move |length| {
            let every = Nanos::from_ns(length.ns() / OTHER_EVALUATIONS);
            let last = alerts.others.iter().find(|other| other.length_ns == length.ns());
            last.is_none_or(|last| Timestamp::from_unix_ns(last.window.until_ns) <= end.minus(every))
        })
    }

    /// Leaves out the other windows that do not fit with their baselines: what fills the memory is not rare.
    pub fn retain_other_windows(&mut self, end: Timestamp, fits: impl Fn(Window) -> bool) {
        let all = self.other_windows.iter().copied();
        self.other_windows = all.filter(|length| fits(self.other_compared(*length, end).all())).collect();
    }

    /// Every interval that an evaluation of the window with this end may need.
    pub fn needed(&self, alerts: &AlertList, end: Timestamp) -> Vec<Window> {
        let of_operations = alerts.active.iter().filter(|alert| alert.finding.operation().is_some());
        let healthy = of_operations.map(|alert| self.healthy_baseline(alert));
        [self.compared(end).all()].into_iter().chain(healthy).collect()
    }

    /// Every interval that the evaluation of the other windows needs besides.
    pub fn needed_of_others(&self, alerts: &AlertList, end: Timestamp) -> Vec<Window> {
        self.due(alerts, end).map(|length| self.other_compared(length, end).all()).collect()
    }

    /// The baseline before an alert.
    fn healthy_baseline(&self, alert: &Alert) -> Window {
        self.baseline_before(Timestamp::from_unix_ns(alert.healthy_ns))
    }

    /// Evaluates the window that ends at a time, and the others that are due: which operations are slower than just before, and not as slow a day earlier; and whether those with an
    /// alert have recovered. `day` returns the requests of the day before; it is called only where there is something to
    /// compare.
    ///
    /// # Errors
    /// When there are too few requests.
    pub fn evaluate(
        &self,
        alerts: &AlertList,
        requests: &Requests,
        day: impl Fn(Window) -> Option<Arc<Requests>>,
        end: Timestamp,
        engine: LocalEngine,
    ) -> Result<Evaluation, TooFewRequests> {
        let study = Study { detection: self, alerts, requests, end, engine };
        let compared = self.compared(end);
        let mut evaluation =
            match evaluate(requests, compared.window, compared.baseline, self.settings, engine) {
                Ok(evaluation) => evaluation,
                // A new system: a shorter window has a baseline sooner.
                Err(_) if study.can_compare_shorter() => Evaluation::new(compared.window, compared.baseline),
                Err(too_few) => return study.traffic(&day).ok_or(too_few),
            };
        evaluation.findings = study.lasting(evaluation.findings, compared, &day);
        evaluation.findings = by_service(study.missing_requests(&day).into_iter().chain(evaluation.findings));
        evaluation.recoveries = study.recoveries(false);
        evaluation.others.clone_from(&alerts.others);
        evaluation.others.retain(|other| self.other_windows.contains(&Nanos::from_ns(other.length_ns)));
        evaluation.others.iter_mut().for_each(|other| study.drop_over(other));
        for length in self.due(alerts, end) {
            let compared = self.other_compared(length, end);
            let (window, baseline) = (compared.window.into(), compared.baseline.into());
            let findings = study.lasting(study.other_findings(length, compared), compared, &day);
            evaluation.others.retain(|other| other.length_ns != length.ns());
            evaluation.others.push(WindowEvaluation { length_ns: length.ns(), window, baseline, findings });
        }
        evaluation.others.sort_by_key(|other| other.length_ns);
        let mut of_traffic = traffic::changed_replicas(requests, self.compared(end));
        of_traffic.retain(|own| {
            evaluation.all().all(|(slow, ..)| slow.service != own.service || own.explains_slowness(slow))
        });
        evaluation.findings = by_service(of_traffic.into_iter().chain(evaluation.findings));
        Ok(evaluation)
    }

    /// Evaluates only which services requests no longer reach, at a time when none arrive: of anything else nothing is known.
    /// `None` where all are reached.
    pub fn evaluate_traffic(
        &self,
        alerts: &AlertList,
        requests: &Requests,
        day: impl Fn(Window) -> Option<Arc<Requests>>,
        end: Timestamp,
        engine: LocalEngine,
    ) -> Option<Evaluation> {
        Study { detection: self, alerts, requests, end, engine }.traffic(&day)
    }
}

/// The same time a day earlier, with half a window before and after it: daily jobs are not punctual to the second.
fn day_before(window: Window) -> Window {
    let half = Nanos::from_ns(window.until.since(window.since).non_negative().map_or(0, Nanos::ns) / 2);
    Window { since: window.since.minus(DAY).minus(half), until: window.until.minus(DAY).plus(half) }
}

/// Data for evaluating findings.
struct Study<'a> {
    detection: &'a Detection,
    alerts: &'a AlertList,
    requests: &'a Requests,
    /// The end of all windows.
    end: Timestamp,
    engine: LocalEngine,
}

impl Study<'_> {
    /// What the latest calls of every firing alert about requests say; where they are too few, only whether they are back.
    fn recoveries(&self, too_few: bool) -> BTreeMap<String, Recovery> {
        let recovery = |alert: &Alert| {
            let finding = alert.finding.operation()?;
            let [since, evident_until] =
                [alert.since_ns, alert.evident_until_ns].map(Timestamp::from_unix_ns);
            let usual = self.detection.healthy_baseline(alert);
            let slow = Slow { since, evident_until, until: self.end, usual };
            let (requests, engine) = (self.requests, self.engine);
            let recovery = match traffic::recovery(finding, requests, usual, self.end) {
                Some(of_traffic) => Some(of_traffic),
                None if too_few => Some(Recovery::Unknown),
                None if finding.is_failing() => {
                    Some(failing_recovery(finding, requests, slow, self.detection.settings, engine))
                }
                None => recovery(finding, requests, slow, engine),
            };
            Some((alert.id.clone(), recovery?))
        };
        self.alerts.firing().filter_map(recovery).collect()
    }

    fn missing_requests(&self, day: &impl Fn(Window) -> Option<Arc<Requests>>) -> Vec<Finding> {
        let is_known = |service: &str| {
            let mut own = self.alerts.active.iter().filter_map(|alert| alert.finding.operation());
            own.any(|own| own.service == service && own.lacks_requests())
        };
        traffic::missing_requests(self.requests, self.detection.compared(self.end), day, is_known)
    }

    /// An evaluation of the requests that services get, and of nothing else; `None` where they get what they usually get.
    fn traffic(&self, day: &impl Fn(Window) -> Option<Arc<Requests>>) -> Option<Evaluation> {
        let compared = self.detection.compared(self.end);
        let mut evaluation = Evaluation::new(compared.window, compared.baseline);
        evaluation.findings = self.missing_requests(day);
        evaluation.recoveries = self.recoveries(true);
        evaluation.others.clone_from(&self.alerts.others);
        (!evaluation.findings.is_empty() || self.alerts.lack_requests()).then_some(evaluation)
    }

    fn is_short(&self, window: Window) -> bool {
        window.since > self.detection.window_at(self.end).since
    }

    /// Whether any shorter window has a baseline.
    fn can_compare_shorter(&self) -> bool {
        self.detection.shorter_windows().any(|length| {
            let compared = self.detection.other_compared(length, self.end);
            complete(self.requests, compared.window) >= self.detection.settings.requests_min
                && self.has_baseline(length, compared)
        })
    }

    /// Whether enough came before another window: half as much, or before a shorter one as much as the longest of these has, since
    /// a system that has just started is not yet as fast as it will be.
    fn has_baseline(&self, length: Nanos, compared: Compared) -> bool {
        let longest = self.detection.shorter_windows().max().filter(|_| length < self.detection.window);
        let least = longest.map_or(0.5, |longest| longest.ns() as f64 / length.ns().max(1) as f64);
        let requests = |window| complete(self.requests, window) as f64;
        requests(compared.baseline) >= least * requests(compared.window)
    }

    /// The findings of another window; none where too little came before it.
    fn other_findings(&self, length: Nanos, compared: Compared) -> Vec<Finding> {
        if !self.has_baseline(length, compared) {
            return Vec::new();
        }
        let (Compared { window, baseline }, settings) = (compared, self.detection.settings);
        let evaluation = evaluate(self.requests, window, baseline, settings, self.engine);
        evaluation.map_or_else(|_| Vec::new(), |evaluation| evaluation.findings)
    }

    /// Whether a finding is over: the latest calls are as fast as usual, and the window is long, or had an alert about it. After an
    /// alert that was resolved, calls since then must be shown to be slow.
    fn is_over(&self, finding: &Finding, compared: Compared) -> bool {
        let window = compared.window;
        let is_long = window.since < self.detection.window_at(self.end).since;
        if !is_long && !self.alerts.was_about(finding, window) {
            return false;
        }
        let since = finding.onset_ns.map_or(window.since, Timestamp::from_unix_ns);
        let resolved = self.alerts.last_resolved(finding).filter(|resolved| *resolved > since);
        let evident_until = resolved.unwrap_or(since);
        let slow = Slow { since, evident_until, until: self.end, usual: compared.baseline };
        let recovery = match finding.is_failing() {
            true => {
                let settings = self.detection.settings;
                Some(failing_recovery(finding, self.requests, slow, settings, self.engine))
            }
            false => recovery(finding, self.requests, slow, self.engine),
        };
        match recovery {
            Some(Recovery::Recovered) => true,
            Some(Recovery::Unknown) => resolved.is_some(),
            Some(Recovery::StillSlow) | None => false,
        }
    }

    /// Drops what is over from an evaluation that is a few minutes old: while an alert was active, it was part of it.
    fn drop_over(&self, other: &mut WindowEvaluation) {
        let compared = Compared { window: other.window.into(), baseline: other.baseline.into() };
        other.findings.retain(|finding| self.is_held(finding) || !self.is_over(finding, compared));
    }

    fn is_known(&self, finding: &Finding) -> bool {
        self.alerts.active.iter().any(|alert| alert.is_about(finding))
    }

    /// Whether an alert decides whether a finding is over: one that is pending, or one that fires about the same operation.
    /// Another operation of its service must not keep it open for as long as the window shows what is over.
    fn is_held(&self, finding: &Finding) -> bool {
        let mut known = self.alerts.active.iter().filter(|alert| alert.is_about(finding));
        known.any(|alert| alert.state != AlertState::Firing) || self.is_firing_about(finding)
    }

    /// The alerts about the very operation, pending and firing.
    fn alerts_about(&self, finding: &Finding) -> impl Iterator<Item = &Alert> {
        let names = (&finding.service, &finding.operation);
        self.alerts.active.iter().filter(move |alert| {
            alert.finding.operation().is_some_and(|own| (&own.service, &own.operation) == names)
        })
    }

    /// Whether there is a firing alert about the very operation. For another operation of its service, an alert is no evidence.
    fn is_firing_about(&self, finding: &Finding) -> bool {
        self.alerts_about(finding).any(|alert| alert.state == AlertState::Firing)
    }

    fn is_confirmed(&self, finding: &Finding, compared: Compared) -> bool {
        confirmation::is_confirmed(finding, self.requests, compared, self.engine)
    }

    fn stands_out_of_its_service(&self, finding: &Finding, compared: Compared) -> bool {
        contrast::is_confirmed(finding, self.requests, compared, self.engine)
    }

    /// Drops findings about callers of what fails, by these findings or by an alert: one alert names where errors start.
    fn drop_consequences(&self, findings: &mut Vec<Finding>) {
        let known = self.alerts.active.iter().filter_map(|alert| alert.finding.operation());
        let failing: Vec<Finding> =
            findings.iter().chain(known).filter(|finding| finding.has_errors()).cloned().collect();
        findings.retain(|finding| {
            let is_firing = self.alerts.firing().any(|alert| alert.is_about(finding));
            let mut explained = failing.iter().map(|failing| is_explained(finding, failing, self.requests));
            is_firing || !explained.any(|is_explained| is_explained)
        });
    }

    /// Findings large and certain enough that are neither over nor as slow every day, or whose operation has a firing alert; one
    /// per service.
    fn lasting(
        &self,
        mut findings: Vec<Finding>,
        compared: Compared,
        day: &impl Fn(Window) -> Option<Arc<Requests>>,
    ) -> Vec<Finding> {
        let slower_min = self.detection.settings.slower_min;
        let is_short = self.is_short(compared.window);
        let level = if is_short { SHORT_LEVEL } else { CERTAIN_LEVEL };
        findings.retain(|finding| {
            // Which calls an operation makes depends on the request, which varies more than the method can account for.
            let is_of_calls = finding.is_failing() && !finding.has_errors();
            let level = if is_of_calls { SHORT_LEVEL } else { level };
            let is_enough = finding.fails_clearly() || finding.slower >= slower_min;
            let is_confirmed = || !finding.is_failing() && self.is_confirmed(finding, compared);
            // Neither knows the method, from a few intervals, how certain a small slow-down of few calls is.
            let stands_out = || {
                finding.slower >= STANDING_OUT_PART * slower_min
                    && !finding.is_failing()
                    && !is_short
                    && self.stands_out_of_its_service(finding, compared)
            };
            // A machine that is slower for a few minutes differs from an hour by more than a p-value knows.
            let is_certain =
                |level| finding.is_certain(level) && (!is_short || finding.is_failing() || is_confirmed());
            let by_itself = || {
                finding.is_slower_by_itself(slower_min) && (is_certain(level.min(OWN_LEVEL)) || stands_out())
            };
            is_enough && (is_certain(level) || is_confirmed()) || by_itself() || self.is_firing_about(finding)
        });
        self.drop_consequences(&mut findings);
        findings.retain(|finding| self.is_held(finding) || !self.is_over(finding, compared));
        if findings.iter().any(|finding| !self.is_known(finding)) {
            self.drop_daily(&mut findings, compared, day);
        }
        // An alert about errors stays about them while another operation of the service takes longer.
        findings
            .sort_by_key(|finding| !(finding.has_errors() && self.alerts_about(finding).next().is_some()));
        by_service(findings)
    }

    /// Drops findings that are as slow, or fail as often, every day at this time: those shown to be as slow a day earlier, and
    /// those that do not fail more often than then.
    fn drop_daily(
        &self,
        findings: &mut Vec<Finding>,
        compared: Compared,
        day: &impl Fn(Window) -> Option<Arc<Requests>>,
    ) {
        let daily = day_before(compared.window);
        let Some(requests) = day(daily) else { return };
        let settings = self.detection.settings;
        let is_stored = requests.within(daily.since, daily.until).iter().next().is_some();
        if !is_stored {
            return;
        }
        let any_fails = findings.iter().any(Finding::is_failing);
        let then = any_fails.then(|| evaluate(&requests, compared.window, daily, settings, self.engine).ok());
        let then = then.flatten();
        findings.retain(|finding| {
            if self.is_known(finding) || self.alerts.was_about(finding, daily) {
                return true;
            }
            if !finding.is_failing() {
                let same_time = same_time_of(compared.window);
                return !was_as_slow(finding, &requests, compared, &same_time, self.engine);
            }
            let fails_more = |then: &Evaluation| {
                let mut all = then.findings.iter();
                all.any(|other| other.service == finding.service && other.operation == finding.operation)
            };
            then.as_ref().is_none_or(fails_more)
        });
    }
}

/// The same window a day earlier, and half its length before and after that.
fn same_time_of(window: Window) -> [Window; 3] {
    let half = Nanos::from_ns(window.until.since(window.since).non_negative().map_or(0, Nanos::ns) / 2);
    let same = Window { since: window.since.minus(DAY), until: window.until.minus(DAY) };
    let earlier = Window { since: same.since.minus(half), until: same.until.minus(half) };
    let later = Window { since: same.since.plus(half), until: same.until.plus(half) };
    [same, earlier, later]
}

/// One finding per service: that of its most suspicious operation, which names the others.
fn by_service(findings: impl IntoIterator<Item = Finding>) -> Vec<Finding> {
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
mod more_calls_tests;
#[cfg(test)]
mod tests;
