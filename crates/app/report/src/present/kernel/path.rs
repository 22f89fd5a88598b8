//! Critical paths: where the time of executions went, and what they waited for.

use super::call_stacks::stack_notes;
use super::phrases::{instant, offset, thread, thread_in};
use super::{PREVIEW, ROWS, basis_section, name_if_any, quoted, recorded, time, time_if_any, timeline};
use crate::document::{
    Block, Cell, CellKind, Detail, Document, Figure, Prose, Section, SpanStyle, Table, TableRow, Tone,
    cautions, columns, losses, missing,
};
use crate::render::Present;
use crate::{
    CallTime, CausedTime, ExecutionSummary, KernelPathReport, StateTime, WaitGroup, WaitInstance, WorkerTime,
    numbers,
};

/// Single waits in text.
const LONGEST: u32 = 8;

impl Present for KernelPathReport {
    fn present(&self) -> Document {
        let found = !self.causes.is_empty();
        let sections = [
            missing(&self.missing),
            found.then(|| causes(self)),
            (!self.waits.is_empty()).then(|| waits(self)),
            (!self.calls.is_empty()).then(|| calls(self)),
            (!self.longest.is_empty()).then(|| longest(self)),
            (!self.workers.is_empty()).then(|| workers(self)),
            (!self.states.is_empty()).then(|| states(self)),
            (self.executions.len() > 1).then(|| executions(self)),
            timeline::section(&self.timelines, "Critical path, segment by segment"),
            cautions(&self.cautions),
            Some(losses(&self.input.losses)),
            Some(basis_section(&self.input, vec![Prose::quoted(&self.question)], &self.settings)),
        ];
        let verdict = if found { (Tone::Neutral, "Critical path") } else { (Tone::Unsure, "No path") };
        Document {
            time: recorded(&self.input),
            figures: figures(self),
            ..Document::new(verdict, &self.headline, sections)
        }
    }
}

fn figures(report: &KernelPathReport) -> Vec<Figure> {
    let mut figures = vec![Figure::new("In all", time(report.total_ns), "")];
    let causes = report.causes.iter().take(3);
    figures.extend(causes.map(|cause| {
        Figure::new(cause.cause.word(), Cell::share(cause.share), numbers::time(cause.total_ns))
    }));
    let threads = report.workers.len() as u64 + report.workers_left_out;
    figures.push(Figure::new("Executions", Cell::count(report.executions.len() as u64), ""));
    figures.push(Figure::new("Threads", Cell::count(threads), ""));
    figures
}

fn causes(report: &KernelPathReport) -> Section {
    let columns = columns![Text "cause", Number "time", Number "share", Graphic "", Number "segments"];
    let row = |cause: &CausedTime| {
        TableRow::new([
            Cell::text(Prose::default().strong(cause.cause.word())),
            time(cause.total_ns),
            Cell::share(cause.share),
            Cell::bar(cause.share),
            Cell::count(cause.segments),
        ])
    };
    let table = Table::new("Causes", &columns).preview(PREVIEW).at_most(ROWS, &report.causes, row);
    Section::new("causes", "Where the time went").block(table)
}

fn waits(report: &KernelPathReport) -> Section {
    let columns = columns![
        Number "share", Number "in all", Number "longest", Number "times", Name "thread"
    ];
    let row = |wait: &WaitGroup| {
        let row = TableRow::new([
            Cell::share(wait.share),
            time(wait.total_ns),
            time(wait.longest_ns),
            Cell::count(wait.count),
            Cell::name(SpanStyle::Name, &wait.thread),
        ]);
        stack_notes(row.note(Detail::Summary, "", Prose::quoted(&wait.description)), &wait.stacks)
    };
    let table =
        Table::new("Kinds of waits", &columns).preview(PREVIEW).columns_for(Detail::Page, &["in all"]);
    let table = table.at_most(ROWS, &report.waits, row);
    Section::new("waits", "What it waited for").remark("similar waits are grouped").block(table)
}

fn calls(report: &KernelPathReport) -> Section {
    let columns = columns![
        Name "call", Number "time", Number "share", Graphic "", Number "calls", Number "longest", Number "ran",
        Text "mostly", Name "ended by"
    ];
    let row = |call: &CallTime| {
        let mostly =
            call.waits.first().map(|wait| format!("{} {}", wait.cause.word(), numbers::time(wait.total_ns)));
        TableRow::new([
            Cell::name(SpanStyle::Name, &call.call),
            time(call.total_ns),
            Cell::share(call.share),
            Cell::bar(call.share),
            if call.is_user_mode { Cell::empty() } else { Cell::count(call.count) },
            time(call.longest_ns),
            time_if_any(call.ran_ns),
            mostly.map_or_else(Cell::empty, Cell::text),
            call.waker.as_ref().map_or_else(Cell::empty, |waker| Cell::name(SpanStyle::Name, waker)),
        ])
    };
    let table = Table::new("System calls", &columns).preview(PREVIEW);
    let table = table.columns_for(Detail::Page, &["calls", "longest"]).at_most(ROWS, &report.calls, row);
    Section::new("calls", "By system call").remark("of the executions' own threads").block(table)
}

