//! Alignments as reports show them: normal executions, then those that stand out, under the same columns.

use crate::deviations::kind;
use crate::names::label;
use crate::sequences::{Member, Sequenced};
use laggard_align::localize::{AlignedPosition, ClusterProfile, NormalRow};
use laggard_align::{AlignedExecution, Diagnosis, KindAlignment};
use laggard_report::{AlignedCell, AlignedCluster, AlignedColumn, AlignedRow, AlignedRowKind};

/// Rows of each kind, and columns, of one alignment in a report.
const ROWS_MAX: usize = 60;
const COLUMNS_MAX: usize = 2_000;

pub(crate) fn alignments(
    diagnosis: &Diagnosis,
    normal: &Sequenced,
    sample: &Sequenced,
) -> Vec<AlignedCluster> {
    diagnosis.alignments.iter().map(|one| cluster(one, diagnosis, normal, sample)).collect()
}

fn cluster(
    one: &KindAlignment,
    diagnosis: &Diagnosis,
    normal: &Sequenced,
    sample: &Sequenced,
) -> AlignedCluster {
    let executions = largest_excess(one, diagnosis);
    let layout = Layout::of(&one.profile, &executions);
    let rows = one.profile.rows().iter().take(ROWS_MAX).filter_map(|row| {
        let at = *one.normals.get(row.normal)?;
        Some(normal_row(&layout, row, at, normal))
    });
    let mut rows: Vec<AlignedRow> = rows.collect();
    rows.extend(executions.iter().map(|execution| anomalous_row(&layout, execution, sample)));
    AlignedCluster {
        cluster: Some(one.normal_kind as u32),
        columns: layout.columns(&one.profile),
        rows,
        normal_left_out: one.profile.rows().len().saturating_sub(ROWS_MAX) as u64,
        anomalous_left_out: (one.executions.len() - executions.len()) as u64,
        columns_left_out: layout.left_out,
    }
}

/// Those with the largest excess, in order of time.
fn largest_excess<'a>(one: &'a KindAlignment, diagnosis: &Diagnosis) -> Vec<&'a AlignedExecution> {
    let mut executions: Vec<&AlignedExecution> = one.executions.iter().collect();
    let excess =
        |one: &AlignedExecution| diagnosis.sample.get(one.execution).map_or(0.0, |one| one.excess_us);
    executions.sort_by(|a, b| excess(b).total_cmp(&excess(a)).then(a.execution.cmp(&b.execution)));
    executions.truncate(ROWS_MAX);
    executions.sort_by_key(|one| one.execution);
    executions
}

/// Where columns stand when inserted steps have columns of their own.
struct Layout {
    /// The place of each normal column; one more for the end.
    places: Vec<usize>,
    /// Columns shown.
    width: usize,
    left_out: u64,
}

impl Layout {
    fn of(profile: &ClusterProfile, executions: &[&AlignedExecution]) -> Layout {
        let columns = profile.columns().len();
        let mut inserted = vec![0_usize; columns + 1];
        for execution in executions {
            let mut here = vec![0_usize; columns + 1];
            for cell in &execution.localized.cells {
                if let AlignedPosition::Before(column) = cell.place {
                    here[(column as usize).min(columns)] += 1;
                }
            }
            inserted.iter_mut().zip(here).for_each(|(most, count)| *most = (*most).max(count));
        }
        let mut places = Vec::with_capacity(columns + 1);
        let mut next = 0;
        for (column, count) in inserted.iter().enumerate() {
            next += count;
            places.push(next);
            next += usize::from(column < columns);
        }
        let width = next.min(COLUMNS_MAX);
        Layout { places, width, left_out: (next - width) as u64 }
    }

    fn columns(&self, profile: &ClusterProfile) -> Vec<AlignedColumn> {
        let inserted = AlignedColumn { step: None, letter: None, share: 0.0, mean_ns: 0.0 };
        let mut out = vec![inserted; self.width];
        for (at, column) in profile.columns().iter().enumerate() {
            let Some(place) = out.get_mut(self.places[at]) else { break };
            let first = column.states.first();
            let most = first.filter(|first| first.share >= column.gap_share);
            *place = AlignedColumn {
                step: Some(at as u32 + 1),
                letter: most.map(|most| u32::from(most.state)),
                share: first.map_or(0.0, |first| first.share),
                mean_ns: first.map_or(0.0, |first| first.mean_us * 1e3),
            };
        }
        out
    }
}

fn normal_row(layout: &Layout, row: &NormalRow, at: usize, normal: &Sequenced) -> AlignedRow {
    let mut cells = vec![None; layout.width];
    if let Some(sequence) = normal.sequences.get(at) {
        for (step, &column) in row.columns.iter().enumerate() {
            let place = layout.places.get(column as usize).and_then(|&place| cells.get_mut(place));
            let (Some(place), Some(&state)) = (place, sequence.states().get(step)) else { break };
            *place = Some(AlignedCell {
                letter: u32::from(state),
                ns: (sequence.times_us()[step] * 1e3) as u64,
                finding: None,
            });
        }
    }
    row_of(AlignedRowKind::Normal, at, normal.members.get(at), cells)
}

fn anomalous_row(layout: &Layout, execution: &AlignedExecution, sample: &Sequenced) -> AlignedRow {
    let mut cells = vec![None; layout.width];
    let sequence = sample.sequences.get(execution.execution);
    let deviations = &execution.localized.deviations;
    // Inserted steps stand directly before their column, the last one next to it.
    for run in execution.localized.cells.chunk_by(|a, b| a.place == b.place) {
        for (from_last, cell) in run.iter().rev().enumerate() {
            let place = match cell.place {
                AlignedPosition::Column(column) => layout.places.get(column as usize).copied(),
                AlignedPosition::Before(column) => {
                    layout.places.get(column as usize).and_then(|&place| place.checked_sub(from_last + 1))
                }
            };
            let deviation = cell.deviation.and_then(|at| deviations.get(at as usize));
            let step = cell.step.map(|step| step as usize);
            let state = step.and_then(|step| sequence?.states().get(step));
            let (Some(place), Some(step), Some(&state)) =
                (place.and_then(|at| cells.get_mut(at)), step, state)
            else {
                continue;
            };
            let us = sequence.map_or(0.0, |sequence| sequence.times_us()[step]);
            let finding = deviation.map(|deviation| kind(deviation.kind));
            *place = Some(AlignedCell { letter: u32::from(state), ns: (us * 1e3) as u64, finding });
        }
    }
    row_of(AlignedRowKind::Anomalous, execution.execution, sample.members.get(execution.execution), cells)
}

fn row_of(
    kind: AlignedRowKind,
    at: usize,
    member: Option<&Member>,
    cells: Vec<Option<AlignedCell>>,
) -> AlignedRow {
    AlignedRow {
        kind,
        execution: at as u64 + 1,
        label: member.map_or_else(String::new, |member| label(&member.execution, "")),
        elapsed_ns: member.map_or(0, |member| member.elapsed_ns),
        cells,
    }
}
