//! Critical paths, for a person at a terminal.

use super::super::TextStyle;
use super::super::page::Page;
use super::super::paint::{Paint, Piece, bar};
use super::super::sections::{bullets, losses, more};
use super::super::table::{Fit, Table};
use super::{BAR, NAME_ROOM, ROWS, flat, page, spoken, timeline, verdict};
use crate::kernel::{KernelPathReport, WaitCause, execution_thread, instant, offset, thread};
use crate::{names, numbers};
use std::io;

/// Paths drawn.
const TIMELINES: usize = 2;

/// Single waits shown.
const LONGEST: usize = 8;

pub(crate) fn kernel_path(
    report: &KernelPathReport,
    style: &TextStyle,
    out: &mut dyn io::Write,
) -> io::Result<()> {
    let mut page = page(style);
    let (mark, word, paint) = match report.causes.first() {
        None => ("[?]", "No path", Paint::Unsure),
        Some(_) => ("[=]", "Critical path", Paint::Strong),
    };
    verdict(&mut page, mark, word, paint, &report.headline);
    bullets(&mut page, "What is missing", &report.missing, Paint::Unsure);
    causes(&mut page, report);
    waits(&mut page, report);
    longest(&mut page, report);
    workers(&mut page, report);
    states(&mut page, report);
    executions(&mut page, report);
    for one in report.timelines.iter().take(TIMELINES) {
        timeline::print(&mut page, one);
    }
    bullets(&mut page, "Cautions", &report.cautions, Paint::Unsure);
    losses(&mut page, &report.input.losses);
    page.heading("What this rests on", "");
    let lead = [Piece::plain("  ")];
    page.wrapped(&lead, &[Piece::plain(report.input.sentence())]);
    page.sentence(&lead, &report.question, Paint::Plain, Paint::Strong);
    out.write_all(page.finish().as_bytes())
}

fn causes(page: &mut Page, report: &KernelPathReport) {
    if report.causes.is_empty() {
        return;
    }
    page.heading("Where the time went", "");
    let columns = [
        ("", Fit::Fixed),
        ("time", Fit::Number),
        ("share", Fit::Number),
        ("", Fit::Fixed),
        ("pieces", Fit::Number),
    ];
    let mut table = Table::new(1, &columns);
    for one in &report.causes {
        let paint = if one.cause == WaitCause::Computing { Paint::Plain } else { Paint::Strong };
        table.row(vec![
            Piece::new(one.cause.word(), paint),
            Piece::plain(numbers::time(one.total_ns)),
            Piece::plain(numbers::share(one.share)),
            Piece::plain(bar(one.share, BAR)),
            Piece::plain(numbers::count(one.pieces)),
        ]);
    }
    table.print(page);
}

fn waits(page: &mut Page, report: &KernelPathReport) {
    if report.waits.is_empty() {
        return;
    }
    page.heading("What it waited for", "waits that are alike, together");
    let columns = [("share", Fit::Number), ("longest", Fit::Number), ("thread", Fit::Name)];
    let mut table = Table::new(1, &columns);
    for wait in report.waits.iter().take(ROWS) {
        table.row(vec![
            Piece::plain(numbers::share(wait.share)),
            Piece::plain(numbers::time(wait.longest_ns)),
            Piece::strong(names::label(&wait.thread, NAME_ROOM)),
        ]);
        table.note("", spoken(&wait.words));
    }
    table.print(page);
    more(page, report.waits.len(), ROWS, "kinds of waits");
}

fn longest(page: &mut Page, report: &KernelPathReport) {
    if report.longest.is_empty() {
        return;
    }
    page.heading("Longest single waits", "at: seconds of the trace's clock, or UTC");
    let columns = [
        ("for", Fit::Number),
        ("at", Fit::Fixed),
        ("into it", Fit::Number),
        ("thread", Fit::Name),
        ("", Fit::Name),
    ];
    let mut table = Table::new(1, &columns);
    for wait in report.longest.iter().take(LONGEST) {
        table.row(vec![
            Piece::strong(numbers::time(wait.elapsed_ns)),
            Piece::plain(instant(wait.since.as_deref(), wait.since_ns)),
            Piece::plain(offset(wait.offset_ns)),
            Piece::plain(flat(&thread(&wait.thread, wait.tid, ""))),
            Piece::plain(wait.cause.word()),
        ]);
        let named = [wait.waker.as_deref().map(|name| format!("waker {}", names::label(name, NAME_ROOM)))];
        let device =
            wait.resource.as_deref().map(|name| format!("resource {}", names::label(name, NAME_ROOM)));
        let known: Vec<String> = named.into_iter().chain([device]).flatten().collect();
        if !known.is_empty() {
            table.note("", vec![Piece::faint(known.join(", "))]);
        }
    }
    table.print(page);
    more(page, report.longest.len(), LONGEST, "waits");
}

