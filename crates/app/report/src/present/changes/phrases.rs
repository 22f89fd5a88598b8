//! Phrases about changes.

use crate::document::Tone;
use crate::names::{quoted, some_of};
use crate::numbers;
use crate::times::Calendar;
use crate::{
    AnomalousRegion, ChangeEventKind, ChangeReport, ChangeVerdict, CpuSplit, DeploymentBefore, JointChange,
    MixShift, Onset, ReportedSegment, SegmentState, ServerChanges, ShiftQuantity, TiedTransactions,
    TransactionShift,
};

/// The verdict in one to three words, and what it means.
pub(crate) const fn change_verdict(verdict: ChangeVerdict) -> (Tone, &'static str) {
    match verdict {
        ChangeVerdict::ApplicationChange => (Tone::Bad, "Application change"),
        ChangeVerdict::HostChange => (Tone::Bad, "Host change"),
        ChangeVerdict::Anomaly => (Tone::Warning, "Anomaly"),
        ChangeVerdict::WaitChange => (Tone::Warning, "Longer waits"),
        ChangeVerdict::UnexplainedChange => (Tone::Warning, "Unexplained change"),
        ChangeVerdict::CpuNotExplained => (Tone::Unsure, "CPU not explained"),
        ChangeVerdict::WorkloadChange => (Tone::Good, "Workload change"),
        ChangeVerdict::Steady => (Tone::Good, "Steady"),
        ChangeVerdict::InsufficientData => (Tone::Unsure, "Not enough data"),
    }
}

/// The kind of a change, in a few words.
pub(crate) const fn event_word(kind: ChangeEventKind) -> &'static str {
    match kind {
        ChangeEventKind::ApplicationChange => "application change",
        ChangeEventKind::Drift => "drift",
        ChangeEventKind::HostChange => "host change",
        ChangeEventKind::WaitChange => "longer waits",
        ChangeEventKind::Rollback => "rollback",
        ChangeEventKind::WorkloadChange => "workload change",
        ChangeEventKind::Unexplained => "unexplained change",
        ChangeEventKind::AnomalyStart => "anomaly begins",
        ChangeEventKind::AnomalyEnd => "anomaly ends",
    }
}

/// An unexplained change, as a clause.
pub(crate) const UNEXPLAINED: &str =
    "CPU utilization changed, but neither the time transactions take nor their number explains it";

/// `4.00 ms → 9.00 ms`
pub(crate) fn before_after(shift: &TransactionShift) -> String {
    format!("{} → {}", numbers::seconds(shift.before_s), numbers::seconds(shift.after_s))
}

/// Half of the 95 % interval of a difference: `±0.31 ms`; empty when it is not known.
pub(crate) fn plus_minus(standard_error_s: f64) -> String {
    if !standard_error_s.is_finite() {
        return String::new();
    }
    format!("±{}", numbers::seconds(1.96 * standard_error_s))
}

/// The largest distance of an onset's time from an end of its interval: `±30 s`, `±2 min`; empty when it is exact.
pub(crate) fn onset_margin(onset: &Onset) -> String {
    let sides = [onset.at.since(onset.earliest), onset.latest.since(onset.at)];
    let seconds = sides.map(|side| side.ns()).into_iter().max().unwrap_or(0).max(0) as f64 / 1e9;
    match seconds {
        0.0 => String::new(),
        s if s < 1.0 => format!("±{} ms", (s * 1e3).ceil()),
        s if s < 100.0 => format!("±{} s", s.ceil()),
        s if s < 6_000.0 => format!("±{} min", (s / 60.0).ceil()),
        s => format!("±{} h", (s / 3_600.0).ceil()),
    }
}

/// `2026-01-12 22:30 (±2 min)`
pub(crate) fn when(onset: &Onset, calendar: &Calendar) -> String {
    let time = calendar.time(onset.at);
    match onset_margin(onset) {
        margin if margin.is_empty() => time,
        margin => format!("{time} ({margin})"),
    }
}

/// `12 s after deployment `v2.3``, or that it lies inside the interval.
pub(crate) fn deployment(deployment: &DeploymentBefore) -> String {
    let name = quoted(&deployment.name);
    match deployment.before_s {
        s if s < 1.0 => format!("with deployment {name}"),
        s => format!("{} after deployment {name}", whole_length(s)),
    }
}

/// `12 s`, `4 min`, `2 h`: a length for reading, not for arithmetic.
pub(crate) fn whole_length(seconds: f64) -> String {
    match seconds {
        s if !s.is_finite() => "–".to_owned(),
        s if s < 120.0 => format!("{} s", s.round()),
        s if s < 7_200.0 => format!("{} min", (s / 60.0).round()),
        s if s < 172_800.0 => format!("{:.1} h", s / 3_600.0),
        s => format!("{:.1} days", s / 86_400.0),
    }
}

