//! System calls and page faults: what threads do in the kernel.

use super::settings::GraphMode;
use super::thread::ThreadId;
use super::tracker::{EventOrigin, StateTracker};
use crate::calls::{PAGE_FAULT, ThreadCall};
use crate::executions::name_of;
use crate::path::Window;
use crate::worker::WorkerId;
use laggard_model::{EventKind, KernelTime, TextId};

impl StateTracker {
    /// Applies the beginning or end of a system call, or a page fault; false for other events.
    pub(super) fn handle_call(&mut self, origin: EventOrigin, kind: &EventKind) -> bool {
        match *kind {
            EventKind::SyscallEntry { number, name } => self.enter_call(origin, number, name),
            EventKind::SyscallExit { number, name, .. } => self.leave_call(origin, number, name),
            EventKind::PageFault => self.begin_fault(origin),
            _ => return false,
        }
        true
    }

    /// A thread enters a system call. One that it was believed to be in has ended at an unknown time: it is dropped.
    fn enter_call(&mut self, origin: EventOrigin, number: u32, name: TextId) {
        let Some(thread) = self.caller(origin) else { return };
        self.end_fault(thread);
        let name = self.call_name(number, name);
        self.thread_mut(thread).open.call = Some((name, origin.time));
    }

    /// A thread leaves a system call. One that it was in when the trace began has lasted since then.
    fn leave_call(&mut self, origin: EventOrigin, number: u32, name: TextId) {
        let Some(thread) = self.caller(origin) else { return };
        let name = self.call_name(number, name);
        let Some(worker) = self.thread(thread).worker else { return };
        let entered = self.thread_mut(thread).open.call.take();
        let is_first = self.graph.calls.is_first(worker);
        let from = match entered {
            Some((entered, from)) if entered == name => from,
            // Another call: the records between were lost.
            Some(_) => return,
            None if is_first => self.graph.first(worker).map_or(origin.time, |vertex| vertex.time),
            None => return,
        };
        self.put_call(thread, worker, name, Window { from, to: origin.time });
    }

    /// Adds a call, unless records of the host were lost meanwhile: then it may be two.
    fn put_call(&mut self, thread: ThreadId, worker: WorkerId, name: TextId, window: Window) {
        let lost = self.hosts[self.thread(thread).host as usize].last_loss;
        if lost.is_none_or(|lost| lost <= window.from) {
            self.graph.calls.push(worker, ThreadCall { window, name });
        }
    }

    /// A page fault of the program. Nothing records its end.
    fn begin_fault(&mut self, origin: EventOrigin) {
        let Some(thread) = self.caller(origin) else { return };
        self.end_fault(thread);
        if self.thread(thread).open.call.is_none() {
            self.thread_mut(thread).open.fault = Some((origin.time, None));
        }
    }

    /// A thread stops waiting. Outside of a system call it waited in its last page fault, if it had one since.
    pub(super) fn extend_fault(&mut self, thread: ThreadId, until: KernelTime) {
        if let Some((_, to)) = &mut self.thread_mut(thread).open.fault {
            *to = Some(until);
        }
    }

    fn end_fault(&mut self, thread: ThreadId) {
        let Some(window) = self.thread_mut(thread).open.take_fault() else { return };
        let Some(worker) = self.thread(thread).worker else { return };
        let name = self.graph.text(PAGE_FAULT);
        self.put_call(thread, worker, name, window);
    }

    /// Ends all calls with the trace.
    pub(super) fn close_calls(&mut self) {
        for index in 0..self.threads.len() {
            let thread = ThreadId(index as u32);
            self.end_fault(thread);
            let known = *self.thread(thread);
            let (Some(worker), Some((name, from))) = (known.worker, known.open.call) else { continue };
            let to = self.hosts[known.host as usize].last_event;
            self.put_call(thread, worker, name, Window { from, to });
        }
    }

    /// The thread that runs on the CPU of a record; `None` if it is unknown or the rules are the published ones.
    fn caller(&mut self, origin: EventOrigin) -> Option<ThreadId> {
        if self.settings.mode == GraphMode::Compat {
            return None;
        }
        self.graph.calls.are_recorded = true;
        self.current(origin.cpu).filter(|&thread| !self.thread(thread).is_idle())
    }

    /// The name of a call: the recorded one, or that of its number on x86-64.
    fn call_name(&mut self, number: u32, name: TextId) -> TextId {
        match name {
            TextId::EMPTY => match name_of(number) {
                Some(name) => self.graph.text(name),
                None => self.graph.text(&format!("call {number}")),
            },
            name => name,
        }
    }
}