fn longest(report: &KernelPathReport) -> Section {
    let columns = columns![
        Number "for", Text "at", Number "into it", Name "thread", Text "wait", Number "execution"
    ];
    let row = |wait: &WaitInstance| {
        let row = TableRow::new([
            time(wait.elapsed_ns),
            Cell::text(instant(wait.since, wait.since_ns)),
            Cell::worded(CellKind::Duration, offset(wait.offset_ns), wait.offset_ns as f64),
            quoted(&thread(&wait.thread, wait.tid, "")),
            Cell::text(wait.cause.word()),
            Cell::count(wait.execution),
        ]);
        let named = |name: &Option<String>| {
            name.as_ref().map_or_else(Prose::default, |name| Prose::name(SpanStyle::Name, name))
        };
        row.note(Detail::Summary, "waker", named(&wait.waker)).note(
            Detail::Summary,
            "resource",
            named(&wait.resource),
        )
    };
    let table = Table::new("Waits", &columns).preview(LONGEST).columns_for(Detail::Page, &["execution"]);
    Section::new("longest", "Longest single waits")
        .remark("at: seconds of the trace's clock, or UTC")
        .detail(Detail::Full)
        .block(table.at_most(ROWS, &report.longest, row))
}

fn workers(report: &KernelPathReport) -> Section {
    let columns = columns![
        Name "thread", Number "time", Number "share", Number "ran", Number "preempted",
        Number "other waits", Number "segments"
    ];
    let row = |worker: &WorkerTime| {
        let name = thread_in(&worker.thread, worker.tid, &worker.host, worker.container.as_ref());
        let name = Prose::quoted(&name);
        let name = if worker.own { name.faint(" (the thread itself)") } else { name };
        TableRow::new([
            Cell::named(name),
            time(worker.total_ns),
            Cell::share(worker.share),
            time(worker.states_ns[0]),
            time(worker.states_ns[1]),
            time(worker.states_ns[2..].iter().sum()),
            Cell::count(worker.segments),
        ])
    };
    let mut table = Table::new("Threads", &columns)
        .preview(PREVIEW)
        .columns_for(Detail::Full, &["ran", "preempted", "other waits"])
        .columns_for(Detail::Page, &["segments"])
        .at_most(ROWS, &report.workers, row);
    table.omitted += report.workers_left_out;
    Section::new("threads", "Threads on the path").block(table)
}

fn states(report: &KernelPathReport) -> Section {
    let columns = columns![
        Text "state", Text "of", Number "time", Number "share", Number "segments", Number "longest",
        Number "CPU idle"
    ];
    let row = |state: &StateTime| {
        TableRow::new([
            Cell::text(state.state.word()),
            Cell::text(Prose::default().faint(if state.own { "itself" } else { "others" })),
            time(state.total_ns),
            Cell::share(state.share),
            Cell::count(state.segments),
            time(state.longest_ns),
            time_if_any(state.idle_ns),
        ])
    };
    let table = Table::new("States", &columns).preview(20).at_most(ROWS, &report.states, row);
    Section::new("states", "By state").detail(Detail::Full).block(table)
}

fn executions(report: &KernelPathReport) -> Section {
    let columns = columns![
        Number "#", Number "takes", Text "at", Name "label", Name "thread", Text "mostly",
        Number "segments", Number "not in the trace"
    ];
    let row = |execution: &&ExecutionSummary| {
        let share = execution.dominant_ns as f64 / execution.elapsed_ns.max(1) as f64;
        TableRow::new([
            Cell::count(execution.number),
            time(execution.elapsed_ns),
            Cell::text(instant(execution.since, execution.since_ns)),
            name_if_any(SpanStyle::Operation, &execution.label),
            quoted(&thread_in(
                &execution.thread,
                Some(execution.tid),
                &execution.host,
                execution.container.as_ref(),
            )),
            Cell::text(format!("{} {}", execution.dominant.word(), numbers::share(share))),
            Cell::count(execution.segments),
            Cell::count(execution.unresolved),
        ])
    };
    let mut slowest: Vec<&ExecutionSummary> = report.executions.iter().collect();
    slowest.sort_by_key(|execution| std::cmp::Reverse(execution.elapsed_ns));
    let mut table = Table::new("Executions", &columns).preview(PREVIEW);
    table = table.columns_for(Detail::Page, &["segments", "not in the trace"]);
    table = table.at_most(ROWS, &slowest, row);
    table.omitted += report.executions_left_out;
    Section::new("executions", "Executions")
        .remark("the slowest first; --execution N shows one")
        .detail(Detail::Full)
        .block(Block::from(table))
}
