//! The states of the threads on paths, and who woke them.

use super::arguments::{functions, inferred, state_title, text, thread_title};
use super::packets::{Argument, EventContents, EventType, FlowEnd, PacketWriter, TrackId};
use super::{ExecutionPath, ExportScope, GroupSummary};
use crate::names::{state, worker_name};
use laggard_kernel_graph::{
    ExecutionGraph, HostId, PathLink, PathSegment, WorkerId, WorkerKind, WorkerState,
};
use laggard_model::{KernelTime, Tid};
use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};
use std::io;

pub(super) fn write(
    writer: &mut PacketWriter<'_>,
    scope: ExportScope<'_>,
    paths: &[ExecutionPath<'_>],
) -> io::Result<GroupSummary> {
    let ExportScope { graph, window, limits } = scope;
    let mut threads = threads_by_time(graph, paths);
    let tracks_left_out = threads.len().saturating_sub(limits.threads) as u64;
    threads.truncate(limits.threads);
    let mut states: Vec<(usize, PathSegment)> = Vec::new();
    for (index, &thread) in threads.iter().enumerate() {
        states.extend(merged(graph.own_states(thread, window)).into_iter().map(|state| (index, state)));
    }
    let all = states.len();
    // The latest are left out, of all threads from the same time on.
    states.sort_by_key(|(index, state)| (state.window.from, *index));
    states.truncate(limits.slices);
    let slices_left_out = (all - states.len()) as u64;
    let until = if slices_left_out > 0 { states.last().map(|(_, state)| state.window.from) } else { None };
    states.sort_by_key(|(index, state)| (*index, state.window.from));
    let tracks = tracks(writer, graph, &threads)?;
    let mut flows = Flows { graph, tracks: &tracks, count: 0 };
    let mut states = states.into_iter().map(|(index, state)| (threads[index], state)).peekable();
    for &thread in &threads {
        let mut arrivals = graph.arrivals(thread, window).peekable();
        let mut woken: Option<PathLink> = None;
        while let Some((_, segment)) = states.next_if(|(worker, _)| *worker == thread) {
            // Who ended the state before: its wake-up is where this one begins.
            let flow = match woken.take().filter(|link| until.is_none_or(|until| link.from_time <= until)) {
                Some(link) => flows.begin(writer, &link)?,
                None => None,
            };
            while arrivals.next_if(|link| link.to_time < segment.window.to).is_some() {}
            woken = arrivals.peek().copied().filter(|link| link.to_time == segment.window.to);
            let contents = contents(graph, &segment, woken.as_ref(), flow);
            writer.slice(tracks[&thread], segment.window.from, segment.window.to, &contents)?;
        }
    }
    Ok(GroupSummary { tracks: threads.len() as u64, tracks_left_out, slices_left_out })
}

/// The threads on the paths, those with the most time first.
fn threads_by_time(graph: &ExecutionGraph, paths: &[ExecutionPath<'_>]) -> Vec<WorkerId> {
    let mut times: BTreeMap<WorkerId, u64> = BTreeMap::new();
    for (_, path) in paths {
        times.entry(path.worker).or_default();
        for segment in &path.segments {
            *times.entry(segment.worker).or_default() += segment.window.ns();
        }
    }
    times.retain(|&id, _| matches!(graph.worker(id).kind, WorkerKind::Thread { .. }));
    let mut threads: Vec<(WorkerId, u64)> = times.into_iter().collect();
    threads.sort_by_key(|&(id, ns)| (Reverse(ns), id));
    threads.into_iter().map(|(id, _)| id).collect()
}

/// Neighboring segments that are alike are one.
fn merged(segments: Vec<PathSegment>) -> Vec<PathSegment> {
    let mut out: Vec<PathSegment> = Vec::with_capacity(segments.len());
    for segment in segments {
        match out.last_mut() {
            Some(before)
                if (before.state, before.qualifier) == (segment.state, segment.qualifier)
                    && before.window.to == segment.window.from =>
            {
                before.window.to = segment.window.to;
                before.idle_ns += segment.idle_ns;
                before.inferred |= segment.inferred;
            }
            _ => out.push(segment),
        }
    }
    out
}

/// A track of each thread: below its process where that is known, else in one group. Numbers of several hosts may be equal, which
/// Perfetto takes for one thread.
fn tracks(
    writer: &mut PacketWriter<'_>,
    graph: &ExecutionGraph,
    threads: &[WorkerId],
) -> io::Result<BTreeMap<WorkerId, TrackId>> {
    let hosts: BTreeSet<HostId> = threads.iter().map(|&id| graph.worker(id).host).collect();
    let mut processes: BTreeSet<Tid> = BTreeSet::new();
    let mut group = None;
    let mut tracks = BTreeMap::new();
    for &id in threads {
        let name = worker_name(graph, id);
        let process = graph.process_of(id).filter(|_| hosts.len() == 1);
        let track = if let (Some(process), Some(tid)) = (process, name.tid) {
            if processes.insert(process) {
                let main = graph.worker_of(graph.worker(id).host, process, KernelTime::from_ns(u64::MAX));
                let process_name = main.map_or("", |main| graph.name(main));
                writer.process(process.0, if process_name.is_empty() { &name.name } else { process_name })?;
            }
            writer.thread(process.0, tid, &name.name)?
        } else {
            let group = match group {
                Some(group) => group,
                None => *group.insert(writer.named_track("Threads", None)?),
            };
            writer.named_track(&thread_title(graph, id), Some(group))?
        };
        tracks.insert(id, track);
    }
    Ok(tracks)
}

/// A state of a thread: what it is, and what it waits for.
fn contents(
    graph: &ExecutionGraph,
    segment: &PathSegment,
    ended_by: Option<&PathLink>,
    flow: Option<FlowEnd>,
) -> EventContents {
    let is_wait = !matches!(
        segment.state,
        WorkerState::Running | WorkerState::Preempted | WorkerState::Throttled | WorkerState::Unknown
    );
    let waker = ended_by.filter(|_| is_wait).map(|link| link.from);
    let by_thread = waker.filter(|&id| matches!(graph.worker(id).kind, WorkerKind::Thread { .. }));
    let resource = graph.texts().text(segment.qualifier);
    let name = match by_thread {
        Some(waker) if segment.state == WorkerState::Blocked => {
            format!("waits for {}", thread_title(graph, waker))
        }
        _ => state_title(state(segment.state).word(), resource),
    };
    let call = graph.call_at(segment.worker, segment.window.from).filter(|_| is_wait);
    let stacks = graph.stacks_at(segment.worker, segment.window.from).filter(|_| is_wait);
    let arguments: Vec<Argument> = [
        text("state", state(segment.state).word()),
        text("woken by", &waker.map_or_else(String::new, |waker| thread_title(graph, waker))),
        text("resource", resource),
        text("system call", call.map_or("", |call| call.name)),
        text("waits in", &stacks.map_or_else(String::new, |stacks| functions(stacks.waiting))),
        text("woken from", &stacks.map_or_else(String::new, |stacks| functions(stacks.waking))),
        inferred(segment.inferred),
    ]
    .into_iter()
    .flatten()
    .collect();
    EventContents { category: "thread", name, arguments, flow }
}

/// Arrows from the threads that wake others.
struct Flows<'a> {
    graph: &'a ExecutionGraph,
    tracks: &'a BTreeMap<WorkerId, TrackId>,
    count: u64,
}

impl Flows<'_> {
    /// Marks a wake-up on the waker's track; returns the flow's end, unless the waker has no track.
    fn begin(&mut self, writer: &mut PacketWriter<'_>, link: &PathLink) -> io::Result<Option<FlowEnd>> {
        let Some(&track) = self.tracks.get(&link.from) else { return Ok(None) };
        self.count += 1;
        let verb = if link.network { "sends to" } else { "wakes" };
        let contents = EventContents {
            category: "wake-up",
            name: format!("{verb} {}", thread_title(self.graph, link.to)),
            arguments: Vec::new(),
            flow: Some(FlowEnd::From(self.count)),
        };
        writer.event(track, EventType::Instant, link.from_time, &contents)?;
        Ok(Some(FlowEnd::To(self.count)))
    }
}
