//! Workers, states and instants in the report's terms.

use laggard_kernel_graph::{Execution, ExecutionGraph, WorkerId, WorkerKind, WorkerState};
use laggard_report::{KernelState, PathLane};

/// A worker as named in reports.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) struct WorkerName {
    /// The thread's name, `idle task` or `interrupts`.
    pub(crate) name: String,
    /// The thread's number.
    pub(crate) tid: Option<u32>,
    /// The host's name; empty unless the graph is of several.
    pub(crate) host: String,
}

impl WorkerName {
    /// The name, and the host's in a graph of several.
    pub(crate) fn with_host(self) -> String {
        if self.host.is_empty() { self.name } else { format!("{} on {}", self.name, self.host) }
    }
}

pub(crate) fn worker_name(graph: &ExecutionGraph, id: WorkerId) -> WorkerName {
    let named = graph.name(id);
    let (name, tid) = match graph.worker(id).kind {
        WorkerKind::Thread { tid, .. } if named.is_empty() => ("(without a name)", Some(tid.0)),
        WorkerKind::Thread { tid, .. } => (named, Some(tid.0)),
        WorkerKind::Idle(_) => ("idle task", None),
        WorkerKind::Interrupts(_) => ("interrupts", None),
    };
    WorkerName { name: name.to_owned(), tid, host: graph.host_name(id).to_owned() }
}

pub(crate) fn lane(graph: &ExecutionGraph, id: WorkerId) -> PathLane {
    let WorkerName { name, tid, host } = worker_name(graph, id);
    PathLane { thread: name, tid, host }
}

pub(crate) const fn state(state: WorkerState) -> KernelState {
    match state {
        WorkerState::Running => KernelState::Running,
        WorkerState::Preempted => KernelState::Preempted,
        WorkerState::Blocked => KernelState::Blocked,
        WorkerState::Network => KernelState::Network,
        WorkerState::BlockDevice => KernelState::BlockDevice,
        WorkerState::Timer => KernelState::Timer,
        WorkerState::Interrupted => KernelState::Interrupted,
        WorkerState::Ipi => KernelState::Ipi,
        WorkerState::UserInput => KernelState::UserInput,
        WorkerState::Unknown => KernelState::Unknown,
        WorkerState::Throttled => KernelState::Throttled,
    }
}

/// The index of a state in lists by state.
pub(crate) fn state_index(state: KernelState) -> usize {
    KernelState::ALL.iter().position(|&other| other == state).expect("every state is in the list")
}

/// The delimiter's name for an execution, unless it only repeats the thread's; with the key, unless it is one of its words.
pub(crate) fn label(execution: &Execution, thread: &str) -> String {
    match &execution.key {
        Some(key) if !execution.label.split_whitespace().any(|word| word == key) => {
            format!("{} {key}", execution.label)
        }
        _ if execution.label == thread => String::new(),
        _ => execution.label.clone(),
    }
}

/// A name in backticks; backticks in it are replaced.
pub(crate) fn quoted(name: &str) -> String {
    format!("`{}`", name.replace('`', "'"))
}

/// A delimiter as a command line option.
pub(crate) fn delimiter_text(text: &str) -> String {
    quoted(&format!("--executions {text}"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use laggard_kernel_graph::{HostId, Window};
    use laggard_model::{KernelTime, Tid};

    #[test]
    fn a_key_is_omitted_from_a_label_only_if_the_label_contains_it() {
        let execution = |label: &str, key: &str| Execution {
            label: label.to_owned(),
            key: Some(key.to_owned()),
            context: None,
            host: HostId(0),
            tid: Tid(1),
            end_tid: Tid(1),
            window: Window { from: KernelTime::from_ns(0), to: KernelTime::from_ns(1) },
            depth: 0,
        };
        assert_eq!(label(&execution("exec type=compute ver=v2", "2"), ""), "exec type=compute ver=v2 2");
        assert_eq!(label(&execution("checkout 17", "17"), ""), "checkout 17");
        assert_eq!(label(&execution("checkout", "17"), "checkout"), "checkout 17");
    }
}
