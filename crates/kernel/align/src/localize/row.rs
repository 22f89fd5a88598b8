//! Builds the row of an execution, and merges, sums, and orders its deviations.

use super::aligned::AlignedSequence;
use super::cluster::ClusterProfile;
use super::measure::DeviationMeasure;
use super::result::{
    AlignedCell, AlignedPosition, Deviation, DeviationKind, DeviationSum, Finding, LocalizedExecution,
};
use crate::StateId;
use std::collections::BTreeMap;

pub(crate) fn localized(
    reference: &ClusterProfile,
    aligned: &AlignedSequence<'_>,
    mut deviations: Vec<Deviation>,
    measure: DeviationMeasure,
) -> LocalizedExecution {
    let excess_us = aligned.sequence.total_us() - reference.median_total_us();
    deviations.sort_by_key(|deviation| (deviation.position, deviation.step));
    let cells = cells(reference, aligned, &deviations);
    let findings = merged(&cells, &deviations);
    LocalizedExecution { sums: sums(&deviations), cells, deviations, findings, excess_us, measure }
}

fn cells(
    reference: &ClusterProfile,
    aligned: &AlignedSequence<'_>,
    deviations: &[Deviation],
) -> Vec<AlignedCell> {
    let mut cells = Vec::with_capacity(aligned.len() + reference.columns.len());
    let (mut step, mut next) = (0, 0);
    for column in 0..=reference.columns.len() as u32 {
        while step < aligned.len() && aligned.positions[step] == AlignedPosition::Before(column) {
            cells.push(AlignedCell {
                position: AlignedPosition::Before(column),
                step: Some(step as u32),
                share: 0.0,
                deviation: None,
            });
            step += 1;
        }
        let Some(summary) = reference.columns.get(column as usize) else { break };
        let position = AlignedPosition::Column(column);
        let step_in_column =
            (step < aligned.len() && aligned.positions[step] == position).then_some(step as u32);
        let share = match step_in_column {
            Some(step) => summary.state(aligned.state(step as usize)).map_or(0.0, |share| share.share),
            None => summary.gap_share,
        };
        cells.push(AlignedCell { position, step: step_in_column, share, deviation: None });
        step += usize::from(step_in_column.is_some());
    }
    for cell in &mut cells {
        let Some(deviation) = deviations.get(next) else { break };
        let is_missing = deviation.kind == DeviationKind::Missing;
        if deviation.position == cell.position && (is_missing || cell.step == Some(deviation.step)) {
            cell.deviation = Some(next as u32);
            next += 1;
        }
    }
    cells
}

/// Deviations of one kind in neighboring cells are one finding.
fn merged(cells: &[AlignedCell], deviations: &[Deviation]) -> Vec<Finding> {
    let mut findings: Vec<Finding> = Vec::new();
    let mut last_cell = None;
    for (position, cell) in cells.iter().enumerate() {
        let Some(index) = cell.deviation.map(|deviation| deviation as usize) else { continue };
        let deviation = &deviations[index];
        let is_adjacent = last_cell == Some(position.wrapping_sub(1));
        last_cell = Some(position);
        match findings.last_mut() {
            Some(finding) if is_adjacent && finding.kind == deviation.kind => {
                extend(finding, index, deviations)
            }
            _ => findings.push(single_finding(index, deviation)),
        }
    }
    findings.sort_by(|a, b| b.excess_us.total_cmp(&a.excess_us).then(a.first.cmp(&b.first)));
    findings
}

fn single_finding(index: usize, deviation: &Deviation) -> Finding {
    let step = deviation.step as usize;
    let end = if deviation.kind == DeviationKind::Missing { step } else { step + 1 };
    Finding {
        kind: deviation.kind,
        state: deviation.state,
        first: deviation.position,
        last: deviation.position,
        steps: step..end,
        deviations: index..index + 1,
        time_us: deviation.time_us,
        excess_us: deviation.excess_us,
    }
}

fn extend(finding: &mut Finding, index: usize, deviations: &[Deviation]) {
    let deviation = &deviations[index];
    let own = &deviations[finding.deviations.clone()];
    let largest = own.iter().map(|own| own.excess_us).fold(f64::NEG_INFINITY, f64::max);
    if deviation.excess_us > largest {
        finding.state = deviation.state;
    }
    finding.last = deviation.position;
    finding.deviations.end = index + 1;
    if deviation.kind != DeviationKind::Missing {
        finding.steps.end = deviation.step as usize + 1;
    }
    finding.time_us += deviation.time_us;
    finding.excess_us += deviation.excess_us;
}

fn sums(deviations: &[Deviation]) -> Vec<DeviationSum> {
    let mut groups: BTreeMap<(DeviationKind, StateId), DeviationSum> = BTreeMap::new();
    for &Deviation { kind, state, time_us, excess_us, .. } in deviations {
        let empty = DeviationSum { kind, state, count: 0, time_us: 0.0, excess_us: 0.0 };
        let sum = groups.entry((kind, state)).or_insert(empty);
        sum.count += 1;
        sum.time_us += time_us;
        sum.excess_us += excess_us;
    }
    let mut sums: Vec<DeviationSum> = groups.into_values().collect();
    sums.sort_by(|a, b| b.excess_us.total_cmp(&a.excess_us));
    sums
}
