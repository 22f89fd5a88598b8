//! Names of events and fields, as LTTng and perf's converter write them, to kinds of events.

use super::class::{Class, FieldKind, plain};
use super::plan::{FIRST_FIELD, Slot};
use super::schema::{EventClass, Schema};
use crate::event_names::{EventSide, WakeKind, ipi_vector};
use crate::options::OpenOptions;
use laggard_model::IpiVector;
use std::collections::HashSet;

/// The thread that wrote the record.
pub(super) const RECORDED: Slot = FIRST_FIELD;
/// The record's context flags.
pub(super) const FLAGS: Slot = FIRST_FIELD + 1;
/// The pid namespace of the thread that wrote the record.
pub(super) const PID_NS: Slot = FIRST_FIELD + 2;
/// The number of that thread in its namespace.
pub(super) const VTID: Slot = FIRST_FIELD + 3;
/// Addresses of the call stack in the kernel, in the program, or both (perf).
pub(super) const STACKS: [Slot; 3] = [FIRST_FIELD + 4, FIRST_FIELD + 5, FIRST_FIELD + 6];
/// The first of the fields that a kind needs, in the order of [`EventMeaning::fields`].
pub(super) const FIELD: Slot = FIRST_FIELD + 7;

/// Maximum number of fields searched for names; more indicates a malicious file.
const NAMES_MAX: usize = 10_000;

/// Meaning of the events of a class.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum EventMeaning {
    /// Nothing.
    Unwanted,
    Switch,
    Wake(WakeKind),
    Irq(EventSide),
    Softirq(EventSide),
    SoftirqRaise,
    Hrtimer(EventSide),
    Ipi(EventSide, IpiVector),
    Fork,
    Exec,
    Exit,
    Rename,
    ProcessState,
    Interrupt,
    Marker,
    Syscall {
        side: EventSide,
        name: String,
    },
    PageFault,
    PacketSent,
    PacketReceived,
    Reception(EventSide),
    Other {
        name: String,
    },
}

/// Further vectors of x86's `irq_vectors` that have handlers; not `vector_alloc` and the like.
const OTHER_VECTORS: [&str; 6] = [
    "x86_platform_ipi",
    "spurious_apic",
    "error_apic",
    "thermal_apic",
    "threshold_apic",
    "deferred_error_apic",
];

/// Functions of the network's receive path that have events at both ends, in the kernel's names; LTTng has
/// `net_if_` for `netif_` and `net_napi_` for `napi_`.
const RECEPTIONS: [&str; 7] = [
    "netif_receive_skb",
    "netif_receive_skb_list",
    "netif_rx",
    "netif_rx_ni",
    "napi_gro_frags",
    "napi_gro_receive",
    "net_if_receive_skb",
];

/// The kinds of a trace's events: what an event means can depend on which others there are.
pub(super) struct Meanings<'a> {
    options: &'a OpenOptions,
    /// `net_dev_queue` and `net_dev_xmit` describe the same packet; only the former is used if present.
    queues: bool,
}

