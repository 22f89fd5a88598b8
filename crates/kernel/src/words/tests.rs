//! Waits of paths drawn by hand.

use super::*;
use crate::path::{CriticalPath, PathLink, PathPiece, PieceState, Window};
use crate::states::WorkerNames;
use crate::worker::{HostId, Worker, WorkerId, WorkerKind};
use laggard_model::{Cpu, EventKind, KernelEvent, KernelTexts, KernelTime, Tid};

const US: u64 = 1_000;
const MS: u64 = 1_000_000;

struct Scene {
    texts: KernelTexts,
    workers: Vec<Worker>,
    path: CriticalPath,
    losses: LossInstants,
    cpus_missing: bool,
}

impl Scene {
    fn new() -> Scene {
        let mut texts = KernelTexts::default();
        let mut worker = |tid, name| Worker {
            host: HostId(0),
            kind: WorkerKind::Thread { tid: Tid(tid), generation: 0 },
            name: texts.intern(name),
        };
        let workers = vec![worker(7, "main"), worker(812, "redis-server")];
        let window = Window { from: KernelTime::from_ns(0), to: KernelTime::from_ns(0) };
        let path = CriticalPath {
            worker: WorkerId(0),
            window,
            pieces: Vec::new(),
            links: Vec::new(),
            unresolved: 0,
        };
        Scene { texts, workers, path, losses: LossInstants::default(), cpus_missing: false }
    }

    fn piece(mut self, worker: u32, state: PieceState, ns: u64, qualifier: &str, idle_ns: u64) -> Scene {
        let from = self.path.window.to;
        let window = Window { from, to: from.plus_ns(ns) };
        let qualifier = self.texts.intern(qualifier);
        let worker = WorkerId(worker);
        self.path.pieces.push(PathPiece { worker, state, window, qualifier, idle_ns, inferred: false });
        self.path.window.to = window.to;
        self
    }

    fn link(mut self, from: u32, to: u32, length_ns: u64) -> Scene {
        let now = self.path.window.to;
        let (from, to) = (WorkerId(from), WorkerId(to));
        let to_time = now.plus_ns(length_ns);
        self.path.links.push(PathLink { from, from_time: now, to, to_time, network: length_ns > 0 });
        self
    }

    fn waits(&self) -> Vec<Wait> {
        let names = WorkerNames { workers: &self.workers, texts: &self.texts };
        let circumstances = Circumstances { names, losses: &self.losses, cpus_missing: self.cpus_missing };
        let all = PieceRange { first: 0, last: self.path.pieces.len() };
        waits_of(&self.path, &[all], circumstances)
    }

    fn words(&self) -> Vec<String> {
        self.waits().iter().map(ToString::to_string).collect()
    }
}

#[test]
fn a_quota_is_time_without_a_cpu_that_stood_idle() {
    let mut scene = Scene::new();
    for _ in 0..14 {
        scene = scene.piece(0, PieceState::Preempted, 700 * US, "", 690 * US).piece(
            0,
            PieceState::Running,
            10 * US,
            "",
            0,
        );
    }
    let waits = scene.waits();
    assert_eq!(waits[0].to_string(), "pre-empted 14 times for 9.8 ms while its CPU stood idle: a CPU quota");
    assert_eq!((waits[0].resource.clone(), waits[0].count), (Resource::CpuQuota, 14));
    assert_eq!(waits[1].to_string(), "ran 14 times (140 µs in all)");
}

#[test]
fn short_idleness_is_a_wake_up_and_little_of_it_is_competition() {
    let scene = Scene::new().piece(0, PieceState::Preempted, 60 * US, "", 55 * US);
    assert_eq!(scene.words(), ["pre-empted once for 60 µs while its CPU woke up from idleness"]);
    let scene = Scene::new().piece(0, PieceState::Preempted, 10 * MS, "", 0);
    assert_eq!(scene.words(), ["pre-empted once for 10 ms: other threads had the CPU"]);
    let scene = Scene::new().piece(0, PieceState::Preempted, 10 * MS, "", 3 * MS);
    assert_eq!(
        scene.words(),
        ["pre-empted once for 10 ms: other threads had the CPU, but for 3 ms it stood idle"]
    );
}

