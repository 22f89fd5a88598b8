//! The contents of a kernel trace: its CPUs, threads, and events.

use super::phrases::{clock_time, thread};
use super::{PREVIEW, ROWS, name_if_any, quoted, recorded, time, traces};
use crate::document::{
    Cell, CellKind, Detail, Document, Figure, PageLink, Prose, Section, Sentences, SpanStyle, Table,
    TableRow, Tone, cautions, columns, losses,
};
use crate::render::Present;
use crate::{CpuTime, EventCount, KernelStatsReport, SwitchingThread, WakeupLatency, WakingPair};

impl Present for KernelStatsReport {
    fn present(&self) -> Document {
        let events = self.input.traces.iter().map(|trace| trace.events).sum();
        let read = Sentences::paragraphs([Prose::from(self.input.sentence())]);
        let name = |row: &EventCount| Cell::name(SpanStyle::Operation, &row.name);
        let delimiter =
            |row: &EventCount| name(row).page(PageLink::Executions { delimiter: row.name.clone() });
        let delimiters =
            counts("delimiters", "Executions by delimiter", "Delimiters", &self.delimiters, delimiter);
        let sections = [
            delimiters.map(|section| section.remark("for --executions")),
            Some(Section::new("traces", "Traces").detail(Detail::Full).block(traces(&self.input))),
            (!self.cpus.is_empty()).then(|| cpus(self)),
            (!self.threads.is_empty()).then(|| threads(self)),
            (!self.delays.is_empty()).then(|| delays(self)),
            (!self.wakings.is_empty()).then(|| wakings(self)),
            counts("events", "Events", "Kinds of events", &self.events, name)
                .map(|section| section.detail(Detail::Full)),
            cautions(&self.cautions),
            Some(losses(&self.input.losses)),
            Some(Section::new("basis", "What this is based on").block(read)),
        ];
        Document {
            time: recorded(&self.input),
            figures: vec![
                Figure::new("Events", Cell::count(events), ""),
                Figure::new("CPUs", Cell::count(self.cpus.len() as u64), ""),
                Figure::new("Threads", Cell::count(self.threads.len() as u64 + self.threads_left_out), ""),
            ],
            ..Document::new((Tone::Neutral, "Kernel trace"), &self.headline, sections)
        }
    }
}

fn counts(
    id: &str,
    title: &str,
    caption: &str,
    rows: &[EventCount],
    name: impl Fn(&EventCount) -> Cell,
) -> Option<Section> {
    let columns = columns![Number "number", Name "name"];
    let row = |row: &EventCount| TableRow::new([Cell::count(row.count), name(row)]);
    let table = Table::new(caption, &columns).preview(PREVIEW).at_most(ROWS, rows, row);
    (!rows.is_empty()).then(|| Section::new(id, title).block(table))
}

fn cpus(report: &KernelStatsReport) -> Section {
    let columns = columns![
        Number "CPU", Name "host", Number "busy", Graphic "", Number "in threads", Number "idle",
        Number "switches", Number "events"
    ];
    let row = |cpu: &CpuTime| {
        let share = cpu.busy_ns as f64 / (cpu.busy_ns + cpu.idle_ns).max(1) as f64;
        TableRow::new([
            Cell::count(cpu.cpu.into()),
            name_if_any(SpanStyle::Replica, &cpu.host),
            Cell::share(share),
            Cell::bar(share),
            time(cpu.busy_ns),
            time(cpu.idle_ns),
            Cell::count(cpu.switches),
            Cell::count(cpu.events),
        ])
    };
    let table = Table::new("CPUs", &columns).preview(PREVIEW).at_most(ROWS, &report.cpus, row);
    Section::new("cpus", "CPUs").detail(Detail::Full).block(table)
}

fn threads(report: &KernelStatsReport) -> Section {
    let columns = columns![
        Name "thread", Number "ran", Number "waited for a CPU", Number "switches", Number "woken"
    ];
    let row = |row: &SwitchingThread| {
        TableRow::new([
            quoted(&thread(&row.thread, Some(row.tid), &row.host)),
            time(row.running_ns),
            time(row.waiting_ns),
            Cell::count(row.switches),
            Cell::count(row.wakeups),
        ])
    };
    let mut table = Table::new("Threads", &columns).preview(PREVIEW).at_most(ROWS, &report.threads, row);
    table.omitted += report.threads_left_out;
    Section::new("threads", "Threads").remark("those that ran longest").block(table)
}

/// How long threads waited for a CPU after they were woken.
fn delays(report: &KernelStatsReport) -> Section {
    let columns = columns![
        Name "thread", Number "wake-ups", Number "median", Number "p95", Number "longest", Number "longest from",
        Number "in all"
    ];
    let row = |row: &WakeupLatency| {
        TableRow::new([
            quoted(&thread(&row.thread, Some(row.tid), &row.host)),
            Cell::count(row.count),
            time(row.median_ns),
            time(row.p95_ns),
            time(row.longest_ns),
            Cell::worded(CellKind::Number, clock_time(row.longest_since_ns), row.longest_since_ns as f64),
            time(row.total_ns),
        ])
    };
    let mut table = Table::new("Threads woken", &columns).preview(PREVIEW).at_most(ROWS, &report.delays, row);
    table.omitted += report.delays_left_out;
    Section::new("delays", "Wake-up latency")
        .remark("from being woken to running; the longest in all first")
        .block(table)
}

fn wakings(report: &KernelStatsReport) -> Section {
    let columns = columns![Number "times", Name "waker", Name "woken"];
    let row = |pair: &WakingPair| {
        let names = [&pair.waker, &pair.woken].map(|name| Cell::name(SpanStyle::Name, name));
        TableRow::new(std::iter::once(Cell::count(pair.count)).chain(names))
    };
    let table = Table::new("Pairs", &columns).preview(PREVIEW).at_most(ROWS, &report.wakings, row);
    Section::new("wakings", "Who wakes whom").detail(Detail::Full).block(table)
}
