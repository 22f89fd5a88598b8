//! Settings of a simulated TPC-W shop: load over time, transactions, tiers, and changes of the application.

use super::catalog::{MIXES, TransactionType, tpc_w};
use crate::Error;
use crate::queueing::{Discipline, WorkShape};

/// Monday, 12 January 2026, 00:00 UTC: a fixed time, so that the same seed gives the same bytes.
const DEFAULT_START_UNIX_NS: i64 = 1_768_176_000_000_000_000;
/// No more windows than this: a year of minutes.
const WINDOWS_MAX: u64 = 525_600;
/// No more clients than this at a time.
const CLIENTS_MAX: u64 = 1_000_000;

/// Everything a run depends on.
#[derive(Clone, PartialEq, Debug)]
pub struct TpcwSettings {
    /// Its name in the truth.
    pub name: String,
    /// Same seed, same bytes.
    pub seed: u64,
    /// Start of the first window, in nanoseconds since the Unix epoch.
    pub start_unix_ns: i64,
    /// Length of a window in seconds.
    pub window_s: u32,
    /// The transaction types, at least one, sorted by name.
    pub transactions: Vec<TransactionType>,
    /// The phases in order of time.
    pub phases: Vec<Phase>,
    /// The front tier: a shared processor each server.
    pub front: TierSettings,
    /// The database tier.
    pub database: TierSettings,
    /// How the database serves its calls.
    pub database_discipline: Discipline,
    /// Mean think time of a client in seconds, exponential; > 0.
    pub think_s: f64,
    /// Distribution of the work of transactions and calls around their means.
    pub work: WorkShape,
    /// Share of the front capacity that is used without any transaction.
    pub idle_overhead: f64,
    /// Standard deviation of the error of measured utilization, as a share of the capacity.
    pub utilization_noise: f64,
    /// A cache in the front tier.
    pub cache: Option<Cache>,
    /// Share of CPU time that every further transaction at a front server costs all that are there, 0..1.
    pub contention: f64,
    /// By how much the clock of the utilization lags behind that of the counts, in seconds, 0 to 0.9 windows.
    pub utilization_lag_s: f64,
}

/// The servers of a tier, behind a balancer that picks one at random.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct TierSettings {
    /// Servers, ≥ 1.
    pub servers: u16,
    /// CPU capacity of each in cores; a fraction is a CPU quota.
    pub cores: f64,
}

/// An interval in which only the load changes.
#[derive(Clone, PartialEq, Debug)]
pub struct Phase {
    /// Its length in windows, ≥ 1.
    pub windows: u32,
    /// The workload.
    pub workload: Workload,
    /// Foreign load on the front CPUs.
    pub foreign: Foreign,
    /// Demands that differ from the catalog.
    pub changes: Vec<DemandChange>,
    /// By how much the share of the front CPU that is used without any transaction differs from
    /// [`TpcwSettings::idle_overhead`]; what would be less than nothing is nothing.
    pub overhead_drift: f64,
    /// Factor of every transaction's demand: slow drift of hardware and data, 1 for none.
    pub demand_factor: f64,
    /// Factor of every call's time at the database.
    pub database_factor: f64,
}

/// Clients over the time of a phase.
#[derive(Clone, PartialEq, Debug)]
pub enum Workload {
    /// Sessions of one mix (0 browsing, 1 shopping, 2 ordering), in steps of equal length.
    Steps {
        /// The mix.
        mix: usize,
        /// Clients of each step.
        clients: Vec<u32>,
    },
    /// Constant sessions of every mix, and a process that adds shopping clients for a while and pauses (the
    /// paper's figure 5).
    Bursts {
        /// Constant clients by mix.
        constant: [u32; MIXES],
        /// Least and most clients that a burst adds.
        burst_clients: [u32; 2],
        /// Least and greatest length of a burst in minutes.
        burst_min: [f64; 2],
        /// Least and greatest length of a pause in minutes.
        pause_min: [f64; 2],
    },
    /// Sessions of every mix that follow the time of day: lowest at the start, a step each window.
    Diurnal {
        /// Clients by mix at the lowest point.
        low: [u32; MIXES],
        /// Clients by mix at the highest point.
        high: [u32; MIXES],
        /// Length of a day in windows.
        day_windows: u32,
    },
}

