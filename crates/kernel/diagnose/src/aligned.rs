//! Builds the report's alignments: normal executions and those that stand out, with common columns.

use crate::deviations::kind;
use crate::names::label;
use crate::sequences::{Member, Sequenced};
use laggard_align::localize::{AlignedPosition, ClusterProfile, NormalRow};
use laggard_align::{AlignedExecution, Diagnosis, KindAlignment};
use laggard_report::{AlignedCell, AlignedCluster, AlignedColumn, AlignedRow, AlignedRowKind};

/// Maximum number of rows of each kind, and of columns, of one alignment in a report.
const ROWS_MAX: usize = 60;
const COLUMNS_MAX: usize = 2_000;

pub(crate) fn alignments(
    diagnosis: &Diagnosis,
    normal: &Sequenced,
    sample: &Sequenced,
) -> Vec<AlignedCluster> {
    diagnosis.alignments.iter().map(|alignment| cluster(alignment, diagnosis, normal, sample)).collect()
}

fn cluster(
    alignment: &KindAlignment,
    diagnosis: &Diagnosis,
    normal: &Sequenced,
    sample: &Sequenced,
) -> AlignedCluster {
    let executions = largest_excess(alignment, diagnosis);
    let layout = Layout::from_executions(&alignment.profile, &executions);
    let rows = alignment.profile.rows().iter().take(ROWS_MAX).filter_map(|row| {
        let index = *alignment.normals.get(row.normal)?;
        Some(normal_row(&layout, row, index, normal))
    });
    let mut rows: Vec<AlignedRow> = rows.collect();
    rows.extend(executions.iter().map(|execution| anomalous_row(&layout, execution, sample)));
    AlignedCluster {
        cluster: Some(alignment.normal_kind as u32),
        columns: layout.columns(&alignment.profile),
        rows,
        normal_left_out: alignment.profile.rows().len().saturating_sub(ROWS_MAX) as u64,
        anomalous_left_out: (alignment.executions.len() - executions.len()) as u64,
        columns_left_out: layout.left_out,
    }
}

/// The executions with the largest excess, in order of time.
fn largest_excess<'a>(alignment: &'a KindAlignment, diagnosis: &Diagnosis) -> Vec<&'a AlignedExecution> {
    let mut executions: Vec<&AlignedExecution> = alignment.executions.iter().collect();
    let excess = |alignment: &AlignedExecution| {
        diagnosis.sample.get(alignment.execution).map_or(0.0, |alignment| alignment.excess_us)
    };
    executions.sort_by(|a, b| excess(b).total_cmp(&excess(a)).then(a.execution.cmp(&b.execution)));
    executions.truncate(ROWS_MAX);
    executions.sort_by_key(|alignment| alignment.execution);
    executions
}

/// The positions of columns when inserted steps have columns of their own.
struct Layout {
    /// The position of each normal column; one more for the end.
    positions: Vec<usize>,
    /// Number of columns shown.
    width: usize,
    left_out: u64,
}

impl Layout {
    fn from_executions(profile: &ClusterProfile, executions: &[&AlignedExecution]) -> Layout {
        let columns = profile.columns().len();
        let mut inserted = vec![0_usize; columns + 1];
        for execution in executions {
            let mut inserted_here = vec![0_usize; columns + 1];
            for cell in &execution.localized.cells {
                if let AlignedPosition::Before(column) = cell.position {
                    inserted_here[(column as usize).min(columns)] += 1;
                }
            }
            inserted.iter_mut().zip(inserted_here).for_each(|(most, count)| *most = (*most).max(count));
        }
        let mut positions = Vec::with_capacity(columns + 1);
        let mut next = 0;
        for (column, count) in inserted.iter().enumerate() {
            next += count;
            positions.push(next);
            next += usize::from(column < columns);
        }
        let width = next.min(COLUMNS_MAX);
        Layout { positions, width, left_out: (next - width) as u64 }
    }

    fn columns(&self, profile: &ClusterProfile) -> Vec<AlignedColumn> {
        let inserted = AlignedColumn { step: None, symbol: None, share: 0.0, mean_ns: 0.0 };
        let mut out = vec![inserted; self.width];
        for (index, column) in profile.columns().iter().enumerate() {
            let Some(position) = out.get_mut(self.positions[index]) else { break };
            let first = column.states.first();
            let most = first.filter(|first| first.share >= column.gap_share);
            *position = AlignedColumn {
                step: Some(index as u32 + 1),
                symbol: most.map(|most| u32::from(most.state)),
                share: first.map_or(0.0, |first| first.share),
                mean_ns: first.map_or(0.0, |first| first.mean_us * 1e3),
            };
        }
        out
    }
}

fn normal_row(layout: &Layout, row: &NormalRow, index: usize, normal: &Sequenced) -> AlignedRow {
    let mut cells = vec![None; layout.width];
    if let Some(sequence) = normal.sequences.get(index) {
        for (step, &column) in row.columns.iter().enumerate() {
            let position =
                layout.positions.get(column as usize).and_then(|&position| cells.get_mut(position));
            let (Some(position), Some(&state)) = (position, sequence.states().get(step)) else { break };
            *position = Some(AlignedCell {
                symbol: u32::from(state),
                ns: (sequence.times_us()[step] * 1e3) as u64,
                finding: None,
            });
        }
    }
    row_of(AlignedRowKind::Normal, index, normal.members.get(index), cells)
}

fn anomalous_row(layout: &Layout, execution: &AlignedExecution, sample: &Sequenced) -> AlignedRow {
    let mut cells = vec![None; layout.width];
    let sequence = sample.sequences.get(execution.execution);
    let deviations = &execution.localized.deviations;
    // Inserted steps directly precede their column.
    for run in execution.localized.cells.chunk_by(|a, b| a.position == b.position) {
        for (from_last, cell) in run.iter().rev().enumerate() {
            let position = match cell.position {
                AlignedPosition::Column(column) => layout.positions.get(column as usize).copied(),
                AlignedPosition::Before(column) => layout
                    .positions
                    .get(column as usize)
                    .and_then(|&position| position.checked_sub(from_last + 1)),
            };
            let deviation = cell.deviation.and_then(|index| deviations.get(index as usize));
            let step = cell.step.map(|step| step as usize);
            let state = step.and_then(|step| sequence?.states().get(step));
            let (Some(position), Some(step), Some(&state)) =
                (position.and_then(|index| cells.get_mut(index)), step, state)
            else {
                continue;
            };
            let us = sequence.map_or(0.0, |sequence| sequence.times_us()[step]);
            let finding = deviation.map(|deviation| kind(deviation.kind));
            *position = Some(AlignedCell { symbol: u32::from(state), ns: (us * 1e3) as u64, finding });
        }
    }
    row_of(AlignedRowKind::Anomalous, execution.execution, sample.members.get(execution.execution), cells)
}

fn row_of(
    kind: AlignedRowKind,
    index: usize,
    member: Option<&Member>,
    cells: Vec<Option<AlignedCell>>,
) -> AlignedRow {
    AlignedRow {
        kind,
        execution: index as u64 + 1,
        label: member.map_or_else(String::new, |member| label(&member.execution, "")),
        elapsed_ns: member.map_or(0, |member| member.elapsed_ns),
        cells,
    }
}