/// Where it occurred: `on `app-1``, `on 2 of 3 servers (`app-1`, `app-2`)`; empty for a single server without
/// a name.
pub fn location(change: &JointChange) -> String {
    let tier =
        if change.tier.is_empty() { String::new() } else { format!(" of tier {}", quoted(&change.tier)) };
    let several = change.servers.len() as u64;
    let named: Vec<String> =
        change.servers.iter().filter(|name| !name.is_empty()).map(|n| quoted(n)).collect();
    match (several, change.servers_seen) {
        (1, _) if named.is_empty() => String::new(),
        (1, 1) => format!(" on {}", named[0]),
        (_, seen) if several == seen => format!(" on all {seen} servers{tier}"),
        (_, seen) => format!(" on {several} of {seen} servers{tier}{}", in_brackets(&named)),
    }
}

fn in_brackets(named: &[String]) -> String {
    const SHOWN: usize = 3;
    if named.is_empty() {
        return String::new();
    }
    format!(" ({})", some_of(named.iter().cloned(), SHOWN))
}

/// ``Home` costs 5.00 ms more CPU per call (4.00 ms → 9.00 ms)`: what a change of transactions is, as a clause. A
/// transaction *costs* CPU and *takes* time.
pub(crate) fn cost_clause(shifts: &[TransactionShift]) -> String {
    let clause = |shift: &TransactionShift| {
        let size = numbers::seconds(shift.difference_s.abs());
        let name = quoted(&shift.transaction);
        let is_less = shift.difference_s < 0.0;
        let effect = match shift.quantity {
            ShiftQuantity::Time => {
                format!("takes {size} {} per call", if is_less { "less" } else { "longer" })
            }
            _ => format!("costs {size} {} CPU per call", if is_less { "less" } else { "more" }),
        };
        format!("{name} {effect} ({})", before_after(shift))
    };
    match shifts {
        [] => "the cost of transactions changed, and no single transaction explains it".to_owned(),
        [first] => clause(first),
        [first, second] => format!("{} and {}", clause(first), clause(second)),
        [first, rest @ ..] => {
            format!(
                "{}, and {} changed",
                clause(first),
                numbers::counted(rest.len() as u64, "other transaction")
            )
        }
    }
}

/// ``Home` costs 5.00 ms more CPU per call (…), in 4 steps`: one transaction that changed again and again.
pub(crate) fn drift_clause(change: &JointChange) -> String {
    let steps = change.drift.as_ref().map_or(0, |drift| u64::from(drift.steps));
    format!(
        "{}, in {}: a gradual change, or several in one direction",
        cost_clause(&change.transactions),
        numbers::counted(steps, "step")
    )
}

/// `That takes 0.09 cores at the load since then; the CPU can serve 14 % fewer requests, as if 57 more clients were there.`
pub(crate) fn capacity_sentence(change: &JointChange) -> Option<String> {
    let cost = change.capacity.as_ref()?;
    let is_less = cost.cores < 0.0;
    let clients = match cost.clients.map(|clients| clients.abs().round()) {
        Some(clients) if clients >= 1.0 && !is_less => {
            format!(", as if there were {}", numbers::counted(clients as u64, "more client"))
        }
        _ => String::new(),
    };
    Some(format!(
        "That {} {:.2} cores at the load since then; the CPU can serve {} {} requests{clients}.",
        if is_less { "saves" } else { "takes" },
        cost.cores.abs(),
        numbers::share(cost.requests.abs()),
        if cost.requests < 0.0 { "fewer" } else { "more" }
    ))
}

/// ``Home` takes 5.00 ms longer per call (4.00 ms → 9.00 ms) and costs no more CPU: it waits`.
pub(crate) fn wait_clause(shifts: &[TransactionShift]) -> String {
    let is_less = shifts.first().is_some_and(|shift| shift.difference_s < 0.0);
    let pronoun = if shifts.len() == 1 { "it waits" } else { "they wait" };
    let cause = if is_less { "less for something else" } else { "for something else" };
    format!("{}; the CPU per call did not change: {pronoun} {cause}", cost_clause(shifts))
}

/// `all transactions cost 20 % more CPU per call: a slower host, …`
pub(crate) fn host_clause(cpu: Option<&CpuSplit>) -> String {
    let ratio = cpu.map_or(f64::NAN, |cpu| cpu.ratio);
    let (direction, host) = if ratio < 1.0 { ("less", "faster") } else { ("more", "slower") };
    let size = if ratio.is_finite() {
        format!("{} {direction} CPU", numbers::share((ratio - 1.0).abs()))
    } else {
        "another amount of CPU".to_owned()
    };
    format!(
        "all transactions cost {size} per call: a {host} host, another clock frequency, a neighbor on the same \
         processor, or another runtime"
    )
}

