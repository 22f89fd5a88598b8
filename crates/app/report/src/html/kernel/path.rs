//! Critical paths as a page.

use super::super::markup::Markup;
use super::super::overview::VerdictCard;
use super::super::{NAME_ROOM, basis, remark};
use super::{Column, ROWS, Section, Top, number, rest, share_cell, table, timeline, write_page};
use crate::kernel::{KernelPathReport, WaitCause, execution_thread, instant, thread};
use crate::{names, numbers};
use std::io;

/// The page from top to bottom, below the answer.
const SECTIONS: [Section<KernelPathReport>; 8] = [
    Section {
        id: "paths",
        title: "The path, piece by piece",
        has: |r| !r.timelines.is_empty(),
        write: timelines,
    },
    Section { id: "causes", title: "Where the time went", has: |r| !r.causes.is_empty(), write: causes },
    Section { id: "waits", title: "What it waited for", has: |r| !r.waits.is_empty(), write: waits },
    Section { id: "longest", title: "Longest single waits", has: |r| !r.longest.is_empty(), write: longest },
    Section { id: "threads", title: "Threads on the path", has: |r| !r.workers.is_empty(), write: workers },
    Section { id: "executions", title: "Executions", has: |r| r.executions.len() > 1, write: executions },
    Section {
        id: "losses",
        title: "Lost, repaired or mistrusted",
        has: |_| true,
        write: |m, r| basis::losses(m, &r.input.losses),
    },
    Section { id: "basis", title: "What this rests on", has: |_| true, write: rests_on },
];

/// Writes critical paths as one HTML page without any reference to the outside. Text from the input is escaped.
///
/// # Errors
/// Those of `out`.
pub(crate) fn kernel_path(report: &KernelPathReport, out: &mut dyn io::Write) -> io::Result<()> {
    let class = if report.causes.is_empty() { "verdict unsure" } else { "verdict plain-verdict" };
    let word = if report.causes.is_empty() { "No path" } else { "Critical path" };
    let card = VerdictCard { class, word, headline: &report.headline, figures: figures(report) };
    let top = Top { card, input: &report.input, missing: &report.missing, cautions: &report.cautions };
    write_page(report, top, &SECTIONS, out)
}

fn figures(report: &KernelPathReport) -> Vec<(&'static str, String, String)> {
    let mut figures = vec![("In all", numbers::time(report.total_ns), String::new())];
    for one in report.causes.iter().take(3) {
        let name = match one.cause {
            WaitCause::Computing => "Computing",
            WaitCause::OtherThread => "Other threads",
            WaitCause::CpuQuota => "CPU quota",
            WaitCause::CpuBusy => "Waiting for a CPU",
            WaitCause::CpuWakeUp => "Waking CPUs",
            WaitCause::Disk => "Disk",
            WaitCause::Network => "Network",
            WaitCause::Timer => "Timer",
            WaitCause::Interrupt => "Interrupts",
            WaitCause::Person => "User input",
            WaitCause::Unresolved => "Blocked",
            WaitCause::Unknown => "Unknown",
        };
        figures.push((name, numbers::share(one.share), numbers::time(one.total_ns)));
    }
    figures.push(("Executions", numbers::count(report.executions.len() as u64), String::new()));
    figures.push((
        "Threads",
        numbers::count(report.workers.len() as u64 + report.workers_left_out),
        String::new(),
    ));
    figures
}

fn timelines(m: &mut Markup, report: &KernelPathReport) {
    for (at, one) in report.timelines.iter().enumerate().take(4) {
        timeline::write(m, one, &format!("path-{at}"));
    }
}

fn causes(m: &mut Markup, report: &KernelPathReport) {
    let columns =
        [Column::Text("for"), Column::Number("time"), Column::Number("share"), Column::Number("pieces")];
    table(m, "Time by cause", &columns, |m| {
        for one in &report.causes {
            m.open("tr", &[]);
            m.element("th", &[("scope", "row")], one.cause.word());
            number(m, &numbers::time(one.total_ns), one.total_ns as f64);
            share_cell(m, one.share);
            number(m, &numbers::count(one.pieces), one.pieces as f64);
            m.close("tr");
        }
    });
    m.open("details", &[("class", "fold")]);
    m.element("summary", &[], "By state");
    let columns = [
        Column::Text("state"),
        Column::Text("of"),
        Column::Number("time"),
        Column::Number("share"),
        Column::Number("pieces"),
        Column::Number("longest"),
        Column::Number("while the CPU was idle"),
    ];
    table(m, "Time by state", &columns, |m| {
        for one in &report.states {
            m.open("tr", &[]);
            m.element("th", &[("scope", "row")], one.state.word());
            m.element("td", &[], if one.own { "itself" } else { "others" });
            number(m, &numbers::time(one.total_ns), one.total_ns as f64);
            number(m, &numbers::share(one.share), one.share);
            number(m, &numbers::count(one.pieces), one.pieces as f64);
            number(m, &numbers::time(one.longest_ns), one.longest_ns as f64);
            number(m, &numbers::time(one.idle_ns), one.idle_ns as f64);
            m.close("tr");
        }
    });
    m.close("details");
}

fn waits(m: &mut Markup, report: &KernelPathReport) {
    remark(m, "Waits that are alike, together.");
    let columns = [
        Column::Text("thread"),
        Column::Text("what"),
        Column::Number("share"),
        Column::Number("longest"),
        Column::Number("times"),
    ];
    table(m, "Waits by kind", &columns, |m| {
        for wait in report.waits.iter().take(ROWS) {
            m.open("tr", &[]);
            m.within("th", &[("scope", "row")], |m| m.name("operation", &wait.thread, NAME_ROOM));
            m.within("td", &[("class", "words")], |m| m.sentence(&wait.words));
            share_cell(m, wait.share);
            number(m, &numbers::time(wait.longest_ns), wait.longest_ns as f64);
            number(m, &numbers::count(wait.count), wait.count as f64);
            m.close("tr");
        }
    });
    rest(m, report.waits.len(), ROWS, "kinds of waits");
}

