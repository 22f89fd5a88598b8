//! From a format text to what a record of it becomes: worked out once an event, not once a record.

use super::fields::{BytesField, NumberField};
use super::other::NamedField;
use super::parse::{EventFormat, FieldShape};
use crate::event_names::{EventSide, WakeKind, ipi_vector};
use crate::options::OpenOptions;
use laggard_model::IpiVector;

/// A thread and its name, as wake-ups carry them.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) struct WakeFields {
    pub(super) tid: NumberField,
    pub(super) name: Option<BytesField>,
    pub(super) target: Option<NumberField>,
}

/// Fields of a switch.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) struct SwitchFields {
    pub(super) prev: NumberField,
    pub(super) prev_name: Option<BytesField>,
    pub(super) prev_state: NumberField,
    pub(super) next: NumberField,
    pub(super) next_name: Option<BytesField>,
}

/// A text that a plan refers to: its index in the list of the plans' texts.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct PlanText(pub(super) usize);

fn keep(text: &str, texts: &mut Vec<String>) -> PlanText {
    texts.push(text.to_owned());
    PlanText(texts.len() - 1)
}

/// Where the addresses of a stack begin, and the bytes of each.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct AddressArray {
    pub(super) offset: usize,
    pub(super) size: usize,
}

/// The use of one event's records, and of which fields.
#[derive(Clone, PartialEq, Debug)]
pub(super) enum EventPlan {
    /// No format text has this number.
    Missing,
    /// Nothing: the record is passed over.
    Unwanted,
    Switch(SwitchFields),
    Wake(WakeKind, WakeFields),
    IrqEntry {
        irq: NumberField,
        name: Option<BytesField>,
    },
    IrqExit {
        irq: NumberField,
    },
    Softirq(EventSide, NumberField),
    SoftirqRaise(NumberField),
    HrtimerEntry {
        timer: Option<NumberField>,
        function: Option<NumberField>,
    },
    HrtimerExit,
    Ipi(EventSide, IpiVector),
    Fork {
        parent: NumberField,
        child: NumberField,
        child_name: Option<BytesField>,
    },
    Exec {
        tid: Option<NumberField>,
        filename: Option<BytesField>,
    },
    Exit {
        tid: NumberField,
    },
    Rename {
        tid: NumberField,
        name: BytesField,
    },
    Marker {
        text: BytesField,
    },
    SyscallEntry {
        number: Option<NumberField>,
        name: PlanText,
    },
    SyscallExit {
        number: Option<NumberField>,
        name: PlanText,
        returned: Option<NumberField>,
    },
    PageFault,
    PacketSent {
        buffer: NumberField,
        device: Option<BytesField>,
    },
    PacketReceived {
        buffer: NumberField,
        device: Option<BytesField>,
    },
    /// The kernel's part of a stack. The number of its addresses; without it, all are.
    Stack {
        count: Option<NumberField>,
        addresses: AddressArray,
    },
    /// The program's part of a stack, and its process.
    ProgramStack {
        process: NumberField,
        addresses: AddressArray,
    },
    Other {
        name: PlanText,
        fields: Vec<NamedField>,
    },
}

impl EventPlan {
    /// The plan for an event. Texts it refers to are added to `texts`.
    pub(super) fn new(format: &EventFormat, options: &OpenOptions, texts: &mut Vec<String>) -> EventPlan {
        if let Some(plan) = known(format).or_else(|| syscall(format, texts)) {
            return plan;
        }
        let is_probe = || ["__probe_ip", "__probe_func"].iter().any(|name| format.number(name).is_some());
        let is_wanted = options.wants(&format.system, &format.name) || options.probes && is_probe();
        if !is_wanted {
            return EventPlan::Unwanted;
        }
        EventPlan::Other { name: keep(&format.name, texts), fields: NamedField::all(format) }
    }
}

