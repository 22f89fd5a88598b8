//! What a kernel trace holds, for a person at a terminal.

use super::super::TextStyle;
use super::super::page::Page;
use super::super::paint::{Paint, Piece, bar};
use super::super::sections::{bullets, losses, more};
use super::super::table::{Fit, Table};
use super::{BAR, NAME_ROOM, ROWS, flat, page, verdict};
use crate::kernel::{EventCount, KernelStatsReport, thread};
use crate::{names, numbers};
use std::io;

pub(crate) fn kernel_stats(
    report: &KernelStatsReport,
    style: &TextStyle,
    out: &mut dyn io::Write,
) -> io::Result<()> {
    let mut page = page(style);
    verdict(&mut page, "[=]", "Kernel trace", Paint::Strong, &report.headline);
    counts(&mut page, "Executions by delimiter", "for --executions", &report.delimiters, "delimiters");
    traces(&mut page, report);
    cpus(&mut page, report);
    threads(&mut page, report);
    wakings(&mut page, report);
    counts(&mut page, "Events", "", &report.events, "kinds of events");
    bullets(&mut page, "Cautions", &report.cautions, Paint::Unsure);
    losses(&mut page, &report.input.losses);
    out.write_all(page.finish().as_bytes())
}

fn traces(page: &mut Page, report: &KernelStatsReport) {
    page.heading("Traces", "");
    let columns = [
        ("trace", Fit::Name),
        ("format", Fit::Name),
        ("events", Fit::Number),
        ("length", Fit::Number),
        ("clock", Fit::Name),
        ("size", Fit::Number),
    ];
    let mut table = Table::new(1, &columns);
    for one in report.input.traces.iter().take(ROWS) {
        table.row(vec![
            Piece::strong(names::label(&one.path, 60)),
            Piece::plain(names::label(&one.format, 20)),
            Piece::plain(numbers::count(one.events)),
            Piece::plain(numbers::time(one.until_ns.saturating_sub(one.since_ns))),
            Piece::plain(if one.clock.is_empty() { String::new() } else { names::label(&one.clock, 12) }),
            Piece::plain(numbers::bytes(one.bytes)),
        ]);
        let told = [
            one.host.as_ref().map(|host| format!("host {}", names::label(host, 40))),
            one.kernel.as_ref().map(|kernel| format!("kernel {}", names::label(kernel, 40))),
            one.since.as_ref().map(|since| format!("from {}", names::label(since, 40))),
        ];
        let told: Vec<String> = told.into_iter().flatten().collect();
        if !told.is_empty() {
            table.note("", vec![Piece::faint(told.join(", "))]);
        }
    }
    table.print(page);
    more(page, report.input.traces.len(), ROWS, "traces");
}

fn cpus(page: &mut Page, report: &KernelStatsReport) {
    page.heading("CPUs", "");
    let columns = [
        ("CPU", Fit::Number),
        ("host", Fit::Name),
        ("busy", Fit::Number),
        ("", Fit::Fixed),
        ("in threads", Fit::Number),
        ("idle", Fit::Number),
        ("switches", Fit::Number),
        ("events", Fit::Number),
    ];
    let mut table = Table::new(1, &columns);
    for one in report.cpus.iter().take(ROWS) {
        let share = one.busy_ns as f64 / (one.busy_ns + one.idle_ns).max(1) as f64;
        table.row(vec![
            Piece::plain(one.cpu.to_string()),
            Piece::plain(if one.host.is_empty() {
                String::new()
            } else {
                names::label(&one.host, NAME_ROOM)
            }),
            Piece::plain(numbers::share(share)),
            Piece::plain(bar(share, BAR)),
            Piece::plain(numbers::time(one.busy_ns)),
            Piece::plain(numbers::time(one.idle_ns)),
            Piece::plain(numbers::count(one.switches)),
            Piece::plain(numbers::count(one.events)),
        ]);
    }
    table.print(page);
    more(page, report.cpus.len(), ROWS, "CPUs");
}

fn threads(page: &mut Page, report: &KernelStatsReport) {
    page.heading("Threads", "those that ran longest");
    let columns = [
        ("thread", Fit::Name),
        ("ran", Fit::Number),
        ("waited for a CPU", Fit::Number),
        ("switches", Fit::Number),
        ("woken", Fit::Number),
    ];
    let mut table = Table::new(1, &columns);
    for one in report.threads.iter().take(ROWS) {
        table.row(vec![
            Piece::strong(flat(&thread(&one.thread, Some(one.tid), &one.host))),
            Piece::plain(numbers::time(one.running_ns)),
            Piece::plain(numbers::time(one.waiting_ns)),
            Piece::plain(numbers::count(one.switches)),
            Piece::plain(numbers::count(one.wakeups)),
        ]);
    }
    table.print(page);
    more(page, report.threads.len() + report.threads_left_out as usize, ROWS, "threads");
}

fn wakings(page: &mut Page, report: &KernelStatsReport) {
    if report.wakings.is_empty() {
        return;
    }
    page.heading("Who wakes whom", "");
    let mut table = Table::new(1, &[("times", Fit::Number), ("waker", Fit::Name), ("woken", Fit::Name)]);
    for one in report.wakings.iter().take(ROWS) {
        table.row(vec![
            Piece::plain(numbers::count(one.count)),
            Piece::plain(names::label(&one.waker, NAME_ROOM)),
            Piece::plain(names::label(&one.woken, NAME_ROOM)),
        ]);
    }
    table.print(page);
    more(page, report.wakings.len(), ROWS, "pairs");
}

fn counts(page: &mut Page, title: &str, remark: &str, rows: &[EventCount], what: &str) {
    if rows.is_empty() {
        return;
    }
    page.heading(title, remark);
    let mut table = Table::new(1, &[("number", Fit::Number), ("", Fit::Name)]);
    for one in rows.iter().take(ROWS) {
        table.row(vec![Piece::plain(numbers::count(one.count)), Piece::strong(names::label(&one.name, 70))]);
    }
    table.print(page);
    more(page, rows.len(), ROWS, what);
}
