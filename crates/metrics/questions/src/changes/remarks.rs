//! What was ruled out, what limits trust, what is missing; whole sentences.

use super::DeclaredDeployment;
use super::observed::ObservedServer;
use crate::methods::ChangeMethod;
use laggard_report::{ChangeEventKind, ChangeReport, ChangeVerdict, SegmentState, ServerChanges, rfc3339};
use laggard_samples::WindowTable;

/// Servers named before a sentence.
const NAMES: usize = 3;

/// A name in backticks, without any of its own.
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

/// What is worth knowing of how a server was observed.
pub(super) fn observed_cautions(observed: &ObservedServer, method: ChangeMethod) -> Vec<String> {
    let mut out = Vec::new();
    if observed.pooled > 0 {
        out.push(format!(
            "The {} least frequent transaction types are pooled as `(other)`; what changes in one of them is seen only in \
             their sum.",
            observed.pooled
        ));
    }
    if observed.sharing > 1 {
        out.push(format!(
            "No sample tells which server served which transaction; those of the system were divided evenly among {} \
             servers.",
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
    // The default method says so itself.
    if !timed && method == ChangeMethod::Cherkasova {
        out.push("No response times are known, so that no signature can check what changed.".to_owned());
    }
    if timed && !observed.cores_known {
        out.push(
            "The number of cores is not known; 1 was assumed (--cores). Service times under load depend on it."
                .to_owned(),
        );
    }
    out
}

/// Sentences of servers, each once: with the names of its servers, unless it is true of all that were judged.
pub(super) fn joined<'a>(
    servers: &'a [ServerChanges],
    of: impl Fn(&'a ServerChanges) -> Vec<String>,
) -> Vec<String> {
    let judged: Vec<&ServerChanges> = servers.iter().filter(|server| judged(server)).collect();
    let mut found: Vec<(String, Vec<String>)> = Vec::new();
    for server in &judged {
        for text in of(server) {
            let name = server_name(&server.server, &server.tier);
            match found.iter_mut().find(|(known, _)| *known == text) {
                Some((_, names)) if names.contains(&name) => {}
                Some((_, names)) => names.push(name),
                None => found.push((text, vec![name])),
            }
        }
    }
    let told = |(text, names): (String, Vec<String>)| match names.len() {
        all if all == judged.len() => text,
        n if n > NAMES => format!("{} and {} more: {text}", names[..NAMES].join(", "), n - NAMES),
        _ => format!("{}: {text}", names.join(", ")),
    };
    found.into_iter().map(told).collect()
}

/// What was looked at and found fine.
pub(super) fn ruled_out(report: &ChangeReport, deployments: &[DeclaredDeployment]) -> Vec<String> {
    let mut out = Vec::new();
    let moved = count(report, ChangeEventKind::WorkloadChange);
    if moved > 0 {
        let times = if moved == 1 { "once".to_owned() } else { format!("{moved} times") };
        out.push(format!(
            "The transaction mix moved {times} and the model still held: that was the load, not the application."
        ));
    }
    out.extend(joined(&report.servers, |server| unchanged(server).into_iter().collect()));
    let steady: Vec<&ServerChanges> = report
        .servers
        .iter()
        .filter(|server| server.verdict <= ChangeVerdict::WorkloadChange && judged(server))
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
            .any(|it| it.at_ns == deployment.time.unix_ns())
    };
    let window = report.input.window.as_ref();
    for deployment in deployments.iter().filter(|deployment| !followed(deployment)) {
        let at = deployment.time.unix_ns();
        if window.is_some_and(|window| (window.since_ns..window.until_ns).contains(&at)) {
            out.push(format!(
                "No change of cost followed deployment {} at {}.",
                quoted(&deployment.name),
                rfc3339(deployment.time)
            ));
        }
    }
    out
}

fn judged(server: &ServerChanges) -> bool {
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

/// Windows at the end that are not judged yet.
fn pending(server: &ServerChanges) -> Option<String> {
    let last = server.segments.last().filter(|segment| segment.state == SegmentState::Pending)?;
    Some(format!("The last {} windows are too few to judge yet.", last.windows))
}

/// What limits trust in the whole.
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
        let at = deployment.time;
        if at < table.since
            || report.input.window.as_ref().is_some_and(|window| at.unix_ns() >= window.until_ns)
        {
            out.push(format!(
                "Deployment {} at {} lies outside the data.",
                quoted(&deployment.name),
                rfc3339(at)
            ));
        }
    }
    out
}