/// Load on the front CPUs that no transaction explains.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Foreign {
    /// None.
    None,
    /// A constant share of the capacity.
    Constant {
        /// 0..1.
        share: f64,
    },
    /// A share of the capacity that is redrawn every one to `hold_windows` windows.
    Random {
        /// Least share.
        low: f64,
        /// Greatest share.
        high: f64,
        /// Longest time it stays as it is.
        hold_windows: u32,
    },
    /// A job that comes again and again, and takes a share of the capacity for a while.
    Recurring {
        /// 0..1.
        share: f64,
        /// From one start to the next, in windows, ≥ 1; the first starts in the middle of the first turn.
        every_windows: u32,
        /// How long it runs.
        runs_windows: u32,
    },
}

/// The part of a transaction whose cost changes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ChangedPart {
    /// The main page, which is in the response time.
    MainPage,
    /// The embedded objects, which are not.
    Objects,
}

/// A transaction takes longer at the front CPU, or less long.
#[derive(Clone, PartialEq, Debug)]
pub struct DemandChange {
    /// Name of the transaction.
    pub transaction: String,
    /// CPU seconds added to each; negative for an improvement. What would be less than nothing is nothing.
    pub extra_s: f64,
    /// Of what.
    pub part: ChangedPart,
}

/// A cache whose misses make transactions more expensive. It is empty at the start, fills with transactions, and expires
/// with time, so that demands fall while it warms up and are higher at low load.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Cache {
    /// Transactions that fill all but 1/e of it.
    pub size: f64,
    /// Seconds in which it loses all but 1/e without transactions.
    pub ttl_s: f64,
    /// Share of its demand that a transaction takes longer on a miss.
    pub miss_extra: f64,
}

impl Phase {
    /// Without anything foreign or changed.
    pub fn new(windows: u32, workload: Workload) -> Phase {
        Phase {
            windows,
            workload,
            foreign: Foreign::None,
            changes: Vec::new(),
            overhead_drift: 0.0,
            demand_factor: 1.0,
            database_factor: 1.0,
        }
    }

    /// The same phase with a change of one transaction's main page.
    pub fn with_change(self, transaction: &str, extra_s: f64) -> Phase {
        let part = ChangedPart::MainPage;
        let change = DemandChange { transaction: transaction.to_owned(), extra_s, part };
        Phase { changes: [self.changes, vec![change]].concat(), ..self }
    }
}

impl Phase {
    /// Mean CPU seconds of a part of a transaction.
    pub(crate) fn cost_s(&self, transaction: &TransactionType, part: ChangedPart) -> f64 {
        let share = match part {
            ChangedPart::MainPage => transaction.main_share,
            ChangedPart::Objects => 1.0 - transaction.main_share,
        };
        let is_own = |change: &&DemandChange| change.transaction == transaction.name && change.part == part;
        let extra_s: f64 = self.changes.iter().filter(is_own).map(|change| change.extra_s).sum();
        (transaction.demand_s * share * self.demand_factor + extra_s).max(0.0)
    }
}

impl Workload {
    /// The paper's steady workloads: 200 to 1000 clients of one mix in five steps.
    pub fn paper_steps(mix: usize) -> Workload {
        Workload::Steps { mix, clients: vec![200, 400, 600, 800, 1_000] }
    }

    /// The paper's mixed workload: 20 browsing, 30 shopping and 50 ordering clients, and bursts of shopping.
    pub fn paper_bursts() -> Workload {
        Workload::Bursts {
            constant: [20, 30, 50],
            burst_clients: [150, 700],
            burst_min: [20.0, 30.0],
            pause_min: [10.0, 20.0],
        }
    }
}

