//! Hand-written executions of two threads for tests.

use crate::read::{EndedTrace, KernelRun, ReadingSettings, TraceReading, TraceSource};
use laggard_kernel_graph::{Delimiter, GraphSettings};
use laggard_model::{
    ClockMap, Cpu, EventKind, HostSnapshot, KernelEvent, KernelTexts, KernelTime, PrevState, TextId, Tid,
};

pub(crate) const APP: u32 = 100;
pub(crate) const DB: u32 = 200;
/// Nanoseconds of a microsecond.
pub(crate) const US: u64 = 1_000;
/// Calendar time of the clock's origin, in nanoseconds.
pub(crate) const CALENDAR_NS: i64 = 1_700_000_000_000_000_000;

/// Executions of `app` on CPU 0, each of which waits for `db` on CPU 1.
pub(crate) struct Scene {
    reading: TraceReading,
    texts: KernelTexts,
    now: u64,
}

impl Scene {
    fn new() -> Scene {
        let settings = ReadingSettings {
            delimiter: Some(Delimiter::parse("marker").unwrap()),
            graph: Some(GraphSettings::default()),
            statistics: false,
        };
        Scene { reading: TraceReading::new(&settings), texts: KernelTexts::default(), now: 1_000 * US }
    }

    fn push(&mut self, cpu: u16, recorded: u32, kind: EventKind) {
        let time = KernelTime::from_ns(self.now);
        let event = KernelEvent { time, cpu: Cpu(cpu), flags: None, recorded: Some(Tid(recorded)), kind };
        self.reading.push(&event, &self.texts);
    }

    fn name(&mut self, tid: u32) -> TextId {
        self.texts.intern(match tid {
            APP => "app",
            DB => "db",
            _ => "swapper",
        })
    }

    fn switch(&mut self, cpu: u16, prev: u32, prev_state: PrevState, next: u32) {
        let (prev_name, next_name) = (self.name(prev), self.name(next));
        let kind = EventKind::Switch { prev: Tid(prev), prev_name, prev_state, next: Tid(next), next_name };
        self.push(cpu, prev, kind);
    }

    fn wake(&mut self, cpu: u16, by: u32, woken: u32) {
        let name = self.name(woken);
        self.push(cpu, by, EventKind::Waking { tid: Tid(woken), name, target: None });
    }

    fn mark(&mut self, text: &str) {
        let text = self.texts.intern(text);
        self.push(0, APP, EventKind::Marker { text });
    }

    /// 100 µs of computing, 300 µs of waiting for `db`, 10 µs of waiting for a CPU, 50 µs of computing.
    fn execution(&mut self, number: u64) {
        self.mark(&format!("begin request {number}"));
        self.now += 100 * US;
        self.wake(0, APP, DB);
        self.switch(1, 0, PrevState::RUNNABLE, DB);
        self.switch(0, APP, PrevState::SLEEPING, 0);
        self.now += 300 * US;
        self.wake(1, DB, APP);
        self.now += 5 * US;
        self.switch(1, DB, PrevState::SLEEPING, 0);
        self.now += 5 * US;
        self.switch(0, 0, PrevState::RUNNABLE, APP);
        self.now += 50 * US;
        self.mark(&format!("end request {number}"));
        self.now += 20 * US;
    }

    pub(crate) fn run(executions: u64, snapshot: Option<HostSnapshot>) -> KernelRun {
        let mut scene = Scene::new();
        scene.switch(0, 0, PrevState::RUNNABLE, APP);
        scene.switch(1, DB, PrevState::SLEEPING, 0);
        scene.now += 10 * US;
        (1..=executions).for_each(|number| scene.execution(number));
        let calendar = Some(ClockMap::from_offset_ns(CALENDAR_NS));
        let source = TraceSource { clock: "mono".to_owned(), calendar, ..TraceSource::default() };
        scene.reading.finish(EndedTrace { source, texts: scene.texts, snapshot, ..EndedTrace::default() })
    }
}
