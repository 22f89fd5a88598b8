//! Executions of a sample against normal ones: what they wait for, at which step, and which ones stand out.

use super::call_stacks::stack_notes;
use super::phrases::{instant, offset, row_name, set_words, step_clause, step_position, step_word, thread};
use super::{
    PREVIEW, ROWS, alignment, basis_section, durations, name_if_any, quoted, recorded, time, timeline,
};
use crate::document::{
    Axis, Block, Cell, Chart, Color, Detail, Document, Emphasis, Figure, Fold, LegendEntry, Panel, Prose,
    Section, Series, SeriesShape, SpanStyle, Table, TableRow, Tone, cautions, columns, further_missing,
    losses, ruled_out,
};
use crate::render::Present;
use crate::{
    AbnormalWait, EvaluatedExecution, ExecutionCluster, ExecutionSet, ExecutionVerdict, KernelDiagnosis,
    KernelVerdict, ProjectedExecution, Projection, StateAverage, StepGroup, names, numbers,
};
use std::collections::BTreeMap;

/// Points drawn, and kinds in the legend.
const POINTS: usize = 3_000;
const KINDS: usize = 12;

impl Present for KernelDiagnosis {
    fn present(&self) -> Document {
        let sections = [
            further_missing(self.verdict == KernelVerdict::InsufficientData, &self.missing),
            (!self.waits.is_empty()).then(|| waits(self)),
            (!self.steps.is_empty()).then(|| steps(self)),
            (!self.anomalous.is_empty()).then(|| executions(self)),
            (!self.state_averages.is_empty()).then(|| state_averages(self)),
            (!self.clusters.is_empty()).then(|| clusters(self)),
            timeline::section(&self.timelines, "Critical paths, segment by segment"),
            alignment::section(self),
            durations::section(self),
            self.projection.as_ref().and_then(points),
            cautions(&self.cautions),
            ruled_out(&self.ruled_out),
            Some(losses(&self.input.losses)),
            Some(basis(self)),
        ];
        let verdict = match self.verdict {
            KernelVerdict::Slower => (Tone::Bad, "Slower"),
            KernelVerdict::FewSlower => (Tone::Unsure, "A few slower"),
            KernelVerdict::NothingFound => (Tone::Good, "Nothing found"),
            KernelVerdict::SlowerOverall => (Tone::Warning, "Slower overall"),
            KernelVerdict::InsufficientData => (Tone::Unsure, "Not enough data"),
        };
        Document {
            time: recorded(&self.input),
            figures: figures(self),
            ..Document::new(verdict, &self.headline, sections)
        }
    }
}

fn figures(report: &KernelDiagnosis) -> Vec<Figure> {
    let mut figures = Vec::new();
    if report.verdict == KernelVerdict::Slower {
        let all = format!("of {}", numbers::count(report.sample.executions));
        figures.push(Figure::new("Slower executions", Cell::count(report.anomalous.len() as u64), all));
    }
    if let Some(wait) = report.waits.first() {
        figures.push(Figure::new("Explained by it", Cell::share(wait.share), "of the excess"));
    }
    for (name, set) in [("Normal median", &report.normal), ("Sample median", &report.sample)] {
        figures.push(Figure::new(
            name,
            time(set.elapsed_p50_ns),
            numbers::counted(set.executions, "execution"),
        ));
    }
    figures
}

fn waits(report: &KernelDiagnosis) -> Section {
    let columns = columns![
        Number "excess", Number "share", Graphic "", Number "executions", Number "steps", Name "thread"
    ];
    let row = |wait: &AbnormalWait| {
        let row = TableRow::new([
            Cell::excess(wait.excess_ns).tone(Tone::Bad),
            Cell::share(wait.share),
            Cell::bar(wait.share),
            Cell::count(wait.executions),
            Cell::count(wait.steps.len() as u64),
            Cell::name(SpanStyle::Name, &wait.thread),
        ]);
        stack_notes(row.note(Detail::Summary, "", Prose::quoted(&wait.description)), &wait.stacks)
    };
    let table = Table::new("Waits", &columns).preview(PREVIEW).at_most(ROWS, &report.waits, row);
    Section::new("waits", "What they wait for")
        .remark("more than usual, over all steps")
        .introduction("Deviations grouped by cause, over all steps, the largest excess first.")
        .block(table)
}

