//! Hand-written paths as symbols.

use super::*;
use crate::path::{CriticalPath, PathSegment, Window, WorkerState};
use crate::worker::{HostId, Worker, WorkerId, WorkerKind};
use laggard_model::{KernelTexts, KernelTime, TextId, Tid};
use proptest::prelude::*;

/// One segment: worker, state, length, qualifier.
type SegmentRow<'a> = (u32, WorkerState, u64, &'a str);

fn path(segments: &[SegmentRow<'_>], texts: &mut KernelTexts) -> CriticalPath {
    let mut time = KernelTime::from_ns(100);
    let segment = |&(worker, state, ns, qualifier): &SegmentRow<'_>| {
        let window = Window { from: time, to: time.plus_ns(ns) };
        time = window.to;
        let qualifier = texts.intern(qualifier);
        PathSegment {
            worker: WorkerId(worker),
            state,
            window,
            qualifier,
            idle_ns: 0,
            cpu: None,
            inferred: false,
        }
    };
    let segments: Vec<PathSegment> = segments.iter().map(segment).collect();
    let window = Window { from: KernelTime::from_ns(100), to: time };
    CriticalPath { worker: WorkerId(0), window, segments, links: Vec::new(), unresolved: 0 }
}

fn workers(texts: &mut KernelTexts) -> Vec<Worker> {
    let named = [(7, "main"), (8, "pool-1"), (9, "pool-2"), (10, "redis-server")];
    let worker = |(tid, name): (u32, &str)| Worker {
        host: HostId(0),
        kind: WorkerKind::Thread { tid: Tid(tid), generation: 0 },
        name: texts.intern(name),
    };
    named.map(worker).into()
}

const OWN_RUNNING: u8 = 0;
const OTHER_RUNNING: u8 = 11;

#[test]
fn adjacent_segments_with_one_worker_and_symbol_are_one_step() {
    let mut texts = KernelTexts::default();
    let workers = workers(&mut texts);
    use WorkerState::{Blocked, Running};
    let rows = [
        (0, Running, 5, ""),
        (0, Running, 6, ""),
        (1, Running, 7, ""),
        (2, Running, 8, ""),
        (0, Blocked, 9, ""),
    ];
    let path = path(&rows, &mut texts);
    let names = WorkerNames { workers: &workers, texts: &texts };
    let alphabet = Alphabet::new(AlphabetSettings::default());
    let steps = state_steps(&path, &alphabet, names);
    let rows: Vec<_> = steps.iter().map(|s| (s.state, s.ns, s.first_segment, s.last_segment)).collect();
    assert_eq!(
        rows,
        [(OWN_RUNNING, 11, 0, 1), (OTHER_RUNNING, 7, 2, 2), (OTHER_RUNNING, 8, 3, 3), (2, 9, 4, 4)]
    );
    assert_eq!(alphabet.symbols()[OTHER_RUNNING as usize].name(), "running (another)");
    assert_eq!(alphabet.len(), 22);

    let settings = AlphabetSettings { encoding: Encoding::State, ..AlphabetSettings::default() };
    let alphabet = Alphabet::new(settings);
    let steps = state_steps(&path, &alphabet, names);
    assert_eq!(steps.iter().map(|s| s.state).collect::<Vec<_>>(), [0, 0, 0, 2]);
    assert_eq!(alphabet.len(), 11);
}

#[test]
fn symbols_are_split_by_device_or_by_worker() {
    let mut texts = KernelTexts::default();
    let workers = workers(&mut texts);
    use WorkerState::{BlockDevice, Running};
    let rows = [
        (0, BlockDevice, 5, "vda"),
        (0, BlockDevice, 6, "vdb"),
        (1, Running, 7, ""),
        (2, Running, 8, ""),
        (3, Running, 9, ""),
    ];
    let path = path(&rows, &mut texts);
    let names = WorkerNames { workers: &workers, texts: &texts };
    let named = |split_by| {
        let mut alphabet = Alphabet::new(AlphabetSettings { split_by, ..AlphabetSettings::default() });
        alphabet.learn(&path, names);
        let steps = state_steps(&path, &alphabet, names);
        let name = |step: &StateStep| alphabet.symbols()[step.state as usize].name();
        steps.iter().map(name).collect::<Vec<_>>()
    };
    assert_eq!(
        named(SplitBy::Device),
        [
            "block_device vda",
            "block_device vdb",
            "running (another)",
            "running (another)",
            "running (another)"
        ]
    );
    assert_eq!(
        named(SplitBy::Worker),
        [
            "block_device",
            "running pool- (another)",
            "running pool- (another)",
            "running redis-server (another)"
        ]
    );
}

