//! Writes records of tracepoints, as the kernel does.

use laggard_model::{Cpu, EventKind, KernelEvent, KernelTexts, Tid};

/// Byte order.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Order {
    Little,
    Big,
}

impl Order {
    pub(crate) fn u16(self, value: u16) -> [u8; 2] {
        if self == Order::Little { value.to_le_bytes() } else { value.to_be_bytes() }
    }

    pub(crate) fn u32(self, value: u32) -> [u8; 4] {
        if self == Order::Little { value.to_le_bytes() } else { value.to_be_bytes() }
    }

    pub(crate) fn u64(self, value: u64) -> [u8; 8] {
        if self == Order::Little { value.to_le_bytes() } else { value.to_be_bytes() }
    }
}

/// Number of the events below.
pub(crate) const SWITCH: u16 = 311;
pub(crate) const WAKING: u16 = 312;
pub(crate) const IRQ: u16 = 90;
pub(crate) const PRINT: u16 = 5;
pub(crate) const PROBE: u16 = 1500;

/// Format texts, as a kernel shows them, with a system each.
pub(crate) const FORMATS: &[(&str, &str)] = &[
    (
        "sched",
        "name: sched_switch\nID: 311\nformat:\n\tfield:unsigned short common_type;\toffset:0;\tsize:2;\tsigned:0;\n\
         \tfield:unsigned char common_flags;\toffset:2;\tsize:1;\tsigned:0;\n\
         \tfield:unsigned char common_preempt_count;\toffset:3;\tsize:1;\tsigned:0;\n\
         \tfield:int common_pid;\toffset:4;\tsize:4;\tsigned:1;\n\n\
         \tfield:char prev_comm[16];\toffset:8;\tsize:16;\tsigned:0;\n\
         \tfield:pid_t prev_pid;\toffset:24;\tsize:4;\tsigned:1;\n\tfield:int prev_prio;\toffset:28;\tsize:4;\tsigned:1;\n\
         \tfield:long prev_state;\toffset:32;\tsize:4;\tsigned:1;\n\
         \tfield:char next_comm[16];\toffset:36;\tsize:16;\tsigned:0;\n\
         \tfield:pid_t next_pid;\toffset:52;\tsize:4;\tsigned:1;\n\nprint fmt: \"field:char x; offset:0\"\n",
    ),
    (
        "sched",
        "name: sched_waking\nID: 312\nformat:\n\tfield:unsigned short common_type;\toffset:0;\tsize:2;\tsigned:0;\n\
         \tfield:int common_pid;\toffset:4;\tsize:4;\tsigned:1;\n\n\
         \tfield:char comm[16];\toffset:8;\tsize:16;\tsigned:0;\n\tfield:pid_t pid;\toffset:24;\tsize:4;\tsigned:1;\n\
         \tfield:int target_cpu;\toffset:28;\tsize:4;\tsigned:1;\n",
    ),
    (
        "irq",
        "name: irq_handler_entry\nID: 90\nformat:\n\tfield:int irq;\toffset:8;\tsize:4;\tsigned:1;\n\
         \tfield:__data_loc char[] name;\toffset:12;\tsize:4;\tsigned:0;\n",
    ),
    ("sched", WAKEUP_FORMAT),
    ("sched", WAKEUP_NEW_FORMAT),
    ("irq", "name: irq_handler_exit\nID: 91\nformat:\n\tfield:int irq;\toffset:8;\tsize:4;\tsigned:1;\n"),
    (
        "irq",
        "name: softirq_entry\nID: 92\nformat:\n\tfield:unsigned int vec;\toffset:8;\tsize:4;\tsigned:0;\n",
    ),
    (
        "irq",
        "name: softirq_exit\nID: 93\nformat:\n\tfield:unsigned int vec;\toffset:8;\tsize:4;\tsigned:0;\n",
    ),
    (
        "timer",
        "name: hrtimer_expire_entry\nID: 94\nformat:\n\tfield:void * hrtimer;\toffset:8;\tsize:8;\tsigned:0;\n",
    ),
    (
        "timer",
        "name: hrtimer_expire_exit\nID: 95\nformat:\n\tfield:void * hrtimer;\toffset:8;\tsize:8;\tsigned:0;\n",
    ),
    (
        "probe_app",
        "name: handle\nID: 1500\nformat:\n\tfield:unsigned long __probe_ip;\toffset:8;\tsize:8;\tsigned:0;\n\
         \tfield:s32 depth;\toffset:16;\tsize:4;\tsigned:1;\n\tfield:u16 codes[3];\toffset:20;\tsize:6;\tsigned:0;\n\
         \tfield:__rel_loc char[] path;\toffset:28;\tsize:4;\tsigned:0;\n",
    ),
];

const WAKEUP_FORMAT: &str = "name: sched_wakeup\nID: 313\nformat:\n\
     \tfield:char comm[16];\toffset:8;\tsize:16;\tsigned:0;\n\tfield:pid_t pid;\toffset:24;\tsize:4;\tsigned:1;\n\
     \tfield:int target_cpu;\toffset:28;\tsize:4;\tsigned:1;\n";

