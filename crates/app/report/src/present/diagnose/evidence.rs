//! Evidence for a suspect as phrases.

use crate::numbers::signed_time;
use crate::times::Calendar;
use crate::{
    AutomaticBaseline, AutomaticChoice, Baseline, Between, Incident, IncidentSuspect, Onset, Report, Scope,
    Shift, SlowCalls, Suspect, SuspectAttribute, names, numbers,
};

/// The reference of a shift.
pub(crate) const fn compared_with(report: &Report) -> &'static str {
    if report.baseline.is_some() { "the baseline" } else { "the rest of the window" }
}

/// Whether it was never called before.
pub(crate) fn is_new(suspect: &Suspect) -> bool {
    suspect.shift.is_some_and(|shift| !shift.factor.is_finite())
}

/// Factors this close are the same.
const SAME_FACTOR: f64 = 1e-3;

/// Whether the suspect's own factor is that of the shift, and not that of its slow calls among all.
pub(crate) fn is_the_shift(suspect: &Suspect) -> bool {
    suspect.shift.is_some_and(|shift| (shift.factor / suspect.factor - 1.0).abs() < SAME_FACTOR)
}

/// A suspect's factor in a table: `4.21×`, or `new`.
pub(crate) fn factor(suspect: &Suspect) -> String {
    if is_new(suspect) && !suspect.factor.is_finite() {
        return "new".to_owned();
    }
    numbers::factor(suspect.factor)
}

/// The two sides of a call: services, and within one service the operations.
pub(crate) struct Sides {
    pub(crate) caller: String,
    pub(crate) callee: String,
}

/// `frontend` and `cartservice`, each in at most `room` columns.
pub(crate) fn sides(between: &Between, room: usize) -> Sides {
    let distinct_services = between.caller_service != between.callee_service;
    let side = |service: &str, operation: &str| {
        let by_service = distinct_services && !service.is_empty();
        names::label(if by_service { service } else { operation }, room)
    };
    Sides {
        caller: side(&between.caller_service, &between.caller_operation),
        callee: side(&between.callee_service, &between.callee_operation),
    }
}

/// `55× the time in the baseline (95 %: 39× to 77×)`
pub(crate) fn brief_shift(suspect: &Suspect, shift: &Shift, against: &str) -> String {
    if !shift.factor.is_finite() {
        return format!("new: never called in {against}");
    }
    let scope = if suspect.scope == Scope::Replicas { "over all replicas " } else { "" };
    format!("{scope}{} the time in {against} ({})", numbers::factor(shift.factor), interval(shift))
}

/// `5.1 % of its calls are slow, 0.4 % in the baseline`
pub(crate) fn slow_calls(slow: &SlowCalls, against: &str) -> String {
    let [now, before] = [slow.share, slow.usual_share].map(numbers::share);
    format!("{now} of its calls are slow, {before} in {against}")
}

/// `p = 2e-13, compared with 17,712 calls`
pub(crate) fn certainty(shift: &Shift) -> String {
    let calls = numbers::counted(shift.baseline_calls, "call");
    format!("p = {}, compared with {calls}", numbers::p_value(shift.p_value))
}

/// `95 %: 39× to 77×`
pub(crate) fn interval(shift: &Shift) -> String {
    format!("95 %: {} to {}", numbers::factor(shift.factor_low), numbers::factor(shift.factor_high))
}

/// `04:27:19 UTC (95 %: 04:26:19 to 04:27:19)`
pub(crate) fn onset(onset: &Onset, calendar: &Calendar) -> String {
    let time = format!("{} UTC", calendar.onset(onset));
    match calendar.interval(onset) {
        Some([first, last]) => format!("{time} (95 %: {first} to {last})"),
        None => time,
    }
}

/// The kinds of evidence in words.
pub(crate) fn words(evidence: &[String]) -> Vec<String> {
    let word = |name: &String| match name.as_str() {
        "dispersion" => "some requests are slower than others of their kind".to_owned(),
        "pattern" => "a group of requests is slow in the same way".to_owned(),
        "peers" => "some replicas are slower than their peers".to_owned(),
        "baseline" => "slower than in the baseline".to_owned(),
        "period" => "slower in some periods than in the rest of the window".to_owned(),
        "attribute" => "slower for requests with one value of an attribute than for others".to_owned(),
        "errors" => "its calls fail more often".to_owned(),
        "missing-calls" => "it no longer makes calls that it made before".to_owned(),
        "unprocessed-messages" => "it has not processed messages to it, or not yet".to_owned(),
        "new-calls" => "it makes calls that it never made before".to_owned(),
        "more-calls" => "it makes more calls than before".to_owned(),
        "some-replicas" => "only some replicas perform it".to_owned(),
        other => names::label(other, 40),
    };
    evidence.iter().take(8).map(word).collect()
}

