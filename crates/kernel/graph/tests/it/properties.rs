//! Properties of every graph and every stream of events.

use crate::chains::{ALWAYS, assert_tiles};
use crate::recursive_reference::PlainGraph;
use laggard_kernel_graph::{
    CriticalPath, ExecutionGraph, GraphBuilder, GraphMode, GraphSettings, HostId, PartialGraph, VertexHandle,
    VerticalKind, Window, WorkerId, WorkerKind, WorkerState,
};
use laggard_model::{
    ContextFlags, Cpu, EventKind, ExpiredTimer, IpiVector, KernelEvent, KernelTexts, KernelTime, Losses,
    PrevState, Socket, StatedumpStatus, TextId, Tid,
};
use proptest::prelude::*;

/// Segments of other workers lie where the worker itself waits, and every change of worker is a link.
fn assert_sound(graph: &ExecutionGraph, path: &CriticalPath) {
    assert_tiles(path);
    let own: Vec<_> = graph.segments(path.worker, path.window).collect();
    let waits = |window: Window| {
        own.iter().any(|segment| {
            matches!(segment.state, WorkerState::Blocked | WorkerState::Network)
                && segment.window.from <= window.from
                && window.to <= segment.window.to
        })
    };
    let mut standing = path.worker;
    let mut links = path.links.iter();
    for segment in &path.segments {
        assert!(segment.worker == path.worker || waits(segment.window), "{segment:?}");
        while standing != segment.worker {
            let link = links.next().expect("a change of worker is a jump");
            assert_eq!(link.from, standing);
            assert!(link.from_time <= link.to_time && link.from_time <= segment.window.from);
            standing = link.to;
        }
        assert!(
            segment.idle_ns == 0 || matches!(segment.state, WorkerState::Preempted | WorkerState::Throttled)
        );
    }
}

/// A worker's own states are its edges; only waits for a CPU may be split.
fn assert_own_states(graph: &ExecutionGraph, worker: WorkerId, window: Window) {
    let merged = |states: Vec<(WorkerState, Window)>| {
        let mut out: Vec<(WorkerState, Window)> = Vec::new();
        for (state, window) in states.into_iter().filter(|(_, window)| window.ns() > 0) {
            let state = if state == WorkerState::Throttled { WorkerState::Preempted } else { state };
            match out.last_mut() {
                Some((before, last)) if *before == state && last.to == window.from => last.to = window.to,
                _ => out.push((state, window)),
            }
        }
        out
    };
    let edges = graph.segments(worker, window).map(|segment| (segment.state, segment.window)).collect();
    let own =
        graph.own_states(worker, window).iter().map(|segment| (segment.state, segment.window)).collect();
    assert_eq!(merged(own), merged(edges));
}

fn assert_all_sound(graph: &ExecutionGraph, window: Window) {
    for id in (0..graph.workers().len() as u32).map(WorkerId) {
        for window in [ALWAYS, window] {
            assert_sound(graph, &graph.critical_path(id, window));
            assert_own_states(graph, id, window);
        }
    }
}

fn state() -> impl Strategy<Value = Option<WorkerState>> {
    prop_oneof![
        4 => Just(Some(WorkerState::Running)),
        2 => Just(Some(WorkerState::Preempted)),
        5 => Just(Some(WorkerState::Blocked)),
        2 => Just(Some(WorkerState::Network)),
        1 => Just(Some(WorkerState::Timer)),
        1 => Just(None),
    ]
}

