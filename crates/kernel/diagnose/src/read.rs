//! Builds graph, executions and statistics from the events of a trace.

use crate::wakings::Wakings;
use laggard_kernel_graph::{
    DelimitedExecutions, Delimiter, Execution, ExecutionFinder, ExecutionGraph, GraphBuilder, GraphSettings,
    HostId, Membership, SpanExecutionError, SpanInterval, TraceStatistics, TraceSummary, Window, WorkerState,
    executions_of_spans,
};
use laggard_model::{ClockMap, HostSnapshot, KernelEvent, KernelTexts, KernelTime, Losses, Timestamp};
use laggard_report::{AlignedClock, KernelInput, KernelTrace};
use std::collections::BTreeSet;

/// Structures built from a trace.
#[derive(Clone, Debug, Default)]
pub struct ReadingSettings {
    /// The events that begin and end executions; `None`: no executions.
    pub delimiter: Option<Delimiter>,
    /// How the graph is built; `None`: no graph.
    pub graph: Option<GraphSettings>,
    /// Whether statistics are computed.
    pub statistics: bool,
}

/// The source of a trace and its metadata.
#[derive(Clone, Debug, Default)]
pub struct TraceSource {
    /// The file or folder.
    pub path: String,
    /// Its format.
    pub format: String,
    /// The host's name, if recorded.
    pub host: Option<String>,
    /// The kernel's release, if recorded.
    pub kernel: Option<String>,
    /// The clock's name; empty if not recorded.
    pub clock: String,
    /// The relation of the clock to calendar time, if recorded.
    pub calendar: Option<ClockMap>,
    /// Size on disk in bytes.
    pub bytes: u64,
}

/// The metadata of a trace that was read to its end.
#[derive(Debug, Default)]
pub struct EndedTrace {
    /// Its source.
    pub source: TraceSource,
    /// The texts that its events refer to.
    pub texts: KernelTexts,
    /// Losses of reading it.
    pub losses: Losses,
    /// The processes and control groups that the recorder saw.
    pub snapshot: Option<HostSnapshot>,
    /// How its clock was aligned with the first trace's; `None` for the first.
    pub aligned: Option<AlignedClock>,
}

/// A trace being read, or the traces of several hosts on one clock.
#[derive(Debug)]
pub struct TraceReading {
    graph: Option<GraphBuilder>,
    statistics: Option<(TraceStatistics, Wakings)>,
    hosts: Vec<Host>,
}

/// The state of one host.
#[derive(Debug)]
struct Host {
    finder: Option<ExecutionFinder>,
    membership: Membership,
    events: u64,
    window: Option<Window>,
    cpus: BTreeSet<u16>,
}

/// A trace that was read, or the traces of several hosts on one clock.
#[derive(Debug)]
pub struct KernelRun {
    /// The traces, for reports: at least one.
    pub traces: Vec<KernelTrace>,
    /// The relation of its clock to calendar time.
    pub calendar: Option<ClockMap>,
    /// From the first to the last event; both at the clock's origin without events.
    pub window: Window,
    /// The execution graph.
    pub graph: Option<ExecutionGraph>,
    /// The executions.
    pub executions: Option<DelimitedExecutions>,
    /// The statistics and the wake-ups between threads.
    pub(crate) statistics: Option<(TraceSummary, Wakings)>,
    /// The texts that statistics refer to.
    pub(crate) texts: KernelTexts,
    /// Losses of reading.
    pub losses: Losses,
}