#[test]
fn an_alphabet_has_at_most_256_symbols() {
    let mut texts = KernelTexts::default();
    let workers = workers(&mut texts);
    let qualifiers: Vec<String> = (0..300).map(|index| format!("disk {index}")).collect();
    let rows: Vec<SegmentRow<'_>> =
        qualifiers.iter().map(|name| (0, WorkerState::BlockDevice, 1, name.as_str())).collect();
    let path = path(&rows, &mut texts);
    let names = WorkerNames { workers: &workers, texts: &texts };
    let mut alphabet = Alphabet::new(AlphabetSettings { split_by: SplitBy::Device, ..Default::default() });
    alphabet.learn(&path, names);
    assert_eq!((alphabet.len(), alphabet.unsplit()), (256, 300 - (256 - 22)));
    let steps = state_steps(&path, &alphabet, names);
    assert_eq!(steps.len(), 234 + 1, "those without a symbol are one unsplit step");
    assert_eq!(alphabet.symbols()[steps[234].state as usize].name(), "block_device");
}

#[test]
fn short_steps_are_merged_into_their_predecessor() {
    let mut texts = KernelTexts::default();
    let workers = workers(&mut texts);
    use WorkerState::{Interrupted, Preempted, Running};
    let rows = [
        (0, Preempted, 2, ""),
        (0, Running, 50, ""),
        (0, Interrupted, 3, ""),
        (0, Running, 40, ""),
        (0, Preempted, 60, ""),
        (0, Running, 4, ""),
    ];
    let path = path(&rows, &mut texts);
    let names = WorkerNames { workers: &workers, texts: &texts };
    let steps_of = |min_ns| {
        let alphabet = Alphabet::new(AlphabetSettings { min_ns, ..AlphabetSettings::default() });
        let steps = state_steps(&path, &alphabet, names);
        steps.iter().map(|s| (s.state, s.ns, s.first_segment, s.last_segment)).collect::<Vec<_>>()
    };
    assert_eq!(steps_of(10), [(0, 95, 0, 3), (1, 64, 4, 5)]);
    assert_eq!(steps_of(0).len(), 6);
    assert_eq!(steps_of(1000), [(1, 159, 0, 5)], "nothing is long enough");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn steps_cover_the_path_s_time(
        rows in prop::collection::vec((0_u32..5, 0_usize..10, 0_u64..100, prop::sample::select(&["", "vda"][..])), 0..60),
        min_ns in 0_u64..120,
        by_worker in any::<bool>(),
    ) {
        let mut texts = KernelTexts::default();
        let workers = workers(&mut texts);
        let rows: Vec<SegmentRow<'_>> =
            rows.into_iter().map(|(worker, state, ns, name)| (worker, WorkerState::ALL[state], ns, name)).collect();
        let path = path(&rows, &mut texts);
        let names = WorkerNames { workers: &workers, texts: &texts };
        let split_by = if by_worker { SplitBy::Worker } else { SplitBy::Device };
        let mut alphabet = Alphabet::new(AlphabetSettings { split_by, min_ns, ..AlphabetSettings::default() });
        alphabet.learn(&path, names);
        let steps = state_steps(&path, &alphabet, names);
        prop_assert_eq!(steps.iter().map(|step| step.ns).sum::<u64>(), path.window.ns());
        for pair in steps.windows(2) {
            prop_assert_eq!(pair[0].last_segment + 1, pair[1].first_segment);
            prop_assert!((pair[0].worker, pair[0].state) != (pair[1].worker, pair[1].state));
        }
        if path.window.ns() > 0 {
            prop_assert_eq!(steps[0].first_segment, 0);
            prop_assert_eq!(steps[steps.len() - 1].last_segment, path.segments.len() - 1);
        }
        prop_assert!(steps.iter().all(|step| step.ns > 0));
    }
}

#[test]
fn workers_have_names() {
    let mut texts = KernelTexts::default();
    let mut workers = workers(&mut texts);
    workers.push(Worker {
        host: HostId(0),
        kind: WorkerKind::Thread { tid: Tid(5), generation: 0 },
        name: TextId::EMPTY,
    });
    let names = WorkerNames { workers: &workers, texts: &texts };
    assert_eq!(names.describe(WorkerId(3)), "redis-server (10)");
    assert_eq!(names.describe(WorkerId(4)), "a thread without a name (5)");
    assert_eq!(names.describe(WorkerId(99)), "an unknown worker");
}
