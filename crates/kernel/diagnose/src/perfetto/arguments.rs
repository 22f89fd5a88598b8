//! Names and arguments of slices.

use super::packets::{Argument, ArgumentValue};
use crate::intervals::PathInterval;
use crate::names::worker_name;
use laggard_kernel_graph::{ExecutionGraph, Window, WorkerId};
use laggard_report::{KernelState, WaitCause};

/// Threads that used a CPU, of one wait for it.
const USERS_LISTED: usize = 3;

/// A thread's name with its number and, in a trace of several hosts, its host.
pub(super) fn thread_title(graph: &ExecutionGraph, id: WorkerId) -> String {
    let name = worker_name(graph, id);
    let host = if name.host.is_empty() { String::new() } else { format!(" on {}", name.host) };
    match name.tid {
        Some(tid) => format!("{} (tid {tid}){host}", name.name),
        None => format!("{}{host}", name.name),
    }
}

pub(super) fn text(name: &'static str, value: &str) -> Option<Argument> {
    (!value.is_empty()).then(|| (name, ArgumentValue::Text(value.to_owned())))
}

/// The title of an interval of a path: whose it is, unless the execution's own, and its state or cause.
pub(super) fn interval_title(graph: &ExecutionGraph, interval: &PathInterval<'_>) -> String {
    if interval.own {
        return state_title(interval.cause.word(), interval.resource);
    }
    let state = state_title(interval.state.word(), interval.resource);
    format!("{}: {state}", thread_title(graph, interval.worker))
}

/// A state with the device or interrupt that it is about.
pub(super) fn state_title(state: &str, resource: &str) -> String {
    if resource.is_empty() { state.to_owned() } else { format!("{state}: {resource}") }
}

/// What is known of an interval of a path.
pub(super) fn interval_arguments(graph: &ExecutionGraph, interval: &PathInterval<'_>) -> Vec<Argument> {
    let users = if interval.cause == WaitCause::CpuBusy { cpu_users(graph, interval) } else { String::new() };
    let own_call = interval.own_call.filter(|_| interval.state != KernelState::Preempted);
    let other_call = interval.call.filter(|_| !interval.own);
    let stack = interval.own_stacks.map_or((String::new(), String::new()), |stacks| {
        (functions(stacks.waiting), functions(stacks.waking))
    });
    [
        text("thread", &thread_title(graph, interval.worker)),
        text("state", interval.state.word()),
        text("cause", interval.cause.word()),
        text("resource", interval.resource),
        text("system call", own_call.map_or("", |call| call.name)),
        text("system call of that thread", other_call.map_or("", |call| call.name)),
        text("CPU used by", &users),
        (interval.idle_ns > 0).then_some(("CPU idle, ns", ArgumentValue::Number(interval.idle_ns))),
        text("waits in", &stack.0),
        text("woken from", &stack.1),
        inferred(interval.inferred),
    ]
    .into_iter()
    .flatten()
    .collect()
}

/// Whether a state depends on a switch that was not recorded.
pub(super) fn inferred(is_inferred: bool) -> Option<Argument> {
    is_inferred.then_some(("inferred from a switch that was not recorded", ArgumentValue::Flag(true)))
}

/// The functions of a call stack, the innermost first.
pub(super) fn functions(stack: &str) -> String {
    stack.split_whitespace().collect::<Vec<_>>().join(" ← ")
}

fn cpu_users(graph: &ExecutionGraph, interval: &PathInterval<'_>) -> String {
    let Some(cpu) = interval.cpu else { return String::new() };
    let window = Window { from: interval.from, to: interval.to };
    let users = graph.cpu_users(graph.worker(interval.worker).host, cpu, window);
    let others = users.into_iter().filter(|&(user, _)| user != interval.worker).take(USERS_LISTED);
    others.map(|(user, _)| thread_title(graph, user)).collect::<Vec<_>>().join(", ")
}