/// Graphs without cycles at one instant: links of zero length only lead to higher numbers.
fn plain() -> impl Strategy<Value = PlainGraph> {
    let chain = prop::collection::vec((1..6_u64, state()), 1..12);
    let links = prop::collection::vec((any::<u16>(), any::<u16>(), any::<bool>()), 0..40);
    (prop::collection::vec(chain, 2..6), links).prop_map(|(chains, links)| {
        let chains: Vec<Vec<_>> = chains
            .into_iter()
            .map(|chain| {
                let mut now = 0;
                chain
                    .into_iter()
                    .map(|(step, state)| {
                        now += step;
                        (now, state)
                    })
                    .collect()
            })
            .collect();
        let all: Vec<(usize, usize)> = (0..chains.len())
            .flat_map(|worker| (0..chains[worker].len()).map(move |index| (worker, index)))
            .collect();
        let mut plain = PlainGraph { chains, ..PlainGraph::default() };
        for (source, target, packet) in links {
            let (source, target) =
                (all[usize::from(source) % all.len()], all[usize::from(target) % all.len()]);
            let time = |vertex: (usize, usize)| plain.chains[vertex.0][vertex.1].0;
            if time(source) < time(target) || (time(source) == time(target) && source.0 < target.0) {
                plain.links.insert(target, (source, packet));
            }
        }
        plain
    })
}

/// Any graph, including cycles at one instant.
fn any_graph() -> impl Strategy<Value = ExecutionGraph> {
    let append = (0..5_usize, 0..3_u64, state());
    let link = (any::<u16>(), any::<u16>(), any::<bool>());
    let built = prop::collection::vec((append, prop::option::of(link)), 1..80);
    built.prop_map(|steps| {
        let mut graph = PartialGraph::default();
        let workers: Vec<WorkerId> = (0..5)
            .map(|tid| {
                graph.worker(HostId(0), WorkerKind::Thread { tid: Tid(tid), generation: 0 }, TextId::EMPTY)
            })
            .collect();
        let (mut now, mut points) = (0, Vec::<VertexHandle>::new());
        for ((worker, step, state), link) in steps {
            now += step;
            points.push(graph.append(workers[worker], KernelTime::from_ns(now), Cpu(0), state));
            if let Some((from, to, packet)) = link {
                let pick = |index: u16| points[points.len() - 1 - usize::from(index) % points.len().min(8)];
                let network = VerticalKind::State(WorkerState::Network);
                graph.link(pick(from), pick(to), if packet { network } else { VerticalKind::WakeUp });
            }
        }
        graph.finish()
    })
}

fn event_kind() -> impl Strategy<Value = EventKind> {
    let tid = || (0..6_u32).prop_map(Tid);
    let name = TextId::EMPTY;
    let bits = prop::sample::select(vec![0_u32, 1, 2, 4, 0x10, 0x40, 0x80, 0x100]).prop_map(PrevState);
    prop_oneof![
        8 => (tid(), bits, tid()).prop_map(move |(prev, prev_state, next)| {
            EventKind::Switch { prev, prev_name: name, prev_state, next, next_name: name }
        }),
        6 => tid().prop_map(move |tid| EventKind::Waking { tid, name, target: None }),
        1 => tid().prop_map(move |tid| EventKind::Wakeup { tid, name, target: None }),
        1 => tid().prop_map(move |tid| EventKind::WakeupNew { tid, name, target: None }),
        1 => (tid(), tid()).prop_map(move |(parent, child)| EventKind::Fork { parent, child, child_name: name }),
        1 => tid().prop_map(|tid| EventKind::Exit { tid }),
        1 => tid().prop_map(move |tid| {
            EventKind::Statedump { tid, pid: tid, name, status: StatedumpStatus::WaitCpu }
        }),
        1 => (0..12_u8).prop_map(|vector| EventKind::SoftirqEntry { vector }),
        1 => (0..12_u8).prop_map(|vector| EventKind::SoftirqExit { vector }),
        1 => (0..3_u32).prop_map(move |irq| EventKind::IrqEntry { irq, name }),
        1 => (0..3_u32).prop_map(|irq| EventKind::IrqExit { irq }),
        1 => Just(EventKind::HrtimerEntry(ExpiredTimer::default())),
        1 => Just(EventKind::HrtimerExit),
        1 => Just(EventKind::ReceptionEntry),
        1 => Just(EventKind::ReceptionExit),
        1 => Just(EventKind::IpiEntry(IpiVector::Other)),
        1 => Just(EventKind::IpiExit(IpiVector::Other)),
        1 => (0..4_u64).prop_map(|packet| EventKind::PacketSent(Socket::Message(packet))),
        1 => (0..4_u64).prop_map(|packet| EventKind::PacketReceived(Socket::Message(packet))),
        1 => (0..4_u64).prop_map(|packet| EventKind::PacketSent(Socket::Buffer(packet))),
        1 => (0..4_u64).prop_map(|packet| EventKind::PacketReceived(Socket::Buffer(packet))),
        1 => Just(EventKind::Lost { count: None }),
    ]
}