/// `CPU 31 % → 38 %: load +1, mix +6, cost 0 points`: why the utilization differs.
pub(crate) fn split_clause(cpu: &CpuSplit) -> String {
    let points = |share: f64| {
        let rounded = (100.0 * share).round();
        if rounded == 0.0 { "0".to_owned() } else { format!("{rounded:+}").replace('-', "−") }
    };
    format!(
        "CPU {} → {}: load {}, mix {}, cost {} points",
        numbers::share(cpu.before),
        numbers::share(cpu.after),
        points(cpu.load),
        points(cpu.mix),
        points(cpu.cost)
    )
}

/// ``Home` went from 4.00 ms to 9.00 ms per call`: an application change that is history.
pub(crate) fn past_clause(shifts: &[TransactionShift]) -> String {
    match shifts {
        [] => cost_clause(shifts),
        [first, rest @ ..] => {
            let (before, after) = (numbers::seconds(first.before_s), numbers::seconds(first.after_s));
            let others = match rest.len() as u64 {
                0 => String::new(),
                others => format!(", and {} changed", numbers::counted(others, "other transaction")),
            };
            format!("{} went from {before} to {after} per call{others}", quoted(&first.transaction))
        }
    }
}

/// ``Home` 29 % → 16 %, `Search` is new, 17 %`: shares of the transactions; empty without any.
pub(crate) fn mix_clause(mix: &[MixShift], limit: usize) -> String {
    let clause = |shift: &MixShift| {
        let [before, after] = [shift.share_before, shift.share_after].map(numbers::share);
        let name = quoted(&shift.transaction);
        match (shift.share_before, shift.share_after) {
            (0.0, _) => format!("{name} is new, {after}"),
            (_, 0.0) => format!("{name} is gone, {before} before"),
            _ => format!("{name} {before} → {after}"),
        }
    };
    mix.iter().take(limit).map(clause).collect::<Vec<String>>().join(", ")
}

/// A region without more CPU than transactions explain.
pub(crate) const VARIES: &str = "CPU utilization varied in a way that transactions do not explain";

/// Amount of unexplained CPU: `14 % of the CPU (peak 28 %, 1,512 CPU seconds)`. `None` if no more was used than transactions explain:
/// then nothing shows another process.
pub(crate) fn unexplained(region: &AnomalousRegion) -> Option<String> {
    if !region.unexplained_mean.is_finite() {
        return Some("CPU of an unknown amount".to_owned());
    }
    (region.unexplained_mean > 0.0).then(|| {
        format!(
            "{} of the CPU (peak {}, {} CPU seconds)",
            numbers::share(region.unexplained_mean),
            numbers::share(region.unexplained_peak),
            numbers::count(region.unexplained_cpu_s.round() as u64),
        )
    })
}

/// A model's name: `A`, `B` … `Z`, `AA` …
pub(crate) fn model_letter(model: u32) -> String {
    let (first, last) = (model / 26, (b'A' + (model % 26) as u8) as char);
    match first {
        0 => last.to_string(),
        first => format!("{}{last}", model_letter(first - 1)),
    }
}

/// A segment in words: `model A`, `anomalous: a large constant`, `too short to classify yet`.
pub(crate) fn segment_word(segment: &ReportedSegment) -> String {
    match (segment.state, segment.model, &segment.reason) {
        (SegmentState::Normal, Some(model), _) => format!("model {}", model_letter(model)),
        (SegmentState::Normal, None, _) => "normal".to_owned(),
        (SegmentState::Anomalous, _, Some(reason)) => format!("anomalous: {reason}"),
        (SegmentState::Anomalous, _, None) => "anomalous".to_owned(),
        (SegmentState::Pending, ..) => "too short to classify yet".to_owned(),
    }
}

/// Transactions of which only the sum is known, as a sentence.
pub(crate) fn tied_sentence(tied: &TiedTransactions) -> String {
    const SHOWN: usize = 4;
    format!(
        "{} always occur in the same proportions: {} {} on average; their individual costs are not known.",
        some_of(tied.transactions.iter().map(|name| quoted(name)), SHOWN),
        numbers::seconds(tied.mean_demand_s),
        plus_minus(tied.standard_error_s)
    )
}

/// A percentage that is already one: `1.2 %`.
pub(crate) fn percent(value: f64) -> String {
    if value.is_finite() { format!("{value:.1} %") } else { "–".to_owned() }
}

/// A relative error of a fit: `2.1 %`.
pub(crate) fn error(value: f64) -> String {
    percent(100.0 * value)
}

/// A server's name in a heading.
pub(crate) fn heading_of(server: &str, tier: &str) -> String {
    crate::model::server_name(server, tier)
}

