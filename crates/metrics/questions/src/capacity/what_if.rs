//! A changed system and its answer.

use super::CapacitySettings;
use super::answer::{LatencyTarget, answer};
use super::change::{Amount, Property, WhatIfChange};
use super::loads::Load;
use super::model::{Model, shares};
use laggard_capacity::{CORES_MAX, REPLICAS_MAX, Service, WORK_MAX, open_solution, solve_fractional};
use laggard_report::{CurrentLoad, ThinkTime, TierKind, WhatIf, WhatIfLoad};
use laggard_samples::WindowTable;

/// A system after the requested changes.
pub(super) struct ChangedModel {
    pub(super) model: Model,
    /// The requested mix, if there is one.
    mix: Option<Vec<f64>>,
    /// The hypothetical changes, as sentences.
    changes: Vec<String>,
}

/// Applies the requested changes.
///
/// # Errors
/// If a name is unknown.
pub(super) fn changed(model: &Model, settings: &CapacitySettings) -> Result<ChangedModel, String> {
    let mut changed = model.clone();
    let mut changes = Vec::new();
    for change in &settings.changes {
        changes.push(changed.apply(change)?);
    }
    if let Some(think_s) =
        settings.think_s.filter(|_| model.clients == laggard_report::ClientsBasis::Measured)
    {
        let before_s = model.system.think_s;
        changes.push(format!(
            "Clients think {} instead of {}.",
            duration_text(think_s),
            duration_text(before_s)
        ));
        changed.system.think_s = think_s;
        changed.think = Some(ThinkTime { seconds: think_s, source: "Given.".to_owned() });
    }
    let mix = match &settings.mix {
        Some(mix) => {
            changes.push(mix_sentence(mix));
            Some(model.requested_mix(mix)?)
        }
        None => None,
    };
    if let Some(factor) = settings.load_factor {
        changes.push(format!("The load is {factor} times the present one."));
    }
    Ok(ChangedModel { model: changed, mix, changes })
}

/// The answer after the requested changes; `None` if there are none.
///
/// # Errors
/// If no transaction takes any time after them.
pub(super) fn what_if(
    table: &WindowTable,
    model: &Model,
    changed: &ChangedModel,
    loads: &[Load],
    load: &CurrentLoad,
    settings: &CapacitySettings,
) -> Result<Option<WhatIf>, String> {
    if changed.changes.is_empty() {
        return Ok(None);
    }
    let ChangedModel { model: after, mix, changes } = changed;
    let target = LatencyTarget { latency_max_s: settings.latency_max_s, clients_max: settings.clients_max };
    let Some(answer) = answer(table, after, loads, mix.as_deref(), target) else {
        return Err("after these changes no transaction takes any time".to_owned());
    };
    let factor = settings.load_factor.unwrap_or(1.0);
    let load = loaded(after, mix.as_deref().unwrap_or(&model.mix), load, factor, settings.latency_max_s);
    let described = match mix {
        Some(mix) => Model { mix: mix.clone(), ..after.clone() }.described(),
        None => after.described(),
    };
    Ok(Some(WhatIf { changes: changes.clone(), answer, model: described, load }))
}

fn loaded(model: &Model, mix: &[f64], now: &CurrentLoad, factor: f64, target_s: f64) -> Option<WhatIfLoad> {
    let mix = shares(mix);
    let network = model.network(&mix)?;
    let solution = match (model.is_closed(), now.clients) {
        (true, Some(clients)) => solve_fractional(&network, (factor * clients).min(1e7), WORK_MAX),
        (true, None) => return None,
        (false, _) => open_solution(&network, factor * now.throughput)?,
    };
    Some(WhatIfLoad {
        factor,
        clients: model.is_closed().then_some(solution.clients),
        throughput: solution.throughput,
        response_s: solution.response_s,
        within_target: solution.response_s <= target_s,
        tiers: model.tier_loads(&mix, &solution),
    })
}

fn mix_sentence(mix: &[(String, f64)]) -> String {
    let all: f64 = mix.iter().map(|(_, share)| share).sum();
    let part = |(name, share): &(String, f64)| format!("{:.0} % `{}`", 100.0 * share / all, plain(name));
    let parts: Vec<String> = mix.iter().take(6).map(part).collect();
    let rest = if mix.len() > 6 { " …" } else { "" };
    format!("The mix is {}{rest}.", parts.join(", "))
}

impl Model {
    /// Shares of the model's transaction types.
    pub(super) fn requested_mix(&self, mix: &[(String, f64)]) -> Result<Vec<f64>, String> {
        let mut shares = vec![0.0; self.transactions.len()];
        for (name, share) in mix {
            match self.transactions.iter().position(|known| known == name) {
                Some(index) => shares[index] += share,
                None => return Err(unknown("transaction", name, &self.transactions)),
            }
        }
        if shares.iter().sum::<f64>() > 0.0 {
            Ok(shares)
        } else {
            Err("the mix has no transactions".to_owned())
        }
    }

    /// Applies a change; returns its description as a sentence.
    fn apply(&mut self, change: &WhatIfChange) -> Result<String, String> {
        match change.property {
            Property::Demand => self.change_demand(&change.target, change.amount),
            Property::Servers | Property::Cores => self.change_servers(change),
        }
    }

