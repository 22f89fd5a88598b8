//! The 30 hours of the paper, and variations of them.

use super::catalogue::{TransactionType, invented};
use super::settings::{Cache, Foreign, Phase, TierSettings, TpcwSettings, Workload};
use crate::queueing::WorkShape;
use crate::random::{Random, Stream};

const BROWSING: usize = 0;
const SHOPPING: usize = 1;
const ORDERING: usize = 2;

/// A run of the shop with known truth.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum TpcwScenario {
    /// The 30 hours of the paper: foreign load in segment 2, Home +5 ms in 6, +10 ms in 7.
    Paper,
    /// The same with drifting hardware: an offset and a factor of every segment.
    Drift,
    /// Twelve hours in which only load and mix move.
    Quiet,
    /// Home takes 1 ms longer after six of twelve hours.
    OneMillisecond,
    /// A transaction type by the seed takes 2 to 10 ms longer after six of twelve hours.
    Other,
    /// Home takes 5 ms longer for four hours.
    Rollback,
    /// Search gets faster by half after six of twelve hours.
    Faster,
    /// An invented application of 20 types, one of which gets dearer.
    Catalogue,
    /// A cache that warms up and forgets; nothing changes.
    Cache,
    /// Four cores; Home +5 ms.
    Cores,
    /// A CPU quota of one and a half cores; Home +5 ms.
    Quota,
    /// Three front servers behind a balancer; Home +5 ms.
    Balanced,
    /// A foreign process takes a constant fifth of the CPU for two hours.
    Foreign,
    /// Two days by the time of day, nothing changes.
    Diurnal,
    /// Work with a heavy tail; Home +5 ms.
    HeavyTail,
    /// The database gets slower by half; the front tier does not change.
    SlowDatabase,
    /// Shopping Cart takes 3 ms longer and Search Request 1 ms less after six of twelve hours.
    Two,
    /// A transaction type that only ordering clients know appears with them; nothing changes.
    NewType,
    /// Transactions that run together slow each other by 1 %; nothing changes.
    Contention,
    /// The clock of the utilization is five seconds behind; nothing changes.
    Lag,
    /// A job takes 15 % of the CPU for two minutes each hour; nothing changes.
    Recurring,
    /// A thirtieth of the clients: counts are small; Home +5 ms.
    FewClients,
}

impl TpcwScenario {
    /// All of them, in the order of the manual.
    pub const ALL: [TpcwScenario; 22] = [
        TpcwScenario::Paper,
        TpcwScenario::Drift,
        TpcwScenario::Quiet,
        TpcwScenario::OneMillisecond,
        TpcwScenario::Other,
        TpcwScenario::Rollback,
        TpcwScenario::Faster,
        TpcwScenario::Catalogue,
        TpcwScenario::Cache,
        TpcwScenario::Cores,
        TpcwScenario::Quota,
        TpcwScenario::Balanced,
        TpcwScenario::Foreign,
        TpcwScenario::Diurnal,
        TpcwScenario::HeavyTail,
        TpcwScenario::SlowDatabase,
        TpcwScenario::Two,
        TpcwScenario::NewType,
        TpcwScenario::Contention,
        TpcwScenario::Lag,
        TpcwScenario::Recurring,
        TpcwScenario::FewClients,
    ];

