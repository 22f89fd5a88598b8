//! The CPUs below the threads of a path: who ran on them meanwhile.

use super::lanes::thread_name;
use crate::document::{Color, LegendEntry, TimelineSegment};
use crate::{CpuLane, CpuRunRole, PathTimeline, names, numbers};
use std::cmp::Reverse;

/// CPUs drawn: those with the most time of threads of the path, then of others.
const CPUS: usize = 16;

/// Part of the path from which on an interval has words at the pointer.
const WORDED: u64 = 250;

/// Lanes of CPUs as they are drawn.
pub(super) struct CpuLaneLayout {
    pub(super) names: Vec<String>,
    pub(super) segments: Vec<TimelineSegment>,
    pub(super) legend: Vec<LegendEntry>,
    /// What is not drawn, in sentences.
    pub(super) remarks: Vec<String>,
}

/// The CPUs of a path, in lanes from `first` on.
pub(super) fn drawn_cpus(path: &PathTimeline, first: usize) -> CpuLaneLayout {
    let time = |lane: &CpuLane, is_counted: fn(CpuRunRole) -> bool| -> u64 {
        let counted = lane.runs.iter().filter(|run| is_counted(run.role));
        counted.map(|run| run.to_ns.saturating_sub(run.from_ns)).sum()
    };
    let mut order: Vec<usize> = (0..path.cpus.len()).collect();
    order.sort_by_key(|&index| {
        let lane = &path.cpus[index];
        (Reverse(time(lane, |role| role != CpuRunRole::Other)), Reverse(time(lane, |_| true)), index)
    });
    order.truncate(CPUS);
    order.sort_unstable();
    let (mut names, mut segments, mut roles) = (Vec::new(), Vec::new(), Vec::new());
    for (lane, cpu) in order.into_iter().map(|index| &path.cpus[index]).enumerate() {
        names.push(name(cpu));
        for run in &cpu.runs {
            let length = run.to_ns.saturating_sub(run.from_ns);
            let words = if length >= path.elapsed_ns / WORDED {
                let thread = thread_name(&run.thread, run.tid, "");
                let (length, into) = (numbers::time(length), numbers::time(run.from_ns));
                format!("{}: {thread} ran for {length}, {into} into it", name(cpu))
            } else {
                String::new()
            };
            segments.push(TimelineSegment {
                lane: (first + lane) as u32,
                from_ns: run.from_ns,
                to_ns: run.to_ns,
                color: color(run.role),
                symbol: symbol(run.role),
                words,
            });
            // The examined thread has the color of a running one, which the legend has already.
            roles.extend((run.role != CpuRunRole::Own).then_some(run.role));
        }
    }
    roles.sort_unstable();
    roles.dedup();
    let legend = |role: CpuRunRole| LegendEntry {
        symbol: symbol(role).to_string(),
        ..LegendEntry::new(color(role), word(role))
    };
    let mut remarks = Vec::new();
    let omitted = path.cpus.len().saturating_sub(CPUS) as u64;
    if omitted > 0 {
        remarks.push(format!(
            "{} with less of the path\u{2019}s threads not drawn.",
            numbers::counted(omitted, "CPU")
        ));
    }
    if path.cpu_runs_left_out > 0 {
        let runs = numbers::counted(path.cpu_runs_left_out, "interval");
        remarks.push(format!("The {runs} on CPUs that are shortest are not drawn."));
    }
    CpuLaneLayout { names, segments, legend: roles.into_iter().map(legend).collect(), remarks }
}

fn name(cpu: &CpuLane) -> String {
    match cpu.host.as_str() {
        "" => format!("CPU {}", cpu.cpu),
        host => format!("CPU {} of {}", cpu.cpu, names::label(host, 24)),
    }
}

const fn color(role: CpuRunRole) -> Color {
    match role {
        CpuRunRole::Own => Color::STATES[0],
        CpuRunRole::OnPath => Color::series(2),
        CpuRunRole::Other => Color::series(8),
    }
}

/// The letter: that of a running thread for those of the path.
const fn symbol(role: CpuRunRole) -> char {
    match role {
        CpuRunRole::Own | CpuRunRole::OnPath => 'R',
        CpuRunRole::Other => 'O',
    }
}

const fn word(role: CpuRunRole) -> &'static str {
    match role {
        CpuRunRole::Own => "on a CPU: the examined thread",
        CpuRunRole::OnPath => "on a CPU: a thread that it waits for",
        CpuRunRole::Other => "on a CPU: another thread",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::CpuRunSegment;

    #[test]
    fn cpus_of_the_path_are_drawn_first() {
        let run = |thread: &str, role, from_ns, to_ns| CpuRunSegment {
            thread: thread.to_owned(),
            tid: Some(7),
            role,
            from_ns,
            to_ns,
        };
        let mut path = PathTimeline {
            title: String::new(),
            execution: 1,
            since_ns: 0,
            since: None,
            elapsed_ns: 1_000_000,
            lanes: vec![],
            segments: vec![],
            jumps: vec![],
            merged: 0,
            cpus: (0..20)
                .map(|cpu| CpuLane {
                    cpu,
                    host: String::new(),
                    runs: vec![run("noise", CpuRunRole::Other, 0, 500_000 - u64::from(cpu))],
                })
                .collect(),
            cpu_runs_left_out: 5,
        };
        path.cpus[18].runs.push(run("app", CpuRunRole::Own, 500_000, 501_000));
        path.cpus[19].runs.push(run("db", CpuRunRole::OnPath, 500_000, 504_000));
        let drawn = drawn_cpus(&path, 3);
        let expected: Vec<String> = (0..14).chain(18..20).map(|cpu| format!("CPU {cpu}")).collect();
        assert_eq!(drawn.names, expected);
        let own =
            drawn.segments.iter().find(|segment| segment.lane == 3 + 14 && segment.symbol == 'R').unwrap();
        assert_eq!((own.lane, own.from_ns, own.words.as_str()), (3 + 14, 500_000, ""), "too short for words");
        let other = drawn.segments.iter().find(|segment| segment.color == color(CpuRunRole::OnPath)).unwrap();
        assert_eq!(other.words, "CPU 19: db (tid 7) ran for 4.00 \u{b5}s, 500 \u{b5}s into it");
        assert_eq!(drawn.legend.len(), 2);
        assert_eq!(drawn.remarks.len(), 2, "{:?}", drawn.remarks);
    }
}