impl KernelRun {
    /// Replaces the executions by those of spans of this host. Returns how many there are, and why other spans have none: of
    /// several reasons, the one that is nearest to an execution.
    pub fn select_spans(&mut self, spans: &[SpanInterval]) -> (usize, Option<SpanExecutionError>) {
        let marked = self.executions.as_ref().map_or(&[][..], |found| &found.executions);
        let found = executions_of_spans(spans, marked, self.window, self.calendar);
        let why = found.iter().filter_map(|span| span.execution.as_ref().err()).max().copied();
        let spans = found.len();
        let mut executions: Vec<_> = found.into_iter().filter_map(|span| span.execution.ok()).collect();
        let why = why.max(self.retain_running(&mut executions));
        let unfinished = (spans - executions.len()) as u64;
        executions.sort_by_key(|execution| (execution.window.from, execution.window.to, execution.tid));
        let count = executions.len();
        self.executions = Some(DelimitedExecutions {
            unfinished,
            executions,
            delimiter: Delimiter::parse("marker").expect("it is a delimiter"),
            delimiter_reason: "Executions are those of spans.".to_owned(),
            of_other_processes: 0,
            programs: Vec::new(),
        });
        (count, why)
    }

    /// Drops executions whose thread does not run meanwhile, unlike a thread that starts and ends a span; and all of them if these are
    /// many, because the threads of a runtime are numbered from 1 and may be called like any of the kernel's.
    fn retain_running(&self, executions: &mut Vec<Execution>) -> Option<SpanExecutionError> {
        let graph = self.graph.as_ref()?;
        let all = executions.len();
        executions.retain(|execution| {
            let worker = graph.worker_of(execution.host, execution.tid, execution.window.from);
            worker.is_some_and(|id| {
                let mut segments = graph.segments(id, execution.window);
                segments.any(|segment| segment.state == WorkerState::Running)
            })
        });
        let dropped = all - executions.len();
        if dropped as f64 > OTHERS_MAX * all as f64 {
            executions.clear();
        }
        (dropped > 0).then_some(SpanExecutionError::OtherThread)
    }
}

/// Share of executions whose thread may not run: where clocks differ a little, short ones.
const OTHERS_MAX: f64 = 0.2;

/// Maximum number of threads in each ranking of the statistics.
const THREADS: usize = 200;

impl TraceReading {
    /// A reading of one trace.
    pub fn new(settings: &ReadingSettings) -> TraceReading {
        TraceReading::from_hosts(settings, 1)
    }

