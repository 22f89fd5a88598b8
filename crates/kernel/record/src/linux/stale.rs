//! Names of buffers and probes that identify their recorder, and removal of those whose recorder is dead.

use super::tracefs::Tracefs;
use super::undo::UndoAction;
use std::fs;

/// A process: its number, and when it started, since numbers come again.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct TraceOwner {
    pid: u32,
    /// Clock ticks since the boot.
    started: u64,
}

impl TraceOwner {
    fn this() -> TraceOwner {
        let pid = std::process::id();
        TraceOwner { pid, started: start_of(pid).unwrap_or(0) }
    }

    fn lives(self) -> bool {
        start_of(self.pid) == Some(self.started)
    }

    /// Reads `laggard-PID-START`, with whichever separator.
    fn from_name(name: &str, separator: char) -> Option<TraceOwner> {
        let mut parts = name.strip_prefix("laggard")?.strip_prefix(separator)?.split(separator);
        let (pid, started) = (parts.next()?.parse().ok()?, parts.next()?.parse().ok()?);
        parts.next().is_none().then_some(TraceOwner { pid, started })
    }
}

/// The name of this process's trace buffer.
pub(super) fn instance_name() -> String {
    let owner = TraceOwner::this();
    format!("laggard-{}-{}", owner.pid, owner.started)
}

/// The group of this process's probes.
pub(super) fn probe_group() -> String {
    let owner = TraceOwner::this();
    format!("laggard_{}_{}", owner.pid, owner.started)
}

/// When a process started: field 22 of its `stat`, counted behind its name, which may hold anything.
fn start_of(pid: u32) -> Option<u64> {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    stat.rsplit_once(')')?.1.split_whitespace().nth(19)?.parse().ok()
}

/// Removes what recorders have left that are dead; how many buffers and probes that was. One that is in use after
/// all (its recorder runs where we cannot see it) stays.
pub(super) fn remove(tracefs: &Tracefs) -> usize {
    let instances = tracefs.names("instances").into_iter().filter_map(|name| {
        let owner = TraceOwner::from_name(&name, '-')?;
        (!owner.lives()).then_some(UndoAction::RemoveInstance(name))
    });
    let probes = tracefs.text("uprobe_events");
    let probes = probes.lines().filter_map(|line| {
        // `p:laggard_12_345/function /bin/program:0x1234`
        let name = line.split_once(':')?.1.split_whitespace().next()?;
        let owner = TraceOwner::from_name(name.split_once('/')?.0, '_')?;
        let value = format!("-:{name}");
        (!owner.lives()).then_some(UndoAction::Append { file: "uprobe_events".to_owned(), value })
    });
    instances.chain(probes).filter(|action| action.apply(tracefs).is_ok()).count()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_contain_their_owner() {
        assert_eq!(TraceOwner::from_name(&instance_name(), '-'), Some(TraceOwner::this()));
        assert_eq!(TraceOwner::from_name(&probe_group(), '_'), Some(TraceOwner::this()));
        assert!(TraceOwner::this().lives());
        assert!(!TraceOwner { started: TraceOwner::this().started + 1, ..TraceOwner::this() }.lives());
        for foreign in ["laggard", "laggard-1", "laggard-a-b", "laggard-1-2-3", "mine-1-2", "laggard_1_2"] {
            assert_eq!(TraceOwner::from_name(foreign, '-'), None, "{foreign}");
        }
    }
}