/// Events with a kind of their own, system calls apart. `None` when it is not one, or lacks a field it must have.
fn known(format: &EventFormat) -> Option<EventPlan> {
    let number = |name: &str| format.number(name);
    Some(match (format.system.as_str(), format.name.as_str()) {
        ("sched", "sched_switch") => EventPlan::Switch(SwitchFields {
            prev: number("prev_pid")?,
            prev_name: format.text("prev_comm"),
            prev_state: number("prev_state")?,
            next: number("next_pid")?,
            next_name: format.text("next_comm"),
        }),
        ("sched", "sched_waking" | "sched_wakeup" | "sched_wakeup_new") => wake(format)?,
        ("irq", "irq_handler_entry") => {
            EventPlan::IrqEntry { irq: number("irq")?, name: format.text("name") }
        }
        ("irq", "irq_handler_exit") => EventPlan::IrqExit { irq: number("irq")? },
        ("irq", "softirq_entry") => EventPlan::Softirq(EventSide::Entry, number("vec")?),
        ("irq", "softirq_exit") => EventPlan::Softirq(EventSide::Exit, number("vec")?),
        ("irq", "softirq_raise") => EventPlan::SoftirqRaise(number("vec")?),
        ("timer", "hrtimer_expire_entry") => {
            EventPlan::HrtimerEntry { timer: number("hrtimer"), function: number("function") }
        }
        ("timer", "hrtimer_expire_exit") => EventPlan::HrtimerExit,
        ("irq_vectors" | "ipi", name) => ipi(name)?,
        ("sched", "sched_process_fork") => EventPlan::Fork {
            parent: number("parent_pid")?,
            child: number("child_pid")?,
            child_name: format.text("child_comm"),
        },
        ("sched", "sched_process_exec") => {
            EventPlan::Exec { tid: number("pid"), filename: format.text("filename") }
        }
        ("sched", "sched_process_exit") => EventPlan::Exit { tid: number("pid")? },
        ("task", "task_rename") => EventPlan::Rename { tid: number("pid")?, name: format.text("newcomm")? },
        ("ftrace", "print") => EventPlan::Marker { text: format.text("buf")? },
        ("ftrace", "kernel_stack") => {
            EventPlan::Stack { count: number("size"), addresses: addresses(format)? }
        }
        ("ftrace", "user_stack") => {
            EventPlan::ProgramStack { process: number("tgid")?, addresses: addresses(format)? }
        }
        ("exceptions", "page_fault_user") => EventPlan::PageFault,
        ("net", "net_dev_queue" | "net_dev_xmit") => {
            EventPlan::PacketSent { buffer: number("skbaddr")?, device: format.text("name") }
        }
        ("net", "netif_receive_skb") => {
            EventPlan::PacketReceived { buffer: number("skbaddr")?, device: format.text("name") }
        }
        _ => return None,
    })
}

/// The declared length of the array is that of earlier kernels; a record may have more addresses, and pads after them.
fn addresses(format: &EventFormat) -> Option<AddressArray> {
    let FieldShape::Numbers { size, .. } = format.field("caller")?.shape else { return None };
    Some(AddressArray { offset: format.field("caller")?.offset, size })
}

fn wake(format: &EventFormat) -> Option<EventPlan> {
    let kind = WakeKind::from_name(&format.name)?;
    let fields = WakeFields {
        tid: format.number("pid")?,
        name: format.text("comm"),
        target: format.number("target_cpu"),
    };
    Some(EventPlan::Wake(kind, fields))
}

/// `reschedule_entry`, `ipi_exit`; `ipi_raise` is none.
fn ipi(name: &str) -> Option<EventPlan> {
    let (side, vector) = EventSide::split(name)?;
    Some(EventPlan::Ipi(side, ipi_vector(vector).unwrap_or(IpiVector::Other)))
}

