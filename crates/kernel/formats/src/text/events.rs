//! Names and fields of events in text to [`EventKind`]s.

use super::fields::{integer, number, text, word};
use crate::event_names::{EventSide, WakeKind, ipi_vector};
use crate::format_text::shares_memory;
use crate::trace::EventBatch;
use laggard_model::{Cpu, EventKind, ExpiredTimer, KernelTexts, PrevState, Socket, Tid};

/// The result of parsing an event.
pub(super) enum TextEvent {
    /// A known event.
    Event(EventKind),
    /// An event that is not requested.
    Unwanted,
    /// A known event whose fields cannot be parsed.
    Malformed,
}

/// Turns one event into its kind.
pub(super) fn read(event: &str, fields: &str, batch: &mut EventBatch) -> TextEvent {
    let texts = &mut batch.texts;
    let kind = match event {
        "sched_switch" => switch(fields, texts),
        "sched_waking" | "sched_wakeup" | "sched_wakeup_new" => woken(event, fields, texts),
        "page_fault_user" => Some(EventKind::PageFault),
        "print" | "tracing_mark_write" | "bprint" | "bputs" => Some(marker(fields, texts)),
        _ => {
            return interrupt(event, fields, texts)
                .or_else(|| life(event, fields, texts))
                .or_else(|| network(event, fields))
                .or_else(|| system_call(event, fields, texts))
                .unwrap_or(TextEvent::Unwanted);
        }
    };
    kind.map_or(TextEvent::Malformed, TextEvent::Event)
}

fn parsed(kind: Option<EventKind>) -> Option<TextEvent> {
    Some(kind.map_or(TextEvent::Malformed, TextEvent::Event))
}

fn interrupt(event: &str, fields: &str, texts: &mut KernelTexts) -> Option<TextEvent> {
    let irq = || u32::try_from(number(fields, "irq")?).ok();
    let vector = || u8::try_from(number(fields, "vec")?).ok();
    parsed(match event {
        "irq_handler_entry" => irq().map(|irq| EventKind::IrqEntry {
            irq,
            name: texts.intern(word(fields, "name").unwrap_or_default()),
        }),
        "irq_handler_exit" => irq().map(|irq| EventKind::IrqExit { irq }),
        "softirq_entry" => vector().map(|vector| EventKind::SoftirqEntry { vector }),
        "softirq_exit" => vector().map(|vector| EventKind::SoftirqExit { vector }),
        "softirq_raise" => vector().map(|vector| EventKind::SoftirqRaise { vector }),
        "hrtimer_expire_entry" => Some(EventKind::HrtimerEntry(expired_timer(fields, texts))),
        "hrtimer_expire_exit" => Some(EventKind::HrtimerExit),
        _ => return between_cpus(event).map(TextEvent::Event),
    })
}

/// `hrtimer=0xffff8a function=hrtimer_wakeup/0x0 now=12`; trace-cmd writes the function without its offset.
fn expired_timer(fields: &str, texts: &mut KernelTexts) -> ExpiredTimer {
    let address = word(fields, "hrtimer").and_then(|address| {
        let digits = address.trim_start_matches("0x");
        u64::from_str_radix(digits, 16).ok()
    });
    let function = word(fields, "function").unwrap_or_default();
    // An address where symbols are hidden.
    let name = function.split('/').next().filter(|name| !name.starts_with("0x")).unwrap_or_default();
    ExpiredTimer { address: address.unwrap_or(0), function: texts.intern(name) }
}

fn between_cpus(event: &str) -> Option<EventKind> {
    let (side, name) = EventSide::split(event)?;
    let vector = ipi_vector(name)?;
    Some(match side {
        EventSide::Entry => EventKind::IpiEntry(vector),
        EventSide::Exit => EventKind::IpiExit(vector),
    })
}

/// `prev_comm=a prev_pid=1 prev_prio=120 prev_state=S ==> next_comm=b next_pid=2 next_prio=120`, or
/// `a:1 [120] S ==> b:2 [120]`.
fn switch(fields: &str, texts: &mut KernelTexts) -> Option<EventKind> {
    if fields.starts_with("prev_comm=") {
        return Some(EventKind::Switch {
            prev: tid(fields, "prev_pid")?,
            prev_name: texts.intern(text(fields, "prev_comm", "prev_pid")?),
            prev_state: prev_state(word(fields, "prev_state")?)?,
            next: tid(fields, "next_pid")?,
            next_name: texts.intern(text(fields, "next_comm", "next_pid")?),
        });
    }
    let (left, right) = fields.split_once(" ==> ")?;
    let (left, state) = left.rsplit_once(' ')?;
    let (prev, next) = (short_thread(left)?, short_thread(right)?);
    Some(EventKind::Switch {
        prev: prev.tid,
        prev_name: texts.intern(prev.name),
        prev_state: prev_state(state)?,
        next: next.tid,
        next_name: texts.intern(next.name),
    })
}

struct ShortThread<'a> {
    name: &'a str,
    tid: Tid,
    rest: &'a str,
}

