//! Names of events and fields, as LTTng and perf's converter write them, to kinds of events.

use super::class::{Class, Kind, plain};
use super::plan::{FIRST_FIELD, Slot};
use super::schema::{EventClass, Schema};
use crate::options::OpenOptions;
use laggard_model::IpiVector;
use std::collections::HashSet;

/// The thread that wrote the record.
pub(super) const RECORDED: Slot = FIRST_FIELD;
/// The record's context flags.
pub(super) const FLAGS: Slot = FIRST_FIELD + 1;
/// The first of the fields that a kind needs, in the order of [`What::fields`].
pub(super) const FIELD: Slot = FIRST_FIELD + 2;

/// Fields looked at to find names. More is an attack.
const NAMES_MAX: usize = 10_000;

/// Which wake-up.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Wake {
    Waking,
    Wakeup,
    WakeupNew,
    TryToWakeUp,
}

/// Which end of something.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Side {
    Entry,
    Exit,
}

/// What the events of a class become.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum What {
    /// Nothing.
    Unwanted,
    Switch,
    Wake(Wake),
    Irq(Side),
    Softirq(Side),
    SoftirqRaise,
    Hrtimer(Side),
    Ipi(Side, IpiVector),
    Fork,
    Exec,
    Exit,
    Rename,
    ProcessState,
    Interrupt,
    Marker,
    Syscall {
        side: Side,
        name: String,
    },
    PacketSent,
    PacketReceived,
    Reception(Side),
    Other {
        name: String,
    },
}

/// The vectors of x86's `irq_vectors` that have handlers; not `vector_alloc` and its like.
const IPI_VECTORS: [(&str, IpiVector); 11] = [
    ("local_timer", IpiVector::LocalTimer),
    ("reschedule", IpiVector::Reschedule),
    ("call_function", IpiVector::CallFunction),
    ("call_function_single", IpiVector::CallFunction),
    ("irq_work", IpiVector::IrqWork),
    ("x86_platform_ipi", IpiVector::Other),
    ("spurious_apic", IpiVector::Other),
    ("error_apic", IpiVector::Other),
    ("thermal_apic", IpiVector::Other),
    ("threshold_apic", IpiVector::Other),
    ("deferred_error_apic", IpiVector::Other),
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
    /// `net_dev_queue` and `net_dev_xmit` tell of the same packet; only the former is taken when there.
    queues: bool,
}