fn events() -> impl Strategy<Value = Vec<(u16, KernelEvent)>> {
    let event = (0..2_u16, 0..3_i64, 0..3_u16, prop::option::of(0..6_u32), 0..4_u8, event_kind());
    prop::collection::vec((event, -1..40_i64), 0..150).prop_map(|rows| {
        let mut now = 100_i64;
        let rows = rows.into_iter().map(|((host, step, cpu, writer, flags, kind), jump)| {
            now = (now + if jump > 35 { jump * 1_000_000 } else { step + jump.min(0) }).max(0);
            let event = KernelEvent {
                time: KernelTime::from_ns(now as u64),
                cpu: Cpu(cpu),
                flags: writer.map(|_| ContextFlags(flags << 3)),
                recorded: writer.map(Tid),
                kind,
            };
            (host, event)
        });
        rows.collect()
    })
}

fn built(
    events: &[(u16, KernelEvent)],
    mode: GraphMode,
    first_events_max: usize,
) -> (ExecutionGraph, Losses) {
    let settings = GraphSettings { mode, first_events_max, ..GraphSettings::default() };
    let texts = KernelTexts::default();
    let mut builder = GraphBuilder::new(settings, HostId(0));
    for (host, event) in events {
        builder.push_from(HostId(*host), event, &texts);
    }
    let mut losses = Losses::none();
    (builder.finish(&mut losses), losses)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, ..ProptestConfig::default() })]

    #[test]
    fn the_iterative_path_equals_the_recursive_one(plain in plain(), from in 0..30_u64, length in 0..60_u64) {
        let graph = plain.built();
        for worker in 0..plain.chains.len() {
            let window = Window { from: KernelTime::from_ns(from), to: KernelTime::from_ns(from + length) };
            for window in [ALWAYS, window] {
                let path = graph.critical_path(WorkerId(worker as u32), window);
                let segments: Vec<_> = path
                    .segments
                    .iter()
                    .map(|segment| {
                        (segment.worker.0 as usize, segment.state, segment.window.from.ns(), segment.window.to.ns())
                    })
                    .collect();
                prop_assert_eq!(segments, plain.path(worker, path.window.from.ns(), path.window.to.ns()));
            }
        }
    }

    #[test]
    fn paths_of_any_graph_are_valid(graph in any_graph(), from in 0..60_u64, length in 0..60_u64) {
        let window = Window { from: KernelTime::from_ns(from), to: KernelTime::from_ns(from + length) };
        assert_all_sound(&graph, window);
    }

    #[test]
    fn paths_of_any_events_are_valid(events in events(), from in 0..200_u64, length in 0..200_u64) {
        let window = Window { from: KernelTime::from_ns(from), to: KernelTime::from_ns(from + length) };
        for mode in [GraphMode::Modern, GraphMode::Compat] {
            let (graph, losses) = built(&events, mode, 65_536);
            assert_all_sound(&graph, window);
            let (again, same) = built(&events, mode, 65_536);
            prop_assert_eq!(graph.counts(), again.counts());
            prop_assert_eq!(losses, same);
            prop_assert!(graph.counts().vertices <= 4 * events.len() as u64 + 2 * graph.counts().workers);
        }
        let (graph, _) = built(&events, GraphMode::Modern, 3);
        assert_all_sound(&graph, window);
    }
}
