//! Executions with known faults: templates of alternating running and waiting states with jitter, as in the specification of
//! the generated workload, and counts of the injected faults that localization reports.

use laggard_align::localize::{
    ClusterProfile, DeviationKind, LocalizeSettings, LocalizedExecution, align_cluster, localize,
    localize_all,
};
use laggard_align::{StateId, StateSequence};

pub(crate) const RUNNING: StateId = 0;

pub(crate) const PREEMPTED: StateId = 2;
pub(crate) const STATES: usize = 8;

/// splitmix64.
pub(crate) struct RandomSource(pub u64);

impl RandomSource {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ (z >> 31)
    }

    pub(crate) fn uniform(&mut self) -> f64 {
        (self.next() >> 11) as f64 * 2.0_f64.powi(-53)
    }

    pub(crate) fn below(&mut self, end: usize) -> usize {
        (self.uniform() * end as f64) as usize
    }

    pub(crate) fn normal(&mut self) -> f64 {
        let radius = (-2.0 * (1.0 - self.uniform()).ln()).sqrt();
        radius * (std::f64::consts::TAU * self.uniform()).cos()
    }

    pub(crate) fn lognormal(&mut self, median: f64) -> f64 {
        median * (0.3 * self.normal()).exp()
    }
}

/// A step and whether it was injected.
#[derive(Clone, Copy, Debug)]
pub(crate) struct GeneratedStep {
    pub state: StateId,
    pub time_us: f64,
    pub is_injected: bool,
}

/// A kind of execution.
pub(crate) struct GeneratedKind {
    steps: Vec<(StateId, f64)>,
}

impl GeneratedKind {
    pub(crate) fn new(random: &mut RandomSource) -> GeneratedKind {
        let len = 20 + random.below(41);
        let steps = (0..len).map(|index| {
            if index % 2 == 0 {
                (random.below(2) as StateId, 20.0 + 200.0 * random.uniform())
            } else {
                (3 + random.below(5) as StateId, 50.0 + 1000.0 * random.uniform())
            }
        });
        GeneratedKind { steps: steps.collect() }
    }

    /// One execution: steps are inserted and removed with probability `rate`, replaced with 2 %; log times vary by 0.3.
    pub(crate) fn draw(&self, random: &mut RandomSource, rate: f64) -> Vec<GeneratedStep> {
        let mut steps = Vec::new();
        let any = |random: &mut RandomSource| random.below(STATES) as StateId;
        for &(state, time) in &self.steps {
            if random.uniform() < rate {
                let (state, time_us) = (any(random), random.lognormal(200.0));
                steps.push(GeneratedStep { state, time_us, is_injected: false });
            }
            if random.uniform() < rate {
                continue;
            }
            let state = if random.uniform() < 0.02 { any(random) } else { state };
            steps.push(GeneratedStep { state, time_us: random.lognormal(time), is_injected: false });
        }
        steps
    }
}

#[derive(Clone, Copy, Debug)]
pub(crate) enum InjectedFault {
    None,
    ExtraWaits,
    LongWait,
    Quota,
    SplitByQuota,
    MovedWait,
}

fn waits(steps: &[GeneratedStep]) -> Vec<usize> {
    (0..steps.len()).filter(|&index| steps[index].state > PREEMPTED).collect()
}

pub(crate) fn inject(
    steps: &mut Vec<GeneratedStep>,
    fault: InjectedFault,
    random: &mut RandomSource,
    state: StateId,
) {
    match fault {
        InjectedFault::None => {}
        InjectedFault::ExtraWaits => {
            for _ in 0..5 {
                let index = random.below(steps.len() + 1);
                steps.insert(
                    index,
                    GeneratedStep { state, time_us: random.lognormal(200.0), is_injected: true },
                );
            }
        }
        InjectedFault::LongWait => {
            let waits = waits(steps);
            let step = &mut steps[waits[random.below(waits.len())]];
            (step.time_us, step.is_injected) = (step.time_us * 10.0, true);
        }
        InjectedFault::Quota | InjectedFault::SplitByQuota => {
            preempt(steps, matches!(fault, InjectedFault::SplitByQuota), random)
        }
        InjectedFault::MovedWait => {
            let waits = waits(steps);
            let wait = steps.remove(waits[waits.len() / 4]);
            let index = waits[3 * waits.len() / 4];
            steps.insert(index, GeneratedStep { is_injected: true, ..wait });
        }
    }
}

