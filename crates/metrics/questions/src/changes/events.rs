//! Events over all servers: changes of one kind at one time in one tier are one event.

use super::DeclaredDeployment;
use laggard_model::Nanos;
use laggard_report::{
    AnomalousRegion, CapacityCost, ChangeEvent, ChangeEventKind, ChangeVerdict, DeploymentBefore,
    DeploymentTime, JointChange, Onset, ServerChanges, TransactionShift,
};

/// A deployment at most this long before the onset's interval, or two windows if that is longer, may have caused the change
/// (ten minutes: a rolling update of a few replicas).
const DEPLOYMENT_BEFORE: Nanos = Nanos::from_secs(600);

/// Maximum number of transactions of an event.
const TRANSACTIONS: usize = 20;

/// Sets the deployment that each change followed.
pub(super) fn mark_deployments(
    servers: &mut [ServerChanges],
    deployments: &[DeclaredDeployment],
    window: Nanos,
) {
    let before = DEPLOYMENT_BEFORE.max(window.plus(window));
    for change in servers.iter_mut().flat_map(|server| &mut server.changes) {
        change.deployment = match change.kind {
            ChangeEventKind::WorkloadChange | ChangeEventKind::AnomalyEnd => None,
            _ => deployment_before(&change.onset, deployments, before),
        };
    }
}

/// The deployment nearest to the most likely time, among those inside the interval or shortly before it.
fn deployment_before(
    onset: &Onset,
    deployments: &[DeclaredDeployment],
    before: Nanos,
) -> Option<DeploymentBefore> {
    let times = onset.earliest.minus(before)..=onset.latest;
    let near = deployments.iter().filter(|deployment| times.contains(&deployment.time));
    let distance = |deployment: &&DeclaredDeployment| onset.at.since(deployment.time).magnitude();
    let nearest = near.min_by_key(distance)?;
    Some(DeploymentBefore {
        name: nearest.name.clone(),
        time: DeploymentTime { at: nearest.time },
        before_s: onset.at.since(nearest.time).ns() as f64 / 1e9,
    })
}

/// Joins the changes of all servers. Onset intervals at most a window apart are the same time.
pub(super) fn join(servers: &[ServerChanges], window: Nanos) -> Vec<JointChange> {
    let mut all: Vec<(&ServerChanges, &ChangeEvent)> =
        servers.iter().flat_map(|server| server.changes.iter().map(move |change| (server, change))).collect();
    all.sort_by_key(|(_, change)| change.onset.at);
    let mut out: Vec<JointChange> = Vec::new();
    for (server, change) in all {
        match out.iter_mut().rev().find(|event| belongs(event, server, change, window)) {
            Some(event) => add(event, server, change),
            None => out.push(new(servers, server, change)),
        }
    }
    for event in &mut out {
        let size = |shift: &TransactionShift| shift.difference_s.abs();
        event.transactions.sort_by(|a, b| size(b).total_cmp(&size(a)));
        event.transactions.truncate(TRANSACTIONS);
    }
    out
}

fn belongs(event: &JointChange, server: &ServerChanges, change: &ChangeEvent, window: Nanos) -> bool {
    // The mix is that of the clients, and tiers behind the first follow it.
    let is_of_the_system = event.kind == ChangeEventKind::WorkloadChange;
    let is_simultaneous = change.onset.earliest.minus(window) <= event.onset.latest
        && event.onset.earliest.minus(window) <= change.onset.latest;
    event.kind == change.kind
        && (event.tier == server.tier || is_of_the_system)
        && is_simultaneous
        && !event.servers.contains(&server.server)
}

fn new(servers: &[ServerChanges], server: &ServerChanges, change: &ChangeEvent) -> JointChange {
    let is_evaluated = |other: &&ServerChanges| {
        other.tier == server.tier && other.verdict != ChangeVerdict::InsufficientData
    };
    JointChange {
        kind: change.kind,
        onset: change.onset,
        servers: vec![server.server.clone()],
        servers_seen: servers.iter().filter(is_evaluated).count() as u64,
        tier: server.tier.clone(),
        transactions: change.transactions.clone(),
        region: region_of(server, change).cloned(),
        mix: change.mix.clone(),
        cpu: change.cpu,
        capacity: change.capacity,
        drift: None,
        deployment: change.deployment.clone(),
    }
}

/// The region that starts with a change.
fn region_of<'a>(server: &'a ServerChanges, change: &ChangeEvent) -> Option<&'a AnomalousRegion> {
    let starts = change.kind == ChangeEventKind::AnomalyStart;
    server
        .regions
        .iter()
        .filter(|_| starts)
        .min_by_key(|region| region.time.since.since(change.onset.at).magnitude())
}

fn add(event: &mut JointChange, server: &ServerChanges, change: &ChangeEvent) {
    event.servers.push(server.server.clone());
    if event.tier != server.tier {
        event.tier.clear();
        event.servers_seen = event.servers_seen.max(event.servers.len() as u64);
    }
    event.capacity = match (event.capacity, change.capacity) {
        (Some(known), Some(more)) => Some(added(known, more, event.servers.len() as f64)),
        (known, more) => known.or(more),
    };
    event.onset.earliest = event.onset.earliest.min(change.onset.earliest);
    event.onset.latest = event.onset.latest.max(change.onset.latest);
    for shift in &change.transactions {
        match event.transactions.iter_mut().find(|known| known.transaction == shift.transaction) {
            Some(known) => average(known, shift),
            None => event.transactions.push(shift.clone()),
        }
    }
    if let (Some(known), Some(more)) = (&mut event.region, region_of(server, change)) {
        merge(known, more, event.servers.len() as f64);
    }
    event.deployment = event.deployment.take().or_else(|| change.deployment.clone());
}

/// Costs of several servers: cores and clients add up; `servers` includes the one that is added.
fn added(known: CapacityCost, more: CapacityCost, servers: f64) -> CapacityCost {
    CapacityCost {
        cores: known.cores + more.cores,
        requests: known.requests + (more.requests - known.requests) / servers,
        clients: known.clients.zip(more.clients).map(|(known, more)| known + more),
    }
}

/// Running means over servers; errors as of a mean of independent figures.
fn average(known: &mut TransactionShift, more: &TransactionShift) {
    let n = known.servers as f64;
    let mean = |old: f64, new: f64| (old * n + new) / (n + 1.0);
    known.before_s = mean(known.before_s, more.before_s);
    known.after_s = mean(known.after_s, more.after_s);
    known.difference_s = known.after_s - known.before_s;
    known.standard_error_s = (known.standard_error_s * n).hypot(more.standard_error_s) / (n + 1.0);
    known.servers += 1;
}

/// `servers` includes the one that is added.
fn merge(known: &mut AnomalousRegion, more: &AnomalousRegion, servers: f64) {
    known.time.since = known.time.since.min(more.time.since);
    known.time.until = known.time.until.max(more.time.until);
    known.windows = known.windows.max(more.windows);
    known.unexplained_mean += (more.unexplained_mean - known.unexplained_mean) / servers;
    known.unexplained_peak = known.unexplained_peak.max(more.unexplained_peak);
    known.unexplained_cpu_s += more.unexplained_cpu_s;
    for reason in &more.reasons {
        if !known.reasons.contains(reason) {
            known.reasons.push(reason.clone());
        }
    }
}
