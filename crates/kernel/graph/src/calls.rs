//! System calls of threads, and page faults: what a thread was doing in the kernel while it waited.

use crate::graph::ExecutionGraph;
use crate::path::Window;
use crate::worker::WorkerId;
use laggard_model::{KernelTime, TextId};

/// The name of a page fault among the system calls. No system call has a blank in its name.
pub(crate) const PAGE_FAULT: &str = "page fault";

/// A system call, or a page fault up to the end of its last wait.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct ThreadCall {
    pub(crate) window: Window,
    pub(crate) name: TextId,
}

/// The calls of every worker, in time order and without overlaps. Needs 24 bytes per call.
#[derive(Debug, Default)]
pub(crate) struct Calls {
    by_worker: Vec<Vec<ThreadCall>>,
    pub(crate) count: usize,
    /// Whether the trace records system calls.
    pub(crate) are_recorded: bool,
}

impl Calls {
    /// Adds a call. It is ignored if it begins before the end of the worker's last one.
    pub(crate) fn push(&mut self, worker: WorkerId, call: ThreadCall) {
        let index = worker.0 as usize;
        if self.by_worker.len() <= index {
            self.by_worker.resize_with(index + 1, Vec::new);
        }
        let calls = &mut self.by_worker[index];
        if calls.last().is_none_or(|last| last.window.to <= call.window.from) {
            calls.push(call);
            self.count += 1;
        }
    }

    /// Whether a worker has no call yet.
    pub(crate) fn is_first(&self, worker: WorkerId) -> bool {
        self.by_worker.get(worker.0 as usize).is_none_or(Vec::is_empty)
    }

    /// The calls of a worker that extend into a window.
    fn within(&self, worker: WorkerId, window: Window) -> impl Iterator<Item = &ThreadCall> {
        let calls = self.by_worker.get(worker.0 as usize).map_or(&[][..], Vec::as_slice);
        let first = calls.partition_point(|call| call.window.to <= window.from);
        calls[first..].iter().take_while(move |call| call.window.from < window.to)
    }
}

/// A system call, or page fault, of a thread.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct CallInterval<'g> {
    /// Its name: that of the system call (`futex`), `call N` if only the number is known, or `page fault`.
    pub name: &'g str,
    /// From its entry to its exit; of a page fault, from the fault to the end of its last wait.
    pub window: Window,
}

impl CallInterval<'_> {
    /// Whether it is a page fault of the program, not a system call.
    pub fn is_page_fault(&self) -> bool {
        self.name == PAGE_FAULT
    }
}

impl ExecutionGraph {
    /// Whether system calls were recorded. Without them no call is known.
    pub fn has_calls(&self) -> bool {
        self.calls.are_recorded
    }

    /// The call in which a thread was at an instant; `None` in user mode, in threads of the kernel, and where it is not known.
    pub fn call_at(&self, worker: WorkerId, time: KernelTime) -> Option<CallInterval<'_>> {
        self.calls_within(worker, Window { from: time, to: KernelTime::from_ns(time.ns() + 1) }).next()
    }

    /// The calls of a thread that extend into a window, not clipped to it, in time order.
    pub fn calls_within(&self, worker: WorkerId, window: Window) -> impl Iterator<Item = CallInterval<'_>> {
        let calls = self.calls.within(worker, window);
        calls.map(|call| CallInterval { name: self.texts().text(call.name), window: call.window })
    }
}

/// Calls in progress, of one thread.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct OpenCall {
    /// The system call: its name, and when it began.
    pub(crate) call: Option<(TextId, KernelTime)>,
    /// The last page fault outside of system calls: when it began, and the end of its last wait so far.
    pub(crate) fault: Option<(KernelTime, Option<KernelTime>)>,
}

impl OpenCall {
    /// The finished page fault, if the thread waited in it.
    pub(crate) fn take_fault(&mut self) -> Option<Window> {
        let (from, to) = self.fault.take()?;
        Some(Window { from, to: to? })
    }
}
