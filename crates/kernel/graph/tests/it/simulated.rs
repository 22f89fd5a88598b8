//! A simulated machine with known waits.

use laggard_kernel_graph::{
    CriticalPath, DelimitedExecutions, Delimiter, ExecutionFinder, ExecutionGraph, GraphBuilder,
    GraphSettings, HostId, PathSegment, TraceStatistics, TraceSummary, WorkerState,
};
use laggard_model::{KernelEvent, KernelTexts, Losses};
use laggard_simulate_kernel::{
    ExecutionKind, KernelFault, KernelRun, KernelScenario, KernelTextWriter, TrueExecution, simulate_kernel,
};

const MS: u64 = 1_000_000;

struct SimulatedRun {
    truth: KernelRun,
    delimited: DelimitedExecutions,
    graph: ExecutionGraph,
    summary: TraceSummary,
}

fn run(scenario: &KernelScenario) -> SimulatedRun {
    let mut finder = ExecutionFinder::new(Delimiter::auto());
    let mut builder = GraphBuilder::new(GraphSettings::default(), HostId(0));
    let mut statistics = TraceStatistics::default();
    let truth = simulate_kernel(scenario, |event, known| {
        finder.push(event, known);
        builder.push(event, known);
        statistics.push(event, known);
    });
    let mut losses = Losses::none();
    let delimited = finder.finish(&mut losses);
    let summary = statistics.finish(&truth.texts, 10);
    SimulatedRun { truth, delimited, graph: builder.finish(&mut losses), summary }
}

impl SimulatedRun {
    /// Each execution's truth with its path.
    fn paths(&self) -> impl Iterator<Item = (&TrueExecution, CriticalPath)> {
        self.truth.executions.iter().map(|truth| {
            let id = truth.id.to_string();
            let execution = self
                .delimited
                .executions
                .iter()
                .find(|execution| execution.key.as_deref() == Some(&id))
                .unwrap();
            let worker =
                self.graph.worker_of(execution.host, execution.end_tid, execution.window.to).unwrap();
            (truth, self.graph.critical_path(worker, execution.window))
        })
    }
}

fn own(path: &CriticalPath, state: WorkerState) -> u64 {
    let segments =
        path.segments.iter().filter(|segment| segment.worker == path.worker && segment.state == state);
    segments.map(|segment| segment.window.ns()).sum()
}

/// Several machines: more CPUs than threads, fewer, one.
fn scenarios() -> impl Iterator<Item = KernelScenario> {
    [(1, 1, 2), (2, 1, 2), (2, 3, 4), (8, 4, 3)].into_iter().zip(1..).map(
        |((cpus, clients, noise_threads), seed)| KernelScenario {
            seed,
            cpus,
            clients,
            noise_threads,
            executions: 60,
            ..KernelScenario::default()
        },
    )
}

#[test]
fn executions_and_their_own_times_are_exact() {
    for scenario in scenarios() {
        let run = run(&scenario);
        assert_eq!(run.truth.executions.len(), 60);
        assert_eq!((run.delimited.executions.len(), run.delimited.unfinished), (60, 0));
        for (truth, path) in run.paths() {
            assert_eq!((path.window.from.ns(), path.window.to.ns()), (truth.begin_ns, truth.end_ns));
            assert_eq!(
                path.segments.iter().map(|segment| segment.window.ns()).sum::<u64>(),
                truth.end_ns - truth.begin_ns
            );
            assert_eq!(truth.spent.total(), truth.end_ns - truth.begin_ns);
            assert_eq!(own(&path, WorkerState::Running), truth.spent.running, "{truth:?}");
            assert_eq!(own(&path, WorkerState::Preempted), truth.spent.runnable, "{truth:?}");
            assert_eq!(own(&path, WorkerState::BlockDevice), truth.spent.disk, "{truth:?}");
            assert_eq!(own(&path, WorkerState::Timer), truth.spent.timer, "{truth:?}");
            assert_eq!(path.unresolved, 0, "{truth:?}");
        }
    }
}

#[test]
fn statistics_account_for_every_nanosecond() {
    for scenario in scenarios() {
        let run = run(&scenario);
        assert_eq!(run.summary.events, run.truth.events);
        assert_eq!(run.summary.threads, u64::from(2 + scenario.noise_threads + scenario.clients));
        assert_eq!(run.summary.proposals[0].executions, 60);
        let window = run.summary.window.unwrap();
        for cpu in &run.summary.cpus {
            assert_eq!(cpu.busy_ns + cpu.idle_ns + cpu.unknown_ns, window.ns());
            assert_eq!((cpu.implied_switches, cpu.losses), (0, 0));
        }
        let busy: u64 = run.summary.cpus.iter().map(|cpu| cpu.busy_ns).sum();
        let ran: u64 = run.summary.most_running.iter().map(|thread| thread.running_ns).sum();
        assert_eq!(busy, ran, "all threads are among the ten");
    }
}

