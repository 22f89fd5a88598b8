//! `signature diff` as a gate between two load tests of one server: what it stops, and what it must let pass.

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
        let queue = Queue::open(&demand_s, &rates, self.seed * 16 + number);
        let facts = SampleFacts::default();
        let table = table(queue.observe(WINDOWS, 10.0));
        build_signature(&SignatureQuestion { table: &table, facts: &facts, label: "", types_max: 64 })
    }

    fn verdict(&self, loads: [f64; 2], factor: f64) -> DiffVerdict {
        let [old, new] = [self.signature(1, loads[0], 1.0), self.signature(2, loads[1], factor)];
        let named = |file, signature| NamedSignature { file, signature };
        diff_signatures(named("old", &old), named("new", &new), &DiffThresholds::default()).verdict
    }
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
            cores: Some(1.0),
            utilization: observations.utilization,
            own: None,
        }],
        losses: Losses::default(),
        cautions: vec![],
    }
}

const LOADS: [f64; 3] = [0.2, 0.5, 0.75];

/// Pairs of tests, by verdict.
#[derive(Debug, Default)]
struct Tally {
    pairs: usize,
    failed: usize,
    not_judged: usize,
}

/// Pairs at equal loads, or at all different ones, of servers with one to four types.
fn judged(seeds: std::ops::Range<u64>, factor: f64, is_equal: bool) -> Tally {
    let mut tally = Tally::default();
    for seed in seeds {
        for types in 1..=4 {
            let server = Server::new(types, seed);
            for loads in LOADS.iter().flat_map(|&old| LOADS.map(|new| [old, new])) {
                if (loads[0] == loads[1]) == is_equal {
                    let verdict = server.verdict(loads, factor);
                    tally.pairs += 1;
                    tally.failed += usize::from(verdict == DiffVerdict::Slower);
                    tally.not_judged += usize::from(verdict == DiffVerdict::InsufficientData);
                }
            }
        }
    }
    tally
}

/// A regression of exactly `change-min` (10 %) is as often below it as above, so that larger ones are tested.
#[test]
fn the_gate_stops_regressions_and_lets_equal_code_pass() {
    for (factor, is_equal) in [(1.20, true), (1.15, false)] {
        let tally = judged(1..3, factor, is_equal);
        assert!(20 * tally.failed >= 19 * tally.pairs, "{factor}, equal loads {is_equal}: {tally:?}");
    }
    let [equal, different] = [true, false].map(|is_equal| judged(1..3, 1.0, is_equal));
    assert_eq!((equal.failed, equal.not_judged), (0, 0), "{equal:?}");
    assert!(different.failed <= 1 && different.not_judged == 0, "{different:?}");
}
