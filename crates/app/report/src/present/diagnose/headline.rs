//! The verdict in a sentence or two.

use super::evidence;
use crate::{Report, Verdict, names, numbers};

/// Columns given to a name inside the sentence.
pub(crate) const NAME_ROOM: usize = 48;

/// Replicas named in the sentence.
pub(super) const REPLICAS_NAMED: usize = 3;

/// The setting that says how many requests a category needs.
const MIN_REQUESTS: &str = "requests-min";

/// The answer in a sentence or two, from everything else in the report. Names stand in backticks, without
/// control characters or backticks of their own, and shortened when they are long.
///
/// ```text
/// Between `frontend` and `cartservice` (`GetCart`): calls take 248 ms longer (55×) than in the baseline since
/// 04:27:19 UTC (04:26:19–04:27:19), hit 812 of 1,281 requests and explain 86 % of the excess latency;
/// `cartservice` is to blame.
///
/// `chunk-store` operation `write` is slow on 3 of 100 replicas (node007, node031, node090): slow calls
/// take +48.2 ms (16×), hit 1,234 of 24,000 requests and explain 83 % of the excess latency.
/// ```
pub fn headline(report: &Report) -> String {
    match report.verdict {
        Verdict::Suspects => match report.suspects.first() {
            Some(lead) => super::lead::sentence(report, lead),
            None => "Requests are slow, but no operation could be named.".to_owned(),
        },
        Verdict::Tail => match report.suspects.first() {
            Some(lead) => super::lead::tail_sentence(report, lead),
            None => healthy_sentence(report),
        },
        Verdict::Healthy => healthy_sentence(report),
        Verdict::InsufficientData => insufficient_sentence(report),
    }
}

/// For an operation of which too little is known to blame or clear replicas.
pub(crate) fn undecided(seen: u64) -> String {
    format!("one or more of {} (the calls do not show which)", numbers::counted(seen, "replica"))
}

/// `3 of 100 replicas`, as far as the total is known.
pub(crate) fn some_replicas(named: u64, seen: u64) -> String {
    if seen < named {
        return numbers::counted(named, "replica");
    }
    format!("{} of {}", numbers::count(named), numbers::counted(seen, "replica"))
}

/// `all 40 replicas`, as far as the total is known.
pub(crate) fn all_replicas(seen: u64) -> String {
    match seen {
        0 => "all replicas".to_owned(),
        1 => "its only replica".to_owned(),
        seen => format!("all {} replicas", numbers::count(seen)),
    }
}

pub(super) fn quoted(name: &str) -> String {
    format!("`{}`", names::label(name, NAME_ROOM).replace('`', "'"))
}

/// Number of request categories, listed or not.
pub(super) fn categories_found(report: &Report) -> u64 {
    report.categories.len() as u64 + report.categories_omitted.unwrap_or(0)
}

fn healthy_sentence(report: &Report) -> String {
    let tested = report.categories.iter().filter(|category| category.analyzed);
    let (categories, requests) =
        tested.fold((0, 0), |(n, sum), category| (n + 1, u64::saturating_add(sum, category.requests)));
    if categories == 0 {
        let requests = numbers::counted(report.input.requests, "request");
        return format!("Nothing stands out among {requests}.");
    }
    let mut sentence = format!(
        "Nothing stands out: {} in {} look alike",
        numbers::counted(requests, "request"),
        numbers::counted_categories(categories)
    );
    let others = categories_found(report) - categories;
    if others > 0 {
        sentence.push_str(&format!("; {} had too few requests to test", numbers::counted_categories(others)));
    }
    sentence.push('.');
    if let Some(baseline) = &report.baseline {
        sentence.push(' ');
        sentence.push_str(&evidence::change(baseline));
        if baseline.slower_ns >= NOTABLE_SHARE * baseline.mean_ns {
            sentence.push_str(" The difference may be chance.");
        }
    }
    sentence
}

/// Requests that are slower by this share of the baseline's mean need an explanation beside "healthy". If the difference were
/// certain, the verdict would be another one.
const NOTABLE_SHARE: f64 = 0.05;

fn insufficient_sentence(report: &Report) -> String {
    let complete = match report.input.requests {
        0 => "no complete request".to_owned(),
        1 => "1 complete request".to_owned(),
        n => format!("{} complete requests", numbers::count(n)),
    };
    let spread = match categories_found(report) {
        0 | 1 => String::new(),
        n => format!(" in {}", numbers::counted_categories(n)),
    };
    if let Some((baseline, unexplained)) =
        (report.baseline.as_ref()).and_then(|baseline| Some((baseline, evidence::unexplained(baseline)?)))
    {
        return format!(
            "Requests are slower, and no operation is known to be. {unexplained} {}",
            evidence::change(baseline)
        );
    }
    if let (true, Some(reason)) =
        (report.categories.iter().any(|category| category.analyzed), report.missing.first())
    {
        return format!("Nothing stands out in {complete}, but that does not make it healthy. {reason}");
    }
    let need = report.settings.iter().find(|setting| setting.name == MIN_REQUESTS);
    match need.and_then(|setting| setting.value.parse::<u64>().ok()) {
        Some(need) => format!(
            "Too little data to say: {complete}{spread}; at least {} per category are needed.",
            numbers::count(need)
        ),
        None => format!("Too little data to say: {complete}{spread}."),
    }
}