fn longest(m: &mut Markup, report: &KernelPathReport) {
    let columns = [
        Column::Number("for"),
        Column::Text("thread"),
        Column::Text("what"),
        Column::Text("at"),
        Column::Number("into it"),
        Column::Number("execution"),
        Column::Text("waker"),
        Column::Text("resource"),
    ];
    table(m, "Longest single waits", &columns, |m| {
        for wait in report.longest.iter().take(ROWS) {
            m.open("tr", &[]);
            number(m, &numbers::time(wait.elapsed_ns), wait.elapsed_ns as f64);
            m.within("th", &[("scope", "row")], |m| m.sentence(&thread(&wait.thread, wait.tid, "")));
            m.element("td", &[], wait.cause.word());
            m.element("td", &[("class", "number")], &instant(wait.since.as_deref(), wait.since_ns));
            number(m, &numbers::time(wait.offset_ns), wait.offset_ns as f64);
            number(m, &wait.execution.to_string(), wait.execution as f64);
            for name in [&wait.waker, &wait.resource] {
                m.within("td", &[], |m| {
                    if let Some(name) = name {
                        m.name("example", name, 40);
                    }
                });
            }
            m.close("tr");
        }
    });
}

fn workers(m: &mut Markup, report: &KernelPathReport) {
    let columns = [
        Column::Text("thread"),
        Column::Number("time"),
        Column::Number("share"),
        Column::Number("ran"),
        Column::Number("pre-empted"),
        Column::Number("other waits"),
        Column::Number("pieces"),
    ];
    table(m, "Threads on the path", &columns, |m| {
        for worker in report.workers.iter().take(ROWS) {
            let others: u64 = worker.states_ns[2..].iter().sum();
            m.open("tr", &[]);
            let own = if worker.own { " (the thread itself)" } else { "" };
            let name = format!("{}{own}", thread(&worker.thread, worker.tid, &worker.host));
            m.within("th", &[("scope", "row")], |m| m.sentence(&name));
            number(m, &numbers::time(worker.total_ns), worker.total_ns as f64);
            share_cell(m, worker.share);
            for ns in [worker.states_ns[0], worker.states_ns[1], others] {
                number(m, &numbers::time(ns), ns as f64);
            }
            number(m, &numbers::count(worker.pieces), worker.pieces as f64);
            m.close("tr");
        }
    });
    rest(
        m,
        report.workers.len() + report.workers_left_out as usize,
        ROWS.min(report.workers.len()),
        "threads",
    );
}

fn executions(m: &mut Markup, report: &KernelPathReport) {
    remark(m, "In order of time; a click on a title sorts. --execution N shows one.");
    let columns = [
        Column::Number("#"),
        Column::Number("takes"),
        Column::Text("label"),
        Column::Text("thread"),
        Column::Text("at"),
        Column::Text("mostly"),
        Column::Number("pieces"),
    ];
    m.open("div", &[("class", "tall")]);
    table(m, "Executions", &columns, |m| {
        for one in report.executions.iter().take(ROWS) {
            m.open("tr", &[]);
            number(m, &one.number.to_string(), one.number as f64);
            number(m, &numbers::time(one.elapsed_ns), one.elapsed_ns as f64);
            m.within("th", &[("scope", "row")], |m| {
                if !one.label.is_empty() {
                    m.name("operation", &one.label, NAME_ROOM);
                }
            });
            m.within("td", &[], |m| m.sentence(&execution_thread(one)));
            m.element("td", &[("class", "number")], &instant(one.since.as_deref(), one.since_ns));
            let share = one.dominant_ns as f64 / one.elapsed_ns.max(1) as f64;
            m.element("td", &[], &format!("{} {}", one.dominant.word(), numbers::share(share)));
            number(m, &numbers::count(one.pieces), one.pieces as f64);
            m.close("tr");
        }
    });
    m.close("div");
    let all = report.executions.len() + report.executions_left_out as usize;
    rest(m, all, ROWS.min(report.executions.len()), "executions");
}

fn rests_on(m: &mut Markup, report: &KernelPathReport) {
    m.element("p", &[], &report.input.sentence());
    m.within("p", &[], |m| m.sentence(&report.question));
    traces(m, &report.input);
    super::settings(m, &report.settings);
}

/// The traces in short.
pub(super) fn traces(m: &mut Markup, input: &crate::kernel::KernelInput) {
    let columns = [
        Column::Text("trace"),
        Column::Text("format"),
        Column::Text("host"),
        Column::Text("clock"),
        Column::Number("CPUs"),
        Column::Number("events"),
        Column::Number("length"),
    ];
    table(m, "Traces", &columns, |m| {
        for one in input.traces.iter().take(ROWS) {
            let length = one.until_ns.saturating_sub(one.since_ns);
            m.open("tr", &[]);
            m.within("th", &[("scope", "row")], |m| m.name("example", &one.path, NAME_ROOM));
            m.element("td", &[], &names::label(&one.format, 30));
            let host = one.host.as_deref().map_or_else(String::new, |host| names::label(host, 40));
            m.element("td", &[], &host);
            m.element("td", &[], if one.clock.is_empty() { "" } else { &one.clock });
            number(m, &one.cpus.to_string(), f64::from(one.cpus));
            number(m, &numbers::count(one.events), one.events as f64);
            number(m, &numbers::time(length), length as f64);
            m.close("tr");
        }
    });
}