/// Servers that were analyzed, those with the strongest verdict first, else by tier and name.
pub(crate) fn by_verdict(report: &ChangeReport) -> Vec<&ServerChanges> {
    let mut servers: Vec<&ServerChanges> = report.servers.iter().collect();
    servers.sort_by_key(|server| std::cmp::Reverse(server.verdict));
    servers
}

/// Times of a report about windows.
pub(crate) fn calendar(report: &ChangeReport) -> Calendar {
    Calendar::from_window(report.input.window.as_ref())
}

#[cfg(test)]
mod tests {
    use super::*;
    use laggard_model::Timestamp;

    fn onset(at: i64, earliest: i64, latest: i64) -> Onset {
        let [onset, earliest, latest] =
            [at, earliest, latest].map(|s| Timestamp::from_unix_ns(s * 1_000_000_000));
        Onset { at: onset, earliest, latest }
    }

    #[test]
    fn margins_are_rounded_away_from_the_onset() {
        assert_eq!(onset_margin(&onset(0, 0, 0)), "");
        assert_eq!(onset_margin(&onset(100, 70, 130)), "±30 s");
        assert_eq!(onset_margin(&onset(200, 109, 209)), "±91 s");
        assert_eq!(onset_margin(&onset(200, 79, 209)), "±3 min");
        assert_eq!(onset_margin(&onset(20_000, 0, 20_000)), "±6 h");
    }

    #[test]
    fn models_are_lettered_like_spreadsheet_columns() {
        assert_eq!([0, 1, 25, 26, 27, 52].map(model_letter), ["A", "B", "Z", "AA", "AB", "BA"]);
    }

    fn joint(servers: &[&str], seen: u64, tier: &str) -> String {
        location(&JointChange {
            kind: ChangeEventKind::ApplicationChange,
            onset: onset(0, 0, 0),
            servers: servers.iter().map(|name| (*name).to_owned()).collect(),
            servers_seen: seen,
            tier: tier.to_owned(),
            transactions: vec![],
            region: None,
            mix: vec![],
            cpu: None,
            capacity: None,
            drift: None,
            deployment: None,
        })
    }

    #[test]
    fn locations_count_servers() {
        assert_eq!(joint(&[""], 1, ""), "");
        assert_eq!(joint(&["app-1"], 1, ""), " on `app-1`");
        assert_eq!(joint(&["a", "b", "c"], 3, "front"), " on all 3 servers of tier `front`");
        assert_eq!(joint(&["a"], 3, ""), " on 1 of 3 servers (`a`)");
        assert_eq!(joint(&["a", "b", "c", "d"], 9, ""), " on 4 of 9 servers (`a`, `b`, `c` and 1 more)");
    }

    fn shift(name: &str, before_s: f64, after_s: f64) -> TransactionShift {
        TransactionShift {
            transaction: name.to_owned(),
            quantity: ShiftQuantity::CpuAndTime,
            before_s,
            after_s,
            difference_s: after_s - before_s,
            standard_error_s: 1e-4,
            servers: 1,
        }
    }

    #[test]
    fn causes_of_a_cpu_change_are_list_items() {
        let cpu = CpuSplit {
            before: 0.31,
            after: 0.38,
            load: -0.01,
            mix: 0.061,
            cost: 0.019,
            ratio: 1.2,
            ratio_low: 1.1,
            ratio_high: 1.3,
        };
        assert_eq!(split_clause(&cpu), "CPU 31 % → 38 %: load −1, mix +6, cost +2 points");
        assert!(
            host_clause(Some(&cpu))
                .starts_with("all transactions cost 20 % more CPU per call: a slower host")
        );
        let faster = CpuSplit { ratio: 0.9, ..cpu };
        assert!(host_clause(Some(&faster)).contains("10 % less CPU per call: a faster host"));
    }

    #[test]
    fn costs_are_clauses() {
        let [home, cart] = [shift("Home", 0.004, 0.009), shift("Ca`rt", 0.003, 0.002)];
        assert_eq!(
            cost_clause(std::slice::from_ref(&home)),
            "`Home` costs 5.00 ms more CPU per call (4.00 ms → 9.00 ms)"
        );
        let wait = TransactionShift { quantity: ShiftQuantity::Time, ..home.clone() };
        assert_eq!(
            wait_clause(&[wait]),
            "`Home` takes 5.00 ms longer per call (4.00 ms → 9.00 ms); the CPU per call did not change: it waits for \
             something else"
        );
        let both = cost_clause(&[home.clone(), cart.clone()]);
        assert!(both.ends_with("and `Ca'rt` costs 1.00 ms less CPU per call (3.00 ms → 2.00 ms)"), "{both}");
        assert!(cost_clause(&[home.clone(), cart, home]).ends_with(", and 2 other transactions changed"));
        assert!(cost_clause(&[]).contains("no single transaction explains it"));
    }
}
