//! Kinds of events to LTTng's event classes and their values.

use super::Layout;
use super::field::{Field, Value};
use laggard_model::{EventKind, IpiVector, KernelEvent, KernelTexts, Socket, StatedumpStatus};

/// An event class.
pub(super) struct Class {
    pub(super) name: &'static str,
    pub(super) fields: Field,
}

/// System calls that are written by name.
pub(super) const CALLS: [(&str, &str, &str); 2] = [
    ("futex", "syscall_entry_futex", "syscall_exit_futex"),
    ("read", "syscall_entry_read", "syscall_exit_read"),
];

fn fields(fields: Vec<(&'static str, Field)>) -> Field {
    Field::Struct(fields)
}

/// All classes; a class's number is its position.
pub(super) fn classes(layout: &Layout) -> Vec<Class> {
    let irq = || ("irq", Field::signed(32));
    let vector = || fields(vec![("vec", Field::unsigned(32))]);
    let woken = || {
        fields(vec![
            ("comm", Field::Name),
            ("tid", Field::Thread),
            ("prio", Field::signed(32)),
            ("target_cpu", Field::signed(32)),
        ])
    };
    let exits = || fields(vec![("ret", Field::signed(64)), ("buf", Field::unsigned(64))]);
    let mut all = vec![
        (
            "sched_switch",
            fields(vec![
                ("prev_comm", Field::Name),
                ("prev_tid", Field::Thread),
                ("prev_prio", Field::signed(32)),
                ("prev_state", Field::signed(64)),
                ("next_comm", Field::Name),
                ("next_tid", Field::Thread),
                ("next_prio", Field::signed(32)),
            ]),
        ),
        ("sched_waking", woken()),
        ("sched_wakeup", woken()),
        ("sched_wakeup_new", woken()),
        ("sched_ttwu", woken()),
        ("irq_handler_entry", fields(vec![irq(), ("name", Field::Text)])),
        ("irq_handler_exit", fields(vec![irq(), ("ret", Field::signed(32))])),
        (name(layout, "softirq_entry"), vector()),
        (name(layout, "softirq_exit"), vector()),
        (name(layout, "softirq_raise"), vector()),
        (
            name(layout, "hrtimer_expire_entry"),
            fields(vec![("hrtimer", Field::unsigned(64)), ("now", Field::signed(64))]),
        ),
        (name(layout, "hrtimer_expire_exit"), fields(vec![("hrtimer", Field::unsigned(64))])),
        (
            "sched_process_fork",
            fields(vec![
                ("parent_comm", Field::Name),
                ("parent_tid", Field::Thread),
                ("parent_pid", Field::Thread),
                ("vtids", Field::Counted("_vtids_length")),
                ("child_comm", Field::Name),
                ("child_tid", Field::Thread),
                ("child_pid", Field::Thread),
            ]),
        ),
        (
            "sched_process_exec",
            fields(vec![("filename", Field::Text), ("tid", Field::Thread), ("old_tid", Field::Thread)]),
        ),
        (
            "sched_process_exit",
            fields(vec![("comm", Field::Name), ("tid", Field::Thread), ("prio", Field::signed(32))]),
        ),
        (
            "task_rename",
            fields(vec![("tid", Field::Thread), ("oldcomm", Field::Name), ("newcomm", Field::Name)]),
        ),
        (
            "lttng_statedump_process_state",
            fields(vec![
                ("tid", Field::Thread),
                ("vtid", Field::Thread),
                ("pid", Field::Thread),
                ("name", Field::Name),
                ("status", Field::signed(32)),
            ]),
        ),
        ("lttng_statedump_interrupt", fields(vec![irq(), ("name", Field::Text), ("action", Field::Text)])),
        ("lttng_logger", fields(vec![("msg", Field::Counted("_msg_length"))])),
        ("syscall_entry_unknown", fields(vec![("id", Field::signed(32)), ("args", Field::unsigned(64))])),
        ("syscall_exit_unknown", fields(vec![("id", Field::signed(32)), ("ret", Field::signed(64))])),
        ("exit_syscall", fields(vec![("ret", Field::signed(64))])),
        ("net_dev_queue", packet()),
        ("net_if_receive_skb", packet()),
        ("net_if_receive_skb_entry", fields(vec![("napi_id", Field::unsigned(32))])),
        ("net_if_receive_skb_exit", fields(vec![("ret", Field::signed(32))])),
        // No reader needs these two: one has a fixed size, the other must be parsed to be skipped.
        ("kmem_cache_free", fields(vec![("call_site", Field::unsigned(64)), ("ptr", Field::unsigned(64))])),
        (
            "block_rq_issue",
            fields(vec![
                ("dev", Field::unsigned(32)),
                ("cmd", Field::Counted("_cmd_length")),
                ("comm", Field::Name),
            ]),
        ),
    ];
    all.extend(CALLS.iter().map(|(_, entry, _)| {
        (*entry, fields(vec![("fd", Field::unsigned(32)), ("count", Field::unsigned(64))]))
    }));
    all.extend(CALLS.iter().map(|(_, _, exit)| (*exit, exits())));
    all.extend(
        IPIS.iter().flat_map(|(_, entry, exit)| [(*entry, vector_number()), (*exit, vector_number())]),
    );
    all.into_iter().map(|(name, fields)| Class { name, fields }).collect()
}

fn vector_number() -> Field {
    fields(vec![("vector", Field::signed(32))])
}

const IPIS: [(IpiVector, &str, &str); 5] = [
    (IpiVector::LocalTimer, "x86_irq_vectors_local_timer_entry", "x86_irq_vectors_local_timer_exit"),
    (IpiVector::Reschedule, "x86_irq_vectors_reschedule_entry", "x86_irq_vectors_reschedule_exit"),
    (IpiVector::CallFunction, "x86_irq_vectors_call_function_entry", "x86_irq_vectors_call_function_exit"),
    (IpiVector::IrqWork, "x86_irq_vectors_irq_work_entry", "x86_irq_vectors_irq_work_exit"),
    (IpiVector::Other, "x86_irq_vectors_thermal_apic_entry", "x86_irq_vectors_thermal_apic_exit"),
];

fn name(layout: &Layout, old: &'static str) -> &'static str {
    match old {
        _ if layout.old_names => old,
        "softirq_entry" => "irq_softirq_entry",
        "softirq_exit" => "irq_softirq_exit",
        "softirq_raise" => "irq_softirq_raise",
        "hrtimer_expire_entry" => "timer_hrtimer_expire_entry",
        _ => "timer_hrtimer_expire_exit",
    }
}

/// A packet with its headers, as LTTng 2.9 records them.
fn packet() -> Field {
    let empty = || fields(Vec::new());
    let tcp = fields(vec![
        ("source_port", Field::network(16)),
        ("dest_port", Field::network(16)),
        ("seq", Field::network(32)),
        ("ack_seq", Field::network(32)),
        ("data_offset", Field::Bits(4)),
        ("reserved", Field::Bits(3)),
        ("flags", Field::Bits(9)),
        ("window_size", Field::network(16)),
    ]);
    let ipv4 = fields(vec![
        ("version", Field::Bits(4)),
        ("ihl", Field::Bits(4)),
        ("tot_len", Field::network(16)),
        ("transport_header_type", Field::Labels(&["unknown", "tcp", "udp"])),
        (
            "transport_header",
            Field::Variant {
                tag: "transport_header_type",
                options: vec![("unknown", empty()), ("tcp", tcp), ("udp", empty())],
            },
        ),
    ]);
    fields(vec![
        ("skbaddr", Field::unsigned(64)),
        ("len", Field::unsigned(32)),
        ("name", Field::Text),
        ("network_header_type", Field::Labels(&["unknown", "ipv4", "ipv6"])),
        (
            "network_header",
            Field::Variant {
                tag: "network_header_type",
                options: vec![("unknown", empty()), ("ipv4", ipv4), ("ipv6", empty())],
            },
        ),
    ])
}

fn packet_value(socket: Socket) -> Value {
    let (address, header) = match socket {
        Socket::Buffer(address) => (address, Value::Option(0, Box::new(Value::Struct(Vec::new())))),
        Socket::Tcp { sequence, acknowledgment, flags, ports } => {
            let numbers =
                [ports >> 16, ports & 0xffff, sequence, acknowledgment, 5, 0, u32::from(flags) & 0x1ff, 512];
            let tcp = Value::Option(1, Box::new(numbers_value(&numbers.map(i128::from))));
            let ipv4 = Value::Struct(vec![4.into(), 5.into(), 60.into(), 1.into(), tcp]);
            (0xffff_8800_1234_5678, Value::Option(1, Box::new(ipv4)))
        }
        other => panic!("not written by this encoder: {other:?}"),
    };
    let kind = if matches!(header, Value::Option(1, _)) { 1 } else { 0 };
    Value::Struct(vec![address.into(), 60.into(), Value::Text("lo".to_owned()), kind.into(), header])
}

fn numbers_value(numbers: &[i128]) -> Value {
    Value::Struct(numbers.iter().map(|number| Value::Number(*number)).collect())
}

/// The class of an event by name, and the value of its fields.
pub(super) fn value(event: &KernelEvent, texts: &KernelTexts, layout: &Layout) -> (&'static str, Value) {
    let text = |id| Value::Text(texts.text(id).to_owned());
    let values = |values: Vec<Value>| Value::Struct(values);
    let woken = |tid: u32, id, target: Option<laggard_model::Cpu>| {
        values(vec![text(id), tid.into(), 120.into(), target.expect("LTTng records it").0.into()])
    };
    let vector = |vector: u8| values(vec![vector.into()]);
    match event.kind {
        EventKind::Switch { prev, prev_name, prev_state, next, next_name } => (
            "sched_switch",
            values(vec![
                text(prev_name),
                prev.0.into(),
                120.into(),
                prev_state.0.into(),
                text(next_name),
                next.0.into(),
                (-2).into(),
            ]),
        ),
        EventKind::Waking { tid, name, target } => ("sched_waking", woken(tid.0, name, target)),
        EventKind::Wakeup { tid, name, target } => ("sched_wakeup", woken(tid.0, name, target)),
        EventKind::WakeupNew { tid, name, target } => ("sched_wakeup_new", woken(tid.0, name, target)),
        EventKind::TryToWakeUp { tid, name, target } => ("sched_ttwu", woken(tid.0, name, target)),
        EventKind::IrqEntry { irq, name } => ("irq_handler_entry", values(vec![irq.into(), text(name)])),
        EventKind::IrqExit { irq } => ("irq_handler_exit", values(vec![irq.into(), 1.into()])),
        EventKind::SoftirqEntry { vector: softirq } => (name(layout, "softirq_entry"), vector(softirq)),
        EventKind::SoftirqExit { vector: softirq } => (name(layout, "softirq_exit"), vector(softirq)),
        EventKind::SoftirqRaise { vector: softirq } => (name(layout, "softirq_raise"), vector(softirq)),
        EventKind::HrtimerEntry(_) => {
            (name(layout, "hrtimer_expire_entry"), numbers_value(&[0xffff_9c00_0000_1000, -1]))
        }
        EventKind::HrtimerExit => {
            (name(layout, "hrtimer_expire_exit"), numbers_value(&[0xffff_9c00_0000_1000]))
        }
        EventKind::IpiEntry(vector) => (ipi(vector).1, numbers_value(&[239])),
        EventKind::IpiExit(vector) => (ipi(vector).2, numbers_value(&[239])),
        EventKind::PacketSent(socket) => ("net_dev_queue", packet_value(socket)),
        EventKind::PacketReceived(socket) => ("net_if_receive_skb", packet_value(socket)),
        EventKind::ReceptionEntry => ("net_if_receive_skb_entry", numbers_value(&[8193])),
        EventKind::ReceptionExit => ("net_if_receive_skb_exit", numbers_value(&[0])),
        EventKind::SyscallEntry { number, name } => match call(texts.text(name)) {
            Some((_, entry, _)) => (entry, numbers_value(&[3, 4096])),
            None => ("syscall_entry_unknown", numbers_value(&[i128::from(number), 0])),
        },
        EventKind::SyscallExit { number, name, returned } => match call(texts.text(name)) {
            Some((_, _, exit)) => (exit, numbers_value(&[i128::from(returned), 0])),
            None if number == u32::MAX => ("exit_syscall", numbers_value(&[i128::from(returned)])),
            None => ("syscall_exit_unknown", numbers_value(&[i128::from(number), i128::from(returned)])),
        },
        _ => life(event, texts),
    }
}

fn ipi(vector: IpiVector) -> &'static (IpiVector, &'static str, &'static str) {
    IPIS.iter().find(|(known, ..)| *known == vector).expect("every vector has a name")
}

fn call(name: &str) -> Option<&'static (&'static str, &'static str, &'static str)> {
    CALLS.iter().find(|(known, ..)| *known == name)
}