/// `raw_syscalls:sys_enter` and `syscalls:sys_enter_NAME`, and their exits.
fn syscall(format: &EventFormat, texts: &mut Vec<String>) -> Option<EventPlan> {
    let numbered = match format.system.as_str() {
        "raw_syscalls" => format.number("id"),
        "syscalls" => format.number("__syscall_nr").or_else(|| format.number("nr")),
        _ => return None,
    };
    if let Some(name) = format.name.strip_prefix("sys_enter") {
        return Some(EventPlan::SyscallEntry {
            number: numbered,
            name: keep(name.trim_start_matches('_'), texts),
        });
    }
    let name = format.name.strip_prefix("sys_exit")?;
    let returned = format.number("ret");
    Some(EventPlan::SyscallExit {
        number: numbered,
        name: keep(name.trim_start_matches('_'), texts),
        returned,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plan(system: &str, name: &str, fields: &str) -> EventPlan {
        let mut text = format!("name: {name}\nID: 9\nformat:\n");
        for (field, offset) in fields.split_whitespace().zip((8..).step_by(8)) {
            text.push_str(&format!("\tfield:long {field};\toffset:{offset};\tsize:8;\tsigned:1;\n"));
        }
        let format = EventFormat::parse(system, &text).expect("a format");
        let options = OpenOptions {
            also: vec!["wanted".to_owned(), "sched_switch".to_owned()],
            ..OpenOptions::default()
        };
        EventPlan::new(&format, &options, &mut Vec::new())
    }

    fn at(offset: usize) -> NumberField {
        NumberField { offset, size: 8, signed: true }
    }

    #[test]
    fn events_are_known_by_system_and_name() {
        assert_eq!(plan("irq", "softirq_exit", "vec"), EventPlan::Softirq(EventSide::Exit, at(8)));
        assert_eq!(plan("other", "softirq_exit", "vec"), EventPlan::Unwanted);
        assert_eq!(
            plan("irq_vectors", "reschedule_exit", "vector"),
            EventPlan::Ipi(EventSide::Exit, IpiVector::Reschedule)
        );
        assert_eq!(
            plan("irq_vectors", "call_function_single_entry", "vector"),
            EventPlan::Ipi(EventSide::Entry, IpiVector::CallFunction)
        );
        assert_eq!(plan("ipi", "ipi_entry", "reason"), EventPlan::Ipi(EventSide::Entry, IpiVector::Other));
        assert_eq!(plan("ipi", "ipi_raise", "reason"), EventPlan::Unwanted);
        assert_eq!(
            plan("net", "net_dev_queue", "skbaddr len"),
            EventPlan::PacketSent { buffer: at(8), device: None }
        );
        assert_eq!(
            plan("net", "netif_receive_skb", "skbaddr len"),
            EventPlan::PacketReceived { buffer: at(8), device: None }
        );
        assert_eq!(plan("net", "netif_rx", "skbaddr len"), EventPlan::Unwanted);
        assert_eq!(plan("sched", "sched_process_exit", "comm pid"), EventPlan::Exit { tid: at(16) });
    }

    #[test]
    fn system_calls_have_a_number_and_mostly_a_name() {
        assert_eq!(
            plan("raw_syscalls", "sys_enter", "id args"),
            EventPlan::SyscallEntry { number: Some(at(8)), name: PlanText(0) }
        );
        assert_eq!(
            plan("syscalls", "sys_exit_futex", "__syscall_nr ret"),
            EventPlan::SyscallExit { number: Some(at(8)), name: PlanText(0), returned: Some(at(16)) }
        );
        let mut texts = Vec::new();
        let format = EventFormat::parse("syscalls", "name: sys_enter_futex\nID: 9\n").expect("a format");
        EventPlan::new(&format, &OpenOptions::default(), &mut texts);
        assert_eq!(texts, ["futex"]);
    }

    #[test]
    fn requested_events_of_unknown_kind_are_other_events() {
        assert!(matches!(plan("any", "wanted", "a b"), EventPlan::Other { fields, .. } if fields.len() == 2));
        assert!(matches!(plan("sched", "sched_switch", "prev_pid next_pid"), EventPlan::Other { .. }));
        assert_eq!(plan("sched", "sched_waking", "comm"), EventPlan::Unwanted);
    }
}
