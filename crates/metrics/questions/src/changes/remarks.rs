//! Sentences on what was ruled out and on limitations of the result.

use super::DeclaredDeployment;
use super::observed::ObservedServer;
use crate::methods::ChangeMethod;
use laggard_changes::TooLittleDataError;
use laggard_report::{ChangeEventKind, ChangeReport, ChangeVerdict, SegmentState, ServerChanges, rfc3339};
use laggard_samples::{ServerWindows, WindowTable};

/// Maximum number of servers named before a sentence.
const NAMES: usize = 3;

/// Utilization from which a window is saturated: `utilization-max` by default.
const SATURATED_MIN: f64 = 0.95;

/// A name in backticks; backticks in it are replaced.
pub(super) fn quoted(name: &str) -> String {
    format!("`{}`", name.replace('`', "'"))
}

/// A server at the start of a sentence.
pub(super) fn server_name(server: &str, tier: &str) -> String {
    match (server, tier) {
        ("", "") => "The server".to_owned(),
        ("", tier) => format!("The server of tier {}", quoted(tier)),
        (server, _) => quoted(server),
    }
}

/// A sentence on the data that a server has too little of.
pub(super) fn too_little(
    table: &WindowTable,
    server: &ServerWindows,
    observed: &ObservedServer,
    reason: TooLittleDataError,
) -> String {
    let name = server_name(&server.server, &server.tier);
    let counts = &server.own.as_ref().unwrap_or(&table.system).counts;
    let is_counted = |&row: &usize| counts.row(row).iter().any(|count| count.is_finite());
    let counted = (0..counts.rows()).filter(is_counted).count();
    let measured = server.utilization.iter().filter(|used| used.is_finite()).count();
    let utilization = &observed.observations.utilization;
    let saturated = utilization.iter().filter(|&&used| used >= SATURATED_MIN).count();
    if counts.cols() == 0 || counted == 0 {
        return format!(
            "{name}: no transactions are counted, while the CPU utilization of {measured} windows is known: provide counts \
             of transactions by type, too."
        );
    }
    if measured == 0 {
        return format!(
            "{name}: no CPU utilization is known, while transactions of {counted} windows are counted: provide a CPU \
             series, too."
        );
    }
    match reason {
        TooLittleDataError::Windows { available: 0, .. } if utilization.is_empty() => format!(
            "{name}: transactions are counted in {counted} windows and the CPU utilization of {measured} is known, but \
             never both: check the times and time zones of the sources."
        ),
        TooLittleDataError::Windows { .. } if 2 * saturated > utilization.len() => format!(
            "{name}: {reason}. In {saturated} of {} windows the CPU is at least {:.0} % busy; what completes then says \
             nothing about its cost.",
            utilization.len(),
            100.0 * SATURATED_MIN
        ),
        _ => format!("{name}: {reason}."),
    }
}

/// Limitations of the observations of a server.
pub(super) fn observed_cautions(observed: &ObservedServer, method: ChangeMethod) -> Vec<String> {
    let mut out = Vec::new();
    if observed.pooled > 0 {
        out.push(format!(
            "The {} least frequent transaction types are pooled as `(other)`; changes of one of them are visible only in \
             their sum.",
            observed.pooled
        ));
    }
    if observed.sharing > 1 {
        out.push(format!(
            "The samples do not assign transactions to servers; those of the system were divided evenly among {} servers.",
            observed.sharing
        ));
    }
    if observed.overlapping > 0 {
        out.push(format!(
            "Outbound calls took longer than the transaction that made them in {} cases (a type in a window); its time at \
             the server is unknown there.",
            observed.overlapping
        ));
    }
    let timed = observed.observations.response_s.rows() > 0;
    // The default method has its own caution for this.
    if !timed && method == ChangeMethod::Cherkasova {
        out.push("No response times are known, so changes cannot be checked by a signature.".to_owned());
    }
    if timed && !observed.cores_known {
        out.push(
            "The number of cores is not known; 1 was assumed (--cores). Service times under load depend on it."
                .to_owned(),
        );
    }
    out
}