impl<'a> Meanings<'a> {
    pub(super) fn new(schema: &Schema, options: &'a OpenOptions) -> Meanings<'a> {
        let mut events = schema.streams.values().flat_map(|stream| stream.events.values());
        let queues = events.any(|event| without_system(&event.name).1 == "net_dev_queue");
        Meanings { options, queues }
    }

    /// The kernel event that events of a name become.
    pub(super) fn event(&self, full_name: &str) -> EventMeaning {
        let (system, name) = without_system(full_name);
        if let Some(what) = self.known(name).or_else(|| syscall(system, name)) {
            return what;
        }
        if self.options.wants(system, name) {
            EventMeaning::Other { name: name.to_owned() }
        } else {
            EventMeaning::Unwanted
        }
    }

    fn known(&self, name: &str) -> Option<EventMeaning> {
        Some(match name {
            "sched_switch" => EventMeaning::Switch,
            "irq_handler_entry" => EventMeaning::Irq(EventSide::Entry),
            "irq_handler_exit" => EventMeaning::Irq(EventSide::Exit),
            "softirq_entry" | "irq_softirq_entry" => EventMeaning::Softirq(EventSide::Entry),
            "softirq_exit" | "irq_softirq_exit" => EventMeaning::Softirq(EventSide::Exit),
            "softirq_raise" | "irq_softirq_raise" => EventMeaning::SoftirqRaise,
            "hrtimer_expire_entry" | "timer_hrtimer_expire_entry" => EventMeaning::Hrtimer(EventSide::Entry),
            "hrtimer_expire_exit" | "timer_hrtimer_expire_exit" => EventMeaning::Hrtimer(EventSide::Exit),
            "sched_process_fork" => EventMeaning::Fork,
            "sched_process_exec" => EventMeaning::Exec,
            "sched_process_exit" => EventMeaning::Exit,
            "task_rename" => EventMeaning::Rename,
            "lttng_statedump_process_state" => EventMeaning::ProcessState,
            "lttng_statedump_interrupt" => EventMeaning::Interrupt,
            "lttng_logger" => EventMeaning::Marker,
            "page_fault_user" | "x86_exceptions_page_fault_user" => EventMeaning::PageFault,
            "net_dev_queue" | "inet_sock_local_out" => EventMeaning::PacketSent,
            "net_dev_xmit" if self.queues => EventMeaning::Unwanted,
            "net_dev_xmit" => EventMeaning::PacketSent,
            "netif_receive_skb" | "net_if_receive_skb" | "inet_sock_local_in" => EventMeaning::PacketReceived,
            _ => return WakeKind::from_name(name).map(EventMeaning::Wake).or_else(|| both_ends(name)),
        })
    }
}

/// `sched:sched_switch` to its two parts; LTTng's names have no system.
fn without_system(name: &str) -> (&str, &str) {
    name.split_once(':').unwrap_or(("", name))
}

fn both_ends(name: &str) -> Option<EventMeaning> {
    let (side, name) = EventSide::split(name)?;
    let kernel_name = name.strip_prefix("net_napi_").map(|rest| format!("napi_{rest}"));
    let kernel_name =
        kernel_name.or_else(|| name.strip_prefix("net_if_").map(|rest| format!("netif_{rest}")));
    if RECEPTIONS.contains(&kernel_name.as_deref().unwrap_or(name)) {
        return Some(EventMeaning::Reception(side));
    }
    let vector =
        name.strip_prefix("x86_irq_vectors_").or_else(|| name.strip_prefix("irq_vectors_")).unwrap_or(name);
    let known = ipi_vector(vector).or(OTHER_VECTORS.contains(&vector).then_some(IpiVector::Other));
    known.map(|vector| EventMeaning::Ipi(side, vector))
}

/// perf's `raw_syscalls:sys_enter` and `syscalls:sys_enter_NAME`; LTTng's `syscall_entry_NAME`, `sys_NAME` and
/// `exit_syscall`, with `compat_` before those of 32-bit programs.
fn syscall(system: &str, name: &str) -> Option<EventMeaning> {
    let call = |side, name: &str| Some(EventMeaning::Syscall { side, name: name.to_owned() });
    if system == "raw_syscalls" || system == "syscalls" {
        return match (name.strip_prefix("sys_enter"), name.strip_prefix("sys_exit")) {
            (Some(rest), _) => call(EventSide::Entry, rest.trim_start_matches('_')),
            (None, Some(rest)) => call(EventSide::Exit, rest.trim_start_matches('_')),
            (None, None) => None,
        };
    }
    if !system.is_empty() {
        return None;
    }
    let name = name.strip_prefix("compat_").unwrap_or(name);
    if name == "exit_syscall" {
        return call(EventSide::Exit, "");
    }
    for (prefix, side) in
        [("syscall_entry_", EventSide::Entry), ("syscall_exit_", EventSide::Exit), ("sys_", EventSide::Entry)]
    {
        if let Some(call_name) = name.strip_prefix(prefix) {
            return call(side, if call_name == "unknown" { "" } else { call_name });
        }
    }
    None
}

impl EventMeaning {
    /// The fields it needs: for each, its names by preference.
    fn fields(&self) -> &'static [&'static [&'static str]] {
        match self {
            EventMeaning::Switch => &[
                &["prev_tid", "prev_pid"],
                &["prev_comm"],
                &["prev_state"],
                &["next_tid", "next_pid"],
                &["next_comm"],
            ],
            EventMeaning::Wake(_) => &[&["tid", "pid"], &["comm"], &["target_cpu"]],
            EventMeaning::Irq(_) => &[&["irq"], &["name"]],
            EventMeaning::Softirq(_) | EventMeaning::SoftirqRaise => &[&["vec"]],
            EventMeaning::Fork => {
                &[&["parent_tid", "parent_pid"], &["child_tid", "child_pid"], &["child_comm"]]
            }
            EventMeaning::Exec => &[&["tid", "pid"], &["filename"]],
            EventMeaning::Exit => &[&["tid", "pid"]],
            EventMeaning::Rename => &[&["tid", "pid"], &["newcomm"]],
            EventMeaning::ProcessState => &[&["tid"], &["pid"], &["name"], &["status"]],
            EventMeaning::Interrupt => &[&["irq"], &["action", "name"]],
            EventMeaning::Marker => &[&["msg"]],
            EventMeaning::Syscall { .. } => &[&["id", "__syscall_nr", "_syscall_nr", "nr"], &["ret"]],
            EventMeaning::PacketSent | EventMeaning::PacketReceived => &[
                &["skbaddr"],
                &["seq"],
                &["ack_seq"],
                &["flags"],
                &["source_port", "sport"],
                &["dest_port", "dport"],
            ],
            EventMeaning::Unwanted
            | EventMeaning::Hrtimer(_)
            | EventMeaning::PageFault
            | EventMeaning::Ipi(..)
            | EventMeaning::Reception(_)
            | EventMeaning::Other { .. } => &[],
        }
    }

