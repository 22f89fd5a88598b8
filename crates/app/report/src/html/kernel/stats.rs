//! What a kernel trace holds, as a page.

use super::super::basis;
use super::super::markup::Markup;
use super::super::overview::VerdictCard;
use super::{Column, ROWS, Section, Top, number, path, rest, share_cell, table, write_page};
use crate::kernel::{EventCount, KernelStatsReport, thread};
use crate::{names, numbers};
use std::io;

/// The page from top to bottom.
const SECTIONS: [Section<KernelStatsReport>; 7] = [
    Section {
        id: "delimiters",
        title: "Executions by delimiter",
        has: |r| !r.delimiters.is_empty(),
        write: |m, r| counts(m, "Delimiters, for --executions", &r.delimiters),
    },
    Section { id: "traces", title: "Traces", has: |_| true, write: |m, r| path::traces(m, &r.input) },
    Section { id: "cpus", title: "CPUs", has: |r| !r.cpus.is_empty(), write: cpus },
    Section { id: "threads", title: "Threads", has: |r| !r.threads.is_empty(), write: threads },
    Section { id: "wakings", title: "Who wakes whom", has: |r| !r.wakings.is_empty(), write: wakings },
    Section {
        id: "events",
        title: "Events",
        has: |r| !r.events.is_empty(),
        write: |m, r| counts(m, "Events by kind", &r.events),
    },
    Section {
        id: "losses",
        title: "Lost, repaired or mistrusted",
        has: |_| true,
        write: |m, r| basis::losses(m, &r.input.losses),
    },
];

/// Writes what a trace holds as one HTML page without any reference to the outside. Text from the input is escaped.
///
/// # Errors
/// Those of `out`.
pub(crate) fn kernel_stats(report: &KernelStatsReport, out: &mut dyn io::Write) -> io::Result<()> {
    let events: u64 = report.input.traces.iter().map(|trace| trace.events).sum();
    let card = VerdictCard {
        class: "verdict plain-verdict",
        word: "Kernel trace",
        headline: &report.headline,
        figures: vec![
            ("Events", numbers::count(events), String::new()),
            ("CPUs", numbers::count(report.cpus.len() as u64), String::new()),
            ("Threads", numbers::count(report.threads.len() as u64 + report.threads_left_out), String::new()),
        ],
    };
    let top = Top { card, input: &report.input, missing: &[], cautions: &report.cautions };
    write_page(report, top, &SECTIONS, out)
}

fn counts(m: &mut Markup, caption: &'static str, rows: &[EventCount]) {
    table(m, caption, &[Column::Text("name"), Column::Number("number")], |m| {
        for one in rows.iter().take(ROWS) {
            m.open("tr", &[]);
            m.within("th", &[("scope", "row")], |m| m.name("operation", &one.name, 80));
            number(m, &numbers::count(one.count), one.count as f64);
            m.close("tr");
        }
    });
    rest(m, rows.len(), ROWS, "rows");
}

fn cpus(m: &mut Markup, report: &KernelStatsReport) {
    let columns = [
        Column::Number("CPU"),
        Column::Text("host"),
        Column::Number("busy"),
        Column::Number("in threads"),
        Column::Number("idle"),
        Column::Number("switches"),
        Column::Number("events"),
    ];
    table(m, "CPUs", &columns, |m| {
        for one in report.cpus.iter().take(ROWS) {
            let share = one.busy_ns as f64 / (one.busy_ns + one.idle_ns).max(1) as f64;
            m.open("tr", &[]);
            number(m, &one.cpu.to_string(), f64::from(one.cpu));
            let host = if one.host.is_empty() { String::new() } else { names::label(&one.host, 40) };
            m.element("td", &[], &host);
            share_cell(m, share);
            for ns in [one.busy_ns, one.idle_ns] {
                number(m, &numbers::time(ns), ns as f64);
            }
            for count in [one.switches, one.events] {
                number(m, &numbers::count(count), count as f64);
            }
            m.close("tr");
        }
    });
    rest(m, report.cpus.len(), ROWS, "CPUs");
}

fn threads(m: &mut Markup, report: &KernelStatsReport) {
    let columns = [
        Column::Text("thread"),
        Column::Number("ran"),
        Column::Number("waited for a CPU"),
        Column::Number("switches"),
        Column::Number("woken"),
    ];
    m.open("div", &[("class", "tall")]);
    table(m, "Threads", &columns, |m| {
        for one in report.threads.iter().take(ROWS) {
            m.open("tr", &[]);
            let name = thread(&one.thread, Some(one.tid), &one.host);
            m.within("th", &[("scope", "row")], |m| m.sentence(&name));
            for ns in [one.running_ns, one.waiting_ns] {
                number(m, &numbers::time(ns), ns as f64);
            }
            for count in [one.switches, one.wakeups] {
                number(m, &numbers::count(count), count as f64);
            }
            m.close("tr");
        }
    });
    m.close("div");
    let all = report.threads.len() + report.threads_left_out as usize;
    rest(m, all, ROWS.min(report.threads.len()), "threads");
}

fn wakings(m: &mut Markup, report: &KernelStatsReport) {
    table(
        m,
        "Who wakes whom",
        &[Column::Text("waker"), Column::Text("woken"), Column::Number("times")],
        |m| {
            for one in report.wakings.iter().take(ROWS) {
                m.open("tr", &[]);
                m.within("th", &[("scope", "row")], |m| m.name("operation", &one.waker, 40));
                m.within("td", &[], |m| m.name("operation", &one.woken, 40));
                number(m, &numbers::count(one.count), one.count as f64);
                m.close("tr");
            }
        },
    );
    rest(m, report.wakings.len(), ROWS, "pairs");
}
