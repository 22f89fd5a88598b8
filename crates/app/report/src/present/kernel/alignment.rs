//! Executions aligned step by step: rows are executions, columns are steps. For pages.

use super::phrases::{step_word, symbol_name};
use super::{symbol, timeline};
use crate::document::{Block, Detail, HeatCell, HeatMap, LegendEntry, Prose, Section, Sentences};
use crate::{
    AlignedCell, AlignedCluster, AlignedRow, AlignedRowKind, KernelDiagnosis, KernelState, StepKind, names,
    numbers,
};

/// Clusters of a document, rows of each kind, and columns.
const CLUSTERS: usize = 6;
const ROWS: usize = 40;
const COLUMNS: usize = 500;

/// Findings with words in one cluster; the others are framed.
const WORDED: usize = 250;

pub(super) fn section(report: &KernelDiagnosis) -> Option<Section> {
    let drawable = report
        .alignments
        .iter()
        .filter(|alignment| !alignment.rows.is_empty() && !alignment.columns.is_empty());
    let blocks: Vec<Block> =
        drawable.take(CLUSTERS).flat_map(|alignment| blocks(report, alignment)).collect();
    let section = Section::new("aligned", "Step by step").detail(Detail::Page).introduction(
        "A row is an execution, a column a step; neighboring equal states are one. Normal executions come first. A \
         framed cell deviates: an unexpected state, or one that takes longer than it does there in normal executions; a \
         framed gap: a state of normal executions is missing. Paler, in a small letter: another thread.",
    );
    (!blocks.is_empty()).then(|| section.blocks(blocks))
}

fn blocks(report: &KernelDiagnosis, cluster: &AlignedCluster) -> [Block; 2] {
    let of_kind = |kind| cluster.rows.iter().filter(move |row| row.kind == kind).take(ROWS);
    let rows: Vec<&AlignedRow> =
        of_kind(AlignedRowKind::Normal).chain(of_kind(AlignedRowKind::Anomalous)).collect();
    let columns = &cluster.columns[..cluster.columns.len().min(COLUMNS)];
    let title = match cluster.cluster {
        Some(cluster) => format!("Kind {cluster} of the normal executions"),
        None => "All normal executions".to_owned(),
    };
    let numbered = |step: Option<u32>| match step.filter(|step| step % 5 == 0) {
        Some(step) => Prose::from(step.to_string()),
        None => Prose::default(),
    };
    let found = |row: &AlignedRow, step: usize| {
        row.cells.get(step).copied().flatten().map(|found| cell(report, row, step, found))
    };
    let mut cells: Vec<Option<HeatCell>> =
        rows.iter().flat_map(|row| (0..columns.len()).map(|step| found(row, step))).collect();
    let worded = cells.iter_mut().flatten().filter(|cell| !cell.words.is_empty());
    worded.skip(WORDED).for_each(|cell| cell.words.clear());
    let map = HeatMap {
        caption: "Aligned executions; the table of findings holds what deviates".to_owned(),
        rows: rows.iter().map(|row| row_title(row)).collect(),
        columns: columns.iter().map(|column| numbered(column.step)).collect(),
        cells,
        legend: legend(report, &rows),
        frame_label: "deviates".to_owned(),
        empty_label: String::new(),
    };
    let omitted = Sentences::paragraphs(left_out(cluster, &rows, columns.len()).map(Prose::from));
    [Block::from(map).titled(title), Block::from(omitted)]
}

fn legend(report: &KernelDiagnosis, rows: &[&AlignedRow]) -> Vec<LegendEntry> {
    let cells = rows.iter().flat_map(|row| row.cells.iter().flatten());
    let mut states: Vec<KernelState> = cells.map(|cell| report.state(cell.symbol)).collect();
    states.sort_unstable();
    states.dedup();
    let entry = |state: KernelState| LegendEntry {
        symbol: symbol(state).to_string(),
        ..LegendEntry::new(timeline::color(state), state.word())
    };
    states.into_iter().map(entry).collect()
}

fn row_title(row: &AlignedRow) -> Prose {
    let set = if row.kind == AlignedRowKind::Normal { "normal" } else { "sample" };
    let label =
        if row.label.is_empty() { String::new() } else { format!(" {}", names::label(&row.label, 16)) };
    let title = format!("{set} {}{label}, {}", row.execution, numbers::time(row.elapsed_ns));
    if row.kind == AlignedRowKind::Anomalous { Prose::default().strong(title) } else { Prose::from(title) }
}

fn cell(report: &KernelDiagnosis, row: &AlignedRow, step: usize, cell: AlignedCell) -> HeatCell {
    let state = report.state(cell.symbol);
    let own = report.alphabet.get(cell.symbol as usize).is_none_or(|symbol| symbol.own);
    let letter = symbol(state);
    let words = |kind: StepKind| {
        format!(
            "execution {}, step {}: {}, {} state, {}",
            row.execution,
            step + 1,
            symbol_name(report, cell.symbol),
            step_word(kind),
            numbers::time(cell.ns)
        )
    };
    HeatCell {
        color: timeline::color(state),
        words: cell.finding.map(words).unwrap_or_default(),
        symbol: Some(if own { letter } else { letter.to_ascii_lowercase() }),
        framed: cell.finding.is_some(),
        pale: !own,
    }
}

/// Parts that are not shown.
fn left_out(cluster: &AlignedCluster, rows: &[&AlignedRow], columns: usize) -> Option<String> {
    let omitted_of = |kind, further: u64| {
        let shown = rows.iter().filter(|row| row.kind == kind).count();
        let all = cluster.rows.iter().filter(|row| row.kind == kind).count();
        (all - shown) as u64 + further
    };
    let normal = omitted_of(AlignedRowKind::Normal, cluster.normal_left_out);
    let sample = omitted_of(AlignedRowKind::Anomalous, cluster.anomalous_left_out);
    let steps = (cluster.columns.len() - columns) as u64 + cluster.columns_left_out;
    let parts = [
        (normal, numbers::counted(normal, "normal execution")),
        (sample, format!("{} of the sample", numbers::counted(sample, "execution"))),
        (steps, numbers::counted(steps, "step")),
    ];
    let parts: Vec<String> =
        parts.into_iter().filter(|(count, _)| *count > 0).map(|(_, words)| words).collect();
    (!parts.is_empty()).then(|| format!("Not shown: {}.", parts.join(", ")))
}
