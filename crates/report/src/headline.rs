//! The verdict in one sentence.

use crate::{Report, Scope, Suspect, Verdict, names, numbers};

/// Columns given to a name inside the sentence.
const NAME_ROOM: usize = 48;

/// Replicas named in the sentence.
const REPLICAS_NAMED: usize = 3;

/// The setting that says how many requests a category needs.
const MIN_REQUESTS: &str = "requests-min";

/// The answer in one sentence, from everything else in the report. Names stand in backticks, without
/// control characters or backticks of their own, and shortened when they are long.
///
/// ```text
/// `chunk-store` operation `write` is slow on 3 of 100 replicas (node007, node031, node090): slow calls
/// take +48.2 ms (16×), hit 1,234 of 24,000 requests and explain 83 % of the excess latency.
/// ```
pub fn headline(report: &Report) -> String {
    match report.verdict {
        Verdict::Suspects => match report.suspects.first() {
            Some(lead) => suspects_sentence(report, lead),
            None => "Requests are slow, but no operation could be named.".to_owned(),
        },
        Verdict::Healthy => healthy_sentence(report),
        Verdict::InsufficientData => insufficient_sentence(report),
    }
}

fn suspects_sentence(report: &Report, lead: &Suspect) -> String {
    let mut sentence = format!(
        "{} is slow on {}: slow calls take {}{}{}",
        operation(lead),
        place(lead),
        numbers::effect(lead.effect_ns),
        factor(lead.factor),
        consequence(lead, report.input.requests),
    );
    match report.suspects.len() {
        0 | 1 => {}
        2 => sentence.push_str("; 1 other operation is suspected"),
        all => {
            let others = numbers::count(all as u64 - 1);
            sentence.push_str(&format!("; {others} other operations are suspected"));
        }
    }
    sentence.push('.');
    sentence
}

fn operation(suspect: &Suspect) -> String {
    if suspect.service.is_empty() {
        return format!("Operation {}", quoted(&suspect.operation));
    }
    format!("{} operation {}", quoted(&suspect.service), quoted(&suspect.operation))
}

fn place(suspect: &Suspect) -> String {
    let named = suspect.replicas.len() as u64;
    if suspect.scope == Scope::Replicas && named > 0 {
        let names: Vec<String> = suspect.replicas.iter().map(|name| name.replace('`', "'")).collect();
        let list = names::list(&names, REPLICAS_NAMED, NAME_ROOM);
        return format!("{} ({list})", some_replicas(named, suspect.replicas_seen));
    }
    if suspect.scope_undecided && suspect.replicas_seen > 1 {
        return undecided(suspect.replicas_seen);
    }
    all_replicas(suspect.replicas_seen)
}

/// For an operation of which too little is known to blame or clear replicas.
pub(crate) fn undecided(seen: u64) -> String {
    format!("one or more of {} (too few slow calls to say which)", numbers::counted(seen, "replica"))
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

fn factor(value: f64) -> String {
    if value.is_finite() { format!(" ({})", numbers::factor(value)) } else { String::new() }
}

/// What the slow calls did to requests; the share is left out when it is not known.
fn consequence(lead: &Suspect, all: u64) -> String {
    let requests = requests_hit(lead.requests_hit, all);
    if !lead.share.is_finite() {
        return format!(" and hit {requests}");
    }
    format!(", hit {requests} and explain {} of the excess latency", numbers::share(lead.share))
}

fn requests_hit(hit: u64, all: u64) -> String {
    if all < hit {
        return numbers::counted(hit, "request");
    }
    format!("{} of {}", numbers::count(hit), numbers::counted(all, "request"))
}

fn quoted(name: &str) -> String {
    format!("`{}`", names::label(name, NAME_ROOM).replace('`', "'"))
}

fn healthy_sentence(report: &Report) -> String {
    let judged = report.categories.iter().filter(|category| category.analysed);
    let (categories, requests) =
        judged.fold((0, 0), |(n, sum), category| (n + 1, u64::saturating_add(sum, category.requests)));
    if categories == 0 {
        let requests = numbers::counted(report.input.requests, "request");
        return format!("Nothing stands out among {requests}.");
    }
    let mut sentence = format!(
        "Nothing stands out: {} in {} look alike",
        numbers::counted(requests, "request"),
        numbers::counted_categories(categories)
    );
    let left = report.categories.len() as u64 - categories;
    if left > 0 {
        sentence.push_str(&format!("; {} had too few to judge", numbers::counted_categories(left)));
    }
    sentence.push('.');
    sentence
}

fn insufficient_sentence(report: &Report) -> String {
    let complete = match report.input.requests {
        0 => "no complete request".to_owned(),
        1 => "1 complete request".to_owned(),
        n => format!("{} complete requests", numbers::count(n)),
    };
    let spread = match report.categories.len() as u64 {
        0 | 1 => String::new(),
        n => format!(" in {}", numbers::counted_categories(n)),
    };
    let need = report.settings.iter().find(|setting| setting.name == MIN_REQUESTS);
    match need.and_then(|setting| setting.value.parse::<u64>().ok()) {
        Some(need) => format!(
            "Too little data to say: {complete}{spread}; at least {} per category are needed.",
            numbers::count(need)
        ),
        None => format!("Too little data to say: {complete}{spread}."),
    }
}
