//! A diagnosis of executions, for a person at a terminal.

use super::super::TextStyle;
use super::super::page::Page;
use super::super::paint::{Paint, Piece, bar};
use super::super::sections::{bullets, losses, more};
use super::super::table::{Fit, Table};
use super::{BAR, NAME_ROOM, ROWS, flat, page, spoken, timeline, verdict};
use crate::kernel::{
    ExecutionSet, ExecutionVerdict, KernelDiagnosis, KernelVerdict, instant, judged_thread,
    kernel_verdict_word, offset, row_name, set_words, step_clause, step_word, thread,
};
use crate::{names, numbers};
use std::io;

/// Examples of a step.
const EXAMPLES: usize = 1;

pub(crate) fn kernel_diagnosis(
    report: &KernelDiagnosis,
    style: &TextStyle,
    out: &mut dyn io::Write,
) -> io::Result<()> {
    let mut page = page(style);
    let (mark, paint) = match report.verdict {
        KernelVerdict::Slower => ("[!]", Paint::Bad),
        KernelVerdict::SlowerOverall => ("[~]", Paint::Unsure),
        KernelVerdict::NothingFound => ("[ok]", Paint::Good),
        KernelVerdict::InsufficientData => ("[?]", Paint::Unsure),
    };
    verdict(&mut page, mark, kernel_verdict_word(report.verdict), paint, &report.headline);
    bullets(&mut page, "What is missing", &report.missing, Paint::Unsure);
    waits(&mut page, report);
    steps(&mut page, report);
    executions(&mut page, report);
    coarse(&mut page, report);
    clusters(&mut page, report);
    for one in report.timelines.iter().take(2) {
        timeline::print(&mut page, one);
    }
    bullets(&mut page, "Cautions", &report.cautions, Paint::Unsure);
    bullets(&mut page, "Looked at and found fine", &report.ruled_out, Paint::Good);
    losses(&mut page, &report.input.losses);
    basis(&mut page, report);
    out.write_all(page.finish().as_bytes())
}

fn waits(page: &mut Page, report: &KernelDiagnosis) {
    if report.waits.is_empty() {
        return;
    }
    page.heading("What they wait for", "more than usual, over all steps");
    let columns = [
        ("excess", Fit::Number),
        ("share", Fit::Number),
        ("", Fit::Fixed),
        ("executions", Fit::Number),
        ("steps", Fit::Number),
        ("thread", Fit::Name),
    ];
    let mut table = Table::new(1, &columns);
    for wait in report.waits.iter().take(ROWS) {
        table.row(vec![
            Piece::new(&numbers::effect(wait.excess_ns), Paint::Bad),
            Piece::plain(numbers::share(wait.share)),
            Piece::plain(bar(wait.share, BAR)),
            Piece::plain(numbers::count(wait.executions)),
            Piece::plain(numbers::count(wait.steps.len() as u64)),
            Piece::strong(names::label(&wait.thread, NAME_ROOM)),
        ]);
        table.note("", spoken(&wait.words));
    }
    table.print(page);
    more(page, report.waits.len(), ROWS, "waits");
}

fn steps(page: &mut Page, report: &KernelDiagnosis) {
    if report.steps.is_empty() {
        return;
    }
    page.heading("At which step", "findings that are alike, together; the largest excess first");
    let columns = [
        ("excess", Fit::Number),
        ("share", Fit::Number),
        ("executions", Fit::Number),
        ("", Fit::Fixed),
        ("where", Fit::Name),
    ];
    let mut table = Table::new(1, &columns);
    for step in report.steps.iter().take(ROWS) {
        table.row(vec![
            Piece::new(&numbers::effect(step.excess_ns), Paint::Bad),
            Piece::plain(numbers::share(step.share)),
            Piece::plain(format!("{} of {}", step.executions, step.of_executions)),
            Piece::plain(step_word(step.kind)),
            Piece::plain(flat(&step_clause(step))),
        ]);
        let mut words = vec![Piece::strong(names::label(&step.thread, NAME_ROOM)), Piece::plain(" ")];
        words.extend(spoken(&step.words));
        table.note("", words);
        for example in step.examples.iter().take(EXAMPLES) {
            let thread = flat(&thread(&example.thread, example.tid, ""));
            table.note(
                "e.g. ",
                vec![Piece::faint(format!(
                    "execution {}, {thread}, {} into it (at {}): {}",
                    example.execution,
                    offset(example.offset_ns),
                    instant(None, example.since_ns),
                    numbers::time(example.elapsed_ns),
                ))],
            );
        }
    }
    table.print(page);
    more(page, report.steps.len(), ROWS, "findings");
}

