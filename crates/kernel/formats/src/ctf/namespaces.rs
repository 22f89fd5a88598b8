//! Pid namespaces of threads, from the contexts of records.

use laggard_model::{Cpu, EventKind, KernelEvent, KernelTime, Tid};
use std::collections::HashMap;

// Limit: threads of a stream whose pid namespace is remembered | further ones have none
/// Maximum number of threads that are remembered.
const THREADS_MAX: usize = 1 << 20;

/// The threads of one stream whose namespace is known.
#[derive(Debug, Default)]
pub(super) struct Namespaces {
    /// The thread that runs on the stream's CPU, after its first switch.
    running: Option<Tid>,
    known: HashMap<Tid, u32>,
}

/// The contexts of a record.
#[derive(Clone, Copy, Debug)]
pub(super) struct NamespaceContext {
    pub(super) pid_ns: Option<u64>,
    pub(super) vtid: Option<u64>,
    /// The thread that wrote the record, if it says so.
    pub(super) recorded: Option<Tid>,
}

impl Namespaces {
    /// Reads what is new in the contexts of a record; to be called for every record.
    pub(super) fn event(
        &mut self,
        time: KernelTime,
        cpu: Cpu,
        context: NamespaceContext,
        kind: &EventKind,
    ) -> Option<KernelEvent> {
        let (writer, next) = match *kind {
            EventKind::Switch { prev, next, .. } => (context.recorded.or(Some(prev)), Some(next)),
            _ => (context.recorded.or(self.running), None),
        };
        self.running = next.or(writer);
        let tid = writer.filter(|&tid| tid != Tid::IDLE)?;
        let pid_ns = u32::try_from(context.pid_ns?).ok()?;
        if self.known.get(&tid) == Some(&pid_ns)
            || self.known.len() >= THREADS_MAX && !self.known.contains_key(&tid)
        {
            return None;
        }
        self.known.insert(tid, pid_ns);
        let vtid = context.vtid.and_then(|vtid| u32::try_from(vtid).ok()).map(Tid);
        let kind = EventKind::Namespace { tid, pid_ns, vtid };
        Some(KernelEvent { time, cpu, flags: None, recorded: None, kind })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use laggard_model::{PrevState, TextId};

    fn switch(prev: u32, next: u32) -> EventKind {
        let (prev, next) = (Tid(prev), Tid(next));
        let (prev_name, next_name) = (TextId::EMPTY, TextId::EMPTY);
        EventKind::Switch { prev, prev_name, prev_state: PrevState::SLEEPING, next, next_name }
    }

    #[test]
    fn each_thread_is_reported_once_even_without_context_fields() {
        let mut namespaces = Namespaces::default();
        let mut reported = |pid_ns, recorded, kind: EventKind| {
            let context = NamespaceContext { pid_ns, vtid: Some(3), recorded };
            let event = namespaces.event(KernelTime::from_ns(5), Cpu(0), context, &kind)?;
            let EventKind::Namespace { tid, pid_ns, vtid } = event.kind else { panic!("{event:?}") };
            assert_eq!((event.time, vtid), (KernelTime::from_ns(5), Some(Tid(3))));
            Some((tid.0, pid_ns))
        };
        assert_eq!(reported(Some(7), None, EventKind::HrtimerExit), None, "who runs is not known yet");
        assert_eq!(reported(Some(7), None, switch(0, 40)), None, "the idle task is in no container");
        assert_eq!(reported(Some(7), None, EventKind::HrtimerExit), Some((40, 7)));
        assert_eq!(reported(Some(7), None, EventKind::HrtimerExit), None);
        assert_eq!(reported(Some(7), None, switch(40, 41)), None);
        assert_eq!(reported(None, None, EventKind::HrtimerExit), None, "no context");
        assert_eq!(reported(Some(8), Some(Tid(50)), EventKind::HrtimerExit), Some((50, 8)));
        assert_eq!(reported(Some(9), Some(Tid(50)), EventKind::HrtimerExit), Some((50, 9)), "it has moved");
    }
}
