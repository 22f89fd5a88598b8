//! Sentences on missing data and on limitations of the answer.

use super::WINDOWS_MIN;
use super::fit::OTHER;
use super::loads::{ServerGroup, usable_windows};
use super::model::Model;
use super::what_if::plain;
use laggard_report::{CapacityAnswer, CapacityReport};
use laggard_samples::WindowTable;

/// Maximum answer without a caution, as a multiple of the highest observed load.
const FAR: f64 = 1.1;

/// The data that is missing for an answer; empty if it is complete.
pub(super) fn missing(table: &WindowTable, groups: &[ServerGroup], windows: &[usize]) -> Vec<String> {
    let mut missing = Vec::new();
    if usable_windows(table).is_empty() {
        missing
            .push("No window has completed transactions: provide counts of transactions by type.".to_owned());
    }
    if groups.is_empty() {
        missing.push(
            "No server has a CPU utilization: provide samples of utilization or CPU seconds.".to_owned(),
        );
    }
    if !missing.is_empty() {
        return missing;
    }
    for group in groups {
        let known = windows.iter().filter(|window| group.utilization(table, **window).is_finite()).count();
        if known < WINDOWS_MIN {
            missing.push(format!(
                "`{}` has {known} windows with both transactions and utilization; {WINDOWS_MIN} are needed.",
                plain(&group.name)
            ));
        } else if windows.iter().all(|window| group.utilization(table, *window).max(0.0) <= 0.0) {
            missing.push(format!("`{}` never uses any CPU.", plain(&group.name)));
        }
    }
    missing
}

/// The caution for windows in which calls took longer than their transactions.
pub(super) fn overlapping(windows: u64) -> Option<String> {
    (windows > 0).then(|| {
        format!(
            "In {windows} windows the outbound calls of a transaction took longer than the transaction (parallel calls): \
             they are left out of the breakdown."
        )
    })
}

/// Limitations of the answer, as sentences.
pub(super) fn cautions(report: &CapacityReport, groups: &[ServerGroup], model: &Model) -> Vec<String> {
    let mut cautions = Vec::new();
    cautions.extend(extrapolation(report));
    for group in groups {
        if !group.has_known_cores {
            cautions.push(format!(
                "The cores of `{}` are not known; one is assumed. Give --cores.",
                plain(&group.name)
            ));
        }
        if group.uneven {
            cautions.push(format!(
                "Servers of `{}` differ in their cores; each counts as having the mean.",
                plain(&group.name)
            ));
        }
    }
    if let Some(answer) = &report.answer {
        cautions.extend(limits(answer, report.latency_max_s));
    }
    if let Some(other) = model.tiers.iter().position(|tier| tier.tier == OTHER) {
        let share = model.system.tiers[other].mean_demand_s(&model.mix);
        cautions.push(format!(
            "{} of the response time are explained by neither processors nor calls (locks, disks, network); the model \
             assumes that they are the same at every load.",
            super::what_if::duration_text(share)
        ));
    }
    cautions
}

fn extrapolation(report: &CapacityReport) -> Option<String> {
    let (answer, load) = (report.answer.as_ref()?, report.load?);
    let (most, peak, what) = match (answer.clients, load.clients_peak) {
        (Some(most), Some(peak)) => (most as f64, peak, "clients"),
        _ => (answer.throughput, load.throughput_peak, "requests a second"),
    };
    (most > FAR * peak && peak > 0.0).then(|| {
        format!(
            "The answer is {:.1} times the highest observed load ({peak:.0} {what}): effects that occur only at higher \
             load, such as locks, pools or garbage collection, are not included.",
            most / peak
        )
    })
}

fn limits(answer: &CapacityAnswer, target_s: f64) -> Vec<String> {
    let mut cautions = Vec::new();
    if answer.at_limit {
        cautions.push(
            "The search ended at its limit, at which the target is still met; --set clients-max raises it."
                .to_owned(),
        );
    }
    if !answer.exact && answer.clients.is_some() {
        cautions.push(format!(
            "Solved by {}, because exact mean value analysis would take too long.",
            answer.algorithm
        ));
    }
    if answer.clients == Some(0) || (answer.clients.is_none() && answer.throughput <= 0.0) {
        cautions.push(format!(
            "Even alone, a mean transaction of the binding mix takes longer than {}.",
            super::what_if::duration_text(target_s)
        ));
    }
    cautions
}
