//! Which events are recorded, and what is lost without them.

use std::fmt;
use std::str::FromStr;

/// One tracepoint by name.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct EventName {
    /// Its system (`sched`).
    pub system: String,
    /// Its name within the system (`sched_switch`).
    pub name: String,
}

impl fmt::Display for EventName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.system, self.name)
    }
}

impl FromStr for EventName {
    type Err = String;

    /// Reads `SYSTEM:NAME`. Both parts become folders of tracefs, so that nothing but a name is allowed.
    fn from_str(text: &str) -> Result<EventName, String> {
        let is_name = |part: &str| {
            !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"_-".contains(&byte))
        };
        match text.split_once(':') {
            Some((system, name)) if is_name(system) && is_name(name) => {
                Ok(EventName { system: system.to_owned(), name: name.to_owned() })
            }
            _ => Err(format!(
                "'{text}' is not an event; give SYSTEM:NAME as below /sys/kernel/tracing/events, for example \
                 sched:sched_stat_runtime"
            )),
        }
    }
}

/// Consequence of a missing event.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Need {
    /// Nothing is recorded.
    Required,
    /// At least one of these events must exist.
    OneWakeup,
    /// The recording proceeds without it, with a warning.
    Wanted,
    /// The recording proceeds without it, silently.
    Optional,
}

/// An event of the fixed set.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct WantedEvent {
    /// Its system.
    pub system: &'static str,
    /// Its name within the system.
    pub name: &'static str,
    /// The consequence of its absence.
    pub need: Need,
    /// The part of paths that is missing without it.
    pub without: &'static str,
}

impl WantedEvent {
    /// Its name.
    pub fn event(&self) -> EventName {
        EventName { system: self.system.to_owned(), name: self.name.to_owned() }
    }
}

const fn wanted(system: &'static str, name: &'static str, need: Need, without: &'static str) -> WantedEvent {
    WantedEvent { system, name, need, without }
}

/// The events of a critical path: the eight of Janecek et al. (2022), `sched_waking` and `sched_wakeup_new` because
/// `sched_wakeup` may be logged where the woken thread will run, and the life of processes.
pub const PATH_EVENTS: &[WantedEvent] = &[
    wanted("sched", "sched_switch", Need::Required, "who runs"),
    wanted("sched", "sched_waking", Need::OneWakeup, "who wakes whom, logged where the waker runs"),
    wanted("sched", "sched_wakeup", Need::OneWakeup, "who wakes whom"),
    wanted("sched", "sched_wakeup_new", Need::Wanted, "what a new thread waited for"),
    wanted("sched", "sched_process_fork", Need::Wanted, "which thread started which"),
    wanted("sched", "sched_process_exec", Need::Wanted, "executions that begin with a program"),
    wanted("sched", "sched_process_exit", Need::Wanted, "executions that end with a process"),
    wanted("task", "task_rename", Need::Optional, "new names of threads"),
    wanted("task", "task_newtask", Need::Optional, "which process a new thread belongs to"),
    wanted("cgroup", "cgroup_attach_task", Need::Optional, "which control group a process moves to"),
    wanted("irq", "irq_handler_entry", Need::Wanted, "waits for devices"),
    wanted("irq", "irq_handler_exit", Need::Wanted, "waits for devices"),
    wanted("irq", "softirq_entry", Need::Wanted, "waits for the network and for timers"),
    wanted("irq", "softirq_exit", Need::Wanted, "waits for the network and for timers"),
    wanted("timer", "hrtimer_expire_entry", Need::Wanted, "waits for timers"),
    wanted("timer", "hrtimer_expire_exit", Need::Wanted, "waits for timers"),
];

/// The events of a flight recorder, which runs all the time and on machines of others: those of a path, but for
/// `sched_process_exec`, whose record has the path of a file, and moves between control groups.
pub fn flight_events() -> Vec<WantedEvent> {
    PATH_EVENTS
        .iter()
        .filter(|event| event.name != "sched_process_exec" && event.system != "cgroup")
        .copied()
        .collect()
}

const SYSCALL_EVENTS: &[WantedEvent] = &[
    wanted("raw_syscalls", "sys_enter", Need::Required, "system calls"),
    wanted("raw_syscalls", "sys_exit", Need::Required, "system calls"),
    wanted("exceptions", "page_fault_user", Need::Optional, "waits for memory that is not there yet"),
];

const NETWORK_EVENTS: &[WantedEvent] = &[
    wanted("net", "net_dev_queue", Need::Required, "who sent a packet"),
    wanted("net", "netif_receive_skb", Need::Required, "who received a packet"),
];

/// Events that are recorded on request.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum EventGroup {
    /// Every system call's begin and end.
    Syscalls,
    /// Packets by their buffer, so that a wait for a local server becomes that server's work.
    Network,
}

impl EventGroup {
    /// The group's events.
    pub const fn events(self) -> &'static [WantedEvent] {
        match self {
            EventGroup::Syscalls => SYSCALL_EVENTS,
            EventGroup::Network => NETWORK_EVENTS,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_event_is_a_system_and_a_name() {
        let event: EventName = "sched:sched_switch".parse().unwrap();
        assert_eq!((event.system.as_str(), event.name.as_str()), ("sched", "sched_switch"));
        assert_eq!(event.to_string(), "sched:sched_switch");
        for bad in ["sched_switch", "sched:", ":x", "sched:../../tracing_on", "a:b:c", "sched:*", ""] {
            assert!(bad.parse::<EventName>().is_err(), "{bad}");
        }
    }

    #[test]
    fn a_flight_recorder_omits_exec_events() {
        let names: Vec<&str> = flight_events().iter().map(|event| event.name).collect();
        assert!(names.contains(&"sched_switch") && names.contains(&"sched_waking"), "{names:?}");
        assert!(!names.contains(&"sched_process_exec"), "{names:?}");
    }

    #[test]
    fn each_event_is_listed_once() {
        let all = [PATH_EVENTS, EventGroup::Syscalls.events(), EventGroup::Network.events()].concat();
        let names: std::collections::BTreeSet<_> = all.iter().map(WantedEvent::event).collect();
        assert_eq!(names.len(), all.len());
    }
}