/// `name:12 [120] …`.
fn short_thread(text: &str) -> Option<ShortThread<'_>> {
    let priority = text.rfind(" [")?;
    let (name, number) = text[..priority].rsplit_once(':')?;
    Some(ShortThread { name, tid: Tid(number.parse().ok()?), rest: &text[priority..] })
}

/// The kernel's bits for a state given as a letter or number. Letters after the first are the kernel's additions; `R+`
/// is a thread that was pre-empted while runnable.
fn prev_state(text: &str) -> Option<PrevState> {
    let bits = match text.as_bytes().first()? {
        b'R' if text == "R+" => 0x100,
        b'R' => 0,
        b'S' => 1,
        b'D' => 2,
        b'T' => 4,
        b't' => 8,
        b'X' | b'x' => 0x10,
        b'Z' => 0x20,
        b'P' => 0x40,
        b'0'..=b'9' => return integer(text).and_then(|bits| u32::try_from(bits).ok()).map(PrevState),
        letter if letter.is_ascii_alphabetic() => 0x80,
        _ => return None,
    };
    Some(PrevState(bits))
}

/// `comm=a pid=1 prio=120 target_cpu=000`, or `a:1 [120] CPU:000`.
fn woken(event: &str, fields: &str, texts: &mut KernelTexts) -> Option<EventKind> {
    let (name, tid, target) = if fields.starts_with("comm=") {
        (text(fields, "comm", "pid")?, tid(fields, "pid")?, word(fields, "target_cpu"))
    } else {
        let thread = short_thread(fields)?;
        (thread.name, thread.tid, thread.rest.rsplit_once("CPU:").map(|(_, cpu)| cpu))
    };
    let name = texts.intern(name);
    let target = target.and_then(|cpu| cpu.parse().ok()).map(Cpu);
    Some(WakeKind::from_name(event)?.event(tid, name, target))
}

fn life(event: &str, fields: &str, texts: &mut KernelTexts) -> Option<TextEvent> {
    parsed(match event {
        "sched_process_fork" => fork(fields, texts),
        "sched_process_exec" => tid(fields, "pid").map(|tid| EventKind::Exec {
            tid,
            filename: texts.intern(text(fields, "filename", "pid").unwrap_or_default()),
        }),
        "sched_process_exit" => tid(fields, "pid").map(|tid| EventKind::Exit { tid }),
        "task_rename" => tid(fields, "pid").map(|tid| EventKind::Rename {
            tid,
            name: texts.intern(text(fields, "newcomm", "oom_score_adj").unwrap_or_default()),
        }),
        _ => return None,
    })
}

fn fork(fields: &str, texts: &mut KernelTexts) -> Option<EventKind> {
    let parent = tid(fields, "parent_pid").or_else(|| tid(fields, "pid"))?;
    let child = tid(fields, "child_pid")?;
    let child_name = texts.intern(text(fields, "child_comm", "child_pid").unwrap_or_default());
    Some(EventKind::Fork { parent, child, child_name })
}

fn network(event: &str, fields: &str) -> Option<TextEvent> {
    if !shares_memory(word(fields, "dev").unwrap_or_default().as_bytes()) {
        return None;
    }
    // tracefs hides addresses and prints them without 0x.
    let address = || u64::from_str_radix(word(fields, "skbaddr")?.trim_start_matches("0x"), 16).ok();
    let buffer = || address().map(Socket::Buffer);
    parsed(match event {
        "net_dev_queue" => buffer().map(EventKind::PacketSent),
        "netif_receive_skb" => buffer().map(EventKind::PacketReceived),
        _ => return None,
    })
}

/// `NR 0 (…)` and `NR 0 = 5`; `sys_read(…)` and `sys_read -> 0x5`; `sys_enter_read: …` and `sys_exit_read: 0x5`.
fn system_call(event: &str, fields: &str, texts: &mut KernelTexts) -> Option<TextEvent> {
    if event == "sys_enter" {
        return parsed(
            raw_number(fields).map(|number| EventKind::SyscallEntry { number, name: Default::default() }),
        );
    }
    if event == "sys_exit" {
        return parsed(raw_exit(fields));
    }
    let name = event.strip_prefix("sys_")?;
    let (name, ends) = match (name.strip_prefix("enter_"), name.strip_prefix("exit_")) {
        (Some(name), _) => (name, false),
        (None, Some(name)) => (name, true),
        (None, None) => (name, fields.starts_with("->")),
    };
    let (number, name) = (u32::MAX, texts.intern(name));
    if !ends {
        return Some(TextEvent::Event(EventKind::SyscallEntry { number, name }));
    }
    let returned = integer(fields.trim_start_matches("->").trim()).map_or(0, u64::cast_signed);
    Some(TextEvent::Event(EventKind::SyscallExit { number, name, returned }))
}

fn raw_number(fields: &str) -> Option<u32> {
    let text = match fields.strip_prefix("NR ") {
        Some(rest) => rest.split([' ', '(']).next()?,
        None => word(fields, "id")?,
    };
    u32::try_from(integer(text)?).ok()
}

