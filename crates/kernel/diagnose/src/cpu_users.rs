//! Who used the CPU that threads waited for.

use crate::intervals::PathInterval;
use crate::names::worker_name;
use laggard_kernel_graph::{CpuUserRelation, ExecutionGraph, Window};
use laggard_report::{CpuUser, CpuUserKind, WaitCause};
use std::cmp::Reverse;
use std::collections::BTreeMap;

/// Maximum number of users of CPUs that are listed for a wait.
const LISTED_MAX: usize = 8;

/// Maximum number of users that are counted by name for a wait; time of further ones is not.
const USERS_MAX: usize = 1_000;

/// Threads that used CPUs, by name, relation, and container.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(crate) struct CpuUsers {
    users: BTreeMap<UserKey, BTreeMap<Option<u32>, u64>>,
}

/// Key of a group of threads: name, relation, and container.
type UserKey = (String, CpuUserKind, Option<String>);

impl CpuUsers {
    /// Adds who used the CPU during one wait for it; nothing for other intervals.
    pub(crate) fn add_interval(&mut self, graph: &ExecutionGraph, interval: &PathInterval<'_>) {
        let Some(cpu) = interval.cpu.filter(|_| interval.cause == WaitCause::CpuBusy) else { return };
        let window = Window { from: interval.from, to: interval.to };
        let own_container = graph.container(interval.worker);
        for (user, ns) in graph.cpu_users(graph.worker(interval.worker).host, cpu, window) {
            if user == interval.worker {
                continue;
            }
            let kind = relation_kind(graph.relation(interval.worker, user));
            let container =
                graph.container(user).filter(|container| Some(container) != own_container.as_ref());
            let name = worker_name(graph, user);
            self.add((name.clone().with_host(), kind, container), name.tid, ns);
        }
    }

    fn add(&mut self, key: UserKey, tid: Option<u32>, ns: u64) {
        if self.users.len() < USERS_MAX || self.users.contains_key(&key) {
            *self.users.entry(key).or_default().entry(tid).or_default() += ns;
        }
    }

    /// Adds all users of other waits.
    pub(crate) fn merge(&mut self, others: &CpuUsers) {
        for (key, tids) in &others.users {
            tids.iter().for_each(|(&tid, &ns)| self.add(key.clone(), tid, ns));
        }
    }

    /// The users, the longest first.
    pub(crate) fn listed(&self) -> Vec<CpuUser> {
        let mut users: Vec<CpuUser> = self.users.iter().map(|(key, tids)| user(key, tids)).collect();
        users.sort_by(|a, b| {
            b.total_ns.cmp(&a.total_ns).then_with(|| (&a.thread, a.kind).cmp(&(&b.thread, b.kind)))
        });
        users.truncate(LISTED_MAX);
        users
    }
}

fn user((thread, kind, container): &UserKey, tids: &BTreeMap<Option<u32>, u64>) -> CpuUser {
    let longest = tids.iter().max_by_key(|&(&tid, &ns)| (ns, Reverse(tid)));
    CpuUser {
        thread: thread.clone(),
        tid: longest.and_then(|(&tid, _)| tid),
        kind: *kind,
        container: container.clone(),
        total_ns: tids.values().sum(),
    }
}

/// A relation in the report's terms.
pub(crate) const fn relation_kind(relation: CpuUserRelation) -> CpuUserKind {
    match relation {
        CpuUserRelation::SameProcess => CpuUserKind::SameProcess,
        CpuUserRelation::OtherProcess => CpuUserKind::OtherProcess,
        CpuUserRelation::OtherContainer => CpuUserKind::OtherContainer,
        CpuUserRelation::Host => CpuUserKind::Host,
        CpuUserRelation::Unknown => CpuUserKind::Unknown,
    }
}
