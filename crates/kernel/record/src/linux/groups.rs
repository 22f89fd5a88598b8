//! The processes and control groups of the host's threads, and the CPU quotas of these groups.

use laggard_model::{ControlGroup, CpuQuota, HostSnapshot, ThreadMembership, ThrottleCounts, Tid};
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

// Limit: threads whose control group is recorded | the others count as of unknown groups
/// Threads beyond this many are left out: their list would be larger than most recordings.
const THREADS_MAX: usize = 200_000;

/// The hierarchy of control groups that CPU quotas belong to.
#[derive(Clone, PartialEq, Eq, Debug)]
struct CpuHierarchy {
    /// Its number in events (`dst_root`).
    number: u64,
    /// Where it is mounted; `None` if it is not.
    root: Option<PathBuf>,
    /// Whether it is the one of all controllers (version 2).
    unified: bool,
}

/// State of the host's control groups during the recording.
pub(super) struct GroupWatch {
    hierarchy: CpuHierarchy,
    groups: BTreeMap<String, ControlGroup>,
    /// Threads, their processes, and the paths of their groups.
    begin: Vec<(u32, u32, String)>,
}

impl GroupWatch {
    /// Looks at all threads before anything is recorded.
    pub(super) fn begin() -> GroupWatch {
        let mut watch = GroupWatch { hierarchy: hierarchy(), groups: BTreeMap::new(), begin: Vec::new() };
        watch.begin = watch.threads();
        let paths: Vec<String> = all_groups(watch.hierarchy.root.as_deref());
        for path in paths {
            let group = watch.read(&path);
            let group = ControlGroup { before: group.after, after: None, ..group };
            watch.groups.insert(path, group);
        }
        watch
    }

    /// State at one moment, for a recording that began earlier: how much of the kernel's counts belongs to it is not known, so all of
    /// them do.
    pub(super) fn at_once() -> HostSnapshot {
        let mut snapshot = GroupWatch::begin().end();
        snapshot.groups.iter_mut().for_each(|group| group.before = None);
        snapshot
    }

    /// Looks again after everything was recorded.
    pub(super) fn end(mut self) -> HostSnapshot {
        let end = self.threads();
        let paths = all_groups(self.hierarchy.root.as_deref());
        for path in paths {
            let before = self.groups.get(&path).and_then(|group| group.before);
            let group = ControlGroup { before, ..self.read(&path) };
            self.groups.insert(path, group);
        }
        let in_use =
            |path: &String| [&self.begin, &end].iter().any(|rows| rows.iter().any(|row| row.2 == *path));
        // Most groups have neither threads nor quotas.
        let groups = self.groups.iter().filter(|(path, group)| group.quota.is_some() || in_use(path));
        let mut groups: Vec<ControlGroup> = groups.map(|(_, group)| group.clone()).collect();
        let mut indexes: BTreeMap<String, u32> = BTreeMap::new();
        for (group, index) in groups.iter().zip(0..) {
            indexes.insert(group.path.clone(), index);
        }
        let mut threads = Vec::new();
        for (rows, at_end) in [(&self.begin, false), (&end, true)] {
            for (tid, process, path) in rows {
                let group = *indexes.entry(path.clone()).or_insert_with(|| {
                    groups.push(ControlGroup { path: path.clone(), ..ControlGroup::default() });
                    groups.len() as u32 - 1
                });
                threads.push(ThreadMembership { tid: Tid(*tid), process: Tid(*process), group, at_end });
            }
        }
        HostSnapshot { hierarchy: Some(self.hierarchy.number), groups, threads, ..HostSnapshot::default() }
    }

    /// All threads with their processes and the paths of their groups.
    fn threads(&self) -> Vec<(u32, u32, String)> {
        let mut threads = Vec::new();
        for process in numbers("/proc") {
            for tid in numbers(&format!("/proc/{process}/task")) {
                // It may have ended since.
                let groups = fs::read_to_string(format!("/proc/{process}/task/{tid}/cgroup"));
                let Some(path) = groups.ok().and_then(|groups| self.hierarchy.path(&groups)) else {
                    continue;
                };
                if threads.len() < THREADS_MAX {
                    threads.push((tid, process, path));
                }
            }
        }
        threads
    }

    /// A group's quota, and its present counts as `after`.
    fn read(&self, path: &str) -> ControlGroup {
        let Some(root) = &self.hierarchy.root else { return ControlGroup::default() };
        let folder = root.join(path.trim_start_matches('/'));
        let text = |name: &str| fs::read_to_string(folder.join(name)).unwrap_or_default();
        let quota = match self.hierarchy.unified {
            true => quota(&text("cpu.max").replace('\n', "")),
            false => {
                quota(&format!("{} {}", text("cpu.cfs_quota_us").trim(), text("cpu.cfs_period_us").trim()))
            }
        };
        ControlGroup { path: path.to_owned(), quota, before: None, after: counts(&text("cpu.stat")) }
    }
}

