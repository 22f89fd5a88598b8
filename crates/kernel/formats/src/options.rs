//! Options for opening a trace.

/// Events that are always read: to which process and container a thread belongs. They are rare.
const MEMBERSHIP_EVENTS: [&str; 3] = ["task_newtask", "cgroup_attach_task", "lttng_statedump_process_pid_ns"];

/// Events and fields to read besides those that the execution graph needs.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct OpenOptions {
    /// Events requested as [`Other`](laggard_model::EventKind::Other), by name (`sched_process_free`, a uprobe's name)
    /// or by system and name (`probe_app:handle`). None: their texts cost time. An event that has a kind of its own is
    /// never `Other`.
    pub also: Vec<String>,
    /// Whether calls and returns of probed functions are requested, whatever their names: `Other` with the fields of uprobes,
    /// `__probe_ip` at a call, `__probe_func` and `__probe_ret_ip` at a return.
    pub probes: bool,
}

impl OpenOptions {
    /// Whether an event without its own kind is requested.
    pub fn wants(&self, system: &str, name: &str) -> bool {
        MEMBERSHIP_EVENTS.contains(&name)
            || self.also.iter().any(|requested| match requested.split_once(':') {
                Some((wanted_system, wanted_name)) => wanted_system == system && wanted_name == name,
                None => requested == name,
            })
    }

    /// The same if only the name is known.
    pub fn wants_name(&self, name: &str) -> bool {
        let named =
            |requested: &String| requested.split_once(':').map_or(&**requested, |(_, name)| name) == name;
        MEMBERSHIP_EVENTS.contains(&name) || self.also.iter().any(named)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn events_are_requested_by_name_or_by_system_and_name() {
        let options = OpenOptions {
            also: vec!["handle".to_owned(), "block:block_rq_issue".to_owned()],
            ..OpenOptions::default()
        };
        assert!(options.wants("probe_app", "handle"));
        assert!(options.wants("block", "block_rq_issue"));
        assert!(!options.wants("nvme", "block_rq_issue"));
        assert!(options.wants_name("block_rq_issue") && !options.wants_name("block"));
        assert!(!OpenOptions::default().wants("block", "block_rq_issue"));
    }
}
