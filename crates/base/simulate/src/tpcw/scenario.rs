//! The 30 hours of the paper, and variations of them.

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
    /// A synthetic application of 20 types, one of which gets more expensive.
    Catalog,
    /// A cache that warms up and expires; nothing changes.
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
    /// Home takes 0.25 ms longer after six of twelve hours.
    QuarterMillisecond,
    /// Order Display, one transaction in 150, takes 20 ms longer.
    Rare,
    /// The embedded objects of Home take 3 ms more CPU, which no response time shows.
    Objects,
    /// Everything costs a fifth more: a slower machine.
    SlowerHost,
    /// Home takes 3 ms longer from the minute on in which the mix moves.
    Coincident,
    /// Home takes 5 ms longer for half an hour.
    Short,
    /// Utilization is measured with an error of 1 %; Home +2 ms.
    Noise,
    /// Half as many clients again, so that the CPU is often full; Home +1 ms.
    Busy,
}

impl TpcwScenario {
    /// All of them, in the order of the manual.
    pub const ALL: [TpcwScenario; 30] = [
        TpcwScenario::Paper,
        TpcwScenario::Drift,
        TpcwScenario::Quiet,
        TpcwScenario::OneMillisecond,
        TpcwScenario::Other,
        TpcwScenario::Rollback,
        TpcwScenario::Faster,
        TpcwScenario::Catalog,
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
        TpcwScenario::QuarterMillisecond,
        TpcwScenario::Rare,
        TpcwScenario::Objects,
        TpcwScenario::SlowerHost,
        TpcwScenario::Coincident,
        TpcwScenario::Short,
        TpcwScenario::Noise,
        TpcwScenario::Busy,
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
            TpcwScenario::Catalog => "tpcw-catalogue",
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
            TpcwScenario::QuarterMillisecond => "tpcw-quarter-ms",
            TpcwScenario::Rare => "tpcw-rare",
            TpcwScenario::Objects => "tpcw-objects",
            TpcwScenario::SlowerHost => "tpcw-slower-host",
            TpcwScenario::Coincident => "tpcw-coincident",
            TpcwScenario::Short => "tpcw-short",
            TpcwScenario::Noise => "tpcw-noise",
            TpcwScenario::Busy => "tpcw-busy",
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
            TpcwScenario::Catalog => {
                "12 hours of a synthetic application of 20 types, one gets more expensive after 6"
            }
            TpcwScenario::Cache => "12 hours with a cache that warms up and expires, nothing changes",
            TpcwScenario::Cores => "12 hours on 4 cores, Home +5 ms after 6",
            TpcwScenario::Quota => "12 hours on a quota of 1.5 cores, Home +5 ms after 6",
            TpcwScenario::Balanced => "12 hours on 3 front servers, Home +5 ms after 6",
            TpcwScenario::Foreign => "12 hours, 20 % of the CPU used by another process for 2 of them",
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
            TpcwScenario::QuarterMillisecond => "12 hours, Home +0.25 ms after 6",
            TpcwScenario::Rare => "12 hours, Order Display (one transaction in 150) +20 ms after 6",
            TpcwScenario::Objects => {
                "12 hours, Home's embedded objects +3 ms of CPU after 6: no response time changes"
            }
            TpcwScenario::SlowerHost => "12 hours, everything costs a fifth more after 6",
            TpcwScenario::Coincident => "12 hours, Home +3 ms when the mix moves",
            TpcwScenario::Short => "12 hours, Home +5 ms for half an hour",
            TpcwScenario::Noise => "12 hours, utilization measured with 1 % error, Home +2 ms after 6",
            TpcwScenario::Busy => "12 hours at half as many clients again, Home +1 ms after 6",
        }
    }

    /// The scenario of a name.
    pub fn parse(name: &str) -> Option<TpcwScenario> {
        TpcwScenario::ALL.into_iter().find(|scenario| scenario.name() == name)
    }
}
