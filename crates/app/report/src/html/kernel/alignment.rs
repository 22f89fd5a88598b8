//! Sequences under each other as colored blocks: rows are executions, columns are steps.

use super::super::markup::Markup;
use super::super::remark;
use super::letters::{class, legend, letter};
use crate::kernel::{
    AlignedCell, AlignedCluster, AlignedColumn, AlignedRow, AlignedRowKind, KernelDiagnosis, StepKind,
    letter_name, step_word,
};
use crate::{names, numbers};
use std::collections::BTreeMap;
use std::fmt::Write as _;

/// Blocks of one page.
const CLUSTERS: usize = 6;

/// Rows of each kind, and columns.
const ROWS: usize = 40;
const COLUMNS: usize = 500;

/// Pixels of a cell; rows have a gap between them. The style sheet says the same of titles.
const CELL: f64 = 14.0;
const ROW: f64 = 18.0;

/// Pixels above the first row, for numbers of steps.
const TOP: f64 = 18.0;

/// Marks of findings that carry words.
const MARKS: usize = 1_500;

pub(super) fn any(report: &KernelDiagnosis) -> bool {
    report.alignments.iter().any(|one| !one.rows.is_empty() && !one.columns.is_empty())
}

pub(super) fn write(m: &mut Markup, report: &KernelDiagnosis) {
    remark(
        m,
        "A row is an execution, a column a step; neighboring equal states are one. Normal executions come first. A \
         framed cell deviates: an unexpected state, or one that takes longer than it does there in normal executions; \
         a framed gap lacks a state that normal executions have. Paler, with a small letter: another thread.",
    );
    let rows = report.alignments.iter().flat_map(|one| &one.rows);
    let cells = rows.flat_map(|row| row.cells.iter().flatten());
    legend(m, cells.map(|cell| report.state(cell.letter)));
    for (at, one) in report.alignments.iter().enumerate().take(CLUSTERS) {
        let title = match one.cluster {
            Some(cluster) => format!("Kind {cluster} of the normal executions"),
            None => "All normal executions".to_owned(),
        };
        m.element("h3", &[], &title);
        block(m, report, one, at);
    }
    super::rest(m, report.alignments.len(), CLUSTERS, "kinds");
}

fn block(m: &mut Markup, report: &KernelDiagnosis, one: &AlignedCluster, at: usize) {
    let normal = one.rows.iter().filter(|row| row.kind == AlignedRowKind::Normal).take(ROWS);
    let anomalous = one.rows.iter().filter(|row| row.kind == AlignedRowKind::Anomalous).take(ROWS);
    let rows: Vec<&AlignedRow> = normal.chain(anomalous).collect();
    let columns = one.columns.len().min(COLUMNS);
    m.raw("<div class=\"heat\">\n");
    m.open("ul", &[("class", "block-rows"), ("aria-hidden", "true")]);
    for row in &rows {
        let class = if row.kind == AlignedRowKind::Anomalous { "odd" } else { "" };
        m.element("li", &[("class", class)], &row_title(row));
    }
    m.close("ul");
    let attributes = [
        ("class", "heat-scroll"),
        ("role", "region"),
        ("aria-label", "Aligned executions"),
        ("tabindex", "0"),
    ];
    m.within("div", &attributes, |m| picture(m, report, &rows, &one.columns[..columns], at));
    m.raw("</div>\n<output class=\"readout\" hidden aria-live=\"polite\"></output>\n");
    cut(m, one, &rows, columns);
}

fn row_title(row: &AlignedRow) -> String {
    let set = if row.kind == AlignedRowKind::Normal { "normal" } else { "sample" };
    let label =
        if row.label.is_empty() { String::new() } else { format!(" {}", names::label(&row.label, 16)) };
    format!("{set} {}{label}, {}", row.execution, numbers::time(row.elapsed_ns))
}