/// Columns given to an attribute.
const ATTRIBUTE_ROOM: usize = 60;

/// "`tenant=acme`", or "`version=1.4.3` of `checkout`".
fn attribute_name(attribute: &SuspectAttribute) -> String {
    let quoted = |text: &str| format!("`{}`", names::label(text, ATTRIBUTE_ROOM).replace('`', "'"));
    let name = quoted(&format!("{}={}", attribute.key, attribute.value));
    match &attribute.service {
        Some(service) => format!("{name} of {}", quoted(service)),
        None => name,
    }
}

/// "98 % of the requests hit have `tenant=acme` (12 % of all that call it)", or how much slower the others are.
pub(crate) fn attribute(attribute: &SuspectAttribute) -> String {
    let name = attribute_name(attribute);
    let slower =
        attribute.factor.map(|factor| format!("take {} the time of others", numbers::factor(factor)));
    let share = numbers::share(attribute.hit_share);
    let all = format!("{} of all that call it", numbers::share(attribute.share));
    match slower {
        Some(slower) => format!("requests with {name} ({all}) {slower}"),
        None => format!("{share} of the requests hit have {name} ({all})"),
    }
}

/// "receive 68 % of its calls, 5 % if balanced evenly", as said of its replicas.
pub(crate) fn load(suspect: &Suspect) -> Option<String> {
    let load = suspect.load.as_ref()?;
    let verb = if suspect.replicas.len() == 1 { "receives" } else { "receive" };
    let usual = numbers::share(load.usual_share);
    let share = numbers::share(load.share);
    let against = if load.is_against_baseline { "in the baseline" } else { "if balanced evenly" };
    Some(format!("{verb} {share} of its calls, {usual} {against}"))
}

/// Part of the change against the baseline.
pub(crate) struct ChangePart {
    pub(crate) name: &'static str,
    pub(crate) ns: f64,
}

/// The two parts of the change.
pub(crate) fn parts(baseline: &Baseline) -> [ChangePart; 2] {
    let same = if baseline.slower_ns < 0.0 { "same requests faster" } else { "same requests slower" };
    [
        ChangePart { name: same, ns: baseline.slower_ns },
        ChangePart { name: "different mix of requests", ns: baseline.mix_ns },
    ]
}

/// `Requests take 427 ms on average, 618 ms in the baseline: same requests faster −198 ms, different mix
/// of requests +5.93 ms.`
pub(crate) fn change(baseline: &Baseline) -> String {
    let [same, mix] = parts(baseline);
    format!(
        "Requests take {} on average, {} in the baseline: {} {}, {} {}.",
        numbers::time_float(baseline.window_mean_ns),
        numbers::time_float(baseline.mean_ns),
        same.name,
        signed_time(same.ns),
        mix.name,
        signed_time(mix.ns)
    )
}

/// `Most of the excess is unexplained: 6.43 ms of 8.33 ms per request.`
pub(crate) fn unexplained(baseline: &Baseline) -> Option<String> {
    let unexplained = numbers::time_float(baseline.unexplained_ns?);
    let slower = numbers::time_float(baseline.slower_ns);
    Some(format!("Most of the excess is unexplained: {unexplained} of {slower} per request."))
}

/// When the requests of the baseline started, if they have times at all.
pub(crate) fn baseline_window(baseline: &Baseline) -> Option<String> {
    let window = baseline.window.as_ref().filter(|window| window.since != window.until)?;
    Some(window.to_string())
}

/// `The baseline was chosen automatically: the time directly before the window, 2026-01-12T08:00:00Z to
/// 2026-01-12T08:59:59Z.`
pub(crate) fn automatic_baseline(automatic: &AutomaticBaseline) -> String {
    let interval = automatic.window.map_or_else(String::new, |window| format!(", {window}"));
    let time = match automatic.choice {
        AutomaticChoice::Before => "the time directly before the window",
        AutomaticChoice::DayBefore => "the same time a day earlier",
        AutomaticChoice::None => {
            return "There is no baseline: too few requests are stored of the time directly before the window and of the same \
                    time a day earlier."
                .to_owned();
        }
    };
    format!("The baseline was chosen automatically: {time}{interval}.")
}

/// How long requests took at worst, over the usual: `16×`.
pub(crate) fn worst(incident: &Incident) -> String {
    numbers::factor(1.0 + incident.excess_share)
}

/// `+194 ms (27×), 86 % of the excess`
pub(crate) fn incident_effect(suspect: &IncidentSuspect) -> String {
    let factor = match suspect.factor.is_finite() {
        true => numbers::factor(suspect.factor),
        false => "new".to_owned(),
    };
    format!(
        "{} ({factor}), {} of the excess",
        numbers::effect(suspect.effect_ns),
        numbers::share(suspect.share)
    )
}
