//! `signature diff` as a gate between two load tests of one server: what it stops, and what it must let pass.

use crate::measured::{self, SimulatedRun};
use crate::queue::Queue;
use laggard_changes::Observations;
use laggard_metrics_questions::{
    DiffThresholds, NamedSignature, SampleFacts, SignatureQuestion, build_signature, diff_signatures,
};
use laggard_model::{Losses, Nanos, Timestamp};
use laggard_report::{DiffVerdict, Signature};
use laggard_samples::{ServerWindows, TransactionWindows, WindowTable};

/// Windows of ten seconds: a load test of an hour.
const WINDOWS: usize = 360;

/// Load tests of a server with random demands and mix.
struct Server {
    demand_s: Vec<f64>,
    shares: Vec<f64>,
    seed: u64,
}

impl Server {
    fn new(types: usize, seed: u64) -> Server {
        let mut state = seed * 7_907 + types as u64;
        let mut draw = || {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (state >> 11) as f64 / (1_u64 << 53) as f64
        };
        let demand_s = (0..types).map(|_| 0.01 * (1.0 + 9.0 * draw())).collect();
        Server { demand_s, shares: (0..types).map(|_| 0.5 + draw()).collect(), seed }
    }

    /// The signature of test `number` at a load by the original demands, with the first demand times `factor`.
    fn signature(&self, number: u64, load: f64, factor: f64) -> Signature {
        let all: f64 = self.shares.iter().zip(&self.demand_s).map(|(share, demand)| share * demand).sum();
        let rates: Vec<f64> = self.shares.iter().map(|share| load * share / all).collect();
        let mut demand_s = self.demand_s.clone();
        demand_s[0] *= factor;
        signature(Queue::open(&demand_s, &rates, self.seed * 16 + number).observe(WINDOWS, 10.0))
    }

    /// The verdicts of comparisons between tests at loads `LOADS`: by the load of the old, then that of the new.
    fn verdicts(&self, factor: f64) -> [[DiffVerdict; 3]; 3] {
        let [old, new] = [(1, 1.0), (2, factor)]
            .map(|(number, factor)| LOADS.map(|load| self.signature(number, load, factor)));
        std::array::from_fn(|before| std::array::from_fn(|after| verdict(&old[before], &new[after])))
    }
}

fn signature(observations: Observations) -> Signature {
    let (table, facts) = (table(observations), SampleFacts::default());
    build_signature(&SignatureQuestion { table: &table, facts: &facts, label: "", types_max: 64 })
}

fn verdict(old: &Signature, new: &Signature) -> DiffVerdict {
    let [old, new] = [("old", old), ("new", new)].map(|(file, signature)| NamedSignature { file, signature });
    diff_signatures(old, new, &DiffThresholds::default()).verdict
}

fn table(observations: Observations) -> WindowTable {
    let types = observations.counts.cols();
    WindowTable {
        since: Timestamp::from_unix_ns(0),
        length: Nanos::from_secs(10),
        windows: observations.windows.len(),
        transactions: (0..types).map(|kind| format!("T{kind}")).collect(),
        clients: vec![f64::NAN; observations.windows.len()],
        system: TransactionWindows {
            counts: observations.counts,
            response_s: observations.response_s,
            outbound: vec![],
        },
        servers: vec![ServerWindows {
            memory: vec![],
            network: vec![],
            server: "app-1".to_owned(),
            tier: "app".to_owned(),
            machine: None,
            cores: Some(1.0),
            utilization: observations.utilization,
            own: None,
        }],
        losses: Losses::default(),
        cautions: vec![],
    }
}

const LOADS: [f64; 3] = [0.2, 0.5, 0.75];
/// Of servers; the thresholds were chosen on others, 101 to 180.
const SEEDS: std::ops::Range<u64> = 1..6;

/// Pairs of tests, by verdict.
#[derive(Debug, Default)]
struct Tally {
    pairs: usize,
    failed: usize,
    not_judged: usize,
}

/// Pairs at equal and at all different loads, of servers with one to four types.
fn judged(seeds: std::ops::Range<u64>, factor: f64) -> [Tally; 2] {
    let mut tallies = [Tally::default(), Tally::default()];
    for (seed, types) in seeds.flat_map(|seed| (1..=4).map(move |types| (seed, types))) {
        let verdicts = Server::new(types, seed).verdicts(factor);
        for (old, new) in (0..3).flat_map(|old| (0..3).map(move |new| (old, new))) {
            let tally = &mut tallies[usize::from(old != new)];
            tally.pairs += 1;
            tally.failed += usize::from(verdicts[old][new] == DiffVerdict::Slower);
            tally.not_judged += usize::from(verdicts[old][new] == DiffVerdict::InsufficientData);
        }
    }
    tallies
}

fn is_stopped(tally: &Tally) -> bool {
    20 * tally.failed >= 19 * tally.pairs
}

/// A tenth at equal loads, and +15 % at different ones.
#[test]
fn the_gate_stops_regressions_and_lets_equal_code_pass() {
    let [equal, different] = [1.10, 1.15].map(|factor| judged(SEEDS, factor));
    assert!(is_stopped(&equal[0]), "+10 % at equal loads: {equal:?}");
    assert!(is_stopped(&different[1]), "+15 % at different loads: {different:?}");
    let [equal, different] = judged(SEEDS, 1.0);
    assert_eq!((equal.failed, equal.not_judged), (0, 0), "{equal:?}");
    assert!(different.failed <= 1 && different.not_judged == 0, "{different:?}");
}

/// Runs of an hour of a real server at 20, 50, and 80 % load, with one or two types of 25 or 125 ms: what costs as much as
/// before passes, also with another load or mix, and what costs five times as much does not.
#[test]
fn measured_runs_of_the_same_code_pass() {
    let Some(root) = laggard_testkit::data_folder("cpu-demands") else { return };
    let runs = measured::runs(&root, 10);
    let runs: Vec<(&SimulatedRun, Signature)> =
        runs.iter().map(|run| (run, signature(run.observations.clone()))).collect();
    let pairs = runs.iter().flat_map(|old| runs.iter().map(move |new| (old, new)));
    for ((old_run, old), (new_run, new)) in pairs {
        let is_costlier = old_run.demand_s.iter().zip(&new_run.demand_s).any(|(old, new)| new > old);
        let found = verdict(old, new);
        assert_ne!(found, DiffVerdict::InsufficientData, "{} {}", old_run.name, new_run.name);
        assert_eq!(found == DiffVerdict::Slower, is_costlier, "{} {}", old_run.name, new_run.name);
    }
}