#[test]
fn devices_timers_and_packets_are_named() {
    let scene = Scene::new()
        .piece(0, PieceState::BlockDevice, 3_100 * US, "virtio1-req.0", 0)
        .piece(0, PieceState::Timer, 5 * MS, "", 0)
        .link(1, 0, 2 * MS)
        .piece(0, PieceState::Network, 2 * MS, "softirq NET", 0)
        .piece(0, PieceState::Network, MS, "softirq NET", 0)
        .piece(0, PieceState::UserInput, 900 * US, "i8042", 0)
        .piece(0, PieceState::Blocked, 800 * US, "uart", 0)
        .piece(0, PieceState::Blocked, 700 * US, "softirq RCU", 0)
        .piece(0, PieceState::Ipi, 600 * US, "", 0);
    assert_eq!(
        scene.words(),
        [
            "slept 5 ms on a timer",
            "waited 3.1 ms for the disk (virtio1-req.0)",
            "waited 2 ms for a packet from redis-server (812)",
            "waited 1 ms for a packet whose sender is not in the trace",
            "waited 900 µs for a person's input (i8042)",
            "waited 800 µs for the interrupt of uart",
            "waited 700 µs for an interrupt of the kernel",
            "waited 600 µs for a signal from another CPU",
        ]
    );
    assert_eq!(scene.waits()[2].waker, Some(WorkerId(1)));
}

#[test]
fn other_threads_are_waited_for() {
    let scene = Scene::new()
        .piece(0, PieceState::Running, MS, "", 0)
        .link(0, 1, 0)
        .piece(1, PieceState::Timer, 12 * MS, "", 0)
        .piece(1, PieceState::Running, 4 * MS, "", 0)
        .piece(1, PieceState::Preempted, 2 * MS, "", 2 * MS)
        .link(1, 0, 0)
        .piece(0, PieceState::Running, 500 * US, "", 0);
    assert_eq!(
        scene.words(),
        [
            "waited 12 ms for redis-server (812), which was itself waiting for a timer",
            "waited 4 ms for redis-server (812), which ran meanwhile: its lock, its answer or its data",
            "waited 2 ms for redis-server (812), which was itself pre-empted while its CPU stood idle: a CPU quota",
            "ran twice (1.5 ms in all)",
        ]
    );
    assert_eq!(scene.waits()[2].waker, Some(WorkerId(1)), "the piece before the path comes back");
}

#[test]
fn the_unknown_has_a_reason() {
    let unknown =
        || Scene::new().piece(0, PieceState::Blocked, MS, "", 0).piece(0, PieceState::Unknown, MS, "", 0);
    assert_eq!(
        unknown().words(),
        [
            "waited 1 ms, for what is unknown: no wake-up in the trace explains it",
            "the trace does not tell what it did for 1 ms",
        ]
    );
    let mut scene = unknown();
    scene.cpus_missing = true;
    assert!(scene.words()[0].ends_with("the waker may have run on a CPU that is missing in the trace"));
    let mut scene = unknown();
    scene.losses.push(&KernelEvent {
        time: KernelTime::from_ns(MS / 2),
        cpu: Cpu(1),
        flags: None,
        recorded: None,
        kind: EventKind::Lost { count: None },
    });
    let words = scene.words();
    assert!(words[0].ends_with("events were lost meanwhile"), "{words:?}");
    assert!(words[1].starts_with("the trace does not tell"), "the loss lies before");
}

#[test]
fn ranges_count_what_follows_each_other_once() {
    let mut scene = Scene::new();
    for _ in 0..3 {
        scene = scene.piece(0, PieceState::Timer, MS, "", 0).piece(0, PieceState::Timer, MS, "", 0).piece(
            0,
            PieceState::Running,
            MS,
            "",
            0,
        );
    }
    let names = WorkerNames { workers: &scene.workers, texts: &scene.texts };
    let circumstances = Circumstances { names, losses: &scene.losses, cpus_missing: false };
    let ranges = [
        PieceRange { first: 0, last: 1 },
        PieceRange { first: 3, last: 4 },
        PieceRange { first: 90, last: 99 },
    ];
    let waits = waits_of(&scene.path, &ranges, circumstances);
    assert_eq!(waits.len(), 1);
    assert_eq!(waits[0].to_string(), "slept twice (4 ms in all) on a timer");
}

#[test]
fn losses_meet_windows() {
    let mut losses = LossInstants::default();
    for ns in [10, 20] {
        losses.push(&KernelEvent {
            time: KernelTime::from_ns(ns),
            cpu: Cpu(0),
            flags: None,
            recorded: None,
            kind: EventKind::Lost { count: Some(3) },
        });
    }
    let meets =
        |from, to| losses.meets(Window { from: KernelTime::from_ns(from), to: KernelTime::from_ns(to) });
    assert!(meets(5, 15) && meets(9, 10) && meets(10, 20));
    assert!(!meets(10, 19) && !meets(20, 30) && !meets(0, 9));
}
