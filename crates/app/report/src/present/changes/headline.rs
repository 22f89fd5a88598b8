//! The answer in one to three sentences.

use super::phrases::{
    VARIES, capacity_sentence, cost_clause, deployment, drift_clause, error, host_clause, location,
    mix_clause, past_clause, unexplained, wait_clause, when,
};
use crate::times::Calendar;
use crate::{ChangeEventKind, ChangeReport, ChangeVerdict, JointChange, ServerChanges, numbers};

/// The answer in one to three sentences, from everything else in the report. Names stand in backticks.
///
/// ```text
/// Since 2026-01-12 22:30 (±2 min) `Home` costs 5.00 ms more CPU per call (4.00 ms → 9.00 ms) on `app-1`, 12 s after
/// deployment `v2.3`. All other changes follow the traffic.
/// ```
pub fn change_headline(report: &ChangeReport) -> String {
    let sentences = match report.verdict {
        ChangeVerdict::InsufficientData => insufficient(report),
        ChangeVerdict::Steady => vec![steady(report)],
        ChangeVerdict::CpuNotExplained if !of_kind(report, ChangeEventKind::Unexplained).is_empty() => {
            vec!["CPU moved, but not against a model that can be trusted:".to_owned(), not_explained(report)]
        }
        ChangeVerdict::WorkloadChange | ChangeVerdict::CpuNotExplained => vec![workload(report)],
        ChangeVerdict::UnexplainedChange => {
            unexplained_changes(report).into_iter().chain([REST.to_owned()]).collect()
        }
        ChangeVerdict::Anomaly => anomalies(report).into_iter().chain([REST.to_owned()]).collect(),
        ChangeVerdict::WaitChange => {
            last_of(report, ChangeEventKind::WaitChange).into_iter().chain([REST.to_owned()]).collect()
        }
        ChangeVerdict::HostChange => {
            let sentences = last_of(report, ChangeEventKind::HostChange).into_iter().chain(anomalies(report));
            sentences.chain([REST.to_owned()]).collect()
        }
        ChangeVerdict::ApplicationChange => {
            let sentences = application(report).into_iter().chain(anomalies(report));
            sentences.chain([REST.to_owned()]).collect()
        }
    };
    sentences.join(" ")
}

const REST: &str = "All other changes follow the traffic.";

fn insufficient(report: &ChangeReport) -> Vec<String> {
    let mut out = vec!["Too little data to say.".to_owned()];
    out.extend(report.missing.first().cloned());
    out
}

/// The server whose CPU utilization transactions explain least, and the error of its model; of those not explained, if there
/// are any.
fn least_explained(report: &ChangeReport) -> Option<(&ServerChanges, f64)> {
    let is_meant =
        |server: &&ServerChanges| !is_unexplained(report) || server.verdict == ChangeVerdict::CpuNotExplained;
    let errors = report
        .servers
        .iter()
        .filter(is_meant)
        .flat_map(|server| server.models.iter().map(move |model| (server, model.error)));
    errors.filter(|(_, error)| error.is_finite()).max_by(|a, b| a.1.total_cmp(&b.1))
}

/// Whether nothing is reported although transactions do not explain the CPU utilization of a server.
fn is_unexplained(report: &ChangeReport) -> bool {
    report.verdict == ChangeVerdict::CpuNotExplained
}

fn steady(report: &ChangeReport) -> String {
    if is_unexplained(report) {
        return format!("No change was found, but {}", not_explained(report));
    }
    let largest = least_explained(report).map_or(0.0, |(_, error)| error);
    let windows = report.servers.iter().map(|server| server.windows).max().unwrap_or(0);
    format!(
        "Nothing changed: traffic explains the CPU utilization{}, within {} over {}.",
        all_servers(report),
        error(largest),
        numbers::counted(windows, "window")
    )
}

/// A sentence without its first words: how far the model misses the CPU utilization, and what that means.
fn not_explained(report: &ChangeReport) -> String {
    let Some((server, largest)) = least_explained(report) else { return String::new() };
    let name = match server.server.as_str() {
        "" => String::new(),
        name => format!(" of {}", crate::names::quoted(name)),
    };
    format!(
        "transactions do not explain the CPU utilization{name}: the model misses it by {} over {}, so only large changes \
         would be seen. Transactions that are not counted or another process use the CPU, or counts and utilization are \
         not of the same time.",
        error(largest),
        numbers::counted(server.windows, "window")
    )
}

/// Of what a sentence about everything speaks.
fn all_servers(report: &ChangeReport) -> String {
    let tested: Vec<_> =
        report.servers.iter().filter(|server| server.verdict != ChangeVerdict::InsufficientData).collect();
    match tested.as_slice() {
        [server] if !server.server.is_empty() => format!(" of {}", crate::names::quoted(&server.server)),
        [_] | [] => String::new(),
        several => format!(" of {} servers", several.len()),
    }
}

fn workload(report: &ChangeReport) -> String {
    let moved = of_kind(report, ChangeEventKind::WorkloadChange);
    let Some(last) = moved.last() else { return steady(report) };
    let times = match moved.len() {
        1 => "the mix of transactions moved".to_owned(),
        n => format!("the mix of transactions moved {n} times, last"),
    };
    let mix = match mix_clause(&last.mix, 2) {
        mix if mix.is_empty() => String::new(),
        mix => format!(" ({mix})"),
    };
    let time = when(&last.onset, &Calendar::dated());
    if is_unexplained(report) {
        return format!(
            "The workload changed: {times} at {time}{mix}. Apart from that, {}",
            not_explained(report)
        );
    }
    format!("Only the workload changed: {times} at {time}{mix}; transactions cost what they did before.")
}