fn workers(page: &mut Page, report: &KernelPathReport) {
    if report.workers.is_empty() {
        return;
    }
    page.heading("Threads on the path", "");
    let columns = [
        ("thread", Fit::Name),
        ("time", Fit::Number),
        ("share", Fit::Number),
        ("ran", Fit::Number),
        ("pre-empted", Fit::Number),
        ("other waits", Fit::Number),
    ];
    let mut table = Table::new(1, &columns);
    for worker in report.workers.iter().take(ROWS) {
        let name = flat(&thread(&worker.thread, worker.tid, &worker.host));
        let others = worker.states_ns[2..].iter().sum();
        table.row(vec![
            if worker.own { Piece::strong(name) } else { Piece::plain(name) },
            Piece::plain(numbers::time(worker.total_ns)),
            Piece::plain(numbers::share(worker.share)),
            Piece::plain(numbers::time(worker.states_ns[0])),
            Piece::plain(numbers::time(worker.states_ns[1])),
            Piece::plain(numbers::time(others)),
        ]);
    }
    table.print(page);
    more(page, report.workers.len() + report.workers_left_out as usize, ROWS, "threads");
}

fn states(page: &mut Page, report: &KernelPathReport) {
    if report.states.is_empty() {
        return;
    }
    page.heading("By state", "");
    let columns = [
        ("state", Fit::Fixed),
        ("of", Fit::Fixed),
        ("time", Fit::Number),
        ("share", Fit::Number),
        ("pieces", Fit::Number),
        ("longest", Fit::Number),
        ("CPU idle", Fit::Number),
    ];
    let mut table = Table::new(1, &columns);
    for one in &report.states {
        let idle = if one.idle_ns > 0 { numbers::time(one.idle_ns) } else { String::new() };
        table.row(vec![
            Piece::plain(one.state.word()),
            Piece::faint(if one.own { "itself" } else { "others" }),
            Piece::plain(numbers::time(one.total_ns)),
            Piece::plain(numbers::share(one.share)),
            Piece::plain(numbers::count(one.pieces)),
            Piece::plain(numbers::time(one.longest_ns)),
            Piece::plain(idle),
        ]);
    }
    table.print(page);
}

fn executions(page: &mut Page, report: &KernelPathReport) {
    if report.executions.len() < 2 {
        return;
    }
    page.heading("Executions", "the slowest first; --execution N shows one");
    let columns = [
        ("#", Fit::Number),
        ("takes", Fit::Number),
        ("at", Fit::Fixed),
        ("label", Fit::Name),
        ("thread", Fit::Name),
        ("mostly", Fit::Fixed),
    ];
    let mut table = Table::new(1, &columns);
    let mut order: Vec<usize> = (0..report.executions.len()).collect();
    order.sort_by_key(|&at| (std::cmp::Reverse(report.executions[at].elapsed_ns), at));
    for one in order.into_iter().take(ROWS).map(|at| &report.executions[at]) {
        let share = one.dominant_ns as f64 / one.elapsed_ns.max(1) as f64;
        table.row(vec![
            Piece::plain(one.number.to_string()),
            Piece::strong(numbers::time(one.elapsed_ns)),
            Piece::plain(instant(one.since.as_deref(), one.since_ns)),
            Piece::plain(if one.label.is_empty() {
                String::new()
            } else {
                names::label(&one.label, NAME_ROOM)
            }),
            Piece::plain(flat(&execution_thread(one))),
            Piece::plain(format!("{} {}", one.dominant.word(), numbers::share(share))),
        ]);
    }
    table.print(page);
    more(page, report.executions.len() + report.executions_left_out as usize, ROWS, "executions");
}