/// A wait for a lock or reply is resolved to the work of the thread that held the lock or sent the reply.
#[test]
fn waits_for_other_threads_are_resolved_to_their_work() {
    let run = run(&KernelScenario { seed: 9, cpus: 4, executions: 60, ..KernelScenario::default() });
    let mut named = [false; 2];
    for (truth, path) in run.paths() {
        let others: Vec<&PathSegment> =
            path.segments.iter().filter(|segment| segment.worker != path.worker).collect();
        for segment in &others {
            let name = run.graph.name(segment.worker);
            match truth.kind {
                ExecutionKind::Query => assert_eq!(name, "server"),
                ExecutionKind::Append => assert_eq!(name, "logger"),
                _ => panic!("{:?} waits for nobody: {name}", truth.kind),
            }
            named[usize::from(truth.kind == ExecutionKind::Append)] |= segment.state == WorkerState::Running;
        }
        if truth.kind == ExecutionKind::Query {
            let by_server: u64 = others.iter().map(|segment| segment.window.ns()).sum();
            assert!(by_server * 10 >= truth.spent.answer * 9, "{by_server} of {}", truth.spent.answer);
        }
    }
    assert_eq!(named, [true, true], "both kinds of waits occurred");
}

#[test]
fn only_a_quota_leaves_the_cpu_idle() {
    let quota = KernelFault::CpuQuota { ns: 20 * MS };
    let scenario = KernelScenario {
        seed: 3,
        executions: 40,
        kinds: vec![ExecutionKind::Sort],
        ..KernelScenario::default()
    };
    let counts = [KernelFault::None, quota].map(|fault| {
        let run = run(&KernelScenario { fault, ..scenario.clone() });
        let is_kept =
            |segment: &PathSegment| segment.idle_ns > MS && segment.idle_ns * 2 > segment.window.ns();
        run.paths().filter(|(_, path)| path.segments.iter().any(is_kept)).count()
    });
    assert_eq!(counts[0], 0);
    // An execution needs 10 ms, so every second one meets the end of its quota of 20.
    assert!(counts[1] >= 15, "{counts:?}");
}

#[test]
fn faults_lengthen_the_state_they_should() {
    for (fault, kind, longer) in [
        (KernelFault::SlowDisk { extra_ns: 2 * MS }, ExecutionKind::Read, WorkerState::BlockDevice),
        (KernelFault::ExtraSleep { ns: 9 * MS }, ExecutionKind::Sort, WorkerState::Timer),
    ] {
        let scenario = KernelScenario {
            seed: 5,
            executions: 30,
            kinds: vec![kind],
            fault,
            hit_share: 0.5,
            ..Default::default()
        };
        let run = run(&scenario);
        let mean = |is_hit: bool| {
            let times: Vec<u64> = run
                .paths()
                .filter(|(truth, _)| truth.is_hit == is_hit)
                .map(|(_, path)| own(&path, longer))
                .collect();
            assert!(times.len() >= 8);
            times.iter().sum::<u64>() / times.len() as u64
        };
        assert!(mean(true) > mean(false) + 8 * MS, "{fault:?}");
    }
}

/// The same run as text, read by the reader of ftrace's text, is the same run.
#[test]
fn text_of_a_simulated_run_gives_the_same_executions_and_paths() {
    let scenario = KernelScenario { seed: 11, executions: 20, clients: 2, ..KernelScenario::default() };
    let mut writer = KernelTextWriter::new(Vec::new()).unwrap();
    simulate_kernel(&scenario, |event, texts| writer.write(event, texts).unwrap());
    let file = std::env::temp_dir().join(format!("laggard-simulated-{}.txt", std::process::id()));
    std::fs::write(&file, writer.into_inner()).unwrap();

    let mut finder = ExecutionFinder::new(Delimiter::auto());
    let mut builder = GraphBuilder::new(GraphSettings::default(), HostId(0));
    let mut events = 0;
    let take = |event: &KernelEvent, texts: &KernelTexts| {
        events += 1;
        finder.push(event, texts);
        builder.push(event, texts);
    };
    let read = laggard_kernel_formats::open(&file).unwrap().read(take);
    std::fs::remove_file(&file).unwrap();
    assert!(read.losses.is_empty(), "{:?}", read.losses);
    let mut losses = Losses::none();
    let (delimited, graph) = (finder.finish(&mut losses), builder.finish(&mut losses));

    let direct = run(&scenario);
    assert_eq!(events, direct.truth.events);
    assert_eq!(delimited.executions, direct.delimited.executions);
    for execution in &delimited.executions {
        let paths = [&graph, &direct.graph].map(|graph| {
            let worker = graph.worker_of(execution.host, execution.end_tid, execution.window.to).unwrap();
            let path = graph.critical_path(worker, execution.window);
            path.segments
                .iter()
                .map(|segment| (segment.worker, segment.state, segment.window))
                .collect::<Vec<_>>()
        });
        assert_eq!(paths[0], paths[1]);
    }
}
