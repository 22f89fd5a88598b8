//! One trace, event by event, to a graph, executions and statistics.

use crate::wakings::Wakings;
use laggard_kernel_graph::{
    DelimitedExecutions, Delimiter, ExecutionFinder, ExecutionGraph, GraphBuilder, GraphSettings, HostId,
    TraceStatistics, TraceSummary, Window,
};
use laggard_model::{ClockMap, KernelEvent, KernelTexts, KernelTime, Losses};
use laggard_report::{AlignedClock, KernelInput, KernelTrace};
use std::collections::BTreeSet;

/// What is made of a trace while it is read.
#[derive(Clone, Debug, Default)]
pub struct ReadingSettings {
    /// What begins and ends executions; none are looked for without.
    pub delimiter: Option<Delimiter>,
    /// How the graph is built; none is without.
    pub graph: Option<GraphSettings>,
    /// Whether to count what the trace holds.
    pub statistics: bool,
}

/// Where a trace comes from and what it says of itself.
#[derive(Clone, Debug, Default)]
pub struct TraceSource {
    /// The file or folder.
    pub path: String,
    /// Its format.
    pub format: String,
    /// The host's name, when the trace tells.
    pub host: Option<String>,
    /// The kernel's release, when the trace tells.
    pub kernel: Option<String>,
    /// The clock's name; empty when not told.
    pub clock: String,
    /// Where the clock lies in calendar time, when the trace tells.
    pub calendar: Option<ClockMap>,
    /// Bytes on disk.
    pub bytes: u64,
}

/// A trace that was read to its end: what it says of itself, and what its events refer to.
#[derive(Debug, Default)]
pub struct EndedTrace {
    /// Where it comes from.
    pub source: TraceSource,
    /// What its events refer to.
    pub texts: KernelTexts,
    /// What reading it lost.
    pub losses: Losses,
    /// How its clock was brought to the first trace's; `None` for the first.
    pub aligned: Option<AlignedClock>,
}

/// A trace while it is read, or the traces of several hosts on one clock.
#[derive(Debug)]
pub struct TraceReading {
    graph: Option<GraphBuilder>,
    statistics: Option<(TraceStatistics, Wakings)>,
    hosts: Vec<Host>,
}

/// What is kept of each host.
#[derive(Debug)]
struct Host {
    finder: Option<ExecutionFinder>,
    events: u64,
    window: Option<Window>,
    cpus: BTreeSet<u16>,
}

/// A trace that was read, or the traces of several hosts on one clock.
#[derive(Debug)]
pub struct KernelRun {
    /// What was read, for reports: at least one.
    pub traces: Vec<KernelTrace>,
    /// Where its clock lies in calendar time.
    pub calendar: Option<ClockMap>,
    /// From the first to the last event; both at the clock's origin without events.
    pub window: Window,
    /// The execution graph.
    pub graph: Option<ExecutionGraph>,
    /// The executions.
    pub found: Option<DelimitedExecutions>,
    /// What it holds.
    pub(crate) statistics: Option<(TraceSummary, Wakings)>,
    /// The texts that statistics refer to.
    pub(crate) texts: KernelTexts,
    /// What was lost.
    pub losses: Losses,
}

/// Threads of each ranking of the statistics.
const THREADS: usize = 200;

impl TraceReading {
    /// A reading of one trace.
    pub fn new(settings: &ReadingSettings) -> TraceReading {
        TraceReading::from_hosts(settings, 1)
    }

    /// A reading of so many hosts' traces (at least 1). Statistics are those of the first.
    pub fn from_hosts(settings: &ReadingSettings, hosts: u16) -> TraceReading {
        let host = |number: u16| Host {
            finder: settings.delimiter.clone().map(|one| ExecutionFinder::on_host(one, HostId(number))),
            events: 0,
            window: None,
            cpus: BTreeSet::new(),
        };
        TraceReading {
            graph: settings.graph.clone().map(|graph| GraphBuilder::new(graph, HostId::default())),
            statistics: settings.statistics.then(Default::default),
            hosts: (0..hosts).map(host).collect(),
        }
    }

    /// Takes the next event of the first host; events come in time order.
    pub fn push(&mut self, event: &KernelEvent, texts: &KernelTexts) {
        self.push_from(0, event, texts);
    }

    /// Takes the next event of a host (by number): events of all come in one order, on one clock.
    ///
    /// # Panics
    /// When there are not so many hosts.
    pub fn push_from(&mut self, number: u16, event: &KernelEvent, texts: &KernelTexts) {
        let host = &mut self.hosts[usize::from(number)];
        host.events += 1;
        host.cpus.insert(event.cpu.0);
        let window = host.window.get_or_insert(Window { from: event.time, to: event.time });
        window.to = window.to.max(event.time);
        if let Some(graph) = &mut self.graph {
            graph.push_from(HostId(number), event, texts);
        }
        if let Some(finder) = &mut host.finder {
            finder.push(event, texts);
        }
        if let (0, Some((statistics, wakings))) = (number, &mut self.statistics) {
            statistics.push(event, texts);
            wakings.push(event);
        }
    }