    fn tier_names(&self) -> Vec<String> {
        self.tiers.iter().map(|tier| tier.tier.clone()).collect()
    }

    fn change_servers(&mut self, change: &WhatIfChange) -> Result<String, String> {
        let index =
            self.tiers.iter().position(|tier| tier.tier == change.target && tier.kind == TierKind::Cpu);
        let Some(index) = index else {
            return Err(unknown("tier with processors", &change.target, &self.tier_names()));
        };
        let name = plain(&change.target);
        let (tier, shown) = (&mut self.system.tiers[index], &mut self.tiers[index]);
        if change.property == Property::Servers {
            let before = tier.replicas;
            let after = match change.amount {
                Amount::Factor(factor) => (f64::from(before) * factor).round(),
                Amount::Value(value) => value,
            };
            tier.replicas = (after as u32).clamp(1, REPLICAS_MAX);
            shown.servers = tier.replicas;
            return Ok(format!("`{name}` has {} servers instead of {before}.", tier.replicas));
        }
        let Service::Queue { cores: before } = tier.service else { unreachable!("CPU tiers have queues") };
        let after = match change.amount {
            Amount::Factor(factor) => (before * factor).clamp(1e-3, CORES_MAX),
            Amount::Value(value) => value,
        };
        tier.service = Service::Queue { cores: after };
        shown.cores = Some(after);
        Ok(format!("Each server of `{name}` has {after} cores instead of {before}."))
    }

    fn change_demand(&mut self, target: &str, amount: Amount) -> Result<String, String> {
        let Some(demand) = self.find_demand(target) else {
            let names = [self.transactions.clone(), self.tier_names()].concat();
            return Err(unknown("transaction or tier", target, &names));
        };
        let name = plain(&self.tiers[demand.tier].tier);
        let (who, before_s) = match demand.transaction {
            Some(index) => (
                format!("`{}`", plain(&self.transactions[index])),
                self.system.tiers[demand.tier].demands_s[index],
            ),
            None => {
                ("A mean transaction".to_owned(), self.system.tiers[demand.tier].mean_demand_s(&self.mix))
            }
        };
        let factor = match amount {
            Amount::Factor(factor) => factor,
            Amount::Value(after_s) if before_s > 0.0 => after_s / before_s,
            Amount::Value(_) => f64::NAN,
        };
        let demands = &mut self.system.tiers[demand.tier].demands_s;
        let after_s = match (demand.transaction, amount) {
            (Some(index), Amount::Value(after_s)) => {
                demands[index] = after_s;
                after_s
            }
            (None, Amount::Value(after_s)) if factor.is_nan() => {
                demands.iter_mut().for_each(|demand_s| *demand_s = after_s);
                after_s
            }
            (Some(index), _) => {
                demands[index] *= factor;
                demands[index]
            }
            (None, _) => {
                demands.iter_mut().for_each(|demand_s| *demand_s *= factor);
                before_s * factor
            }
        };
        self.tiers[demand.tier].demands_s.clone_from(&self.system.tiers[demand.tier].demands_s);
        Ok(format!(
            "{who} takes {} at `{name}` instead of {}.",
            duration_text(after_s),
            duration_text(before_s)
        ))
    }

    /// Resolves the name of a demand: a transaction (at the front tier), a tier, or both separated by a dot.
    fn find_demand(&self, target: &str) -> Option<DemandRef> {
        let transaction = |name: &str| self.transactions.iter().position(|known| known == name);
        let tier = |name: &str| self.tiers.iter().position(|known| known.tier == name);
        if let Some(index) = transaction(target) {
            return Some(DemandRef { tier: self.front(), transaction: Some(index) });
        }
        if let Some(tier) = tier(target) {
            return Some(DemandRef { tier, transaction: None });
        }
        target.match_indices('.').find_map(|(dot, _)| {
            let (first, second) = (&target[..dot], &target[dot + 1..]);
            Some(DemandRef { transaction: Some(transaction(first)?), tier: tier(second)? })
        })
    }
}

/// The tier and transaction of a demand.
#[derive(Clone, Copy)]
struct DemandRef {
    tier: usize,
    transaction: Option<usize>,
}

fn unknown(what: &str, name: &str, known: &[String]) -> String {
    let shown: Vec<String> = known.iter().take(12).map(|known| plain(known)).collect();
    let rest = if known.len() > shown.len() { ", …" } else { "" };
    format!("there is no {what} {:?}; known are {}{rest}", plain(name), shown.join(", "))
}

/// A name for use in backticks: backticks in it are replaced, and it is shortened to 80 characters.
pub(super) fn plain(name: &str) -> String {
    name.chars().map(|c| if c == '`' { '\'' } else { c }).take(80).collect()
}

/// `1.4 ms`, `7 s`.
pub(super) fn duration_text(seconds: f64) -> String {
    match seconds {
        s if s >= 1.0 => format!("{} s", rounded(s)),
        s if s >= 1e-3 || s == 0.0 => format!("{} ms", rounded(s * 1e3)),
        s => format!("{} µs", rounded(s * 1e6)),
    }
}

/// Rounds to three significant digits.
fn rounded(value: f64) -> f64 {
    if value == 0.0 {
        return 0.0;
    }
    let scale = 10_f64.powf(2.0 - value.abs().log10().floor());
    (value * scale).round() / scale
}