impl TpcwSettings {
    /// The shop of the paper, with phases.
    pub fn new(seed: u64, phases: Vec<Phase>) -> TpcwSettings {
        TpcwSettings {
            name: "tpcw".to_owned(),
            seed,
            start_unix_ns: DEFAULT_START_UNIX_NS,
            window_s: 60,
            transactions: tpc_w(),
            phases,
            front: TierSettings { servers: 1, cores: 1.0 },
            database: TierSettings { servers: 1, cores: 1.0 },
            database_discipline: Discipline::ProcessorSharing,
            think_s: 7.0,
            work: WorkShape::Exponential,
            idle_overhead: 0.012,
            utilization_noise: 0.0025,
            cache: None,
            contention: 0.0,
            utilization_lag_s: 0.0,
        }
    }

    /// The same time in windows of another length: phases keep their length to a window.
    pub fn with_window_s(self, window_s: u32) -> TpcwSettings {
        let rescale = |windows: u32| {
            let length_s = u64::from(windows) * u64::from(self.window_s);
            u32::try_from((length_s / u64::from(window_s.max(1))).max(1)).unwrap_or(u32::MAX)
        };
        let phases = self.phases.iter().map(|phase| {
            let workload = match phase.workload.clone() {
                Workload::Diurnal { low, high, day_windows } => {
                    Workload::Diurnal { low, high, day_windows: rescale(day_windows) }
                }
                other => other,
            };
            Phase { windows: rescale(phase.windows), workload, ..phase.clone() }
        });
        TpcwSettings { phases: phases.collect(), window_s, ..self }
    }

    /// Number of windows of all phases.
    pub fn windows(&self) -> u64 {
        self.phases.iter().map(|phase| u64::from(phase.windows)).sum()
    }

    /// Checks every range.
    ///
    /// # Errors
    /// [`Error::Setting`] names the first setting outside its range.
    pub(crate) fn check(&self) -> Result<(), Error> {
        let whole =
            |name, value: u64, most: u64, allowed| check(name, value as f64, 1.0, most as f64, allowed);
        whole("window_s", u64::from(self.window_s), 86_400, "1 second to a day")?;
        whole("windows", self.windows(), WINDOWS_MAX, "1 to 525 600")?;
        whole("transactions", self.transactions.len() as u64, 1_000, "1 to 1 000 types")?;
        for tier in [self.front, self.database] {
            whole("servers", u64::from(tier.servers), 100, "1 to 100")?;
            check("cores", tier.cores, 0.01, 1_000.0, "0.01 to 1 000")?;
        }
        check("think_s", self.think_s, 0.001, 86_400.0, "0.001 to 86 400 s")?;
        check("idle_overhead", self.idle_overhead, 0.0, 0.5, "0 to 0.5")?;
        check("contention", self.contention, 0.0, 1.0, "0 to 1")?;
        check(
            "utilization_lag_s",
            self.utilization_lag_s,
            0.0,
            0.9 * f64::from(self.window_s),
            "0 to 0.9 windows",
        )?;
        check("utilization_noise", self.utilization_noise, 0.0, 0.5, "0 to 0.5")?;
        check("work", if self.work.is_valid() { 1.0 } else { f64::NAN }, 0.0, 1.0, "a spread of 0 to 100")?;
        if !(1_000_000_000..4_000_000_000_000_000_000).contains(&self.start_unix_ns) {
            return check("start_unix_ns", f64::NAN, 0.0, 0.0, "the years 1970 to 2096");
        }
        self.transactions.iter().try_for_each(check_transaction)?;
        for mix in 0..MIXES {
            let total: f64 = self.transactions.iter().map(|transaction| transaction.mix_percent[mix]).sum();
            check("mix_percent", total, 1e-9, f64::MAX, "more than 0 for a type in every mix")?;
        }
        self.phases.iter().try_for_each(|phase| self.check_phase(phase))
    }