fn executions(page: &mut Page, report: &KernelDiagnosis) {
    if report.anomalous.is_empty() {
        return;
    }
    page.heading("Executions that stand out", "of the sample, by number in order of time");
    let columns = [
        ("#", Fit::Number),
        ("takes", Fit::Number),
        ("usual", Fit::Number),
        ("at", Fit::Fixed),
        ("label", Fit::Name),
        ("thread", Fit::Name),
    ];
    let mut table = Table::new(1, &columns);
    for one in report.anomalous.iter().take(ROWS) {
        let new = one.verdict == ExecutionVerdict::NewKind;
        let label = if one.label.is_empty() { String::new() } else { names::label(&one.label, NAME_ROOM) };
        table.row(vec![
            Piece::plain(one.number.to_string()),
            Piece::new(&numbers::time(one.elapsed_ns), Paint::Bad),
            Piece::plain(numbers::time(one.expected_ns)),
            Piece::plain(instant(one.since.as_deref(), one.since_ns)),
            Piece::plain(label),
            Piece::plain(flat(&judged_thread(one))),
        ]);
        if new {
            table.note("", vec![Piece::plain("of a kind that the normal set does not have")]);
        }
        if !one.words.is_empty() {
            table.note("", spoken(&one.words));
        }
    }
    table.print(page);
    more(page, report.anomalous.len(), ROWS, "executions");
}

fn coarse(page: &mut Page, report: &KernelDiagnosis) {
    let rows: Vec<_> = report.coarse.iter().filter(|row| row.measure == "time").collect();
    if rows.is_empty() {
        return;
    }
    page.heading("Time by state", "mean of an execution");
    let columns = [
        ("state", Fit::Name),
        ("normal", Fit::Number),
        ("sample", Fit::Number),
        ("", Fit::Fixed),
        ("p", Fit::Number),
        ("", Fit::Fixed),
    ];
    let most = rows.iter().map(|row| row.sample_mean.max(row.normal_mean)).fold(1.0, f64::max);
    let mut table = Table::new(1, &columns);
    for row in rows.iter().take(ROWS) {
        let paint = if row.fired { Paint::Bad } else { Paint::Plain };
        table.row(vec![
            Piece::plain(row_name(report, row.letter)),
            Piece::plain(numbers::time_float(row.normal_mean)),
            Piece::new(&numbers::time_float(row.sample_mean), paint),
            Piece::plain(bar(row.sample_mean / most, BAR)),
            Piece::plain(row.p_value.map_or_else(String::new, numbers::p_value)),
            Piece::new(if row.fired { "more" } else { "" }, Paint::Bad),
        ]);
    }
    table.print(page);
    more(page, rows.len(), ROWS, "states");
}

fn clusters(page: &mut Page, report: &KernelDiagnosis) {
    if report.clusters.is_empty() {
        return;
    }
    page.heading("Kinds of executions", "");
    let columns = [
        ("kind", Fit::Fixed),
        ("executions", Fit::Number),
        ("median", Fit::Number),
        ("compared with", Fit::Fixed),
        ("fit", Fit::Number),
        ("slower", Fit::Number),
        ("labels", Fit::Name),
    ];
    let mut table = Table::new(1, &columns);
    for one in report.clusters.iter().take(ROWS) {
        let sample = one.set == ExecutionSet::Sample;
        let kind = if sample { format!("sample {}", one.cluster) } else { format!("normal {}", one.cluster) };
        table.row(vec![
            Piece::plain(kind),
            Piece::plain(numbers::count(one.executions)),
            Piece::plain(numbers::time(one.elapsed_p50_ns)),
            Piece::plain(one.paired_with.map_or_else(String::new, |pair| format!("normal {pair}"))),
            Piece::plain(one.silhouette.map_or_else(String::new, numbers::ratio)),
            Piece::plain(if sample { numbers::count(one.anomalous) } else { String::new() }),
            Piece::plain(names::list(&one.labels, 3, 20)),
        ]);
        if !one.remark.is_empty() {
            table.note("", spoken(&one.remark));
        }
    }
    table.print(page);
    more(page, report.clusters.len(), ROWS, "kinds");
}

fn basis(page: &mut Page, report: &KernelDiagnosis) {
    page.heading("What this rests on", "");
    let lead = [Piece::plain("  ")];
    page.wrapped(&lead, &[Piece::plain(report.input.sentence())]);
    page.sentence(&lead, &format!("Normal: {}.", set_words(&report.normal)), Paint::Plain, Paint::Strong);
    page.sentence(&lead, &format!("Sample: {}.", set_words(&report.sample)), Paint::Plain, Paint::Strong);
    page.sentence(&lead, &report.question, Paint::Plain, Paint::Strong);
    page.wrapped(&lead, &[Piece::plain(format!("Method: {}.", names::label(&report.method, 200)))]);
}