impl CpuHierarchy {
    /// The path of a thread's group from its `/proc/PID/cgroup`.
    fn path(&self, groups: &str) -> Option<String> {
        groups.lines().find_map(|line| {
            let mut parts = line.splitn(3, ':');
            let (_, controllers, path) = (parts.next()?, parts.next()?, parts.next()?);
            let is_wanted = match self.unified {
                true => controllers.is_empty(),
                false => controllers.split(',').any(|name| name == "cpu"),
            };
            is_wanted.then(|| path.to_owned())
        })
    }
}

/// The hierarchy with the CPU controller: one of version 1 if there is any, else that of version 2.
fn hierarchy() -> CpuHierarchy {
    let controllers = fs::read_to_string("/proc/cgroups").unwrap_or_default();
    let number = controllers.lines().find_map(|line| {
        let mut words = line.split_whitespace();
        (words.next() == Some("cpu")).then(|| words.next()?.parse::<u64>().ok())?
    });
    let number = number.unwrap_or(0);
    let mounts = fs::read_to_string("/proc/self/mounts").unwrap_or_default();
    let root = mounts.lines().find_map(|line| {
        let mut words = line.split(' ').skip(1);
        let (folder, kind, options) = (words.next()?, words.next()?, words.next()?);
        let is_it = match number {
            0 => kind == "cgroup2",
            _ => kind == "cgroup" && options.split(',').any(|option| option == "cpu"),
        };
        is_it.then(|| PathBuf::from(folder))
    });
    CpuHierarchy { number, root, unified: number == 0 }
}

/// The paths of all groups below a folder.
fn all_groups(root: Option<&Path>) -> Vec<String> {
    let Some(root) = root else { return Vec::new() };
    let mut paths = vec!["/".to_owned()];
    let mut next = 0;
    while let Some(path) = paths.get(next).cloned() {
        next += 1;
        let entries = fs::read_dir(root.join(path.trim_start_matches('/'))).into_iter().flatten().flatten();
        let folders = entries.filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_dir()));
        let names = folders.filter_map(|entry| entry.file_name().into_string().ok());
        paths.extend(names.map(|name| format!("{}/{name}", path.trim_end_matches('/'))));
    }
    paths
}

/// `10000 100000`: microseconds of the quota and the period. `None` without a quota (`max`, or -1).
fn quota(text: &str) -> Option<CpuQuota> {
    let (quota, period) = text.split_once(' ')?;
    let us = |text: &str| text.parse::<u64>().ok();
    Some(CpuQuota { quota_ns: us(quota)?.checked_mul(1000)?, period_ns: us(period)?.checked_mul(1000)? })
}

/// `cpu.stat` of either version; `None` without counts of periods.
fn counts(stat: &str) -> Option<ThrottleCounts> {
    let number = |name: &str| {
        let line = stat.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(' '));
        line.and_then(|number| number.trim().parse::<u64>().ok())
    };
    let throttled_ns =
        number("throttled_usec").map(|us| us.saturating_mul(1000)).or_else(|| number("throttled_time"));
    Some(ThrottleCounts {
        periods: number("nr_periods")?,
        throttled: number("nr_throttled")?,
        throttled_ns: throttled_ns?,
    })
}

/// The names of entries of a folder that are numbers: processes, or threads.
pub(super) fn numbers(folder: &str) -> Vec<u32> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quotas_and_counts_of_both_versions_are_read() {
        assert_eq!(quota("10000 100000"), Some(CpuQuota { quota_ns: 10_000_000, period_ns: 100_000_000 }));
        assert_eq!((quota("max 100000"), quota("-1 100000"), quota("")), (None, None, None));
        let counted = ThrottleCounts { periods: 9, throttled: 4, throttled_ns: 7000 };
        assert_eq!(counts("usage_usec 5\nnr_periods 9\nnr_throttled 4\nthrottled_usec 7\n"), Some(counted));
        assert_eq!(counts("nr_periods 9\nnr_throttled 4\nthrottled_time 7000\nwait_sum 1"), Some(counted));
        assert_eq!(counts("usage_usec 5\n"), None);
    }

    #[test]
    fn a_threads_group_is_that_of_the_cpu_controller() {
        let text = "9:name=systemd:/a\n3:cpu,cpuacct:/b/c\n0::/d:e\n";
        let old = CpuHierarchy { number: 3, root: None, unified: false };
        assert_eq!(old.path(text).as_deref(), Some("/b/c"));
        let unified = CpuHierarchy { number: 0, root: None, unified: true };
        assert_eq!(unified.path(text).as_deref(), Some("/d:e"));
    }

    #[test]
    fn counts_before_a_recording_of_the_past_are_not_known() {
        assert!(GroupWatch::at_once().groups.iter().all(|group| group.before.is_none()));
    }

    #[test]
    fn the_current_process_is_found() {
        let snapshot = GroupWatch::begin().end();
        let own = std::process::id();
        let seen =
            snapshot.threads.iter().filter(|thread| thread.process == Tid(own) && thread.at_end).count();
        assert!(seen > 0);
        assert!(snapshot.threads.iter().all(|thread| (thread.group as usize) < snapshot.groups.len()));
    }
}
