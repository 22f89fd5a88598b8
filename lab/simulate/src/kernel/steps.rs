//! The actions of threads.

use super::log::EventContext;
use super::machine::{Machine, ThreadActivity, TimedEvent};
use super::programs::{Action, ThreadRole, background, execution};
use super::scenario::{TimeSpent, TrueExecution};
use laggard_model::{EventKind, KernelEvent, KernelTexts};

/// The server's index among the threads.
const SERVER: usize = 0;
/// Clients pause this long between executions.
const PAUSE_NS: u64 = 2_000_000;

impl<F: FnMut(&KernelEvent, &KernelTexts)> Machine<F> {
    /// Does what the thread does next, until it computes; false when it waits instead.
    pub(super) fn act(&mut self, cpu: usize, thread: usize) -> bool {
        loop {
            let Some(action) = self.threads[thread].actions.pop_front() else {
                self.refill_actions(thread);
                continue;
            };
            match action {
                Action::Compute(ns) => {
                    self.threads[thread].left_ns = ns;
                    return true;
                }
                Action::Begin(number) => self.begin(cpu, thread, number),
                Action::End(number) => self.end(cpu, thread, number),
                Action::Reply(client) => self.send(cpu, Some(client)),
                Action::Unlock => self.unlock(cpu),
                Action::Lock if self.lock_holder.is_none() => self.lock_holder = Some(thread),
                Action::Serve if !self.questions.is_empty() => self.take_question(thread),
                waiting => {
                    self.wait(cpu, thread, waiting);
                    return false;
                }
            }
        }
    }

    fn wait(&mut self, cpu: usize, thread: usize, action: Action) {
        let activity = match action {
            Action::Disk(ns) => {
                self.access_disk(thread, ns);
                ThreadActivity::Disk
            }
            Action::Sleep(ns) => {
                self.at(self.now + ns, TimedEvent::Timer { thread });
                ThreadActivity::Timer
            }
            Action::Ask(ns) => {
                self.questions.push_back((thread, ns));
                let waits = self.threads[SERVER].activity == ThreadActivity::Message;
                self.send(cpu, waits.then_some(SERVER));
                ThreadActivity::Message
            }
            Action::Lock => {
                self.lock_queue.push_back(thread);
                ThreadActivity::Lock
            }
            _ => {
                self.threads[thread].actions.push_front(Action::Serve);
                ThreadActivity::Message
            }
        };
        self.block(cpu, thread, activity);
    }

    fn take_question(&mut self, thread: usize) {
        let Some((client, ns)) = self.questions.pop_front() else { return };
        self.threads[thread].actions.extend([Action::Compute(ns), Action::Reply(client)]);
    }

    /// Hands the lock to the first who waits.
    fn unlock(&mut self, cpu: usize) {
        self.lock_holder = self.lock_queue.pop_front();
        if let Some(next) = self.lock_holder {
            self.wake(cpu, EventContext::Thread, next);
        }
    }

    fn begin(&mut self, cpu: usize, thread: usize, number: usize) {
        let text = format!("exec_begin id={number} type={}", self.planned[number].kind.name());
        let time = self.mark(cpu, &text);
        self.turn(thread, ThreadActivity::Running, time);
        self.threads[thread].spent = TimeSpent::default();
        self.threads[thread].begun = time;
    }

    fn end(&mut self, cpu: usize, thread: usize, number: usize) {
        let time = self.mark(cpu, &format!("exec_end id={number}"));
        self.turn(thread, ThreadActivity::Running, time);
        let thread = &self.threads[thread];
        self.done.push(TrueExecution {
            id: number as u32,
            kind: self.planned[number].kind,
            is_hit: self.planned[number].is_hit,
            tid: thread.tid,
            begin_ns: thread.begun,
            end_ns: time,
            spent: thread.spent,
        });
    }

    fn mark(&mut self, cpu: usize, text: &str) -> u64 {
        let text = self.log.name(text);
        let writer = self.writer(cpu);
        self.log.write(self.now, cpu, writer, EventContext::Thread, EventKind::Marker { text })
    }

    fn refill_actions(&mut self, thread: usize) {
        let ThreadRole::Client(_) = self.threads[thread].role else {
            let role = self.threads[thread].role;
            self.threads[thread].actions = background(role, self.scenario.fault, &mut self.random);
            return;
        };
        let number = self.threads[thread].next;
        let Some(&planned) = self.planned.get(number) else {
            // Nothing left: sleeps on.
            self.threads[thread].actions.push_back(Action::Sleep(1 << 40));
            return;
        };
        self.threads[thread].next += self.scenario.clients as usize;
        let mut actions = execution(number, planned, self.scenario.fault, &mut self.random);
        actions.push_front(Action::Sleep(PAUSE_NS));
        self.threads[thread].actions = actions;
    }
}