/// The sentences of servers without repetition, with the names of the servers unless all evaluated servers have it.
pub(super) fn joined<'a>(
    servers: &'a [ServerChanges],
    sentences: impl Fn(&'a ServerChanges) -> Vec<String>,
) -> Vec<String> {
    let is_evaluated: Vec<&ServerChanges> = servers.iter().filter(|server| is_evaluated(server)).collect();
    let mut by_sentence: Vec<(String, Vec<String>)> = Vec::new();
    for server in &is_evaluated {
        for text in sentences(server) {
            let name = server_name(&server.server, &server.tier);
            match by_sentence.iter_mut().find(|(known, _)| *known == text) {
                Some((_, names)) if names.contains(&name) => {}
                Some((_, names)) => names.push(name),
                None => by_sentence.push((text, vec![name])),
            }
        }
    }
    let joined_sentence = |(text, names): (String, Vec<String>)| match names.len() {
        all if all == is_evaluated.len() => text,
        n if n > NAMES => format!("{} and {} more: {text}", names[..NAMES].join(", "), n - NAMES),
        _ => format!("{}: {text}", names.join(", ")),
    };
    by_sentence.into_iter().map(joined_sentence).collect()
}

/// Sentences about excluded explanations.
pub(super) fn ruled_out(report: &ChangeReport, deployments: &[DeclaredDeployment]) -> Vec<String> {
    let mut out = Vec::new();
    let moved = count(report, ChangeEventKind::WorkloadChange);
    if moved > 0 {
        let times = if moved == 1 { "once".to_owned() } else { format!("{moved} times") };
        out.push(format!(
            "The transaction mix changed {times} and the model still held: the load changed, not the application."
        ));
    }
    out.extend(joined(&report.servers, |server| unchanged(server).into_iter().collect()));
    let steady: Vec<&ServerChanges> = report
        .servers
        .iter()
        .filter(|server| server.verdict <= ChangeVerdict::WorkloadChange && is_evaluated(server))
        .collect();
    if !steady.is_empty() && steady.len() < report.servers.len() {
        out.push(format!(
            "No change of the application on {} of {} servers.",
            steady.len(),
            report.servers.len()
        ));
    }
    let followed = |deployment: &DeclaredDeployment| {
        let changes = report.servers.iter().flat_map(|server| &server.changes);
        changes
            .filter_map(|change| change.deployment.as_ref())
            .any(|followed_by| followed_by.time.at == deployment.time)
    };
    let window = report.input.window.as_ref();
    for deployment in deployments.iter().filter(|deployment| !followed(deployment)) {
        if window.is_some_and(|window| (window.since..window.until).contains(&deployment.time)) {
            out.push(format!(
                "No change of cost followed deployment {} at {}.",
                quoted(&deployment.name),
                rfc3339(deployment.time)
            ));
        }
    }
    out
}

fn is_evaluated(server: &ServerChanges) -> bool {
    server.verdict != ChangeVerdict::InsufficientData
}

fn count(report: &ChangeReport, kind: ChangeEventKind) -> usize {
    report.events.iter().filter(|event| event.kind == kind).count()
}

/// Transactions that did not change at the last application change.
fn unchanged(server: &ServerChanges) -> Option<String> {
    let last =
        server.changes.iter().rev().find(|change| change.kind == ChangeEventKind::ApplicationChange)?;
    let compared = last.signature.iter().filter(|row| row.before_s.is_finite() && row.after_s.is_finite());
    let (all, same) = (compared.clone().count(), compared.filter(|row| !row.changed).count());
    let name = server_name(&server.server, &server.tier);
    (same > 0 && same < all)
        .then(|| format!("{name}: the service time of {same} of {all} transactions did not change."))
}

/// The sentence for windows at the end that are not evaluated yet.
fn pending(server: &ServerChanges) -> Option<String> {
    let last = server.segments.last().filter(|segment| segment.state == SegmentState::Pending)?;
    Some(format!("The last {} windows are too few for an evaluation.", last.windows))
}

/// Limitations of the report.
pub(super) fn cautions(
    report: &ChangeReport,
    table: &WindowTable,
    deployments: &[DeclaredDeployment],
) -> Vec<String> {
    let mut out = Vec::new();
    out.extend(joined(&report.servers, |server| server.cautions.clone()));
    out.extend(joined(&report.servers, |server| pending(server).into_iter().collect()));
    let gaps = report.input.gaps;
    if gaps * 10 > report.input.windows {
        out.push(format!(
            "{gaps} of {} windows have no transactions; a change inside a gap is dated to its edges only.",
            report.input.windows
        ));
    }
    for deployment in deployments {
        let time = deployment.time;
        if time < table.since || report.input.window.as_ref().is_some_and(|window| time >= window.until) {
            out.push(format!(
                "Deployment {} at {} is outside the data.",
                quoted(&deployment.name),
                rfc3339(time)
            ));
        }
    }
    out
}