fn of_kind(report: &ChangeReport, kind: ChangeEventKind) -> Vec<&JointChange> {
    report.events.iter().filter(|event| event.kind == kind).collect()
}

fn application(report: &ChangeReport) -> Vec<String> {
    let is_one = |kind| {
        matches!(
            kind,
            ChangeEventKind::ApplicationChange | ChangeEventKind::Drift | ChangeEventKind::Rollback
        )
    };
    let all: Vec<&JointChange> = report.events.iter().filter(|event| is_one(event.kind)).collect();
    let Some((last, earlier)) = all.split_last() else { return vec![] };
    let mut out = vec![match last.kind {
        ChangeEventKind::Rollback => rollback(last),
        ChangeEventKind::Drift => drift(last),
        _ => since(last),
    }];
    out.extend(capacity_sentence(last));
    match earlier {
        [] => {}
        [change] if change.kind == ChangeEventKind::ApplicationChange => {
            let time = when(&change.onset, &Calendar::dated());
            let what = past_clause(&change.transactions);
            out.push(format!("Before that, at {time}, {what}{}{}.", location(change), followed(change)));
        }
        several => out.push(format!(
            "Before that, the application changed {}.",
            if several.len() == 1 { "once".to_owned() } else { format!("{} times", several.len()) }
        )),
    }
    out
}

/// `From 09:00 to 15:00 …`
fn drift(change: &JointChange) -> String {
    let calendar = Calendar::dated();
    let until = change.drift.as_ref().map_or(change.onset.at, |drift| drift.until);
    let [from, to] = [change.onset.at, until].map(|time| calendar.time(time));
    format!("From {from} to {to} {}{}.", drift_clause(change), location(change))
}

fn since(change: &JointChange) -> String {
    let time = when(&change.onset, &Calendar::dated());
    format!("Since {time} {}{}{}.", cost_clause(&change.transactions), location(change), followed(change))
}

/// The last change of a kind, and how many there were before.
fn last_of(report: &ChangeReport, kind: ChangeEventKind) -> Vec<String> {
    let all = of_kind(report, kind);
    let Some((last, earlier)) = all.split_last() else { return vec![] };
    let time = when(&last.onset, &Calendar::dated());
    let what = match kind {
        ChangeEventKind::HostChange => host_clause(last.cpu.as_ref()),
        _ => wait_clause(&last.transactions),
    };
    let mut out = vec![format!("Since {time}{}{} {what}.", location(last), followed(last))];
    out.extend(capacity_sentence(last));
    if !earlier.is_empty() {
        out.push(format!(
            "Such a change occurred {} before.",
            numbers::counted(earlier.len() as u64, "time")
        ));
    }
    out
}

fn rollback(change: &JointChange) -> String {
    let time = when(&change.onset, &Calendar::dated());
    format!(
        "Since {time} transactions cost what they did before the last change{}{}.",
        location(change),
        followed(change)
    )
}

fn followed(change: &JointChange) -> String {
    change.deployment.as_ref().map_or_else(String::new, |found| format!(", {}", deployment(found)))
}

fn unexplained_changes(report: &ChangeReport) -> Vec<String> {
    let all = of_kind(report, ChangeEventKind::Unexplained);
    let Some((last, earlier)) = all.split_last() else { return vec![] };
    let time = when(&last.onset, &Calendar::dated());
    let size = last.cpu.map_or_else(String::new, |cpu| {
        let direction = if cpu.ratio < 1.0 { "less" } else { "more" };
        format!(" ({} {direction} per call)", numbers::share((cpu.ratio - 1.0).abs()))
    });
    let mut out = vec![format!(
        "Since {time} the same transactions use another share of the CPU{size}{}{}, and neither their own times nor \
         their counts show which: look for work in the background, another process, another machine, or another number \
         of instances.",
        location(last),
        followed(last)
    )];
    out.extend(capacity_sentence(last));
    if !earlier.is_empty() {
        out.push(format!(
            "The same change occurred {} before.",
            numbers::counted(earlier.len() as u64, "time")
        ));
    }
    out
}

fn anomalies(report: &ChangeReport) -> Vec<String> {
    let starts = of_kind(report, ChangeEventKind::AnomalyStart);
    let known = starts.iter().filter(|start| start.region.is_some());
    let size = |start: &&&JointChange| start.region.as_ref().map_or(0.0, |region| region.unexplained_cpu_s);
    // The first of equals: `max_by` would take the last.
    let Some(worst) = known.rev().max_by(|a, b| size(a).total_cmp(&size(b))) else { return vec![] };
    let Some(region) = &worst.region else { return vec![] };
    let calendar = Calendar::dated();
    let [first, last] = calendar.ends(region.time);
    let at_the_end = report.input.window.as_ref().is_some_and(|window| window.until <= region.time.until);
    let time = if at_the_end { format!("Since {first}") } else { format!("From {first} to {last}") };
    let what = match unexplained(region) {
        Some(cpu) => format!("another process used {cpu}"),
        None => VARIES.to_owned(),
    };
    let mut out = vec![format!("{time} {what}{}.", location(worst))];
    match starts.len() as u64 {
        1 => {}
        all => out.push(format!("The same occurred at {}.", numbers::counted(all - 1, "other time"))),
    }
    out
}
