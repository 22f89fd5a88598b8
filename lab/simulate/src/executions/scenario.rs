//! Scenarios of simulated executions.

use super::faults::{StepFault, StepFaultKind};
use laggard_simulate::{Random, choices};

/// How kinds are mixed in a set.
#[derive(Clone, PartialEq, Debug)]
pub enum Mix {
    /// One kind after the other.
    InTurn,
    /// Drawn with these weights, one a kind.
    Weighted(Vec<f64>),
}

impl Mix {
    pub(super) fn kind(&self, kinds: usize, index: usize, random: &mut Random) -> usize {
        let Mix::Weighted(weights) = self else { return index % kinds };
        let mut remaining = random.unit() * weights.iter().sum::<f64>();
        for (kind, weight) in weights.iter().enumerate().take(kinds) {
            remaining -= weight;
            if remaining < 0.0 {
                return kind;
            }
        }
        kinds - 1
    }
}

/// Settings of [`super::draw_executions`].
#[derive(Clone, PartialEq, Debug)]
pub struct ExecutionSettings {
    /// The seed.
    pub seed: u64,
    /// Kinds of executions; at least 1.
    pub kinds: usize,
    /// Normal executions.
    pub normal: usize,
    /// Executions of the sample.
    pub sample: usize,
    /// Kinds of the normal set.
    pub normal_mix: Mix,
    /// Kinds of the sample.
    pub sample_mix: Mix,
    /// Probabilities of an insertion before a step and of its deletion are uniform between these, for each execution.
    pub jitter: [f64; 2],
    /// Probability that a step is in another state.
    pub substitution: f64,
    /// Sigma of the logarithm of times.
    pub sigma: f64,
    /// Probability of a preemption after a step, of heavy-tailed length: a busy machine.
    pub preemption: f64,
    /// Probability that an execution of the sample is of a kind that the normal set has not.
    pub new_kind_share: f64,
    /// The fault in the sample.
    pub faults: Vec<StepFault>,
}

choices! {
    /// Sets with a fault to find, and quiet ones.
    ExecutionScenario {
        Quiet = "quiet", "100 normal executions of 4 kinds, 10 more of the same";
        ShortWaits = "short-waits", "five extra waits of about 0.5 ms in executions of one kind";
        LongWait = "long-wait", "one wait of one kind ten times as long";
        CpuLimit = "cpu-limit", "preempted after every third step of running, in all kinds";
        NewKind = "new-kind", "three in ten executions of the sample are of a fifth kind";
        SeveralFaults = "several-faults", "short waits in one kind, a long wait in another, in a sample of 20";
        OneOfMany = "one-of-many", "one kind of four in 40 executions, a quarter of it with a long wait";
        SmallSets = "small-sets", "8 normal executions of one kind, 8 with a long wait";
        ManyKinds = "many-kinds", "12 kinds, 300 normal executions and 36 more; a long wait in one kind";
        BusyMachine = "busy-machine", "preemptions of heavy-tailed length everywhere, times twice as scattered; a long wait in one kind";
        ChangedMix = "quiet-changed-mix", "nothing wrong, but other shares of the kinds";
        QuietSmall = "quiet-small", "8 and 8 executions of one kind, nothing wrong";
        QuietBusy = "quiet-busy", "a busy machine, nothing wrong";
        QuietManyKinds = "quiet-many-kinds", "12 kinds, nothing wrong";
    }
}

const SHORT_WAITS: StepFaultKind = StepFaultKind::ShortWaits { count: 5, median_us: 500.0 };
const LONG_WAIT: StepFaultKind = StepFaultKind::LongWait { factor: 10.0 };
const CPU_LIMIT: StepFaultKind = StepFaultKind::CpuLimit { every: 3, median_us: 2_000.0 };

impl ExecutionSettings {
    /// Four kinds in turn, 100 normal executions and 10 more, nothing wrong.
    pub fn quiet(seed: u64) -> ExecutionSettings {
        ExecutionSettings {
            seed,
            kinds: 4,
            normal: 100,
            sample: 10,
            normal_mix: Mix::InTurn,
            sample_mix: Mix::InTurn,
            jitter: [0.03, 0.08],
            substitution: 0.02,
            sigma: 0.3,
            preemption: 0.0,
            new_kind_share: 0.0,
            faults: Vec::new(),
        }
    }

    /// The settings of a scenario.
    pub fn scenario(scenario: ExecutionScenario, seed: u64) -> ExecutionSettings {
        use ExecutionScenario::*;
        let quiet = ExecutionSettings::quiet(seed);
        let fault = |what, kind| vec![StepFault { what, kind, share: 1.0 }];
        let small = ExecutionSettings { kinds: 1, normal: 8, sample: 8, ..quiet.clone() };
        let many = ExecutionSettings { kinds: 12, normal: 300, sample: 36, ..quiet.clone() };
        let busy = ExecutionSettings { sigma: 0.6, preemption: 0.05, sample: 20, ..quiet.clone() };
        match scenario {
            Quiet => quiet,
            ShortWaits => ExecutionSettings { faults: fault(SHORT_WAITS, Some(0)), ..quiet },
            LongWait => ExecutionSettings { faults: fault(LONG_WAIT, Some(1)), ..quiet },
            CpuLimit => ExecutionSettings { faults: fault(CPU_LIMIT, None), ..quiet },
            NewKind => ExecutionSettings { new_kind_share: 0.3, ..quiet },
            SeveralFaults => {
                let faults = [fault(SHORT_WAITS, Some(0)), fault(LONG_WAIT, Some(2))].concat();
                ExecutionSettings { sample: 20, faults, ..quiet }
            }
            OneOfMany => {
                let faults = vec![StepFault { what: LONG_WAIT, kind: Some(1), share: 0.25 }];
                ExecutionSettings { sample: 40, faults, ..quiet }
            }
            SmallSets => ExecutionSettings { faults: fault(LONG_WAIT, None), ..small },
            ManyKinds => ExecutionSettings { faults: fault(LONG_WAIT, Some(5)), ..many },
            BusyMachine => ExecutionSettings { faults: fault(LONG_WAIT, Some(1)), ..busy },
            ChangedMix => {
                let sample_mix = Mix::Weighted(vec![0.05, 0.1, 0.25, 0.6]);
                ExecutionSettings { sample: 20, sample_mix, ..quiet }
            }
            QuietSmall => small,
            QuietBusy => busy,
            QuietManyKinds => many,
        }
    }
}
