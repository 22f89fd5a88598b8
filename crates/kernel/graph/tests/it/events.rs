//! Events written as one line of text each, and queries of their graph.

use laggard_kernel_graph::{
    CriticalPath, ExecutionGraph, GraphBuilder, GraphSettings, HostId, PathSegment, Window, WorkerId,
};
use laggard_model::{
    ContextFlags, Cpu, EventKind, ExpiredTimer, IpiVector, KernelEvent, KernelTexts, KernelTime, Losses,
    PrevState, Socket, StatedumpStatus, TextId, Tid,
};

/// Events as text and their graph.
pub(crate) struct EventTrace {
    pub(crate) graph: ExecutionGraph,
    pub(crate) losses: Losses,
}

/// Reads a line: `TIME CPU WRITER[/FLAGS] EVENT ARGUMENT…`; the writer is a thread or `-`, the flags `h` and `s`, times
/// are in microseconds.
///
/// Events: `switch PREV STATE NEXT`, `waking T`, `wakeup T`, `wakeup_new T`, `ttwu T`, `irq NUMBER NAME`, `-irq
/// NUMBER`, `softirq V`, `-softirq V`, `hrtimer [FUNCTION]`, `-hrtimer`, `ipi`, `-ipi`, `reception`, `-reception`, `fork PARENT
/// CHILD`, `exit T`, `rename T NAME`, `exec T FILE`, `dump T`, `send N`, `receive N` (buffers), `lost`, `enter CALL`, `leave CALL`
/// (by name or number), `fault`, `stack FUNCTION…`, `tick` (anything else).
pub(crate) fn event(line: &str, texts: &mut KernelTexts) -> KernelEvent {
    let words: Vec<&str> = line.split_whitespace().collect();
    let time = words[0].parse::<f64>().expect("a time");
    let (writer, flags) = words[2].split_once('/').unwrap_or((words[2], ""));
    let bits = [("h", ContextFlags::HARD_IRQ), ("s", ContextFlags::SOFT_IRQ)];
    let bits = bits.iter().filter(|(symbol, _)| flags.contains(symbol)).fold(0, |all, (_, bit)| all | bit);
    KernelEvent {
        time: KernelTime::from_ns((time * 1000.0).round() as u64),
        cpu: Cpu(words[1].parse().expect("a CPU")),
        flags: (writer != "-").then_some(ContextFlags(bits)),
        recorded: writer.parse().ok().map(Tid),
        kind: kind(&words[3..], texts),
    }
}

fn kind(words: &[&str], texts: &mut KernelTexts) -> EventKind {
    let number = |index: usize| words[index].parse::<u32>().expect("a number");
    let tid = |index: usize| Tid(number(index));
    let mut name = |index: usize| match words.get(index) {
        Some(word) => texts.intern(&format!("t{word}")),
        None => texts.intern(""),
    };
    match words[0] {
        "switch" => EventKind::Switch {
            prev: tid(1),
            prev_name: name(1),
            prev_state: prev_state(words[2]),
            next: tid(3),
            next_name: name(3),
        },
        "waking" => EventKind::Waking { tid: tid(1), name: name(1), target: None },
        "wakeup" => EventKind::Wakeup { tid: tid(1), name: name(1), target: None },
        "wakeup_new" => EventKind::WakeupNew { tid: tid(1), name: name(1), target: None },
        "ttwu" => EventKind::TryToWakeUp { tid: tid(1), name: name(1), target: None },
        "irq" => EventKind::IrqEntry { irq: number(1), name: texts.intern(words[2]) },
        "-irq" => EventKind::IrqExit { irq: number(1) },
        "softirq" => EventKind::SoftirqEntry { vector: number(1) as u8 },
        "-softirq" => EventKind::SoftirqExit { vector: number(1) as u8 },
        "hrtimer" => EventKind::HrtimerEntry(ExpiredTimer {
            address: 8,
            function: words.get(1).map_or(TextId::EMPTY, |function| texts.intern(function)),
        }),
        "-hrtimer" => EventKind::HrtimerExit,
        "ipi" => EventKind::IpiEntry(IpiVector::Reschedule),
        "-ipi" => EventKind::IpiExit(IpiVector::Reschedule),
        "reception" => EventKind::ReceptionEntry,
        "-reception" => EventKind::ReceptionExit,
        "fork" => EventKind::Fork { parent: tid(1), child: tid(2), child_name: name(2) },
        "exit" => EventKind::Exit { tid: tid(1) },
        "rename" => EventKind::Rename { tid: tid(1), name: texts.intern(words[2]) },
        "exec" => EventKind::Exec { tid: tid(1), filename: texts.intern(words[2]) },
        "dump" => EventKind::Statedump {
            tid: tid(1),
            pid: tid(1),
            name: name(1),
            status: StatedumpStatus::WaitUnknown,
        },
        "send" => EventKind::PacketSent(Socket::Buffer(u64::from(number(1)))),
        "receive" => EventKind::PacketReceived(Socket::Buffer(u64::from(number(1)))),
        "enter" => {
            let (number, name) = call(words[1], texts);
            EventKind::SyscallEntry { number, name }
        }
        "leave" => {
            let (number, name) = call(words[1], texts);
            EventKind::SyscallExit { number, name, returned: 0 }
        }
        "fault" => EventKind::PageFault,
        "stack" => EventKind::Stack { frames: texts.intern(&words[1..].join(" ")) },
        "lost" => EventKind::Lost { count: None },
        "tick" => EventKind::Other { name: texts.intern("tick"), fields: texts.intern("") },
        other => panic!("no event {other}"),
    }
}

