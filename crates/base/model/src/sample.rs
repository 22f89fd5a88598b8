//! A sample: one value of one server or transaction in one interval.

use crate::Timestamp;

/// The quantity of a sample, which implies the unit of its value.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Measure {
    /// Share of a server's CPU capacity in use, averaged over the sample's interval: 0..1, all cores
    /// together. A gauge.
    Utilization,
    /// CPU time a server used, in seconds: a counter that only grows, until the process restarts.
    CpuSecondsTotal,
    /// CPU capacity of a server in cores: a CPU quota counts as what it allows, like 1.5. A gauge.
    Cores,
    /// One transaction that completed at the time, with its response time in seconds; NaN when that is unknown.
    /// Every sample is another transaction, also when all names and times are equal: what a log has.
    Completion,
    /// Transactions completed in the sample's interval.
    Transactions,
    /// Transactions completed since some start: a counter that only grows, until the process restarts.
    TransactionsTotal,
    /// Transactions completed a second, averaged over the sample's interval. A gauge.
    TransactionRate,
    /// Mean response time of the transactions completed in the sample's interval, in seconds.
    ResponseTime,
    /// Sum of the response times of the transactions completed in the sample's interval, in seconds.
    ResponseSeconds,
    /// Sum of the response times of all transactions completed since some start, in seconds: a counter.
    ResponseSecondsTotal,
    /// Outbound calls of a transaction type to a callee, completed in the sample's interval.
    Calls,
    /// Outbound calls since some start: a counter.
    CallsTotal,
    /// Mean time an outbound call took, in seconds.
    CallTime,
    /// Sum of the times of the outbound calls completed in the sample's interval, in seconds.
    CallSeconds,
    /// Sum of the times of all outbound calls since some start, in seconds: a counter.
    CallSecondsTotal,
    /// Clients (sessions) active at the time: the population of a closed model. A gauge.
    Clients,
    /// Share of a server's memory in use: 0..1. A gauge.
    MemoryUtilization,
    /// Memory that a server could still use, in bytes. A gauge.
    MemoryAvailable,
    /// Memory of a server in bytes. A gauge.
    MemorySize,
    /// Share of a file system in use: 0..1. A gauge.
    DiskUtilization,
    /// Bytes that a file system could still store. A gauge.
    DiskAvailable,
    /// Size of a file system in bytes. A gauge.
    DiskSize,
    /// Share of the capacity of a server's network link in use, of the busier direction: 0..1. A gauge.
    NetworkUtilization,
    /// The machine that a server runs on; its name is the callee, and the value 1. A gauge.
    Machine,
}

impl Measure {
    /// Whether it is about memory or a file system: what fills, and is watched by alerts.
    pub const fn is_of_storage(self) -> bool {
        matches!(
            self,
            Measure::MemoryUtilization
                | Measure::MemoryAvailable
                | Measure::MemorySize
                | Measure::DiskUtilization
                | Measure::DiskAvailable
                | Measure::DiskSize
        )
    }

    /// Whether it is about a resource beside the CPU whose use by window limits the capacity of a server.
    pub const fn is_of_memory_or_network(self) -> bool {
        matches!(
            self,
            Measure::MemoryUtilization
                | Measure::MemoryAvailable
                | Measure::MemorySize
                | Measure::NetworkUtilization
        )
    }
}

/// One sample. Names identify what it belongs to; a name that does not apply is empty.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct SampleRecord<'a> {
    /// Start of the interval that the value covers; for gauges and counters, the instant of reading.
    pub time: Timestamp,
    /// The quantity, which also gives the value's unit.
    pub measure: Measure,
    /// The server (replica, pod, host); empty for a sample of the entire system.
    pub server: &'a str,
    /// The server's tier or service (`front`, `db`); empty when unknown.
    pub tier: &'a str,
    /// The transaction type; empty when the measure is not of one.
    pub transaction: &'a str,
    /// The type of outbound call (`db`, `payment`), the mount point of a file system, or the name of a machine; empty when the
    /// measure is of none of them.
    pub callee: &'a str,
    /// The value, in the measure's unit. May be anything a file can hold, NaN and infinities too.
    pub value: f64,
}
