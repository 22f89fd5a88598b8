//! Aligns anomalous executions with the normal ones of their kind, and groups deviations they have in common.

use crate::localize::{
    ClusterProfile, DeviationKind, Finding, LocalizeSettings, LocalizedExecution, align_cluster, localize_all,
};
use crate::msa::MsaSettings;
use crate::{
    AlignSettings, AlignedExecution, FindingGroup, KindAlignment, Occurrence, StateId, StateSequence,
};

/// Maximum number of anomalous executions of a kind that are aligned; further ones are not.
pub(crate) const ALIGNED_MAX: usize = 200;

/// The localization settings that follow from the alignment settings.
pub(crate) fn localize_settings(settings: &AlignSettings) -> LocalizeSettings {
    LocalizeSettings {
        rules: settings.mode.into(),
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
        let sequences: Vec<&StateSequence> = normals.iter().map(|&execution| sets[0][execution]).collect();
        align_cluster(&sequences, alphabet_len, &rules)
    });
    let selected = &anomalous[..anomalous.len().min(ALIGNED_MAX)];
    let sequences: Vec<&StateSequence> = selected.iter().map(|&execution| sets[1][execution]).collect();
    let localized = localize_all(&profile, &sequences, &rules);
    let aligned = selected.iter().zip(localized);
    let executions =
        aligned.map(|(&execution, localized)| AlignedExecution { execution, localized }).collect();
    KindAlignment { normal_kind, normals, profile, executions }
}

/// One finding with its execution.
struct NumberedFinding<'a> {
    execution: usize,
    number: usize,
    finding: &'a Finding,
}

/// Groups the findings of a kind's executions that have the same kind of deviation and state at adjacent positions.
/// Findings for which `is_reported` is false are omitted.
pub(crate) fn groups(
    alignment: &KindAlignment,
    is_reported: impl Fn(&LocalizedExecution, &Finding) -> bool,
) -> Vec<FindingGroup> {
    let mut numbered_findings: Vec<NumberedFinding<'_>> = Vec::new();
    for aligned in &alignment.executions {
        for (number, finding) in aligned.localized.findings.iter().enumerate() {
            if is_reported(&aligned.localized, finding) {
                numbered_findings.push(NumberedFinding { execution: aligned.execution, number, finding });
            }
        }
    }
    numbered_findings.sort_by_key(|numbered| {
        let finding = numbered.finding;
        (key(finding), finding.first, finding.last, numbered.execution, numbered.number)
    });
    let mut groups: Vec<FindingGroup> = Vec::new();
    for numbered in &numbered_findings {
        match groups.last_mut() {
            Some(group) if key_of(group) == key(numbered.finding) && is_touching(group, numbered.finding) => {
                join(group, numbered);
            }
            _ => groups.push(single_group(alignment.normal_kind, numbered)),
        }
    }
    groups.iter_mut().for_each(summarize);
    groups
}

fn key(finding: &Finding) -> (DeviationKind, StateId) {
    (finding.kind, finding.state)
}

fn key_of(group: &FindingGroup) -> (DeviationKind, StateId) {
    (group.kind, group.state)
}

fn is_touching(group: &FindingGroup, finding: &Finding) -> bool {
    finding.first.position() <= group.last.position() + 1
}

fn occurrence(numbered: &NumberedFinding<'_>) -> Occurrence {
    Occurrence {
        execution: numbered.execution,
        finding: numbered.number,
        steps: numbered.finding.steps.clone(),
        time_us: numbered.finding.time_us,
        excess_us: numbered.finding.excess_us,
    }
}

fn single_group(normal_kind: usize, numbered: &NumberedFinding<'_>) -> FindingGroup {
    let finding = numbered.finding;
    FindingGroup {
        normal_kind,
        kind: finding.kind,
        state: finding.state,
        first: finding.first,
        last: finding.last,
        occurrences: vec![occurrence(numbered)],
        executions: 1,
        time_us: 0.0,
        excess_us: 0.0,
    }
}

fn join(group: &mut FindingGroup, numbered: &NumberedFinding<'_>) {
    group.last = group.last.max(numbered.finding.last);
    group.occurrences.push(occurrence(numbered));
}

pub(crate) fn summarize(group: &mut FindingGroup) {
    group
        .occurrences
        .sort_by_key(|occurrence| (occurrence.execution, occurrence.steps.start, occurrence.finding));
    group.executions = group.occurrences.chunk_by(|a, b| a.execution == b.execution).count();
    group.time_us = group.occurrences.iter().map(|occurrence| occurrence.time_us).sum();
    group.excess_us = group.occurrences.iter().map(|occurrence| occurrence.excess_us).sum();
}

/// Orders by excess, largest first; ties: more executions, then kind and position.
pub(crate) fn sort(groups: &mut [FindingGroup]) {
    groups.sort_by(|a, b| {
        let order = b.excess_us.total_cmp(&a.excess_us).then(b.executions.cmp(&a.executions));
        order.then((a.normal_kind, a.first, a.kind, a.state).cmp(&(b.normal_kind, b.first, b.kind, b.state)))
    });
}