    /// Which fields of an event class go into which slots.
    pub(super) fn wanted(&self, event: &EventClass) -> Vec<(&'static str, Slot)> {
        if *self == EventMeaning::Unwanted {
            return Vec::new();
        }
        let mut names = HashSet::new();
        if let Some(payload) = &event.payload {
            let mut names_left = NAMES_MAX;
            collect(payload, &mut names, &mut names_left);
        }
        let own: [(&[&'static str], Slot); 3] = [
            (&["common_pid", "perf_tid"], RECORDED),
            (&["common_flags"], FLAGS),
            (&["perf_callchain"], STACKS[2]),
        ];
        let fields = self.fields().iter().zip(FIELD..).map(|(fields, slot)| (*fields, slot));
        own.into_iter()
            .chain(fields)
            .filter_map(|(candidates, slot)| {
                candidates.iter().find(|name| names.contains(**name)).map(|name| (*name, slot))
            })
            .collect()
    }
}

fn collect<'a>(class: &'a Class, names: &mut HashSet<&'a str>, names_left: &mut usize) {
    let Some(fewer) = names_left.checked_sub(1) else { return };
    *names_left = fewer;
    match class.kind() {
        FieldKind::Struct(members) => {
            for member in members {
                names.insert(plain(&member.name));
                collect(&member.class, names, names_left);
            }
        }
        FieldKind::Variant { choices, .. } => {
            choices.iter().for_each(|choice| collect(&choice.class, names, names_left))
        }
        FieldKind::Optional { class, .. } => collect(class, names, names_left),
        FieldKind::Integer(_) | FieldKind::Float { .. } | FieldKind::Text | FieldKind::Array { .. } => {}
    }
}