fn picture(
    m: &mut Markup,
    report: &KernelDiagnosis,
    rows: &[&AlignedRow],
    steps: &[AlignedColumn],
    at: usize,
) {
    let columns = steps.len();
    let (width, height) = (columns as f64 * CELL, rows.len() as f64 * ROW + TOP);
    let (w, h, id) = (format!("{width}"), format!("{height}"), format!("block-{at}"));
    let attributes =
        [("class", "blocks"), ("role", "img"), ("aria-labelledby", &*id), ("width", &*w), ("height", &*h)];
    m.open("svg", &attributes);
    m.element("title", &[("id", &id)], "Aligned executions; the table of findings holds what deviates");
    let numbered = steps.iter().enumerate().filter_map(|(at, column)| Some((at, column.step?)));
    for (at, step) in numbered.filter(|(_, step)| step % 5 == 0) {
        let x = format!("{}", at as f64 * CELL + CELL / 2.0);
        m.element("text", &[("class", "tick"), ("x", &x), ("y", "12")], &step.to_string());
    }
    for (place, row) in rows.iter().enumerate() {
        let y = place as f64 * ROW + TOP;
        cells(m, report, row, columns, y);
    }
    let mut marks = 0;
    for (place, row) in rows.iter().enumerate() {
        let y = place as f64 * ROW + TOP;
        for (step, cell) in row.cells.iter().enumerate().take(columns) {
            if marks < MARKS && mark(m, report, row, step, cell.as_ref(), y) {
                marks += 1;
            }
        }
    }
    m.close("svg");
}

/// One path for each state of a row, and one text with a letter on each cell.
fn cells(m: &mut Markup, report: &KernelDiagnosis, row: &AlignedRow, columns: usize, y: f64) {
    let mut paths: BTreeMap<(u32, bool), String> = BTreeMap::new();
    let (mut letters, mut places) = (String::new(), String::new());
    for (step, cell) in row.cells.iter().enumerate().take(columns) {
        let Some(cell) = cell else { continue };
        let x = step as f64 * CELL;
        let own = report.alphabet.get(cell.letter as usize).is_none_or(|letter| letter.own);
        let path = paths.entry((cell.letter, own)).or_default();
        let _ = write!(path, "M{x} {y}h{side}v{CELL}h-{side}z", side = CELL - 1.0);
        let symbol = letter(report.state(cell.letter));
        letters.push(if own { symbol } else { symbol.to_ascii_lowercase() });
        let _ = write!(places, "{} ", x + CELL / 2.0 - 0.5);
    }
    for ((at, own), path) in &paths {
        let shade = format!("{}{}", class(report.state(*at)), if *own { "" } else { " not-own" });
        m.element("path", &[("class", &shade), ("d", path)], "");
    }
    let base = format!("{}", y + CELL - 3.5);
    m.element("text", &[("class", "cell"), ("x", places.trim_end()), ("y", &base)], &letters);
}

/// Frames what deviates; whether there was something.
fn mark(
    m: &mut Markup,
    report: &KernelDiagnosis,
    row: &AlignedRow,
    step: usize,
    cell: Option<&AlignedCell>,
    y: f64,
) -> bool {
    let Some(AlignedCell { letter, ns, finding: Some(kind) }) = cell else { return false };
    let place =
        [("x", step as f64 * CELL + 0.5), ("y", y + 0.5), ("width", CELL - 2.0), ("height", CELL - 1.0)];
    m.open_shape("rect", "finding", &place);
    let text = format!(
        "sample {}, step {}: {}, {} state, {}",
        row.execution,
        step + 1,
        letter_name(report, *letter),
        step_word(*kind),
        numbers::time(*ns)
    );
    m.element("title", &[], &text);
    m.close("rect");
    *kind != StepKind::Missing
}

/// Says what is not shown.
fn cut(m: &mut Markup, one: &AlignedCluster, rows: &[&AlignedRow], columns: usize) {
    let count = |kind| rows.iter().filter(|row| row.kind == kind).count();
    let all = |kind| one.rows.iter().filter(|row| row.kind == kind).count();
    let left = |kind, further: u64| (all(kind) - count(kind)) as u64 + further;
    let parts = [
        (left(AlignedRowKind::Normal, one.normal_left_out), "normal execution"),
        (left(AlignedRowKind::Anomalous, one.anomalous_left_out), "execution of the sample"),
        ((one.columns.len() - columns) as u64 + one.columns_left_out, "step"),
    ];
    let told: Vec<String> =
        parts.iter().filter(|(count, _)| *count > 0).map(|&(count, what)| plural(count, what)).collect();
    if !told.is_empty() {
        remark(m, &format!("Not shown: {}.", told.join(", ")));
    }
}

fn plural(count: u64, what: &str) -> String {
    match what.split_once(' ') {
        Some(("execution", rest)) => format!("{} {rest}", numbers::counted(count, "execution")),
        _ => numbers::counted(count, what),
    }
}
