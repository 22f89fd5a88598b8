//! Executions and their critical paths: one track, or several where executions overlap.

use super::ExecutionPath;
use super::arguments::{interval_arguments, interval_title, text, thread_title};
use super::packets::{Argument, ArgumentValue, EventContents, EventType, PacketWriter, TrackId};
use crate::intervals::all_intervals;
use crate::names::label;
use laggard_model::KernelTime;
use std::io;

/// Writes every execution as a slice that contains those of its path.
pub(super) fn write(writer: &mut PacketWriter<'_>, paths: &[ExecutionPath<'_>]) -> io::Result<()> {
    let group = writer.named_track("Executions", None)?;
    let mut tracks: Vec<(TrackId, KernelTime)> = Vec::new();
    let mut by_time: Vec<&ExecutionPath<'_>> = paths.iter().collect();
    by_time.sort_by_key(|(selection, path)| (path.window.from, selection.number));
    for path in by_time {
        let window = path.1.window;
        let free = tracks.iter().position(|&(_, until)| until <= window.from);
        let index = match free {
            Some(index) => index,
            None => {
                let track = writer.named_track("Critical paths", Some(group))?;
                tracks.push((track, window.to));
                tracks.len() - 1
            }
        };
        tracks[index].1 = window.to;
        write_execution(writer, tracks[index].0, path)?;
    }
    Ok(())
}

fn write_execution(
    writer: &mut PacketWriter<'_>,
    track: TrackId,
    (selection, path): &ExecutionPath<'_>,
) -> io::Result<()> {
    let graph = selection.graph;
    let thread = thread_title(graph, path.worker);
    let name = match label(&selection.execution, graph.name(path.worker)) {
        label if label.is_empty() => thread.clone(),
        label => label,
    };
    let arguments: Vec<Argument> = [
        Some(("execution", ArgumentValue::Number(selection.number))),
        text("thread", &thread),
        text("container", &graph.container(path.worker).unwrap_or_default()),
        (path.unresolved > 0)
            .then_some(("waits without a known reason", ArgumentValue::Number(path.unresolved))),
    ]
    .into_iter()
    .flatten()
    .collect();
    let whole = EventContents { category: "execution", name, arguments, flow: None };
    writer.event(track, EventType::Begin, path.window.from, &whole)?;
    for interval in all_intervals(graph, path) {
        let contents = EventContents {
            category: "path",
            name: interval_title(graph, &interval),
            arguments: interval_arguments(graph, &interval),
            flow: None,
        };
        writer.slice(track, interval.from, interval.to, &contents)?;
    }
    writer.event(track, EventType::End, path.window.to, &EventContents::default())
}
