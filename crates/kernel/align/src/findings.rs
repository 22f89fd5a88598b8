//! Anomalous executions laid over the normal ones of their kind, and what several of them have in common.

use crate::localize::{
    ClusterProfile, DeviationKind, Finding, LocalizeRules, LocalizeSettings, LocalizedExecution, Place,
    align_cluster, localize_all,
};
use crate::msa::MsaSettings;
use crate::{AlignSettings, AlignedExecution, FindingGroup, KindAlignment, Occurrence, State, StateSequence};

/// Anomalous executions of a kind that are aligned at most: the first ones.
pub(crate) const ALIGNED_MAX: usize = 200;

/// Settings of localization that follow from those of the whole.
pub(crate) fn localize_settings(settings: &AlignSettings) -> LocalizeSettings {
    LocalizeSettings {
        rules: if settings.mode.is_paper() { LocalizeRules::Paper } else { LocalizeRules::Robust },
        slow_std: settings.outlier_sigma,
        msa: MsaSettings { threads: settings.threads, ..MsaSettings::default() },
        ..LocalizeSettings::default()
    }
}

/// Aligns the normal executions of a kind, and the anomalous ones with them.
pub(crate) fn align_kind(
    normal_kind: usize,
    sets: [&[&StateSequence]; 2],
    normals: Vec<usize>,
    profile: Option<ClusterProfile>,
    anomalous: &[usize],
    alphabet_len: usize,
    settings: &AlignSettings,
) -> KindAlignment {
    let rules = localize_settings(settings);
    let profile = profile.unwrap_or_else(|| {
        let sequences: Vec<&StateSequence> = normals.iter().map(|&at| sets[0][at]).collect();
        align_cluster(&sequences, alphabet_len, &rules)
    });
    let taken = &anomalous[..anomalous.len().min(ALIGNED_MAX)];
    let sequences: Vec<&StateSequence> = taken.iter().map(|&at| sets[1][at]).collect();
    let localized = localize_all(&profile, &sequences, &rules);
    let aligned = taken.iter().zip(localized);
    let executions =
        aligned.map(|(&execution, localized)| AlignedExecution { execution, localized }).collect();
    KindAlignment { normal_kind, normals, profile, executions }
}

/// One finding with its execution.
struct Found<'a> {
    execution: usize,
    number: usize,
    finding: &'a Finding,
}

/// What executions of a kind have in common: findings of one kind of deviation and one state at touching places.
/// Those that `is_told` declines are left out.
pub(crate) fn groups(
    alignment: &KindAlignment,
    is_told: impl Fn(&LocalizedExecution, &Finding) -> bool,
) -> Vec<FindingGroup> {
    let mut all: Vec<Found<'_>> = Vec::new();
    for one in &alignment.executions {
        for (number, finding) in one.localized.findings.iter().enumerate() {
            if is_told(&one.localized, finding) {
                all.push(Found { execution: one.execution, number, finding });
            }
        }
    }
    all.sort_by_key(|one| (key(one.finding), one.finding.first, one.finding.last, one.execution, one.number));
    let mut groups: Vec<FindingGroup> = Vec::new();
    for found in &all {
        match groups.last_mut() {
            Some(group) if key_of(group) == key(found.finding) && is_touching(group, found.finding) => {
                join(group, found);
            }
            _ => groups.push(alone(alignment.normal_kind, found)),
        }
    }
    groups.iter_mut().for_each(finish);
    groups
}

fn key(finding: &Finding) -> (DeviationKind, State) {
    (finding.kind, finding.state)
}

fn key_of(group: &FindingGroup) -> (DeviationKind, State) {
    (group.kind, group.state)
}

/// Places as numbers: before a column is next to it.
fn position(place: Place) -> u64 {
    match place {
        Place::Before(column) => 2 * u64::from(column),
        Place::Column(column) => 2 * u64::from(column) + 1,
    }
}

fn is_touching(group: &FindingGroup, finding: &Finding) -> bool {
    position(finding.first) <= position(group.last) + 1
}

fn occurrence(found: &Found<'_>) -> Occurrence {
    Occurrence {
        execution: found.execution,
        finding: found.number,
        steps: found.finding.steps.clone(),
        time_us: found.finding.time_us,
        excess_us: found.finding.excess_us,
    }
}

fn alone(normal_kind: usize, found: &Found<'_>) -> FindingGroup {
    let finding = found.finding;
    FindingGroup {
        normal_kind,
        kind: finding.kind,
        state: finding.state,
        first: finding.first,
        last: finding.last,
        occurrences: vec![occurrence(found)],
        executions: 1,
        time_us: 0.0,
        excess_us: 0.0,
    }
}

fn join(group: &mut FindingGroup, found: &Found<'_>) {
    group.last = group.last.max(found.finding.last);
    group.occurrences.push(occurrence(found));
}

fn finish(group: &mut FindingGroup) {
    group.occurrences.sort_by_key(|one| (one.execution, one.steps.start, one.finding));
    group.executions = group.occurrences.chunk_by(|a, b| a.execution == b.execution).count();
    group.time_us = group.occurrences.iter().map(|one| one.time_us).sum();
    group.excess_us = group.occurrences.iter().map(|one| one.excess_us).sum();
}

/// The most excess first; ties: more executions, then kind and place.
pub(crate) fn sort(groups: &mut [FindingGroup]) {
    groups.sort_by(|a, b| {
        let order = b.excess_us.total_cmp(&a.excess_us).then(b.executions.cmp(&a.executions));
        order.then((a.normal_kind, a.first, a.kind, a.state).cmp(&(b.normal_kind, b.first, b.kind, b.state)))
    });
}
