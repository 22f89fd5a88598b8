//! How the threads of a graph are related: by process, control group, and container.

use crate::executions::PID_NAMESPACE;
use crate::graph::ExecutionGraph;
use crate::membership::{GroupKey, Membership};
use crate::worker::{HostId, WorkerId, WorkerKind};
use laggard_model::{ControlGroup, TextId, Tid};

/// How the thread that uses a CPU is related to the one that waits for it.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum CpuUserRelation {
    /// A thread of the same process.
    SameProcess,
    /// Another process of the same container, or of a machine without containers.
    OtherProcess,
    /// A process of another container.
    OtherContainer,
    /// A process outside of containers, while the waiting thread is in one.
    Host,
    /// The trace does not say to which processes the threads belong.
    Unknown,
}

impl ExecutionGraph {
    /// Sets to which processes and control groups the threads of a host belong.
    pub fn set_membership(&mut self, host: HostId, mut membership: Membership) {
        let paths: Vec<String> = membership.groups.keys().cloned().collect();
        for path in &paths {
            membership.threads.container(path);
        }
        self.memberships.insert(host, membership);
    }

    /// The process of a thread; `None` if the trace does not say.
    pub fn process_of(&self, id: WorkerId) -> Option<Tid> {
        let worker = self.worker(id);
        let WorkerKind::Thread { tid, .. } = worker.kind else { return None };
        let membership = self.memberships.get(&worker.host).filter(|membership| membership.is_known)?;
        Some(membership.threads.process_of(tid))
    }

    /// The control group of a thread, as a path; `None` if the trace does not say.
    pub fn control_group(&self, id: WorkerId) -> Option<&str> {
        let worker = self.worker(id);
        let WorkerKind::Thread { tid, .. } = worker.kind else { return None };
        let threads = &self.memberships.get(&worker.host)?.threads;
        let group = threads.container_of(tid);
        (group != TextId::EMPTY).then(|| threads.container_name(group))
    }

    /// The control groups that the recorder of a host saw.
    pub fn control_groups(&self) -> impl Iterator<Item = &ControlGroup> {
        self.memberships.values().flat_map(|membership| membership.groups.values())
    }

    /// The container of a thread, by a name for people; `None` if it is in none, or the trace does not say.
    pub fn container(&self, id: WorkerId) -> Option<String> {
        container_name(self.control_group(id)?)
    }

    /// How the user of a CPU is related to a thread that waits for it.
    pub fn relation(&self, waiting: WorkerId, user: WorkerId) -> CpuUserRelation {
        let (Some(own), Some(other)) = (self.process_of(waiting), self.process_of(user)) else {
            return CpuUserRelation::Unknown;
        };
        if own == other {
            return CpuUserRelation::SameProcess;
        }
        match (self.container(waiting), self.container(user)) {
            (own, other) if own == other => CpuUserRelation::OtherProcess,
            (Some(_), None) => CpuUserRelation::Host,
            _ => CpuUserRelation::OtherContainer,
        }
    }

    /// The control groups that were throttled, as far as the recording has them.
    pub(crate) fn quotas(&self) -> Vec<(GroupKey, &ControlGroup)> {
        let mut out = Vec::new();
        for (&host, membership) in &self.memberships {
            for group in membership.groups.values().filter(|group| group.was_throttled()) {
                let id = membership.threads.find_container(&group.path);
                out.extend(id.map(|id| (GroupKey::ControlGroup(host, id), group)));
            }
        }
        out
    }

    /// What a quota that keeps a thread from running would apply to; `None` if it is known that there is none.
    pub(crate) fn limited_group(&self, id: WorkerId) -> Option<GroupKey> {
        let worker = self.worker(id);
        let WorkerKind::Thread { tid, .. } = worker.kind else { return None };
        let Some(membership) = self.memberships.get(&worker.host) else {
            return Some(GroupKey::Process(worker.host, tid));
        };
        let threads = &membership.threads;
        let group = threads.container_of(tid);
        if membership.knows_quotas {
            let limiting = membership.limiting_group(threads.container_name(group))?;
            return threads.find_container(limiting).map(|id| GroupKey::ControlGroup(worker.host, id));
        }
        Some(match group {
            TextId::EMPTY => GroupKey::Process(worker.host, threads.process_of(tid)),
            group => GroupKey::ControlGroup(worker.host, group),
        })
    }
}

/// The inode of the host's own pid namespace, the same on every machine (`PROC_PID_INIT_INO`).
const HOST_PID_NAMESPACE: &str = "4026531836";

/// Length of a container's short number, as its engine prints it.
const SHORT_ID: usize = 12;

/// The container of a control group: the number that its engine put into the path, shortened, or the name of an LXC or systemd
/// container.
fn container_name(path: &str) -> Option<String> {
    if let Some(inode) = path.strip_prefix(PID_NAMESPACE) {
        return (inode != HOST_PID_NAMESPACE).then(|| path.to_owned());
    }
    path.rsplit('/').find_map(|part| {
        let part = part.strip_suffix(".scope").or_else(|| part.strip_suffix(".service")).unwrap_or(part);
        if let Some(name) = part.strip_prefix("lxc.payload.").or_else(|| part.strip_prefix("machine-")) {
            return Some(name.to_owned());
        }
        let id = part.rsplit(['-', ':']).next()?;
        let is_id = id.len() >= 32 && id.bytes().all(|byte| byte.is_ascii_hexdigit());
        is_id.then(|| id[..SHORT_ID].to_owned())
    })
}

#[cfg(test)]
mod tests {
    use super::container_name;

    #[test]
    fn containers_are_named_by_their_cgroup_paths() {
        let id = "4f5c2a9be1d04f5c2a9be1d04f5c2a9be1d04f5c2a9be1d04f5c2a9be1d0abcd";
        for path in [
            format!("/docker/{id}"),
            format!("/system.slice/docker-{id}.scope"),
            format!("/kubepods.slice/kubepods-pod12.slice/cri-containerd-{id}.scope/worker"),
            format!("/machine.slice/libpod-{id}.scope/container"),
        ] {
            assert_eq!(container_name(&path).as_deref(), Some("4f5c2a9be1d0"), "{path}");
        }
        assert_eq!(container_name("pid namespace 4026532201").as_deref(), Some("pid namespace 4026532201"));
        assert_eq!(container_name("pid namespace 4026531836"), None, "the host");
        assert_eq!(container_name("/lxc.payload.web/system.slice").as_deref(), Some("web"));
        for path in ["/", "/user.slice/user-1000.slice/session-2.scope", "/system.slice/nginx.service", ""] {
            assert_eq!(container_name(path), None, "{path}");
        }
    }
}
