//! Building blocks of the scenarios.

use super::catalog::{TransactionType, invented};
use super::scenario::TpcwScenario;
use super::settings::{
    Cache, ChangedPart, DemandChange, Foreign, Phase, TierSettings, TpcwSettings, Workload,
};
use crate::queueing::WorkShape;
use crate::random::{Random, Stream};

const BROWSING: usize = 0;
const SHOPPING: usize = 1;
const ORDERING: usize = 2;

impl TpcwSettings {
    /// The settings of a scenario. The seed determines all random values.
    pub fn scenario(scenario: TpcwScenario, seed: u64) -> TpcwSettings {
        let settings = TpcwSettings::new(seed, twelve_hours());
        let home = |extra_ms: f64| TpcwSettings::new(seed, changed("Home", extra_ms));
        let settings = match scenario {
            TpcwScenario::Paper => TpcwSettings::new(seed, paper()),
            TpcwScenario::Drift => TpcwSettings::new(seed, drifting(paper())),
            TpcwScenario::Quiet => settings,
            TpcwScenario::OneMillisecond => home(1.0),
            TpcwScenario::Other => other(settings),
            TpcwScenario::Rollback => TpcwSettings { phases: rollback(), ..settings },
            TpcwScenario::Faster => TpcwSettings { phases: changed("Execute Search", -2.0), ..settings },
            TpcwScenario::Catalog => other(TpcwSettings { transactions: invented(seed, 20), ..settings }),
            TpcwScenario::Cache => {
                let cache = Cache { size: 20_000.0, ttl_s: 900.0, miss_extra: 0.5 };
                TpcwSettings { cache: Some(cache), ..settings }
            }
            TpcwScenario::Cores => on(home(5.0), 1, 4.0),
            TpcwScenario::Quota => on(home(5.0), 1, 1.5),
            TpcwScenario::Balanced => on(home(5.0), 3, 1.0),
            TpcwScenario::Foreign => TpcwSettings { phases: foreign(), ..settings },
            TpcwScenario::Diurnal => TpcwSettings { phases: vec![two_days()], ..settings },
            TpcwScenario::HeavyTail => TpcwSettings { work: WorkShape::Lognormal { cv: 3.0 }, ..home(5.0) },
            TpcwScenario::SlowDatabase => TpcwSettings { phases: slow_database(), ..settings },
            TpcwScenario::Two => TpcwSettings { phases: two(), ..settings },
            TpcwScenario::NewType => new_type(settings),
            TpcwScenario::Contention => TpcwSettings { contention: 0.01, ..settings },
            TpcwScenario::Lag => TpcwSettings { utilization_lag_s: 5.0, ..settings },
            TpcwScenario::Recurring => TpcwSettings { phases: recurring(), ..settings },
            TpcwScenario::FewClients => with_clients(home(5.0), 1.0 / 30.0),
            TpcwScenario::QuarterMillisecond => home(0.25),
            TpcwScenario::Rare => TpcwSettings { phases: changed("Order Display", 20.0), ..settings },
            TpcwScenario::Objects => TpcwSettings { phases: objects(), ..settings },
            TpcwScenario::SlowerHost => TpcwSettings { phases: slower_host(), ..settings },
            TpcwScenario::Coincident => TpcwSettings { phases: coincident(), ..settings },
            TpcwScenario::Short => TpcwSettings { phases: short(), ..settings },
            TpcwScenario::Noise => TpcwSettings { utilization_noise: 0.01, ..home(2.0) },
            TpcwScenario::Busy => with_clients(home(1.0), 1.5),
        };
        TpcwSettings { name: scenario.name().to_owned(), ..settings }
    }
}

/// Segment starts 0, 300, 480, 790, 1030, 1290, 1545 of 1800 minutes.
fn paper() -> Vec<Phase> {
    let hog = Foreign::Random { low: 0.02, high: 0.30, hold_windows: 3 };
    vec![
        Phase::new(300, Workload::paper_steps(BROWSING)),
        Phase { foreign: hog, ..Phase::new(180, Workload::paper_bursts()) },
        Phase::new(310, Workload::paper_steps(SHOPPING)),
        Phase::new(240, Workload::paper_steps(ORDERING)),
        Phase::new(260, Workload::paper_bursts()),
        Phase::new(255, Workload::paper_bursts()).with_change("Home", 0.005),
        Phase::new(255, Workload::paper_bursts()).with_change("Home", 0.010),
    ]
}

/// Changes of hardware and data in a segment: the numbers of our reference workload, in turn.
fn drifting(phases: Vec<Phase>) -> Vec<Phase> {
    let factors = [1.01, 1.0, 1.03, 0.98];
    let offsets = [0.0, 0.012, -0.004];
    let drifts = factors.into_iter().cycle().zip(offsets.into_iter().cycle());
    let drift = |(phase, (demand_factor, overhead_drift))| Phase { demand_factor, overhead_drift, ..phase };
    phases.into_iter().zip(drifts).map(drift).collect()
}

/// Two hours each of the steady workloads, then six of bursts, in halves of three.
fn twelve_hours() -> Vec<Phase> {
    vec![
        Phase::new(120, Workload::paper_steps(BROWSING)),
        Phase::new(120, Workload::paper_steps(SHOPPING)),
        Phase::new(120, Workload::paper_steps(ORDERING)),
        Phase::new(360, Workload::paper_bursts()),
    ]
}

