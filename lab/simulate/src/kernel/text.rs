//! Events as ftrace's text.

use laggard_model::{Cpu, EventKind, KernelEvent, KernelTexts, PrevState, Socket, TextId, Tid};
use std::collections::HashMap;
use std::io::{self, Write};

/// The first line of a trace in text.
pub const TEXT_HEADER: &str = "# tracer: nop\n#\n";

/// Writes events as `trace` of tracefs has them, with nine decimals.
#[derive(Debug)]
pub struct KernelTextWriter<W> {
    out: W,
    names: HashMap<Tid, TextId>,
}

impl<W: Write> KernelTextWriter<W> {
    /// Writes the header.
    ///
    /// # Errors
    /// The error of the writer.
    pub fn new(mut out: W) -> io::Result<KernelTextWriter<W>> {
        out.write_all(TEXT_HEADER.as_bytes())?;
        Ok(KernelTextWriter { out, names: HashMap::new() })
    }

    /// Writes one event; kinds that the simulated machine does not make are left out.
    ///
    /// # Errors
    /// The error of the writer.
    pub fn write(&mut self, event: &KernelEvent, texts: &KernelTexts) -> io::Result<()> {
        if let EventKind::WakeupNew { tid, name, .. } = event.kind {
            self.names.insert(tid, name);
        }
        let Some(body) = self.body(event, texts) else { return Ok(()) };
        let writer = event.recorded.unwrap_or_default();
        let flags = match event.flags {
            Some(flags) if flags.hard_irq() => "d.h..",
            Some(flags) if flags.soft_irq() => "..s..",
            _ => ".....",
        };
        let (ns, name) = (event.time.ns(), self.name(writer, event.cpu, texts));
        let (seconds, rest) = (ns / 1_000_000_000, ns % 1_000_000_000);
        let (tid, cpu) = (writer.0, event.cpu.0);
        writeln!(self.out, "{name:>16}-{tid:<7} [{cpu:03}] {flags} {seconds:5}.{rest:09}: {body}")
    }

    /// The writer behind it.
    pub fn into_inner(self) -> W {
        self.out
    }

    fn name(&self, tid: Tid, cpu: Cpu, texts: &KernelTexts) -> String {
        match self.names.get(&tid) {
            _ if tid == Tid::IDLE => format!("swapper/{}", cpu.0),
            Some(&name) => texts.text(name).to_owned(),
            None => "<...>".to_owned(),
        }
    }

    fn body(&self, event: &KernelEvent, texts: &KernelTexts) -> Option<String> {
        let name = |tid: Tid| self.name(tid, event.cpu, texts);
        Some(match event.kind {
            EventKind::Switch { prev, prev_state, next, .. } => format!(
                "sched_switch: prev_comm={} prev_pid={} prev_prio=120 prev_state={} ==> next_comm={} next_pid={} \
                 next_prio=120",
                name(prev),
                prev.0,
                letter(prev_state),
                name(next),
                next.0
            ),
            EventKind::Waking { tid, .. } => {
                format!("sched_waking: comm={} pid={} prio=120 target_cpu=000", name(tid), tid.0)
            }
            EventKind::WakeupNew { tid, .. } => {
                format!("sched_wakeup_new: comm={} pid={} prio=120 target_cpu=000", name(tid), tid.0)
            }
            EventKind::IrqEntry { irq, name } => {
                format!("irq_handler_entry: irq={irq} name={}", texts.text(name))
            }
            EventKind::IrqExit { irq } => format!("irq_handler_exit: irq={irq} ret=handled"),
            EventKind::SoftirqEntry { vector } => format!("softirq_entry: vec={vector} [action=NET_RX]"),
            EventKind::SoftirqExit { vector } => format!("softirq_exit: vec={vector} [action=NET_RX]"),
            EventKind::HrtimerEntry(_) => {
                "hrtimer_expire_entry: hrtimer=0 function=hrtimer_wakeup now=0".to_owned()
            }
            EventKind::HrtimerExit => "hrtimer_expire_exit: hrtimer=0".to_owned(),
            EventKind::Marker { text } => format!("tracing_mark_write: {}", texts.text(text)),
            EventKind::PacketSent(Socket::Buffer(address)) => {
                format!("net_dev_queue: dev=lo skbaddr=0x{address:x} len=100")
            }
            EventKind::PacketReceived(Socket::Buffer(address)) => {
                format!("netif_receive_skb: dev=lo skbaddr=0x{address:x} len=100")
            }
            _ => return None,
        })
    }
}

fn letter(state: PrevState) -> &'static str {
    match state {
        PrevState::RUNNABLE => "R",
        PrevState::UNINTERRUPTIBLE => "D",
        _ => "S",
    }
}