fn raw_exit(fields: &str) -> Option<EventKind> {
    let number = raw_number(fields)?;
    let returned = match fields.rsplit_once("= ") {
        Some((_, value)) => integer(value)?,
        None => self::number(fields, "ret")?,
    };
    Some(EventKind::SyscallExit { number, name: Default::default(), returned: returned.cast_signed() })
}

/// The text written, without the function that wrote it.
fn marker(fields: &str, texts: &mut KernelTexts) -> EventKind {
    let text = match fields.strip_prefix("ip=").and_then(|fields| fields.split_once(" buf=")) {
        Some((_, text)) => text,
        None => fields.strip_prefix("tracing_mark_write:").unwrap_or(fields),
    };
    EventKind::Marker { text: texts.intern(text.trim()) }
}

fn tid(fields: &str, name: &str) -> Option<Tid> {
    // Kernels print a thread that is gone as -1.
    u32::try_from(number(fields, name)?).ok().map(Tid)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kind(event: &str, fields: &str) -> Option<EventKind> {
        match read(event, fields, &mut EventBatch::default()) {
            TextEvent::Event(kind) => Some(kind),
            TextEvent::Unwanted | TextEvent::Malformed => None,
        }
    }

    #[test]
    fn long_and_short_switches_are_equal() {
        let long =
            "prev_comm=a b prev_pid=1 prev_prio=120 prev_state=R+ ==> next_comm=c:d next_pid=2 next_prio=120";
        let short = "a b:1 [120] R+ ==> c:d:2 [120]";
        assert_eq!(kind("sched_switch", long), kind("sched_switch", short));
        let Some(EventKind::Switch { prev_state, next, .. }) = kind("sched_switch", long) else { panic!() };
        assert_eq!((prev_state, next), (PrevState(0x100), Tid(2)));
    }

    #[test]
    fn long_and_short_wakings_are_equal() {
        let long = kind("sched_waking", "comm=memfd:x pid=7 prio=120 target_cpu=001");
        assert!(long.is_some());
        assert_eq!(long, kind("sched_waking", "memfd:x:7 [120] CPU:001"));
        assert_eq!(long, kind("sched_waking", "memfd:x:7 [120] success=1 CPU:001"));
    }

    #[test]
    fn states_are_read_from_letters_and_numbers() {
        for (letter, bits) in
            [("S", 1), ("D", 2), ("I", 0x80), ("W", 0x80), ("D|K", 2), ("Z", 0x20), ("128", 128)]
        {
            assert_eq!(prev_state(letter), Some(PrevState(bits)), "{letter}");
        }
        assert_eq!(prev_state("-"), None);
    }

    #[test]
    fn the_function_that_wrote_a_marker_is_removed() {
        let mut batch = EventBatch::default();
        for fields in ["tracing_mark_write: begin x", "ip=tracing_mark_write buf=begin x", "begin x"] {
            let TextEvent::Event(EventKind::Marker { text }) = read("print", fields, &mut batch) else {
                panic!()
            };
            assert_eq!(batch.texts.text(text), "begin x");
        }
    }

    #[test]
    fn system_calls_are_read_in_three_notations() {
        let exits =
            [("sys_exit", "NR 0 = -11"), ("sys_read", "-> 0xfffffffffffffff5"), ("sys_exit_read", "-11")];
        for (event, fields) in exits {
            let Some(EventKind::SyscallExit { returned, .. }) = kind(event, fields) else {
                panic!("{event}")
            };
            assert_eq!(returned, -11, "{event}");
        }
        let entry = kind("sys_enter", "NR 232 (8, 7ffd, 400)");
        assert_eq!(entry, Some(EventKind::SyscallEntry { number: 232, name: Default::default() }));
        assert!(matches!(kind("sys_read", "(fd: 3, buf: 4)"), Some(EventKind::SyscallEntry { .. })));
    }

    #[test]
    fn packets_are_identified_by_buffers_that_stay_in_memory() {
        let sent = kind("net_dev_queue", "dev=lo skbaddr=00000000253ad48a len=66");
        assert_eq!(sent, Some(EventKind::PacketSent(Socket::Buffer(0x253a_d48a))));
        let received = kind("netif_receive_skb", "dev=lo skbaddr=0xffff88812345 len=66");
        assert_eq!(received, Some(EventKind::PacketReceived(Socket::Buffer(0xffff_8881_2345))));
        assert_eq!(kind("net_dev_queue", "dev=eth0 skbaddr=00000000253ad48a len=66"), None);
    }

    #[test]
    fn unwanted_and_malformed_differ() {
        let mut batch = EventBatch::default();
        assert!(matches!(read("kmem_cache_alloc", "x=1", &mut batch), TextEvent::Unwanted));
        assert!(matches!(read("sched_switch", "nonsense", &mut batch), TextEvent::Malformed));
        assert!(matches!(read("softirq_entry", "vec=900", &mut batch), TextEvent::Malformed));
    }
}
