//! Which beginning an end is paired with.

use super::delimiter::Pairing;
use super::execution::Execution;
use super::marks::{ExecutionMark, MarkPhase, RepeatedBegin, UnmatchedEnd};
use super::threads::Threads;
use crate::path::Window;
use crate::worker::HostId;
use laggard_model::{Cpu, KernelTime, Loss, Losses, TextId, Tid};
use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet, HashMap};

/// Maximum number of open beginnings; beyond it the oldest is dropped and counted as unfinished.
const OPEN_MAX: usize = 1 << 18;
/// Maximum number of open beginnings on one thread; beyond it the oldest is dropped and counted as unfinished.
const OPEN_PER_THREAD_MAX: usize = 4096;
/// Maximum number of open beginnings on other threads that an end is compared with; with more, it stays unpaired.
const CANDIDATES_MAX: usize = 256;

/// Sequence number of a beginning.
type OpenId = u64;

/// Pairs beginnings and ends of executions.
#[derive(Debug)]
pub(crate) struct MarkPairing {
    host: HostId,
    pairing: Pairing,
    next: OpenId,
    open: BTreeMap<OpenId, ExecutionMark>,
    by_thread: HashMap<Tid, Vec<OpenId>>,
    by_name: HashMap<(String, Option<String>), BTreeSet<OpenId>>,
    last_loss: HashMap<Cpu, KernelTime>,
    done: Vec<Execution>,
    unfinished: Losses,
}

impl MarkPairing {
    pub(crate) fn new(host: HostId, pairing: Pairing) -> MarkPairing {
        MarkPairing {
            host,
            pairing,
            next: 0,
            open: BTreeMap::new(),
            by_thread: HashMap::new(),
            by_name: HashMap::new(),
            last_loss: HashMap::new(),
            done: Vec::new(),
            unfinished: Losses::none(),
        }
    }

    /// Records that events of a CPU were lost: a beginning before the loss and an end after it on that CPU are paired
    /// only by key.
    pub(crate) fn record_loss(&mut self, cpu: Cpu, time: KernelTime) {
        self.last_loss.insert(cpu, time);
    }

    pub(crate) fn push(&mut self, mark: ExecutionMark, threads: &Threads) {
        match mark.phase {
            MarkPhase::Begin => self.begin(mark),
            MarkPhase::End => self.end(&mark, threads),
        }
    }

    fn begin(&mut self, mark: ExecutionMark) {
        let older = if mark.repeated == RepeatedBegin::Nests { None } else { self.on_thread(&mark) };
        match older {
            Some(older) if mark.repeated == RepeatedBegin::Supersedes => drop(self.remove(older)),
            Some(older) => self.drop_unfinished(older),
            None => {}
        }
        let id = self.next;
        self.next += 1;
        let stack = self.by_thread.entry(mark.tid).or_default();
        stack.push(id);
        let crowded = (stack.len() > OPEN_PER_THREAD_MAX).then(|| stack[0]);
        self.by_name.entry((mark.name.clone(), mark.key.clone())).or_default().insert(id);
        self.open.insert(id, mark);
        if let Some(oldest) = crowded {
            self.drop_unfinished(oldest);
        }
        if self.open.len() > OPEN_MAX
            && let Some((&oldest, _)) = self.open.first_key_value()
        {
            self.drop_unfinished(oldest);
        }
    }

    fn end(&mut self, mark: &ExecutionMark, threads: &Threads) {
        let Some(id) = self.on_thread(mark).or_else(|| self.on_other_thread(mark, threads)) else {
            if mark.unmatched == UnmatchedEnd::Unfinished {
                self.unfinished(mark);
            }
            return;
        };
        let Some(begin) = self.remove(id) else { return };
        if begin.time > mark.time || (begin.key.is_none() && self.loss_between(&begin, mark)) {
            self.unfinished(&begin);
            return self.unfinished(mark);
        }
        self.done.push(Execution {
            label: begin.label,
            key: begin.key,
            context: begin.context.or(mark.context),
            host: self.host,
            tid: begin.tid,
            end_tid: mark.tid,
            window: Window { from: begin.time, to: mark.time },
            depth: 0,
        });
    }

    /// The innermost matching beginning on the mark's own thread.
    fn on_thread(&self, mark: &ExecutionMark) -> Option<OpenId> {
        let stack = self.by_thread.get(&mark.tid)?;
        stack
            .iter()
            .rev()
            .copied()
            .find(|id| self.open.get(id).is_some_and(|begin| matches_begin(begin, mark)))
    }

