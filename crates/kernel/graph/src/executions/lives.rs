//! Threads from their first event to their last.

use super::execution::Execution;
use super::glob::Glob;
use super::pairs::{Paired, in_order};
use super::threads::Threads;
use crate::path::Window;
use crate::tid_map::TidMap;
use crate::worker::HostId;
use laggard_model::{EventKind, KernelEvent, KernelTexts, KernelTime, Loss, Losses, TextId, Tid};

/// One life so far.
#[derive(Clone, Copy, Debug, Default)]
struct Life {
    seen: Option<Window>,
    name: TextId,
    ended: bool,
}

/// The lives of all threads. Reuse of a number starts another life.
#[derive(Debug)]
pub(crate) struct Lives {
    host: HostId,
    alive: TidMap<Life>,
    ended: Vec<(Tid, Life)>,
    names: KernelTexts,
    last: KernelTime,
}

impl Lives {
    pub(crate) fn new(host: HostId) -> Lives {
        Lives {
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
                self.see(prev, event.time);
                self.see(next, event.time);
                if prev_state.is_dead() {
                    self.end(prev, threads);
                }
            }
            EventKind::WakeupNew { tid, .. }
            | EventKind::Waking { tid, .. }
            | EventKind::Wakeup { tid, .. } => {
                self.see(tid, event.time);
            }
            EventKind::Fork { child, .. } => {
                self.end(child, threads);
                self.see(child, event.time);
            }
            _ => {
                if let Some(tid) = threads.acting(event) {
                    self.see(tid, event.time);
                }
            }
        }
    }

    fn see(&mut self, tid: Tid, time: KernelTime) {
        if tid == Tid::IDLE {
            return;
        }
        let life = self.alive.entry(tid);
        match &mut life.seen {
            Some(window) => window.to = window.to.max(time),
            None => life.seen = Some(Window { from: time, to: time }),
        }
    }

    fn end(&mut self, tid: Tid, threads: &Threads) {
        if let Some(mut life) = self.alive.remove(tid) {
            life.name = self.names.intern(threads.name_of(tid));
            life.ended = true;
            self.ended.push((tid, life));
        }
    }

    /// The lives of threads whose last name is of a pattern.
    pub(crate) fn named(
        mut self,
        wanted: &Glob,
        in_scope: impl Fn(Tid) -> bool,
        threads: &Threads,
    ) -> Paired {
        let mut executions = Vec::new();
        for (tid, life) in self.all(threads) {
            let name = self.names.text(life.name);
            if let Some(window) = life.seen.filter(|_| wanted.matches(name) && in_scope(tid)) {
                executions.push(self.execution(tid, name, window));
            }
        }
        Paired { executions: in_order(executions), unfinished: Losses::none() }
    }

    /// One thread over a window, or as long as it is seen. A number that is used by several threads in the window is
    /// one execution each.
    pub(crate) fn of(mut self, wanted: Tid, asked: Option<Window>, threads: &Threads) -> Paired {
        let mut executions = Vec::new();
        let mut unfinished = Losses::none();
        for (tid, life) in self.all(threads) {
            let Some(seen) = life.seen.filter(|_| tid == wanted) else { continue };
            let window = match asked {
                None => seen,
                Some(asked) => {
                    let last = if life.ended { seen.to } else { self.last };
                    Window { from: asked.from.max(seen.from), to: asked.to.min(last) }
                }
            };
            if window.from < window.to {
                executions.push(self.execution(tid, self.names.text(life.name), window));
            }
        }
        if executions.is_empty() {
            unfinished.add(Loss::UnfinishedExecution, || format!("thread {} is not seen there", wanted.0));
        }
        Paired { executions: in_order(executions), unfinished }
    }

    fn all(&mut self, threads: &Threads) -> Vec<(Tid, Life)> {
        let mut all = std::mem::take(&mut self.ended);
        for (tid, mut life) in std::mem::take(&mut self.alive).sorted() {
            life.name = self.names.intern(threads.name_of(tid));
            all.push((tid, life));
        }
        all
    }

    fn execution(&self, tid: Tid, name: &str, window: Window) -> Execution {
        let label = if name.is_empty() { format!("thread {}", tid.0) } else { name.to_owned() };
        Execution { label, key: None, context: None, host: self.host, tid, end_tid: tid, window, depth: 0 }
    }
}