    /// The trace as a whole.
    pub fn finish(self, ended: EndedTrace) -> KernelRun {
        self.finish_hosts(vec![ended])
    }

    /// The traces as a whole, one a host.
    ///
    /// # Panics
    /// When there are not as many as hosts.
    pub fn finish_hosts(self, mut ended: Vec<EndedTrace>) -> KernelRun {
        assert_eq!(ended.len(), self.hosts.len(), "every host has a trace");
        let mut losses = Losses::none();
        ended.iter().for_each(|one| losses.merge(&one.losses));
        let mut graph = self.graph.map(|graph| graph.finish(&mut losses));
        if let (Some(graph), 2..) = (&mut graph, ended.len()) {
            graph.name_hosts(host_names(&ended));
        }
        let texts = std::mem::take(&mut ended[0].texts);
        let statistics =
            self.statistics.map(|(statistics, wakings)| (statistics.finish(&texts, THREADS), wakings));
        let calendar = ended[0].source.calendar;
        let windows = self.hosts.iter().filter_map(|host| host.window);
        let whole = |a: Window, b: Window| Window { from: a.from.min(b.from), to: a.to.max(b.to) };
        let window = windows.reduce(whole).unwrap_or(NOTHING);
        let mut found: Option<DelimitedExecutions> = None;
        let mut traces = Vec::new();
        for (host, ended) in self.hosts.into_iter().zip(ended) {
            traces.push(trace(&host, ended, calendar));
            let Some(executions) = host.finder.map(|finder| finder.finish(&mut losses)) else { continue };
            found = Some(merge_executions(found, executions));
        }
        KernelRun { traces, calendar, window, graph, found, statistics, texts, losses }
    }
}

/// The window of a trace without events.
const NOTHING: Window = Window { from: KernelTime::from_ns(0), to: KernelTime::from_ns(0) };

/// Names by which hosts can be told apart: their own, or their files'.
fn host_names(ended: &[EndedTrace]) -> Vec<String> {
    let own: Vec<Option<&String>> = ended.iter().map(|one| one.source.host.as_ref()).collect();
    let name = |one: &EndedTrace| match &one.source.host {
        Some(host) if own.iter().filter(|other| **other == Some(host)).count() == 1 => host.clone(),
        _ => one.source.path.clone(),
    };
    ended.iter().map(name).collect()
}

/// What a report says of a trace; `calendar` is that of the clock on which all are.
fn trace(host: &Host, ended: EndedTrace, calendar: Option<ClockMap>) -> KernelTrace {
    let window = host.window.unwrap_or(NOTHING);
    let source = ended.source;
    KernelTrace {
        path: source.path,
        format: source.format,
        host: source.host,
        kernel: source.kernel,
        clock: source.clock,
        cpus: host.cpus.len() as u32,
        events: host.events,
        bytes: source.bytes,
        since_ns: window.from.ns(),
        until_ns: window.to.ns(),
        since: calendar.map(|clock| laggard_report::rfc3339(clock.to_unix(window.from))),
        aligned: ended.aligned,
    }
}

/// The executions of several hosts. The first that finds some tells how they were delimited.
fn merge_executions(found: Option<DelimitedExecutions>, more: DelimitedExecutions) -> DelimitedExecutions {
    let Some(mut found) = found else { return more };
    let is_empty = found.executions.is_empty();
    found.executions.extend(more.executions);
    found
        .executions
        .sort_by_key(|one| (one.window.from, std::cmp::Reverse(one.window.to), one.host, one.tid));
    found.unfinished += more.unfinished;
    if is_empty {
        (found.delimiter, found.delimiter_reason) = (more.delimiter, more.delimiter_reason);
    }
    found
}

impl KernelRun {
    /// Calendar time of an instant as text, when the trace tells.
    pub(crate) fn calendar_text(&self, time: KernelTime) -> Option<String> {
        self.calendar.map(|clock| laggard_report::rfc3339(clock.to_unix(time)))
    }
}

/// What was read of all runs.
pub(crate) fn input(runs: &[KernelRun]) -> KernelInput {
    let mut losses = Losses::none();
    runs.iter().for_each(|run| losses.merge(&run.losses));
    KernelInput { traces: runs.iter().flat_map(|run| &run.traces).cloned().collect(), losses }
}