/// Inserts a preemption after every third running state, or (`is_split`) in the middle of it.
fn preempt(steps: &mut Vec<GeneratedStep>, is_split: bool, random: &mut RandomSource) {
    let (mut index, mut running) = (0, 0);
    while index < steps.len() {
        running += usize::from(steps[index].state == RUNNING);
        if steps[index].state == RUNNING && running % 3 == 0 {
            steps.insert(
                index + 1,
                GeneratedStep { state: PREEMPTED, time_us: random.lognormal(700.0), is_injected: true },
            );
            if is_split {
                let half = GeneratedStep { time_us: steps[index].time_us / 2.0, ..steps[index] };
                steps[index] = half;
                steps.insert(index + 2, half);
                index += 1;
            }
            index += 1;
        }
        index += 1;
    }
}

/// The sequence, and for each of its steps whether a part of it was injected.
pub(crate) fn sequence(steps: &[GeneratedStep]) -> (StateSequence, Vec<bool>) {
    let (mut sequence, mut injected) = (StateSequence::new(), Vec::new());
    for step in steps {
        sequence.push(step.state, step.time_us);
        if injected.len() < sequence.len() {
            injected.push(false);
        }
        if let Some(last) = injected.last_mut() {
            *last |= step.is_injected;
        }
    }
    (sequence, injected)
}

/// Counts over executions: injected and reported steps, and excess time.
#[derive(Default, Debug)]
pub(crate) struct ScoreCounts {
    pub executions: usize,
    pub quiet: usize,
    pub injected: usize,
    pub reported: usize,
    pub time_us: f64,
    pub unrelated_us: f64,
}

impl ScoreCounts {
    fn add(&mut self, localized: &LocalizedExecution, injected: &[bool]) {
        let reported = |step: usize| {
            localized
                .deviations
                .iter()
                .any(|reported| reported.kind != DeviationKind::Missing && reported.step as usize == step)
        };
        self.executions += 1;
        self.quiet += usize::from(localized.deviations.is_empty());
        for step in (0..injected.len()).filter(|&step| injected[step]) {
            self.injected += 1;
            self.reported += usize::from(reported(step));
        }
        for deviation in
            localized.deviations.iter().filter(|reported| reported.kind != DeviationKind::Missing)
        {
            self.time_us += deviation.excess_us;
            if !injected[deviation.step as usize] {
                self.unrelated_us += deviation.excess_us;
            }
        }
    }

    pub(crate) fn recall(&self) -> f64 {
        self.reported as f64 / self.injected.max(1) as f64
    }

    pub(crate) fn unrelated(&self) -> f64 {
        self.unrelated_us / self.time_us.max(1e-9)
    }
}

pub(crate) fn cluster(
    template: &GeneratedKind,
    random: &mut RandomSource,
    rate: f64,
    settings: &LocalizeSettings,
) -> ClusterProfile {
    let normals: Vec<StateSequence> = (0..25).map(|_| sequence(&template.draw(random, rate)).0).collect();
    let normals: Vec<&StateSequence> = normals.iter().collect();
    align_cluster(&normals, STATES, settings)
}

#[derive(Clone, Copy, Debug)]
pub(crate) enum Pooling {
    Together,
    Separate,
}

/// Localizes ten faulty executions of each of several kinds.
pub(crate) fn run(
    fault: InjectedFault,
    rate: f64,
    kinds: u64,
    scores: Pooling,
    settings: &LocalizeSettings,
) -> ScoreCounts {
    let mut counts = ScoreCounts::default();
    for seed in 0..kinds {
        let mut random = RandomSource(1_000 * seed + 17);
        let template = GeneratedKind::new(&mut random);
        let reference = cluster(&template, &mut random, rate, settings);
        let state = 3 + random.below(5) as StateId;
        let executions: Vec<(StateSequence, Vec<bool>)> = (0..10)
            .map(|_| {
                let mut steps = template.draw(&mut random, rate);
                inject(&mut steps, fault, &mut random, state);
                sequence(&steps)
            })
            .collect();
        let sequences: Vec<&StateSequence> = executions.iter().map(|(sequence, _)| sequence).collect();
        let localized = match scores {
            Pooling::Together => localize_all(&reference, &sequences, settings),
            Pooling::Separate => {
                sequences.iter().map(|sequence| localize(&reference, sequence, settings)).collect()
            }
        };
        for (localized, (_, injected)) in localized.iter().zip(&executions) {
            counts.add(localized, injected);
        }
    }
    counts
}