    /// A reading of the traces of several hosts (at least 1). Statistics are those of the first host.
    pub fn from_hosts(settings: &ReadingSettings, hosts: u16) -> TraceReading {
        let host = |number: u16| Host {
            finder: settings
                .delimiter
                .clone()
                .map(|ended_trace| ExecutionFinder::on_host(ended_trace, HostId(number))),
            membership: Membership::default(),
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

    /// Adds the next event of the first host, in time order.
    pub fn push(&mut self, event: &KernelEvent, texts: &KernelTexts) {
        self.push_from(0, event, texts);
    }

    /// Adds the next event of a host (by number). Events of all hosts are in one order, on one clock.
    ///
    /// # Panics
    /// If there is no such host.
    pub fn push_from(&mut self, number: u16, event: &KernelEvent, texts: &KernelTexts) {
        let host = &mut self.hosts[usize::from(number)];
        host.events += 1;
        host.cpus.insert(event.cpu.0);
        let window = host.window.get_or_insert(Window { from: event.time, to: event.time });
        window.to = window.to.max(event.time);
        if let Some(graph) = &mut self.graph {
            graph.push_from(HostId(number), event, texts);
            host.membership.push(event, texts);
        }
        if let Some(finder) = &mut host.finder {
            finder.push(event, texts);
        }
        if let (0, Some((statistics, wakings))) = (number, &mut self.statistics) {
            statistics.push(event, texts);
            wakings.push(event);
        }
    }

    /// Finishes a single trace.
    pub fn finish(self, ended: EndedTrace) -> KernelRun {
        self.finish_hosts(vec![ended])
    }

    /// Finishes the traces, one per host.
    ///
    /// # Panics
    /// If there is not one trace per host.
    pub fn finish_hosts(self, mut ended: Vec<EndedTrace>) -> KernelRun {
        assert_eq!(ended.len(), self.hosts.len(), "every host has a trace");
        let mut losses = Losses::none();
        ended.iter().for_each(|ended_trace| losses.merge(&ended_trace.losses));
        let mut graph = self.graph.map(|graph| graph.finish(&mut losses));
        if let (Some(graph), 2..) = (&mut graph, ended.len()) {
            graph.name_hosts(host_names(&ended));
        }
        let texts = std::mem::take(&mut ended[0].texts);
        let statistics =
            self.statistics.map(|(statistics, wakings)| (statistics.finish(&texts, THREADS), wakings));
        let calendar = ended[0].source.calendar;
        let windows = self.hosts.iter().filter_map(|host| host.window);
        let union = |a: Window, b: Window| Window { from: a.from.min(b.from), to: a.to.max(b.to) };
        let window = windows.reduce(union).unwrap_or(NOTHING);
        let mut executions: Option<DelimitedExecutions> = None;
        let mut traces = Vec::new();
        for ((mut host, mut ended), number) in self.hosts.into_iter().zip(ended).zip(0..) {
            if let (Some(finder), Some(snapshot)) = (&mut host.finder, &ended.snapshot) {
                finder.add_snapshot(snapshot);
            }
            if let Some(graph) = &mut graph {
                let mut membership = std::mem::take(&mut host.membership);
                ended.snapshot.take().into_iter().for_each(|snapshot| membership.add_snapshot(snapshot));
                graph.set_membership(HostId(number), membership);
            }
            traces.push(trace(&host, ended, calendar));
            let Some(more) = host.finder.map(|finder| finder.finish(&mut losses)) else { continue };
            executions = Some(merge_executions(executions, more));
        }
        KernelRun { traces, calendar, window, graph, executions, statistics, texts, losses }
    }
}

/// The window of a trace without events.
const NOTHING: Window = Window { from: KernelTime::from_ns(0), to: KernelTime::from_ns(0) };

/// Unique names of hosts: their own, or those of their files.
fn host_names(ended: &[EndedTrace]) -> Vec<String> {
    let own: Vec<Option<&String>> =
        ended.iter().map(|ended_trace| ended_trace.source.host.as_ref()).collect();
    let name = |ended_trace: &EndedTrace| match &ended_trace.source.host {
        Some(host) if own.iter().filter(|other| **other == Some(host)).count() == 1 => host.clone(),
        _ => ended_trace.source.path.clone(),
    };
    ended.iter().map(name).collect()
}

/// A trace as described in reports; `calendar` is that of the common clock.
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
        since: calendar.map(|clock| clock.to_unix(window.from)),
        aligned: ended.aligned,
    }
}

/// The executions of several hosts, with the delimiter of the first host that has executions.
fn merge_executions(first: Option<DelimitedExecutions>, more: DelimitedExecutions) -> DelimitedExecutions {
    let Some(mut merged) = first else { return more };
    let is_empty = merged.executions.is_empty();
    merged.executions.extend(more.executions);
    merged.executions.sort_by_key(|ended_trace| {
        (ended_trace.window.from, std::cmp::Reverse(ended_trace.window.to), ended_trace.host, ended_trace.tid)
    });
    merged.unfinished += more.unfinished;
    merged.of_other_processes += more.of_other_processes;
    // Hosts run different programs.
    if merged.programs.is_empty() {
        merged.programs = more.programs;
    }
    if is_empty {
        (merged.delimiter, merged.delimiter_reason) = (more.delimiter, more.delimiter_reason);
    }
    merged
}

impl KernelRun {
    /// Calendar time of an instant, if known.
    pub(crate) fn calendar_time(&self, time: KernelTime) -> Option<Timestamp> {
        self.calendar.map(|clock| clock.to_unix(time))
    }
}

/// The traces and losses of all runs.
pub(crate) fn input(runs: &[KernelRun]) -> KernelInput {
    let mut losses = Losses::none();
    runs.iter().for_each(|run| losses.merge(&run.losses));
    KernelInput { traces: runs.iter().flat_map(|run| &run.traces).cloned().collect(), losses }
}