    /// The matching beginning on another thread, if it is unique.
    fn on_other_thread(&self, mark: &ExecutionMark, threads: &Threads) -> Option<OpenId> {
        if mark.name.is_empty() || self.pairing == Pairing::Thread {
            return None;
        }
        let same = self.by_name.get(&(mark.name.clone(), mark.key.clone()))?;
        if same.len() > CANDIDATES_MAX {
            return None;
        }
        let begins = || same.iter().filter_map(|&id| Some((id, self.open.get(&id)?)));
        let process = threads.process_of(mark.tid);
        let near = single(begins().filter(|(_, begin)| threads.process_of(begin.tid) == process));
        if near.is_some() || self.pairing == Pairing::Process {
            return near;
        }
        let container = threads.container_of(mark.tid);
        let contained =
            single(begins().filter(|(_, begin)| {
                container != TextId::EMPTY && threads.container_of(begin.tid) == container
            }));
        if contained.is_some() || self.pairing == Pairing::Container {
            return contained;
        }
        single(begins())
    }

    fn loss_between(&self, begin: &ExecutionMark, end: &ExecutionMark) -> bool {
        [begin.cpu, end.cpu].iter().any(|cpu| self.last_loss.get(cpu).is_some_and(|&loss| loss > begin.time))
    }

    fn remove(&mut self, id: OpenId) -> Option<ExecutionMark> {
        let mark = self.open.remove(&id)?;
        if let Some(stack) = self.by_thread.get_mut(&mark.tid) {
            // Usually the last one.
            if let Some(position) = stack.iter().rposition(|&open| open == id) {
                stack.remove(position);
            }
            if stack.is_empty() {
                self.by_thread.remove(&mark.tid);
            }
        }
        let key = (mark.name.clone(), mark.key.clone());
        if let Some(same) = self.by_name.get_mut(&key) {
            same.remove(&id);
            if same.is_empty() {
                self.by_name.remove(&key);
            }
        }
        Some(mark)
    }

    fn drop_unfinished(&mut self, id: OpenId) {
        if let Some(mark) = self.remove(id) {
            self.unfinished(&mark);
        }
    }

    fn unfinished(&mut self, mark: &ExecutionMark) {
        self.unfinished.add(Loss::UnfinishedExecution, || describe_unfinished(mark));
    }

    /// The executions in order, and the unpaired marks.
    pub(crate) fn finish(mut self) -> PairedExecutions {
        while let Some((&oldest, _)) = self.open.first_key_value() {
            self.drop_unfinished(oldest);
        }
        PairedExecutions { executions: sorted_with_depths(self.done), unfinished: self.unfinished }
    }
}

/// The result of pairing.
pub(crate) struct PairedExecutions {
    pub(crate) executions: Vec<Execution>,
    pub(crate) unfinished: Losses,
}

/// Whether a mark of the same thread ends (or repeats) a beginning. An end without a name matches a beginning without a
/// key; an end without a key matches any beginning with its name; a beginning without a key matches an end with any
/// key.
fn matches_begin(begin: &ExecutionMark, mark: &ExecutionMark) -> bool {
    if mark.name.is_empty() {
        return begin.key.is_none();
    }
    begin.name == mark.name && (begin.key == mark.key || begin.key.is_none() || mark.key.is_none())
}

fn single<'a>(mut begins: impl Iterator<Item = (OpenId, &'a ExecutionMark)>) -> Option<OpenId> {
    let (first, _) = begins.next()?;
    begins.next().is_none().then_some(first)
}

fn describe_unfinished(mark: &ExecutionMark) -> String {
    let what = match mark.phase {
        MarkPhase::Begin => "has no end",
        MarkPhase::End => "has no beginning",
    };
    let label = if mark.label.is_empty() { &mark.name } else { &mark.label };
    format!("`{label}` on thread {} at {} ns {what}", mark.tid.0, mark.time.ns())
}

/// Sorts executions in the order of [`DelimitedExecutions`](super::execution::DelimitedExecutions), and sets their
/// depths.
pub(crate) fn sorted_with_depths(mut executions: Vec<Execution>) -> Vec<Execution> {
    executions.sort_by(|a, b| {
        let sort_key = |e: &Execution| (e.window.from, Reverse(e.window.to), e.tid);
        sort_key(a).cmp(&sort_key(b)).then_with(|| a.label.cmp(&b.label)).then_with(|| a.key.cmp(&b.key))
    });
    set_depths(&mut executions);
    executions
}

/// Sets each execution's nesting depth on its thread. `executions` must be sorted.
fn set_depths(executions: &mut [Execution]) {
    let mut under_way: HashMap<Tid, BTreeMap<(KernelTime, usize), ()>> = HashMap::new();
    for (index, execution) in executions.iter_mut().enumerate() {
        let ends = under_way.entry(execution.tid).or_default();
        while ends.first_key_value().is_some_and(|(&(end, _), ())| end <= execution.window.from) {
            ends.pop_first();
        }
        execution.depth = ends.len() as u32;
        ends.insert((execution.window.to, index), ());
    }
}