fn steps(report: &KernelDiagnosis) -> Section {
    let columns = columns![
        Number "excess", Number "share", Number "executions", Text "deviation", Name "where"
    ];
    let row = |step: &StepGroup| {
        let words =
            Prose::name(SpanStyle::Name, &step.thread).plain(" ").then(Prose::quoted(&step.description));
        let mut row = TableRow::new([
            Cell::excess(step.excess_ns).tone(Tone::Bad),
            Cell::share(step.share),
            Cell::count_of(step.executions, step.anomalous_in_cluster),
            Cell::text(step_word(step.kind)),
            quoted(&step_clause(step)),
        ]);
        row = row.note(Detail::Summary, "", words).note(Detail::Page, "", step_position(step));
        for (index, example) in step.examples.iter().take(3).enumerate() {
            let text = format!("execution {}, ", example.execution);
            let prose = Prose::from(text).then(Prose::quoted(&thread(&example.thread, example.tid, "")));
            let details = format!(
                ", {} into it (at {}): {}",
                offset(example.offset_ns),
                instant(None, example.since_ns),
                numbers::time(example.elapsed_ns),
            );
            let detail = if index == 0 { Detail::Full } else { Detail::Page };
            row = row.note(detail, "e.g.", prose.plain(details));
        }
        row
    };
    let table = Table::new("Findings", &columns).preview(PREVIEW).at_most(ROWS, &report.steps, row);
    Section::new("steps", "At which step")
        .remark("similar findings are grouped, the largest excess first")
        .block(table)
}

fn executions(report: &KernelDiagnosis) -> Section {
    let columns = columns![
        Number "#", Number "takes", Number "usual", Text "at", Name "label", Name "thread"
    ];
    let row = |execution: &EvaluatedExecution| {
        let new = execution.verdict == ExecutionVerdict::NewKind;
        let row = TableRow::new([
            Cell::count(execution.number),
            time(execution.elapsed_ns).tone(Tone::Bad),
            time(execution.expected_ns),
            Cell::text(instant(execution.since, execution.since_ns)),
            name_if_any(SpanStyle::Operation, &execution.label),
            quoted(&thread(&execution.thread, Some(execution.tid), &execution.host)),
        ]);
        row.note(Detail::Summary, "", if new { "of a kind not in the normal set" } else { "" }).note(
            Detail::Summary,
            "",
            Prose::quoted(&execution.description),
        )
    };
    let table = Table::new("Executions", &columns).preview(PREVIEW).at_most(ROWS, &report.anomalous, row);
    Section::new("executions", "Executions that stand out")
        .remark("of the sample, by number in order of time")
        .block(table)
}

fn state_averages(report: &KernelDiagnosis) -> Section {
    let times: Vec<&StateAverage> =
        report.state_averages.iter().filter(|row| row.measure == "time").collect();
    let most = times.iter().map(|row| row.sample_mean.max(row.normal_mean)).fold(1.0, f64::max);
    let columns = columns![Text "state", Number "normal", Number "sample", Graphic "", Number "p", Text ""];
    let row = |row: &&StateAverage| {
        let tone = if row.fired { Tone::Bad } else { Tone::Neutral };
        let cells = [
            Cell::text(row_name(report, row.symbol)),
            Cell::duration(row.normal_mean),
            Cell::duration(row.sample_mean).tone(tone),
            Cell::bar(row.sample_mean / most),
            row.p_value.map_or_else(Cell::empty, Cell::p_value),
            Cell::mark(if row.fired { "more" } else { "" }, tone),
        ];
        TableRow::new(cells).emphasis(if row.fired { Emphasis::Worse } else { Emphasis::Usual })
    };
    let table = Table::new("States", &columns).preview(PREVIEW).at_most(ROWS, &times, row);
    let all = Block::from(all_measures(report)).folded(Fold::Closed, "All measures").detail(Detail::Page);
    Section::new("averages", "Time by state")
        .remark("mean of an execution")
        .introduction(
            "Each state on average: whether executions of the sample have more of it than normal ones.",
        )
        .block(table)
        .block(all)
}

fn all_measures(report: &KernelDiagnosis) -> Table {
    let columns = columns![
        Text "state", Text "measure", Number "normal", Number "± deviation", Number "sample",
        Number "normal above mean", Number "sample above it", Number "p", Text "more?"
    ];
    let row = |row: &StateAverage| {
        let number =
            |value: f64| if row.measure == "time" { Cell::duration(value) } else { Cell::ratio(value) };
        TableRow::new([
            Cell::text(row_name(report, row.symbol)),
            Cell::text(row.measure),
            number(row.normal_mean),
            number(row.normal_deviation),
            number(row.sample_mean),
            row.normal_share_above.map_or_else(Cell::empty, Cell::share),
            row.sample_share_above.map_or_else(Cell::empty, Cell::share),
            row.p_value.map_or_else(Cell::empty, Cell::p_value),
            Cell::mark(if row.fired { "more" } else { "" }, Tone::Bad),
        ])
    };
    Table::new("States", &columns).at_most(ROWS, &report.state_averages, row)
}