/// A system call by its number, or by its name alone.
fn call(word: &str, texts: &mut KernelTexts) -> (u32, TextId) {
    match word.parse() {
        Ok(number) => (number, TextId::EMPTY),
        Err(_) => (u32::MAX, texts.intern(word)),
    }
}

fn prev_state(word: &str) -> PrevState {
    PrevState(match word {
        "R" => 0,
        "R+" => 0x100,
        "S" => 1,
        "D" => 2,
        "T" => 4,
        "X" => 0x10,
        "Z" => 0x20,
        "P" => 0x40,
        "I" => 0x80,
        other => panic!("no state {other}"),
    })
}

impl EventTrace {
    pub(crate) fn traced(lines: &str) -> EventTrace {
        EventTrace::traced_with(GraphSettings::default(), lines)
    }

    pub(crate) fn traced_with(settings: GraphSettings, lines: &str) -> EventTrace {
        let mut texts = KernelTexts::default();
        let mut builder = GraphBuilder::new(settings, HostId(0));
        for line in lines.lines().filter(|line| !line.trim().is_empty()) {
            let event = event(line, &mut texts);
            builder.push(&event, &texts);
        }
        let mut losses = Losses::none();
        let graph = builder.finish(&mut losses);
        EventTrace { graph, losses }
    }

    pub(crate) fn thread(&self, tid: u32, at_us: u64) -> WorkerId {
        let worker = self.graph.worker_of(HostId(0), Tid(tid), KernelTime::from_ns(at_us * 1000));
        worker.expect("the thread is in the graph")
    }

    pub(crate) fn path(&self, tid: u32, from_us: u64, to_us: u64) -> CriticalPath {
        let window =
            Window { from: KernelTime::from_ns(from_us * 1000), to: KernelTime::from_ns(to_us * 1000) };
        let path = self.graph.critical_path(self.thread(tid, from_us), window);
        crate::chains::assert_tiles(&path);
        path
    }

    /// A path as text: `STATE name FROM-TO`, in microseconds, joined by commas.
    pub(crate) fn segments(&self, tid: u32, from_us: u64, to_us: u64) -> String {
        let path = self.path(tid, from_us, to_us);
        let texts: Vec<String> = path.segments.iter().map(|segment| self.text(segment)).collect();
        texts.join(", ")
    }

    fn text(&self, segment: &PathSegment) -> String {
        let us = |time: KernelTime| time.ns() as f64 / 1000.0;
        let (from, to) = (us(segment.window.from), us(segment.window.to));
        format!("{} {} {from}-{to}", segment.state.name(), self.graph.name(segment.worker))
    }
}
