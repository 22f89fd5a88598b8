//! Which thread ran on which CPU: a track for each CPU.

use super::arguments::{text, thread_title};
use super::packets::{ArgumentValue, EventContents, PacketWriter};
use super::{ExportScope, GroupSummary};
use laggard_kernel_graph::CpuRun;
use std::io;

pub(super) fn write(writer: &mut PacketWriter<'_>, scope: ExportScope<'_>) -> io::Result<GroupSummary> {
    let ExportScope { graph, window, limits } = scope;
    let cpus = graph.cpus();
    let all = cpus.iter().map(|&(host, cpu)| graph.cpu_runs_within(host, cpu, window).count()).sum::<usize>();
    let mut runs: Vec<(usize, CpuRun)> = Vec::with_capacity(all);
    for (index, &(host, cpu)) in cpus.iter().enumerate() {
        runs.extend(graph.cpu_runs_within(host, cpu, window).map(|run| (index, run)));
    }
    // The latest are left out, on all CPUs from the same time on.
    runs.sort_by_key(|(index, run)| (run.window.from, *index));
    runs.truncate(limits.slices);
    let slices_left_out = (all - runs.len()) as u64;
    runs.sort_by_key(|(index, run)| (*index, run.window.from, run.window.to));
    let group = writer.named_track("CPUs", None)?;
    let mut runs = runs.into_iter().peekable();
    for (index, &(host, cpu)) in cpus.iter().enumerate() {
        let host_name = graph.name_of_host(host);
        let on = if host_name.is_empty() { String::new() } else { format!(" of {host_name}") };
        let track = writer.named_track(&format!("CPU {}{on}", cpu.0), Some(group))?;
        let mut end = window.from;
        while let Some((_, run)) = runs.next_if(|(of_cpu, _)| *of_cpu == index) {
            // Where switches were not recorded, threads may seem to run at once.
            let from = run.window.from.max(end);
            if from >= run.window.to {
                continue;
            }
            end = run.window.to;
            let process = graph.process_of(run.worker).map(|process| process.0);
            let arguments = [
                text("thread", &thread_title(graph, run.worker)),
                process.map(|process| ("process", ArgumentValue::Number(process.into()))),
                text("container", &graph.container(run.worker).unwrap_or_default()),
            ];
            let contents = EventContents {
                category: "cpu",
                name: thread_title(graph, run.worker),
                arguments: arguments.into_iter().flatten().collect(),
                flow: None,
            };
            writer.slice(track, from, end, &contents)?;
        }
    }
    Ok(GroupSummary { tracks: cpus.len() as u64, tracks_left_out: 0, slices_left_out })
}