fn clusters(report: &KernelDiagnosis) -> Section {
    let columns = columns![
        Text "kind", Number "executions", Number "median", Text "compared with", Number "fit",
        Number "slower", Name "labels"
    ];
    let row = |cluster: &ExecutionCluster| {
        let sample = cluster.set == ExecutionSet::Sample;
        let row = TableRow::new([
            Cell::text(format!("{} {}", if sample { "sample" } else { "normal" }, cluster.cluster)),
            Cell::count(cluster.executions),
            time(cluster.elapsed_p50_ns),
            cluster.paired_with.map_or_else(Cell::empty, |pair| Cell::text(format!("normal {pair}"))),
            cluster.silhouette.map_or_else(Cell::empty, Cell::ratio),
            if sample { Cell::count(cluster.anomalous) } else { Cell::empty() },
            Cell::named(Prose::names(SpanStyle::Operation, &cluster.labels, 4)),
        ]);
        row.note(Detail::Summary, "", Prose::quoted(&cluster.remark))
    };
    let table = Table::new("Kinds", &columns).preview(PREVIEW).at_most(ROWS, &report.clusters, row);
    Section::new("kinds", "Kinds of executions").detail(Detail::Full).block(table)
}

/// Executions as points on two principal components, for pages.
fn points(projection: &Projection) -> Option<Section> {
    let shown = &projection.points[..projection.points.len().min(POINTS)];
    let known: Vec<&ProjectedExecution> =
        shown.iter().filter(|point| point.x.is_finite() && point.y.is_finite()).collect();
    if known.len() < 2 {
        return None;
    }
    let color = |kind: Option<u32>| Color::series(kind.map_or(8, |kind| kind as usize % 8));
    // What stands out is drawn last, on top.
    let mut groups: BTreeMap<(bool, ExecutionSet, Option<u32>), Series> = BTreeMap::new();
    for point in known.iter() {
        let series = groups.entry((point.anomalous, point.set, point.cluster)).or_insert_with(|| {
            let shape =
                if point.set == ExecutionSet::Sample { SeriesShape::Rings } else { SeriesShape::Dots };
            Series::new("", shape, if point.anomalous { Color::BAD } else { color(point.cluster) })
        });
        let set = if point.set == ExecutionSet::Sample { "sample" } else { "normal" };
        let kind = point.cluster.map_or_else(|| "of no kind".to_owned(), |kind| format!("kind {kind}"));
        let slower = if point.anomalous { ", slower" } else { "" };
        series.x.push(point.x);
        series.y.push(Some(point.y));
        series.words.push(format!("{set} {}: {kind}{slower}", point.number));
    }
    let mut panel = Panel::new("", 340, range(known.iter().map(|point| point.y)));
    panel.series = groups.into_values().collect();
    let mut kinds: Vec<Option<u32>> = known.iter().map(|point| point.cluster).collect();
    kinds.sort_unstable();
    kinds.dedup();
    let name = |kind: Option<u32>| kind.map_or_else(|| "no kind".to_owned(), |kind| format!("kind {kind}"));
    let mut legend: Vec<LegendEntry> =
        kinds.into_iter().take(KINDS).map(|kind| LegendEntry::new(color(kind), name(kind))).collect();
    legend.push(LegendEntry::new(Color::BAD, "slower than its kind"));
    let chart = Chart {
        caption: "Executions on two principal components".to_owned(),
        x: range(known.iter().map(|point| point.x)),
        panels: vec![panel],
        marks: Vec::new(),
        legend,
        readout: false,
    };
    let introduction = format!(
        "Each execution by its {}, on the two principal components of both sets: near points are alike. Filled dots are \
         normal executions, rings those of the sample; the kinds (clusters) are colored.",
        projection.features
    );
    let section = Section::new("projection", "Executions as points").detail(Detail::Page);
    Some(section.introduction(introduction).block(chart))
}

/// An axis with some room at both ends.
fn range(values: impl Iterator<Item = f64>) -> Axis {
    let [low, high] = values
        .fold([f64::INFINITY, f64::NEG_INFINITY], |[low, high], value| [low.min(value), high.max(value)]);
    let room = if low < high { 0.04 * (high - low) } else { 1.0 };
    Axis::plain(low - room, high + room)
}

fn basis(report: &KernelDiagnosis) -> Section {
    let sets = [("Normal", &report.normal), ("Sample", &report.sample)];
    let mut sentences: Vec<Prose> =
        sets.iter().map(|(name, set)| Prose::quoted(&format!("{name}: {}.", set_words(set)))).collect();
    sentences.push(Prose::quoted(&report.question));
    sentences.push(Prose::from(format!("Method: {}.", names::label(&report.method, 200))));
    basis_section(&report.input, sentences, &report.settings)
}