const WAKEUP_NEW_FORMAT: &str = "name: sched_wakeup_new\nID: 314\nformat:\n\
     \tfield:char comm[16];\toffset:8;\tsize:16;\tsigned:0;\n\tfield:pid_t pid;\toffset:24;\tsize:4;\tsigned:1;\n\
     \tfield:int target_cpu;\toffset:28;\tsize:4;\tsigned:1;\n";

/// The format of markers, which lies apart.
pub(crate) const PRINT_FORMAT: &str = "name: print\nID: 5\nformat:\n\tfield:unsigned long ip;\toffset:8;\tsize:8;\tsigned:0;\n\
     \tfield:char buf[];\toffset:16;\tsize:0;\tsigned:0;\n";

/// The fields that every event begins with.
fn record(order: Order, id: u16, flags: u8, tid: u32) -> Vec<u8> {
    let mut out = order.u16(id).to_vec();
    out.extend([flags, 0]);
    out.extend(order.u32(tid));
    out
}

fn padded(name: &str) -> [u8; 16] {
    let mut out = [0; 16];
    out[..name.len()].copy_from_slice(name.as_bytes());
    out
}

/// A switch, recorded by the thread that leaves.
pub(crate) fn switch(order: Order, prev: (u32, &str), state: u32, next: (u32, &str)) -> Vec<u8> {
    let mut out = record(order, SWITCH, 1, prev.0);
    out.extend(padded(prev.1));
    out.extend(order.u32(prev.0));
    out.extend(order.u32(120));
    out.extend(order.u32(state));
    out.extend(padded(next.1));
    out.extend(order.u32(next.0));
    out
}

/// A waking by the thread `by`.
pub(crate) fn waking(order: Order, by: u32, woken: (u32, &str), cpu: u32) -> Vec<u8> {
    let mut out = record(order, WAKING, 8, by);
    out.extend(padded(woken.1));
    out.extend(order.u32(woken.0));
    out.extend(order.u32(cpu));
    out
}

/// The beginning of an interrupt.
pub(crate) fn irq(order: Order, number: u32, name: &str) -> Vec<u8> {
    let mut out = record(order, IRQ, 8, 0);
    out.extend(order.u32(number));
    out.extend(order.u32(16 | (name.len() as u32 + 1) << 16));
    out.extend(name.as_bytes());
    out.push(0);
    out.resize(out.len().next_multiple_of(4), 0);
    out
}

/// A marker.
pub(crate) fn print(order: Order, tid: u32, text: &str) -> Vec<u8> {
    let mut out = record(order, PRINT, 0, tid);
    out.extend(order.u64(0xffff_ffff_8000_0000));
    out.extend(text.as_bytes());
    out.extend(b"\n\0");
    out.resize(out.len().next_multiple_of(4), 0);
    out
}

/// An event without its own kind.
pub(crate) fn probe(order: Order, tid: u32, depth: i32, path: &str) -> Vec<u8> {
    let mut out = record(order, PROBE, 0, tid);
    out.extend(order.u64(0x55_5555_5555));
    out.extend(order.u32(depth as u32));
    for code in [1, 2, 65535] {
        out.extend(order.u16(code));
    }
    out.extend([0, 0]);
    out.extend(order.u32((path.len() as u32 + 1) << 16));
    out.extend(path.as_bytes());
    out.push(0);
    out.resize(out.len().next_multiple_of(4), 0);
    out
}

/// An event as a record of its tracepoint; `None` for kinds that no tracepoint above has.
pub(crate) fn of_event(order: Order, event: &KernelEvent, texts: &KernelTexts) -> Option<Vec<u8>> {
    let text = |id| texts.text(id);
    let flags = event.flags.map_or(0, |flags| flags.0);
    let tid = event.recorded.map_or(0, |tid| tid.0);
    let bare = |id, number| [record(order, id, flags, tid), order.u32(number).to_vec(), vec![0; 4]].concat();
    let wake = |id, woken: Tid, name, target: Option<Cpu>| {
        let mut out = record(order, id, flags, tid);
        out.extend(padded(text(name)));
        out.extend(order.u32(woken.0));
        out.extend(order.u32(u32::from(target.map_or(0, |cpu| cpu.0))));
        out
    };
    let mut out = match event.kind {
        EventKind::Switch { prev, prev_name, prev_state, next, next_name } => {
            switch(order, (prev.0, text(prev_name)), prev_state.0, (next.0, text(next_name)))
        }
        EventKind::Waking { tid, name, target } => wake(WAKING, tid, name, target),
        EventKind::Wakeup { tid, name, target } => wake(313, tid, name, target),
        EventKind::WakeupNew { tid, name, target } => wake(314, tid, name, target),
        EventKind::IrqEntry { irq: number, name } => irq(order, number, text(name)),
        EventKind::IrqExit { irq } => bare(91, irq),
        EventKind::SoftirqEntry { vector } => bare(92, u32::from(vector)),
        EventKind::SoftirqExit { vector } => bare(93, u32::from(vector)),
        EventKind::HrtimerEntry(_) => bare(94, 0),
        EventKind::HrtimerExit => bare(95, 0),
        EventKind::Marker { text: marker } => print(order, tid, text(marker)),
        _ => return None,
    };
    out[2] = flags;
    out[4..8].copy_from_slice(&order.u32(tid));
    Some(out)
}
