//! The answer in one to six sentences.

use super::limits;
use super::phrases::{amount, gain, left, limit, median_amount, most, most_amount, rate};
use crate::names::quoted;
use crate::numbers;
use crate::{CapacityAnswer, CapacityReport, Trust};

/// The answer in one to six sentences, from everything else in the report. Names stand in backticks.
///
/// ```text
/// Up to 620 clients (88.1 requests/s) within 500 ms with the least favorable mix of 24 intervals, 660 with the median
/// one; now 310 (44.2 requests/s): half is left. `app` saturates first. The model is off by 4 % at most.
/// ```
pub fn capacity_headline(report: &CapacityReport) -> String {
    let Some(answer) = &report.answer else {
        let mut out = vec!["Too little data to say.".to_owned()];
        out.extend(report.missing.first().cloned());
        return out.join(" ");
    };
    let mut out = vec![up_to(report, answer)];
    out.extend(bottleneck(answer));
    out.extend(limits::resource_headline(report));
    out.extend(limits::change_headline(report));
    out.extend(changed(report, answer));
    out.extend(error(report));
    out.join(" ")
}

fn up_to(report: &CapacityReport, answer: &CapacityAnswer) -> String {
    let target = limit(report.latency_max_s);
    if most_amount(answer) <= 0.0 {
        return format!("Not even one client is served within {target}.");
    }
    let more = if answer.at_limit { "At least" } else { "Up to" };
    let now = now(report, answer).unwrap_or_default();
    format!("{more} {} within {target}{}{now}.", most(answer), of_intervals(answer))
}

/// Which of the intervals the answer is about, and that of the median; empty if all have the same mix.
fn of_intervals(answer: &CapacityAnswer) -> String {
    median_amount(answer).map_or_else(String::new, |median| {
        let intervals = numbers::counted(answer.windows.len() as u64, "interval");
        format!(" with the least favorable mix of {intervals}, {median} with the median one")
    })
}

/// `; now 310 (44.2 requests/s): half is left`, and what the peak left when that is much less.
fn now(report: &CapacityReport, answer: &CapacityAnswer) -> Option<String> {
    let load = report.load?;
    let used = report.used()?;
    let now = match load.clients.filter(|_| answer.clients.is_some()) {
        Some(clients) => format!("{} ({})", amount(clients), rate(load.throughput)),
        None => rate(load.throughput),
    };
    let peak = report.used_at_peak().filter(|peak| *peak > 1.25 * used).map_or_else(String::new, |peak| {
        let most = load.clients_peak.filter(|_| answer.clients.is_some()).unwrap_or(load.throughput_peak);
        format!(
            "; at the peak of {}, {}",
            amount(most),
            left(peak).replace("is left", "was left").replace("are left", "were left")
        )
    });
    Some(format!("; now {now}: {}{peak}", left(used)))
}

fn bottleneck(answer: &CapacityAnswer) -> Option<String> {
    (!answer.bottleneck.is_empty()).then(|| format!("{} saturates first.", quoted(&answer.bottleneck)))
}

fn changed(report: &CapacityReport, before: &CapacityAnswer) -> Option<String> {
    let what_if = report.what_if.as_ref()?;
    let after = &what_if.answer;
    let compared = match gain(most_amount(before), most_amount(after)) {
        gain if gain.is_empty() => String::new(),
        gain => format!(", {gain}"),
    };
    let next = match after.bottleneck.as_str() {
        "" => String::new(),
        tier if tier == before.bottleneck => String::new(),
        tier => format!("; then {} saturates first", quoted(tier)),
    };
    let load = what_if.load.as_ref().filter(|load| load.factor != 1.0).map_or_else(String::new, |load| {
        let word = if load.within_target { "within" } else { "beyond" };
        format!(
            " {} times the current load takes {}, {word} the target.",
            load.factor,
            numbers::seconds(load.response_s)
        )
    });
    let median =
        median_amount(after).map_or_else(String::new, |median| format!(", {median} with the median mix"));
    Some(format!("With these changes: up to {}{median}{compared}{next}.{load}", most(after)))
}

fn error(report: &CapacityReport) -> Option<String> {
    let accuracy = report.accuracy.as_ref()?;
    let errors = [accuracy.throughput, accuracy.response].into_iter().flatten();
    let worst = errors.chain(accuracy.utilization.iter().map(|tier| tier.error)).reduce(f64::max)?;
    Some(match accuracy.trust {
        Trust::Poor => format!("The model is off by up to {}: a rough guess.", numbers::share(worst)),
        _ => format!("The model is off by {} at most.", numbers::share(worst)),
    })
}