/// A transaction changes in the middle of ten hours of bursts.
fn changed(transaction: &str, extra_ms: f64) -> Vec<Phase> {
    vec![
        Phase::new(120, Workload::paper_steps(SHOPPING)),
        Phase::new(240, Workload::paper_bursts()),
        Phase::new(360, Workload::paper_bursts()).with_change(transaction, extra_ms / 1_000.0),
    ]
}

/// A transaction that is frequent enough to be detected gets 2 to 10 ms more expensive.
fn other(settings: TpcwSettings) -> TpcwSettings {
    let mut random = Random::new(settings.seed, Stream::FaultPlan, &[]);
    let total: f64 = settings.transactions.iter().map(|transaction| transaction.mix_percent[SHOPPING]).sum();
    let share = |mix_percent: f64| mix_percent / total;
    let frequent: Vec<&str> = settings
        .transactions
        .iter()
        .filter(|transaction| share(transaction.mix_percent[SHOPPING]) >= 0.025)
        .map(|transaction| transaction.name.as_str())
        .collect();
    let transaction = frequent[random.index(frequent.len())];
    let phases = changed(transaction, random.between(2.0, 10.0));
    TpcwSettings { phases, ..settings }
}

fn rollback() -> Vec<Phase> {
    let bursts = || Phase::new(240, Workload::paper_bursts());
    vec![bursts(), bursts().with_change("Home", 0.005), bursts()]
}

fn foreign() -> Vec<Phase> {
    let bursts = |windows| Phase::new(windows, Workload::paper_bursts());
    vec![
        Phase::new(120, Workload::paper_steps(SHOPPING)),
        bursts(240),
        Phase { foreign: Foreign::Constant { share: 0.2 }, ..bursts(120) },
        bursts(240),
    ]
}

fn slow_database() -> Vec<Phase> {
    let bursts = || Phase::new(360, Workload::paper_bursts());
    vec![bursts(), Phase { database_factor: 1.5, ..bursts() }]
}

fn two() -> Vec<Phase> {
    let mut phases = changed("Shopping Cart", 3.0);
    if let Some(last) = phases.pop() {
        phases.push(last.with_change("Search Request", -0.001));
    }
    phases
}

/// Ordering clients spend a tenth of their transactions on a type that other clients do not use.
fn new_type(settings: TpcwSettings) -> TpcwSettings {
    let gift = TransactionType {
        name: "Gift Wrap".to_owned(),
        mix_percent: [0.0, 0.0, 11.0],
        demand_s: 0.012,
        main_share: 0.8,
        calls: 2,
        call_s: 0.0015,
    };
    let steps = |mix| Phase::new(180, Workload::paper_steps(mix));
    let phases = vec![steps(BROWSING), steps(SHOPPING), steps(ORDERING), steps(SHOPPING)];
    TpcwSettings { transactions: [settings.transactions, vec![gift]].concat(), phases, ..settings }
}

fn objects() -> Vec<Phase> {
    let bursts = || Phase::new(360, Workload::paper_bursts());
    let change = DemandChange { transaction: "Home".to_owned(), extra_s: 0.003, part: ChangedPart::Objects };
    vec![bursts(), Phase { changes: vec![change], ..bursts() }]
}

fn slower_host() -> Vec<Phase> {
    let bursts = || Phase::new(360, Workload::paper_bursts());
    vec![bursts(), Phase { demand_factor: 1.2, ..bursts() }]
}

fn coincident() -> Vec<Phase> {
    let steps = |mix| Phase::new(240, Workload::paper_steps(mix));
    vec![steps(SHOPPING), steps(BROWSING), steps(ORDERING).with_change("Home", 0.003)]
}

fn short() -> Vec<Phase> {
    let bursts = |windows| Phase::new(windows, Workload::paper_bursts());
    vec![bursts(360), bursts(30).with_change("Home", 0.005), bursts(330)]
}

fn recurring() -> Vec<Phase> {
    let job = Foreign::Recurring { share: 0.15, every_windows: 60, runs_windows: 2 };
    twelve_hours().into_iter().map(|phase| Phase { foreign: job, ..phase }).collect()
}

fn two_days() -> Phase {
    let workload = Workload::Diurnal { low: [30, 30, 30], high: [250, 350, 250], day_windows: 1_440 };
    Phase::new(2 * 1_440, workload)
}

/// More capacity, and as many more clients, so that the load is the same.
fn on(settings: TpcwSettings, servers: u16, cores: f64) -> TpcwSettings {
    let factor = f64::from(servers) * cores;
    TpcwSettings {
        front: TierSettings { servers, cores },
        database: TierSettings { servers: 1, cores: factor.ceil() },
        ..with_clients(settings, factor)
    }
}

/// The number of clients multiplied by this factor.
fn with_clients(settings: TpcwSettings, factor: f64) -> TpcwSettings {
    let more = |clients: u32| (f64::from(clients) * factor) as u32;
    let scale = |workload: &Workload| match workload.clone() {
        Workload::Steps { mix, clients } => {
            Workload::Steps { mix, clients: clients.into_iter().map(more).collect() }
        }
        Workload::Bursts { constant, burst_clients, burst_min, pause_min } => {
            let (constant, burst_clients) = (constant.map(more), burst_clients.map(more));
            Workload::Bursts { constant, burst_clients, burst_min, pause_min }
        }
        Workload::Diurnal { low, high, day_windows } => {
            Workload::Diurnal { low: low.map(more), high: high.map(more), day_windows }
        }
    };
    let phases =
        settings.phases.iter().map(|phase| Phase { workload: scale(&phase.workload), ..phase.clone() });
    TpcwSettings { phases: phases.collect(), ..settings.clone() }
}
