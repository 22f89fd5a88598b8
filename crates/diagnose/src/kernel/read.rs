//! One trace, event by event, to a graph, executions and statistics.

use super::stats::Wakings;
use laggard_kernel::{
    Delimiter, ExecutionFinder, ExecutionGraph, FoundExecutions, GraphBuilder, GraphSettings, HostId,
    TraceStatistics, TraceSummary, Window,
};
use laggard_model::{ClockMap, KernelEvent, KernelTexts, KernelTime, Losses};
use laggard_report::KernelTrace;
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

/// A trace while it is read.
#[derive(Debug)]
pub struct TraceReading {
    graph: Option<GraphBuilder>,
    finder: Option<ExecutionFinder>,
    statistics: Option<(TraceStatistics, Wakings)>,
    events: u64,
    window: Option<Window>,
    cpus: BTreeSet<u16>,
}

/// A trace that was read.
#[derive(Debug)]
pub struct KernelRun {
    /// What was read, for reports.
    pub trace: KernelTrace,
    /// Where its clock lies in calendar time.
    pub calendar: Option<ClockMap>,
    /// From the first to the last event; both at the clock's origin without events.
    pub window: Window,
    /// The execution graph.
    pub graph: Option<ExecutionGraph>,
    /// The executions.
    pub found: Option<FoundExecutions>,
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
        let host = HostId::default();
        TraceReading {
            graph: settings.graph.clone().map(|graph| GraphBuilder::new(graph, host)),
            finder: settings.delimiter.clone().map(|delimiter| ExecutionFinder::on_host(delimiter, host)),
            statistics: settings.statistics.then(Default::default),
            events: 0,
            window: None,
            cpus: BTreeSet::new(),
        }
    }

    /// Takes the next event; events come in time order.
    pub fn push(&mut self, event: &KernelEvent, texts: &KernelTexts) {
        self.events += 1;
        self.cpus.insert(event.cpu.0);
        let window = self.window.get_or_insert(Window { from: event.time, to: event.time });
        window.to = window.to.max(event.time);
        if let Some(graph) = &mut self.graph {
            graph.push(event, texts);
        }
        if let Some(finder) = &mut self.finder {
            finder.push(event, texts);
        }
        if let Some((statistics, wakings)) = &mut self.statistics {
            statistics.push(event, texts);
            wakings.push(event);
        }
    }

    /// Events so far.
    pub fn events(&self) -> u64 {
        self.events
    }

    /// The trace as a whole; `texts` is what its events refer to, `losses` what reading it lost.
    pub fn finish(self, source: TraceSource, texts: KernelTexts, mut losses: Losses) -> KernelRun {
        let origin = KernelTime::default();
        let window = self.window.unwrap_or(Window { from: origin, to: origin });
        let graph = self.graph.map(|graph| graph.finish(&mut losses));
        let found = self.finder.map(|finder| finder.finish(&mut losses));
        let statistics =
            self.statistics.map(|(statistics, wakings)| (statistics.finish(&texts, THREADS), wakings));
        let since = source.calendar.map(|clock| crate::views::rfc3339(clock.to_unix(window.from)));
        let trace = KernelTrace {
            path: source.path,
            format: source.format,
            host: source.host,
            kernel: source.kernel,
            clock: source.clock,
            cpus: self.cpus.len() as u32,
            events: self.events,
            bytes: source.bytes,
            since_ns: window.from.ns(),
            until_ns: window.to.ns(),
            since,
        };
        KernelRun { trace, calendar: source.calendar, window, graph, found, statistics, texts, losses }
    }
}

impl KernelRun {
    /// Calendar time of an instant as text, when the trace tells.
    pub(crate) fn calendar_text(&self, time: KernelTime) -> Option<String> {
        self.calendar.map(|clock| crate::views::rfc3339(clock.to_unix(time)))
    }
}
