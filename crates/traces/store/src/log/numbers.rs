//! The numeric codes of enums in the log. They never change their meaning; new ones are added at the end.

use laggard_model::Measure;

/// Measures by number.
const MEASURES: [Measure; 24] = [
    Measure::Utilization,
    Measure::CpuSecondsTotal,
    Measure::Cores,
    Measure::Completion,
    Measure::Transactions,
    Measure::TransactionsTotal,
    Measure::TransactionRate,
    Measure::ResponseTime,
    Measure::ResponseSeconds,
    Measure::ResponseSecondsTotal,
    Measure::Calls,
    Measure::CallsTotal,
    Measure::CallTime,
    Measure::CallSeconds,
    Measure::CallSecondsTotal,
    Measure::Clients,
    Measure::MemoryUtilization,
    Measure::MemoryAvailable,
    Measure::MemorySize,
    Measure::DiskUtilization,
    Measure::DiskAvailable,
    Measure::DiskSize,
    Measure::NetworkUtilization,
    Measure::Machine,
];

pub(super) const fn measure_number(measure: Measure) -> u8 {
    match measure {
        Measure::Utilization => 0,
        Measure::CpuSecondsTotal => 1,
        Measure::Cores => 2,
        Measure::Completion => 3,
        Measure::Transactions => 4,
        Measure::TransactionsTotal => 5,
        Measure::TransactionRate => 6,
        Measure::ResponseTime => 7,
        Measure::ResponseSeconds => 8,
        Measure::ResponseSecondsTotal => 9,
        Measure::Calls => 10,
        Measure::CallsTotal => 11,
        Measure::CallTime => 12,
        Measure::CallSeconds => 13,
        Measure::CallSecondsTotal => 14,
        Measure::Clients => 15,
        Measure::MemoryUtilization => 16,
        Measure::MemoryAvailable => 17,
        Measure::MemorySize => 18,
        Measure::DiskUtilization => 19,
        Measure::DiskAvailable => 20,
        Measure::DiskSize => 21,
        Measure::NetworkUtilization => 22,
        Measure::Machine => 23,
    }
}

pub(super) fn measure(number: u8) -> Option<Measure> {
    MEASURES.get(usize::from(number)).copied()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_survive_decoding() {
        for known in MEASURES {
            assert_eq!(measure(measure_number(known)), Some(known));
        }
        assert_eq!(measure(24), None);
    }
}
