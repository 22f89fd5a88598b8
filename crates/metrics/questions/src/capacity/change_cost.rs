//! Capacity cost of the application's last change: the answers of two models that differ in the CPU of one tier, for
//! the same mix.

use super::answer::{LatencyTarget, most};
use super::current_windows::PreviousApplication;
use super::fit;
use super::loads::{Load, ServerGroup};
use super::model::{Model, shares};
use super::{CapacitySettings, WINDOWS_MIN};
use crate::sample_summary::window_start;
use laggard_capacity::WORK_MAX;
use laggard_report::ChangeCost;
use laggard_samples::WindowTable;

/// Minimum relative change of the CPU of a mean transaction to be reported: the demand of a mix is known to 1 or 2 % (see
/// docs/accuracy.md).
const CHANGE_MIN: f64 = 0.02;

/// The cost of the last change; `None` if there is too little data from before it, or the CPU of a mean transaction did not change.
pub(super) fn change_cost(
    table: &WindowTable,
    groups: &[ServerGroup],
    model: &Model,
    previous: &PreviousApplication,
    now: &Load,
    settings: &CapacitySettings,
) -> Option<ChangeCost> {
    let index = groups.iter().position(|group| group.servers.contains(&previous.server))?;
    if previous.windows.len() < WINDOWS_MIN {
        return None;
    }
    let (tier, _) = fit::cpu_tier(table, &groups[index], &previous.windows);
    let mut before = model.clone();
    before.system.tiers[index].demands_s = tier.demands_s;
    before.system.tiers[index].background = tier.background;
    let mix = shares(&model.mix);
    let demands = [&before, model].map(|model| model.system.tiers[index].mean_demand_s(&mix));
    if !(demands[0] > 0.0 && (demands[1] / demands[0] - 1.0).abs() >= CHANGE_MIN) {
        return None;
    }
    let target = LatencyTarget { latency_max_s: settings.latency_max_s, clients_max: settings.clients_max };
    let [old, new] = [&before, model].map(|model| Some(most(model, &model.network(&mix)?, target, WORK_MAX)));
    let (old, new) = (old?, new?);
    let at_now = |model: &Model| model.system.tiers[index].mean_demand_s(&now.counts);
    let (cores, ratio) = (groups[index].capacity(), demands[1] / demands[0]);
    Some(ChangeCost {
        since: window_start(table, previous.until),
        tier: groups[index].name.clone(),
        demand_before_s: demands[0],
        demand_after_s: demands[1],
        cores: now.throughput() * (at_now(model) - at_now(&before)),
        cores_of_tier: cores,
        cores_to_restore: cores * ratio,
        clients_before: old.clients,
        clients_after: new.clients,
        throughput_before: old.solution.throughput,
        throughput_after: new.solution.throughput,
    })
}
