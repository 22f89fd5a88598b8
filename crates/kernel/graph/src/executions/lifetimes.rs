//! Lifetimes of threads, from their first event to their last.

use super::execution::Execution;
use super::glob::Glob;
use super::pairs::{PairedExecutions, sorted_with_depths};
use super::threads::Threads;
use crate::path::Window;
use crate::tid_map::TidMap;
use crate::worker::HostId;
use laggard_model::{EventKind, KernelEvent, KernelTexts, KernelTime, Loss, Losses, TextId, Tid};

/// The lifetime of one thread so far.
#[derive(Clone, Copy, Debug, Default)]
struct ThreadLifetime {
    observed: Option<Window>,
    name: TextId,
    ended: bool,
}

/// The lifetimes of all threads. Reuse of a tid starts a new lifetime.
#[derive(Debug)]
pub(crate) struct ThreadLifetimes {
    host: HostId,
    alive: TidMap<ThreadLifetime>,
    ended: Vec<(Tid, ThreadLifetime)>,
    names: KernelTexts,
    last: KernelTime,
}

impl ThreadLifetimes {
    pub(crate) fn new(host: HostId) -> ThreadLifetimes {
        ThreadLifetimes {
            host,
            alive: TidMap::default(),
            ended: Vec::new(),
            names: KernelTexts::default(),
            last: KernelTime::default(),
        }
    }

    pub(crate) fn push(&mut self, event: &KernelEvent, threads: &Threads) {
        self.last = self.last.max(event.time);
        match event.kind {
            EventKind::Switch { prev, prev_state, next, .. } => {
                self.record_seen(prev, event.time);
                self.record_seen(next, event.time);
                if prev_state.is_dead() {
                    self.end(prev, threads);
                }
            }
            EventKind::WakeupNew { tid, .. }
            | EventKind::Waking { tid, .. }
            | EventKind::Wakeup { tid, .. } => {
                self.record_seen(tid, event.time);
            }
            EventKind::Fork { child, .. } => {
                self.end(child, threads);
                self.record_seen(child, event.time);
            }
            _ => {
                if let Some(tid) = threads.acting(event) {
                    self.record_seen(tid, event.time);
                }
            }
        }
    }

    fn record_seen(&mut self, tid: Tid, time: KernelTime) {
        if tid == Tid::IDLE {
            return;
        }
        let lifetime = self.alive.entry(tid);
        match &mut lifetime.observed {
            Some(window) => window.to = window.to.max(time),
            None => lifetime.observed = Some(Window { from: time, to: time }),
        }
    }

    fn end(&mut self, tid: Tid, threads: &Threads) {
        if let Some(mut lifetime) = self.alive.remove(tid) {
            lifetime.name = self.names.intern(threads.name_of(tid));
            lifetime.ended = true;
            self.ended.push((tid, lifetime));
        }
    }

    /// The lifetimes of threads whose last name matches a pattern.
    pub(crate) fn named(
        mut self,
        pattern: &Glob,
        in_scope: impl Fn(Tid) -> bool,
        threads: &Threads,
    ) -> PairedExecutions {
        let mut executions = Vec::new();
        for (tid, lifetime) in self.all(threads) {
            let name = self.names.text(lifetime.name);
            if let Some(window) = lifetime.observed.filter(|_| pattern.matches(name) && in_scope(tid)) {
                executions.push(self.execution(tid, name, window));
            }
        }
        PairedExecutions { executions: sorted_with_depths(executions), unfinished: Losses::none() }
    }

    /// One thread over a window, or over its lifetime. If several threads had this tid within the window, each is one
    /// execution.
    pub(crate) fn by_tid(
        mut self,
        thread: Tid,
        requested: Option<Window>,
        threads: &Threads,
    ) -> PairedExecutions {
        let mut executions = Vec::new();
        let mut unfinished = Losses::none();
        for (tid, lifetime) in self.all(threads) {
            let Some(lifetime_window) = lifetime.observed.filter(|_| tid == thread) else { continue };
            let window = match requested {
                None => lifetime_window,
                Some(requested) => {
                    let last = if lifetime.ended { lifetime_window.to } else { self.last };
                    Window { from: requested.from.max(lifetime_window.from), to: requested.to.min(last) }
                }
            };
            if window.from < window.to {
                executions.push(self.execution(tid, self.names.text(lifetime.name), window));
            }
        }
        if executions.is_empty() {
            unfinished.add(Loss::UnfinishedExecution, || {
                format!("thread {} has no events in the window", thread.0)
            });
        }
        PairedExecutions { executions: sorted_with_depths(executions), unfinished }
    }

    fn all(&mut self, threads: &Threads) -> Vec<(Tid, ThreadLifetime)> {
        let mut all = std::mem::take(&mut self.ended);
        for (tid, mut lifetime) in std::mem::take(&mut self.alive).sorted() {
            lifetime.name = self.names.intern(threads.name_of(tid));
            all.push((tid, lifetime));
        }
        all
    }

    fn execution(&self, tid: Tid, name: &str, window: Window) -> Execution {
        let label = if name.is_empty() { format!("thread {}", tid.0) } else { name.to_owned() };
        Execution { label, key: None, context: None, host: self.host, tid, end_tid: tid, window, depth: 0 }
    }
}