fn life(event: &KernelEvent, texts: &KernelTexts) -> (&'static str, Value) {
    let text = |id| Value::Text(texts.text(id).to_owned());
    let empty = || Value::Text(String::new());
    match event.kind {
        EventKind::Fork { parent, child, child_name } => (
            "sched_process_fork",
            Value::Struct(vec![
                empty(),
                parent.0.into(),
                1.into(),
                Value::Text("ab".to_owned()),
                text(child_name),
                child.0.into(),
                1.into(),
            ]),
        ),
        EventKind::Exec { tid, filename } => {
            ("sched_process_exec", Value::Struct(vec![text(filename), tid.0.into(), 7.into()]))
        }
        EventKind::Exit { tid } => {
            ("sched_process_exit", Value::Struct(vec![empty(), tid.0.into(), 120.into()]))
        }
        EventKind::Rename { tid, name } => {
            ("task_rename", Value::Struct(vec![tid.0.into(), empty(), text(name)]))
        }
        EventKind::Statedump { tid, pid, name, status } => (
            "lttng_statedump_process_state",
            Value::Struct(vec![tid.0.into(), 1.into(), pid.0.into(), text(name), code(status).into()]),
        ),
        EventKind::InterruptName { irq, name, .. } => (
            "lttng_statedump_interrupt",
            Value::Struct(vec![irq.into(), Value::Text("IO-APIC".to_owned()), text(name)]),
        ),
        EventKind::Marker { text: marker } => ("lttng_logger", Value::Struct(vec![text(marker)])),
        EventKind::Other { name, fields } => match texts.text(name) {
            "block_rq_issue" => ("block_rq_issue", Value::Struct(vec![8.into(), text(fields), empty()])),
            _ => ("kmem_cache_free", Value::Struct(vec![1.into(), 2.into()])),
        },
        other => panic!("not written by this encoder: {other:?}"),
    }
}

fn code(status: StatedumpStatus) -> u8 {
    match status {
        StatedumpStatus::Unknown => 0,
        StatedumpStatus::WaitFork => 1,
        StatedumpStatus::WaitCpu => 2,
        StatedumpStatus::Exit => 3,
        StatedumpStatus::Zombie => 4,
        StatedumpStatus::WaitUnknown => 5,
        StatedumpStatus::Running => 6,
        StatedumpStatus::Dead => 7,
    }
}