    fn check_phase(&self, phase: &Phase) -> Result<(), Error> {
        check("windows of a phase", f64::from(phase.windows), 1.0, WINDOWS_MAX as f64, "1 to 525 600")?;
        check("overhead_drift", phase.overhead_drift, -0.1, 0.1, "-0.1 to 0.1")?;
        check("demand_factor", phase.demand_factor, 0.0, 1_000.0, "0 to 1 000")?;
        check("database_factor", phase.database_factor, 0.0, 1_000.0, "0 to 1 000")?;
        let (low, high) = phase.foreign.range();
        check("foreign load", low, 0.0, high, "0 to 0.95, the least first")?;
        check(
            "foreign load",
            (high + self.idle_overhead + phase.overhead_drift).max(0.0),
            0.0,
            0.95,
            "0 to 0.95 with the idle overhead",
        )?;
        for change in &phase.changes {
            check("extra_s", change.extra_s, -1_000.0, 1_000.0, "-1 000 to 1 000 s")?;
            let known = self.transactions.iter().any(|transaction| transaction.name == change.transaction);
            if !known {
                let value = change.transaction.clone();
                return Err(Error::Setting { name: "change", value, allowed: "a transaction's name" });
            }
        }
        check(
            "clients",
            phase.workload.clients_max() as f64,
            0.0,
            CLIENTS_MAX as f64,
            "up to 1 000 000, of 3 mixes",
        )
    }
}

impl Foreign {
    /// Whether it makes an entire phase anomalous; a job that recurs is a part of every day.
    pub(crate) fn is_anomaly(self) -> bool {
        matches!(self, Foreign::Constant { .. } | Foreign::Random { .. })
    }

    /// Least and greatest share.
    fn range(self) -> (f64, f64) {
        match self {
            Foreign::None => (0.0, 0.0),
            Foreign::Constant { share } | Foreign::Recurring { share, .. } => (share, share),
            Foreign::Random { low, high, .. } => (low, high),
        }
    }
}

impl Workload {
    /// Most clients at a time; too many for any limit when the workload makes no sense.
    fn clients_max(&self) -> u64 {
        let sum = |clients: &[u32; MIXES]| clients.iter().copied().map(u64::from).sum::<u64>();
        match self {
            Workload::Steps { mix, clients } if *mix < MIXES && !clients.is_empty() => {
                clients.iter().copied().map(u64::from).max().unwrap_or(0)
            }
            Workload::Bursts { constant, burst_clients: [least, most], burst_min, pause_min } => {
                let ordered = |[low, high]: &[f64; 2]| *low >= 0.1 && low <= high && *high <= 1e6;
                let sensible = least <= most && ordered(burst_min) && ordered(pause_min);
                if sensible { sum(constant) + u64::from(*most) } else { u64::MAX }
            }
            Workload::Diurnal { low, high, day_windows } if *day_windows > 0 => sum(low).max(sum(high)),
            _ => u64::MAX,
        }
    }
}

fn check_transaction(transaction: &TransactionType) -> Result<(), Error> {
    for share in transaction.mix_percent {
        check("mix_percent", share, 0.0, 1e9, "0 and more")?;
    }
    check("demand_s", transaction.demand_s, 1e-9, 1_000.0, "up to 1 000 s, more than 0")?;
    check("main_share", transaction.main_share, 0.001, 1.0, "0.001 to 1")?;
    check("calls", f64::from(transaction.calls), 0.0, 1_000.0, "0 to 1 000")?;
    check("call_s", transaction.call_s, 1e-9, 1_000.0, "up to 1 000 s, more than 0")
}

fn check(name: &'static str, value: f64, least: f64, most: f64, allowed: &'static str) -> Result<(), Error> {
    if value >= least && value <= most {
        return Ok(());
    }
    Err(Error::Setting { name, value: value.to_string(), allowed })
}
