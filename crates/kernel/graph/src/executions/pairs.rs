//! Which beginning an end belongs to.

use super::delimiter::Pairing;
use super::execution::Execution;
use super::marks::{Lonely, Mark, Phase, Repeated};
use super::threads::Threads;
use crate::path::Window;
use crate::worker::HostId;
use laggard_model::{Cpu, KernelTime, Loss, Losses, TextId, Tid};
use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet, HashMap};

/// Beginnings that wait for their end; beyond it the oldest is given up.
const OPEN_MAX: usize = 1 << 18;
/// Beginnings on one thread that wait for their end; beyond it the oldest is given up.
const OPEN_PER_THREAD_MAX: usize = 4096;
/// Beginnings of one name on other threads that an end is compared with; with more of them none is chosen.
const CANDIDATES_MAX: usize = 256;

/// Beginnings in the order they came.
type OpenId = u64;

/// Pairs marks to executions.
#[derive(Debug)]
pub(crate) struct Pairs {
    host: HostId,
    pairing: Pairing,
    next: OpenId,
    open: BTreeMap<OpenId, Mark>,
    by_thread: HashMap<Tid, Vec<OpenId>>,
    by_name: HashMap<(String, Option<String>), BTreeSet<OpenId>>,
    last_loss: HashMap<Cpu, KernelTime>,
    done: Vec<Execution>,
    unfinished: Losses,
}

impl Pairs {
    pub(crate) fn new(host: HostId, pairing: Pairing) -> Pairs {
        Pairs {
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

    /// Events of a CPU were lost: what begins before and ends after it on that CPU, and has no key, cannot be
    /// trusted to belong together.
    pub(crate) fn lost(&mut self, cpu: Cpu, time: KernelTime) {
        self.last_loss.insert(cpu, time);
    }

    pub(crate) fn push(&mut self, mark: Mark, threads: &Threads) {
        match mark.phase {
            Phase::Begin => self.begin(mark),
            Phase::End => self.end(&mark, threads),
        }
    }

    fn begin(&mut self, mark: Mark) {
        let older = if mark.repeated == Repeated::Nests { None } else { self.on_thread(&mark) };
        match older {
            Some(older) if mark.repeated == Repeated::Supersedes => drop(self.take(older)),
            Some(older) => self.give_up(older),
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
            self.give_up(oldest);
        }
        if self.open.len() > OPEN_MAX
            && let Some((&oldest, _)) = self.open.first_key_value()
        {
            self.give_up(oldest);
        }
    }

    fn end(&mut self, mark: &Mark, threads: &Threads) {
        let Some(id) = self.on_thread(mark).or_else(|| self.elsewhere(mark, threads)) else {
            if mark.lonely == Lonely::Unfinished {
                self.unfinished(mark);
            }
            return;
        };
        let Some(begin) = self.take(id) else { return };
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

    /// The innermost beginning on the mark's own thread that it fits.
    fn on_thread(&self, mark: &Mark) -> Option<OpenId> {
        let stack = self.by_thread.get(&mark.tid)?;
        stack.iter().rev().copied().find(|id| self.open.get(id).is_some_and(|begin| fits(begin, mark)))
    }

    /// The beginning on another thread that it fits, if there is one only.
    fn elsewhere(&self, mark: &Mark, threads: &Threads) -> Option<OpenId> {
        if mark.name.is_empty() || self.pairing == Pairing::Thread {
            return None;
        }
        let same = self.by_name.get(&(mark.name.clone(), mark.key.clone()))?;
        if same.len() > CANDIDATES_MAX {
            return None;
        }
        let begins = || same.iter().filter_map(|&id| Some((id, self.open.get(&id)?)));
        let process = threads.process_of(mark.tid);
        let near = only(begins().filter(|(_, begin)| threads.process_of(begin.tid) == process));
        if near.is_some() || self.pairing == Pairing::Process {
            return near;
        }
        let container = threads.container_of(mark.tid);
        let contained =
            only(begins().filter(|(_, begin)| {
                container != TextId::EMPTY && threads.container_of(begin.tid) == container
            }));
        if contained.is_some() || self.pairing == Pairing::Container {
            return contained;
        }
        only(begins())
    }

    fn loss_between(&self, begin: &Mark, end: &Mark) -> bool {
        [begin.cpu, end.cpu].iter().any(|cpu| self.last_loss.get(cpu).is_some_and(|&loss| loss > begin.time))
    }

    fn take(&mut self, id: OpenId) -> Option<Mark> {
        let mark = self.open.remove(&id)?;
        if let Some(stack) = self.by_thread.get_mut(&mark.tid) {
            // Mostly the last one.
            if let Some(at) = stack.iter().rposition(|&open| open == id) {
                stack.remove(at);
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

    fn give_up(&mut self, id: OpenId) {
        if let Some(mark) = self.take(id) {
            self.unfinished(&mark);
        }
    }

    fn unfinished(&mut self, mark: &Mark) {
        self.unfinished.add(Loss::UnfinishedExecution, || example(mark));
    }

    /// The executions in their order, and what has no other end.
    pub(crate) fn finish(mut self) -> Paired {
        while let Some((&oldest, _)) = self.open.first_key_value() {
            self.give_up(oldest);
        }
        Paired { executions: in_order(self.done), unfinished: self.unfinished }
    }
}

/// What pairing gave.
pub(crate) struct Paired {
    pub(crate) executions: Vec<Execution>,
    pub(crate) unfinished: Losses,
}

/// Whether a beginning is what a mark of the same thread ends (or repeats). An end without a name ends what has no
/// key; an end without a key ends whatever has its name; a key in the end that the beginning does not have is no
/// hindrance.
fn fits(begin: &Mark, mark: &Mark) -> bool {
    if mark.name.is_empty() {
        return begin.key.is_none();
    }
    begin.name == mark.name && (begin.key == mark.key || begin.key.is_none() || mark.key.is_none())
}

fn only<'a>(mut begins: impl Iterator<Item = (OpenId, &'a Mark)>) -> Option<OpenId> {
    let (first, _) = begins.next()?;
    begins.next().is_none().then_some(first)
}

fn example(mark: &Mark) -> String {
    let what = match mark.phase {
        Phase::Begin => "has no end",
        Phase::End => "has no beginning",
    };
    let label = if mark.label.is_empty() { &mark.name } else { &mark.label };
    format!("`{label}` on thread {} at {} ns {what}", mark.tid.0, mark.time.ns())
}

/// Executions in the order of [`FoundExecutions`](super::execution::FoundExecutions), with their depths.
pub(crate) fn in_order(mut executions: Vec<Execution>) -> Vec<Execution> {
    executions.sort_by(|a, b| {
        let place = |e: &Execution| (e.window.from, Reverse(e.window.to), e.tid);
        place(a).cmp(&place(b)).then_with(|| a.label.cmp(&b.label)).then_with(|| a.key.cmp(&b.key))
    });
    set_depths(&mut executions);
    executions
}

/// Counts for each execution those of its thread that were under way when it began. They come in order.
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