impl<'a> Meanings<'a> {
    pub(super) fn new(schema: &Schema, options: &'a OpenOptions) -> Meanings<'a> {
        let mut events = schema.streams.values().flat_map(|stream| stream.events.values());
        let queues = events.any(|event| without_system(&event.name).1 == "net_dev_queue");
        Meanings { options, queues }
    }

    /// What events of a name become.
    pub(super) fn of(&self, full_name: &str) -> What {
        let (system, name) = without_system(full_name);
        if let Some(what) = self.known(name).or_else(|| syscall(system, name)) {
            return what;
        }
        if self.options.wants(system, name) { What::Other { name: name.to_owned() } } else { What::Unwanted }
    }

    fn known(&self, name: &str) -> Option<What> {
        Some(match name {
            "sched_switch" => What::Switch,
            "sched_waking" => What::Wake(Wake::Waking),
            "sched_wakeup" => What::Wake(Wake::Wakeup),
            "sched_wakeup_new" => What::Wake(Wake::WakeupNew),
            "sched_ttwu" => What::Wake(Wake::TryToWakeUp),
            "irq_handler_entry" => What::Irq(Side::Entry),
            "irq_handler_exit" => What::Irq(Side::Exit),
            "softirq_entry" | "irq_softirq_entry" => What::Softirq(Side::Entry),
            "softirq_exit" | "irq_softirq_exit" => What::Softirq(Side::Exit),
            "softirq_raise" | "irq_softirq_raise" => What::SoftirqRaise,
            "hrtimer_expire_entry" | "timer_hrtimer_expire_entry" => What::Hrtimer(Side::Entry),
            "hrtimer_expire_exit" | "timer_hrtimer_expire_exit" => What::Hrtimer(Side::Exit),
            "sched_process_fork" => What::Fork,
            "sched_process_exec" => What::Exec,
            "sched_process_exit" => What::Exit,
            "task_rename" => What::Rename,
            "lttng_statedump_process_state" => What::ProcessState,
            "lttng_statedump_interrupt" => What::Interrupt,
            "lttng_logger" => What::Marker,
            "net_dev_queue" | "inet_sock_local_out" => What::PacketSent,
            "net_dev_xmit" if self.queues => What::Unwanted,
            "net_dev_xmit" => What::PacketSent,
            "netif_receive_skb" | "net_if_receive_skb" | "inet_sock_local_in" => What::PacketReceived,
            _ => return both_ends(name),
        })
    }
}

/// `sched:sched_switch` to its two parts; LTTng's names have no system.
fn without_system(name: &str) -> (&str, &str) {
    name.split_once(':').unwrap_or(("", name))
}

fn both_ends(name: &str) -> Option<What> {
    let (side, name) = match (name.strip_suffix("_entry"), name.strip_suffix("_exit")) {
        (Some(name), _) => (Side::Entry, name),
        (None, Some(name)) => (Side::Exit, name),
        (None, None) => return None,
    };
    let kernel_name = name.strip_prefix("net_napi_").map(|rest| format!("napi_{rest}"));
    let kernel_name =
        kernel_name.or_else(|| name.strip_prefix("net_if_").map(|rest| format!("netif_{rest}")));
    if RECEPTIONS.contains(&kernel_name.as_deref().unwrap_or(name)) {
        return Some(What::Reception(side));
    }
    let vector =
        name.strip_prefix("x86_irq_vectors_").or_else(|| name.strip_prefix("irq_vectors_")).unwrap_or(name);
    IPI_VECTORS.iter().find(|(known, _)| *known == vector).map(|&(_, vector)| What::Ipi(side, vector))
}

/// perf's `raw_syscalls:sys_enter` and `syscalls:sys_enter_NAME`; LTTng's `syscall_entry_NAME`, `sys_NAME` and
/// `exit_syscall`, with `compat_` before those of 32-bit programs.
fn syscall(system: &str, name: &str) -> Option<What> {
    let call = |side, name: &str| Some(What::Syscall { side, name: name.to_owned() });
    if system == "raw_syscalls" || system == "syscalls" {
        return match (name.strip_prefix("sys_enter"), name.strip_prefix("sys_exit")) {
            (Some(rest), _) => call(Side::Entry, rest.trim_start_matches('_')),
            (None, Some(rest)) => call(Side::Exit, rest.trim_start_matches('_')),
            (None, None) => None,
        };
    }
    if !system.is_empty() {
        return None;
    }
    let name = name.strip_prefix("compat_").unwrap_or(name);
    if name == "exit_syscall" {
        return call(Side::Exit, "");
    }
    for (prefix, side) in
        [("syscall_entry_", Side::Entry), ("syscall_exit_", Side::Exit), ("sys_", Side::Entry)]
    {
        if let Some(found) = name.strip_prefix(prefix) {
            return call(side, if found == "unknown" { "" } else { found });
        }
    }
    None
}

impl What {
    /// The fields it needs: for each, its names by preference.
    fn fields(&self) -> &'static [&'static [&'static str]] {
        match self {
            What::Switch => &[
                &["prev_tid", "prev_pid"],
                &["prev_comm"],
                &["prev_state"],
                &["next_tid", "next_pid"],
                &["next_comm"],
            ],
            What::Wake(_) => &[&["tid", "pid"], &["comm"], &["target_cpu"]],
            What::Irq(_) => &[&["irq"], &["name"]],
            What::Softirq(_) | What::SoftirqRaise => &[&["vec"]],
            What::Fork => &[&["parent_tid", "parent_pid"], &["child_tid", "child_pid"], &["child_comm"]],
            What::Exec => &[&["tid", "pid"], &["filename"]],
            What::Exit => &[&["tid", "pid"]],
            What::Rename => &[&["tid", "pid"], &["newcomm"]],
            What::ProcessState => &[&["tid"], &["pid"], &["name"], &["status"]],
            What::Interrupt => &[&["irq"], &["action", "name"]],
            What::Marker => &[&["msg"]],
            What::Syscall { .. } => &[&["id", "__syscall_nr", "_syscall_nr", "nr"], &["ret"]],
            What::PacketSent | What::PacketReceived => &[
                &["skbaddr"],
                &["seq"],
                &["ack_seq"],
                &["flags"],
                &["source_port", "sport"],
                &["dest_port", "dport"],
            ],
            What::Unwanted | What::Hrtimer(_) | What::Ipi(..) | What::Reception(_) | What::Other { .. } => {
                &[]
            }
        }
    }

    /// Which fields of an event class go into which slots.
    pub(super) fn wanted(&self, event: &EventClass) -> Vec<(&'static str, Slot)> {
        if *self == What::Unwanted {
            return Vec::new();
        }
        let mut names = HashSet::new();
        if let Some(payload) = &event.payload {
            let mut left = NAMES_MAX;
            collect(payload, &mut names, &mut left);
        }
        let own: [(&[&'static str], Slot); 2] =
            [(&["common_pid", "perf_tid"], RECORDED), (&["common_flags"], FLAGS)];
        let fields = self.fields().iter().zip(FIELD..).map(|(fields, slot)| (*fields, slot));
        own.into_iter()
            .chain(fields)
            .filter_map(|(candidates, slot)| {
                candidates.iter().find(|name| names.contains(**name)).map(|name| (*name, slot))
            })
            .collect()
    }
}

fn collect<'a>(class: &'a Class, names: &mut HashSet<&'a str>, left: &mut usize) {
    let Some(fewer) = left.checked_sub(1) else { return };
    *left = fewer;
    match class.kind() {
        Kind::Struct(members) => {
            for member in members {
                names.insert(plain(&member.name));
                collect(&member.class, names, left);
            }
        }
        Kind::Variant { choices, .. } => {
            choices.iter().for_each(|choice| collect(&choice.class, names, left))
        }
        Kind::Optional { class, .. } => collect(class, names, left),
        Kind::Integer(_) | Kind::Float { .. } | Kind::Text | Kind::Array { .. } => {}
    }
}
