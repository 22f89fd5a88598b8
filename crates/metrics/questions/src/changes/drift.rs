//! Several changes of one transaction in one direction are one drift.

use laggard_report::{CapacityCost, ChangeEventKind, Drift, JointChange, TransactionShift};

/// Minimum number of steps of a drift: two are two changes.
const STEPS_MIN: usize = 3;

/// Replaces steps of one transaction in one direction on the same servers by one event, if none of them followed a deployment and
/// no other change of these servers' transactions lies between.
pub(super) fn fold(events: Vec<JointChange>) -> Vec<JointChange> {
    let mut drifts: Vec<Vec<usize>> = Vec::new();
    for (index, event) in events.iter().enumerate() {
        if !event.kind.is_alarm() {
            continue;
        }
        let same_servers = |run: &Vec<usize>| {
            let last = &events[run[run.len() - 1]];
            last.tier == event.tier && last.servers == event.servers
        };
        // The latest run of these servers goes on, or ends here.
        match drifts.iter_mut().rev().find(|run| same_servers(run)) {
            Some(run) if is_step(&events[run[0]], event) => run.push(index),
            _ => drifts.push(vec![index]),
        }
    }
    drifts.retain(|run| run.len() >= STEPS_MIN);
    let folded = |index: usize| drifts.iter().find(|run| run.contains(&index));
    let mut out = Vec::new();
    for (index, event) in events.iter().enumerate() {
        match folded(index) {
            Some(run) if run[0] == index => {
                out.push(drift(&run.iter().map(|step| &events[*step]).collect::<Vec<_>>()));
            }
            Some(_) => {}
            None => out.push(event.clone()),
        }
    }
    out
}

/// Whether an event is a further step of the drift that begins with another one.
fn is_step(first: &JointChange, event: &JointChange) -> bool {
    let is_one =
        |event: &JointChange| event.kind == ChangeEventKind::ApplicationChange && event.deployment.is_none();
    let (Some(a), Some(b)) = (first.transactions.first(), event.transactions.first()) else { return false };
    is_one(first)
        && is_one(event)
        && a.transaction == b.transaction
        && a.difference_s.signum() == b.difference_s.signum()
}

/// One event for all steps: of their main transaction from the first to the last, with the sum of what they cost.
fn drift(steps: &[&JointChange]) -> JointChange {
    let (first, last) = (steps[0], steps[steps.len() - 1]);
    let (from, to) = (&first.transactions[0], &last.transactions[0]);
    let errors = steps.iter().map(|step| step.transactions[0].standard_error_s);
    let costs: Option<Vec<CapacityCost>> = steps.iter().map(|step| step.capacity).collect();
    let capacity = costs.map(|costs| CapacityCost {
        cores: costs.iter().map(|cost| cost.cores).sum(),
        requests: costs.iter().map(|cost| 1.0 + cost.requests).product::<f64>() - 1.0,
        clients: costs.iter().map(|cost| cost.clients).sum(),
    });
    JointChange {
        kind: ChangeEventKind::Drift,
        transactions: vec![TransactionShift {
            after_s: to.after_s,
            difference_s: to.after_s - from.before_s,
            standard_error_s: errors.fold(0.0, f64::hypot),
            ..from.clone()
        }],
        cpu: None,
        capacity,
        drift: Some(Drift { steps: steps.len() as u32, until: last.onset.at }),
        ..first.clone()
    }
}
