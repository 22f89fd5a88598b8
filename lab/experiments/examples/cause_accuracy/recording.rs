//! Kernel recordings of a slow replica, compared with a usual one.

use laggard_align::AlignSettings;
use laggard_kernel_diagnose::{
    EndedTrace, KernelDiagnosisQuestion, KernelRun, KernelSet, ReadingSettings, SequenceSettings, TimeWindow,
    TraceReading, diagnose_kernel,
};
use laggard_kernel_graph::{Delimiter, GraphSettings};
use laggard_report::KernelDiagnosis;
use laggard_simulate_kernel::{ExecutionKind, KernelFault, KernelScenario, simulate_kernel};

/// Executions of one kind on a simulated machine.
#[derive(Clone, Copy)]
pub(crate) struct Recording {
    pub(crate) fault: KernelFault,
    pub(crate) executes: ExecutionKind,
    /// Threads of other processes.
    pub(crate) noise_threads: u32,
}

const NOISE_THREADS: u32 = 2;
const EXECUTIONS: u32 = 60;

impl Recording {
    pub(crate) const fn new(fault: KernelFault, executes: ExecutionKind) -> Recording {
        Recording { fault, executes, noise_threads: NOISE_THREADS }
    }

    /// Compares it with the same machine without the fault.
    pub(crate) fn diagnose(&self, seed: u64) -> KernelDiagnosis {
        let usual = Recording::new(KernelFault::None, self.executes);
        let runs = [usual.run(2 * seed), self.run(2 * seed + 1)];
        let set = |index: usize, source: &str| KernelSet {
            source: source.to_owned(),
            runs: vec![index],
            window: TimeWindow::default(),
            label: None,
            container: None,
        };
        let question = KernelDiagnosisQuestion {
            normal: set(0, "a usual replica"),
            sample: set(1, "a slow replica"),
            sequences: SequenceSettings::default(),
            align: AlignSettings::default(),
            settings: Vec::new(),
        };
        diagnose_kernel(&runs, &question).expect("the default settings are in their ranges")
    }

    fn run(&self, seed: u64) -> KernelRun {
        let scenario = KernelScenario {
            seed,
            executions: EXECUTIONS,
            kinds: vec![self.executes],
            noise_threads: self.noise_threads,
            fault: self.fault,
            ..KernelScenario::default()
        };
        let mut reading = TraceReading::new(&ReadingSettings {
            delimiter: Some(Delimiter::auto()),
            graph: Some(GraphSettings::default()),
            statistics: false,
        });
        let run = simulate_kernel(&scenario, |event, texts| reading.push(event, texts));
        reading.finish(EndedTrace { texts: run.texts, ..EndedTrace::default() })
    }
}
