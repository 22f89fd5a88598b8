//! What kernel traces say, for an incident channel: forty lines at most.

use super::words::{
    execution_name, instant, judged_thread, kernel_verdict_word, row_name, step_place, step_word, thread,
};
use super::{KernelDiagnosis, KernelPathReport, KernelStatsReport, KernelVerdict};
use crate::markdown::{code, losses, prose, row, sentence, shown_of, table};
use crate::numbers;
use laggard_model::Losses;
use std::io;

/// Rows of tables and lines of lists; together they stay within forty lines.
const CAUSES: usize = 6;
const WAITS: usize = 6;
const WORKERS: usize = 4;
const EXECUTIONS: usize = 3;
const STEPS: usize = 3;
const ABNORMAL: usize = 4;
const COARSE: usize = 3;
const REMARKS: usize = 2;
const ROWS: usize = 8;

pub(super) fn path(report: &KernelPathReport, out: &mut dyn io::Write) -> io::Result<()> {
    let causes = report.causes.iter().take(CAUSES).map(|one| {
        row(&[one.cause.word().to_owned(), numbers::time(one.total_ns), numbers::share(one.share)])
    });
    let title = shown_of("longest waits", WAITS, report.waits.len());
    let waits = report.waits.iter().take(WAITS).map(|wait| {
        let words = format!("{} {}", code(&wait.thread), sentence(&wait.words));
        row(&[words, numbers::time(wait.longest_ns), numbers::share(wait.share)])
    });
    let on_path = shown_of("thread on the path", WORKERS, report.workers.len());
    let workers = report.workers.iter().take(WORKERS).map(|worker| {
        let name = sentence(&thread(&worker.thread, worker.tid, &worker.host));
        row(&[name, numbers::time(worker.total_ns), numbers::share(worker.share)])
    });
    let blocks = [
        vec!["### Laggard: critical path".to_owned(), String::new(), sentence(&report.headline)],
        table(&["time went to", "", "share"], "l r r", causes),
        table(&[&title, "longest", "share"], "l r r", waits),
        table(&[&on_path, "", "share"], "l r r", workers),
        remarks(&report.missing, &report.cautions, &report.input.losses),
        vec![format!("{} {}", prose(&report.input.sentence()), sentence(&report.question))],
    ];
    write(&blocks, out)
}

pub(super) fn diagnosis(report: &KernelDiagnosis, out: &mut dyn io::Write) -> io::Result<()> {
    let verdict = kernel_verdict_word(report.verdict).to_lowercase();
    let told = usize::from(report.verdict == KernelVerdict::InsufficientData).min(report.missing.len());
    let blocks = [
        vec![format!("### Laggard: {verdict}"), String::new(), sentence(&report.headline)],
        waits(report),
        steps(report),
        executions(report),
        coarse(report),
        remarks(&report.missing[told..], &report.cautions, &report.input.losses),
        vec![format!(
            "{} {} Method: {}.",
            prose(&report.input.sentence()),
            sentence(&report.question),
            prose(&report.method)
        )],
    ];
    write(&blocks, out)
}

fn waits(report: &KernelDiagnosis) -> Vec<String> {
    let title = shown_of("what they wait for", ABNORMAL, report.waits.len());
    let rows = report.waits.iter().take(ABNORMAL).map(|wait| {
        row(&[
            format!("{} {}", code(&wait.thread), sentence(&wait.words)),
            numbers::count(wait.executions),
            numbers::share(wait.share),
        ])
    });
    table(&[&title, "executions", "of the excess"], "l r r", rows)
}

fn steps(report: &KernelDiagnosis) -> Vec<String> {
    let title = shown_of("where", STEPS, report.steps.len());
    let rows = report.steps.iter().take(STEPS).map(|step| {
        row(&[
            step_place(step),
            step_word(step.kind).to_owned(),
            format!("{} {}", code(&step.thread), sentence(&step.words)),
            format!("{} of {}", step.executions, step.of_executions),
            numbers::share(step.share),
        ])
    });
    table(&[&title, "", "what", "executions", "of the excess"], "l l l r r", rows)
}

fn executions(report: &KernelDiagnosis) -> Vec<String> {
    let title = shown_of("slower execution", EXECUTIONS, report.anomalous.len());
    let rows = report.anomalous.iter().take(EXECUTIONS).map(|one| {
        row(&[
            sentence(&execution_name(one.number, &one.label)),
            sentence(&judged_thread(one)),
            prose(&instant(one.since.as_deref(), one.since_ns)),
            numbers::time(one.elapsed_ns),
            numbers::time(one.expected_ns),
        ])
    });
    table(&[&title, "thread", "at", "takes", "usual"], "l l l r r", rows)
}

fn coarse(report: &KernelDiagnosis) -> Vec<String> {
    let fired = report.coarse.iter().filter(|row| row.fired && row.measure == "time");
    let rows = fired.take(COARSE).map(|one| {
        row(&[
            code(&row_name(report, one.letter)),
            numbers::time_float(one.normal_mean),
            numbers::time_float(one.sample_mean),
        ])
    });
    table(&["more time", "normal", "sample"], "l r r", rows)
}

pub(super) fn stats(report: &KernelStatsReport, out: &mut dyn io::Write) -> io::Result<()> {
    let title = shown_of("thread", ROWS, report.threads.len());
    let threads = report.threads.iter().take(ROWS).map(|one| {
        row(&[
            sentence(&thread(&one.thread, Some(one.tid), &one.host)),
            numbers::time(one.running_ns),
            numbers::time(one.waiting_ns),
            numbers::count(one.switches),
        ])
    });
    let delimiters =
        report.delimiters.iter().take(5).map(|one| row(&[code(&one.name), numbers::count(one.count)]));
    let blocks = [
        vec!["### Laggard: kernel trace".to_owned(), String::new(), sentence(&report.headline)],
        table(&[&title, "ran", "waited for a CPU", "switches"], "l r r r", threads),
        table(&["executions by", "number"], "l r", delimiters),
        remarks(&[], &report.cautions, &report.input.losses),
        vec![prose(&report.input.sentence())],
    ];
    write(&blocks, out)
}

fn remarks(missing: &[String], cautions: &[String], lost: &Losses) -> Vec<String> {
    let list = |name: &'static str, texts: &[String]| -> Vec<String> {
        texts.iter().take(REMARKS).map(|text| format!("- {name}: {}", sentence(text))).collect()
    };
    let mut lines = list("Missing", missing);
    lines.extend(list("Caution", cautions));
    lines.extend(losses(lost).map(|text| format!("- Lost, repaired or mistrusted: {text}")));
    lines
}

fn write(blocks: &[Vec<String>], out: &mut dyn io::Write) -> io::Result<()> {
    let blocks = blocks.iter().filter(|block| !block.is_empty());
    let text: Vec<String> = blocks.map(|block| block.join("\n")).collect();
    writeln!(out, "{}", text.join("\n\n"))
}