    /// The word for the command line.
    pub const fn name(self) -> &'static str {
        match self {
            TpcwScenario::Paper => "tpcw",
            TpcwScenario::Drift => "tpcw-drift",
            TpcwScenario::Quiet => "tpcw-quiet",
            TpcwScenario::OneMillisecond => "tpcw-one-ms",
            TpcwScenario::Other => "tpcw-other",
            TpcwScenario::Rollback => "tpcw-rollback",
            TpcwScenario::Faster => "tpcw-faster",
            TpcwScenario::Catalogue => "tpcw-catalogue",
            TpcwScenario::Cache => "tpcw-cache",
            TpcwScenario::Cores => "tpcw-cores",
            TpcwScenario::Quota => "tpcw-quota",
            TpcwScenario::Balanced => "tpcw-balanced",
            TpcwScenario::Foreign => "tpcw-foreign",
            TpcwScenario::Diurnal => "tpcw-diurnal",
            TpcwScenario::HeavyTail => "tpcw-heavy-tail",
            TpcwScenario::SlowDatabase => "tpcw-slow-database",
            TpcwScenario::Two => "tpcw-two",
            TpcwScenario::NewType => "tpcw-new-type",
            TpcwScenario::Contention => "tpcw-contention",
            TpcwScenario::Lag => "tpcw-lag",
            TpcwScenario::Recurring => "tpcw-recurring",
            TpcwScenario::FewClients => "tpcw-few-clients",
        }
    }

    /// A line on it.
    pub const fn summary(self) -> &'static str {
        match self {
            TpcwScenario::Paper => "30 hours: foreign load in segment 2, Home +5 ms in 6, +10 ms in 7",
            TpcwScenario::Drift => "the same with drifting hardware",
            TpcwScenario::Quiet => "12 hours, only load and mix move",
            TpcwScenario::OneMillisecond => "12 hours, Home +1 ms after 6",
            TpcwScenario::Other => "12 hours, a type by the seed +2 to +10 ms after 6",
            TpcwScenario::Rollback => "12 hours, Home +5 ms for 4 of them",
            TpcwScenario::Faster => "12 hours, Execute Search takes half after 6",
            TpcwScenario::Catalogue => {
                "12 hours of an invented application of 20 types, one gets dearer after 6"
            }
            TpcwScenario::Cache => "12 hours with a cache that warms up and forgets, nothing changes",
            TpcwScenario::Cores => "12 hours on 4 cores, Home +5 ms after 6",
            TpcwScenario::Quota => "12 hours on a quota of 1.5 cores, Home +5 ms after 6",
            TpcwScenario::Balanced => "12 hours on 3 front servers, Home +5 ms after 6",
            TpcwScenario::Foreign => "12 hours, 20 % of the CPU taken for 2 of them",
            TpcwScenario::Diurnal => "2 days by the time of day, nothing changes",
            TpcwScenario::HeavyTail => "12 hours of work with a heavy tail, Home +5 ms after 6",
            TpcwScenario::SlowDatabase => "12 hours, calls take half as long again after 6",
            TpcwScenario::Two => "12 hours, Shopping Cart +3 ms and Search Request -1 ms after 6",
            TpcwScenario::NewType => "12 hours, a type that only ordering clients know appears with them",
            TpcwScenario::Contention => {
                "12 hours, transactions that run together slow each other; nothing changes"
            }
            TpcwScenario::Lag => "12 hours, utilization is measured five seconds off; nothing changes",
            TpcwScenario::Recurring => {
                "12 hours, a job takes 15 % of the CPU for two minutes each hour; nothing changes"
            }
            TpcwScenario::FewClients => "12 hours with a thirtieth of the clients, Home +5 ms after 6",
        }
    }

    /// The scenario of a name.
    pub fn parse(name: &str) -> Option<TpcwScenario> {
        TpcwScenario::ALL.into_iter().find(|scenario| scenario.name() == name)
    }
}

impl TpcwSettings {
    /// The settings of a scenario. The seed decides everything that is drawn.
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
            TpcwScenario::Catalogue => other(TpcwSettings { transactions: invented(seed, 20), ..settings }),
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

/// What the hardware of a segment does: our reference workload's numbers, in turn.
fn drifting(phases: Vec<Phase>) -> Vec<Phase> {
    let factors = [1.01, 1.0, 1.03, 0.98];
    let drift = |(phase, factor)| Phase { demand_factor: factor, ..phase };
    phases.into_iter().zip(factors.into_iter().cycle()).map(drift).collect()
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

/// A transaction that is frequent enough to be seen gets 2 to 10 ms dearer.
fn other(settings: TpcwSettings) -> TpcwSettings {
    let mut random = Random::of(settings.seed, Stream::FaultPlan, &[]);
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

/// Ordering clients spend a tenth of their transactions on a type that nobody else knows.
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

/// So many times the clients.
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
