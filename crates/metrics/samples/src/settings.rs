//! Settings of the conversion of samples to windows, and its errors.

use laggard_model::{Nanos, Timestamp};
use std::fmt;

/// Settings of the conversion of samples to windows.
#[derive(Clone, PartialEq, Debug)]
pub struct WindowSettings {
    /// Length of a window, at least [`LENGTH_MIN`].
    pub length: Nanos,
    /// Windows that start before this are left out.
    pub since: Timestamp,
    /// Windows that end after this are left out.
    pub until: Timestamp,
    /// Capacities of servers; they override those in samples.
    pub cores: Vec<CoresOf>,
    /// Unit of utilization: a fraction or percentage of all cores, or cores.
    pub utilization: UtilizationUnit,
    /// Retain only these servers; empty: all. Transactions of the system are not affected.
    pub servers: Vec<String>,
    /// Retain only servers of these tiers; empty: all. Transactions of the system are not affected.
    pub tiers: Vec<String>,
    /// Retain also the machines that these servers run on, and all servers on them.
    pub with_machines: bool,
    /// The tier whose transactions are those of the clients, if samples of several tiers have counts and none are of
    /// the whole system.
    pub front: Option<String>,
    /// Most transaction types, and most callees, with own columns; the rarest beyond are pooled. From 1.
    pub transactions_max: usize,
    /// Most numbers in all matrices of the table, 8 bytes each; a larger table is an error.
    pub cells_max: usize,
}

impl Default for WindowSettings {
    /// Windows of a minute (Cherkasova et al. 2009, section 4.4), over everything there is.
    fn default() -> WindowSettings {
        WindowSettings {
            length: Nanos::from_secs(60),
            since: Timestamp::MIN,
            until: Timestamp::MAX,
            cores: Vec::new(),
            utilization: UtilizationUnit::Auto,
            servers: Vec::new(),
            tiers: Vec::new(),
            with_machines: false,
            front: None,
            transactions_max: 100,
            cells_max: CELLS_MAX,
        }
    }
}

impl WindowSettings {
    /// Whether a server is retained.
    pub(crate) fn includes(&self, server: &str, tier: &str) -> bool {
        let lists =
            |names: &[String], name: &str| names.is_empty() || names.iter().any(|known| known == name);
        lists(&self.servers, server) && lists(&self.tiers, tier)
    }
}

/// Windows that a comparison of two parts of a period should have.
const WINDOWS_WANTED: usize = 90;

/// Shorter windows than a minute for a period of fewer minutes than a comparison should have, to be tried in this order: samples
/// may be too far apart for them ([`WindowError::TooFine`]). Nothing if there are enough.
pub fn shorter_windows(windows: usize) -> impl Iterator<Item = Nanos> {
    let lengths = if windows < WINDOWS_WANTED { &[15, 30][..] } else { &[] };
    lengths.iter().map(|&seconds| Nanos::from_secs(seconds))
}

/// Shortest window: a millisecond.
pub const LENGTH_MIN: Nanos = Nanos::from_ms(1);

/// Longest window: 366 days.
pub const LENGTH_MAX: Nanos = Nanos::from_secs(366 * 86_400);

/// The capacity of one server.
#[derive(Clone, PartialEq, Debug)]
pub struct CoresOf {
    /// The server's or its tier's name; empty for all servers that are not named.
    pub name: String,
    /// Its cores, > 0; a quota counts as what it allows.
    pub cores: f64,
}

/// The unit of utilization samples.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum UtilizationUnit {
    /// Percent if values exceed those of a fraction, else a fraction.
    Auto,
    /// 0..1 of all cores.
    Fraction,
    /// 0..100 of all cores.
    Percent,
    /// Cores in use.
    Cores,
}

/// Why no table can be built.
#[derive(Clone, PartialEq, Debug)]
pub enum WindowError {
    /// No sample in the requested time has transaction counts or utilization.
    NoSamples {
        /// Number of samples.
        samples: u64,
    },
    /// Windows are shorter than what the samples cover.
    TooFine {
        /// The requested length.
        length: Nanos,
        /// Distance between samples.
        spacing: Nanos,
        /// Their measure, as a phrase.
        what: String,
    },
    /// Counts are too far apart for the windows, and there is no CPU utilization at all, which no length of windows changes.
    NoUtilization {
        /// Samples read.
        samples: u64,
    },
    /// The length is outside [`LENGTH_MIN`] to [`LENGTH_MAX`].
    Length {
        /// The requested length.
        length: Nanos,
    },
    /// A requested server or tier does not occur in the samples.
    Unknown {
        /// The requested name.
        name: String,
        /// Some of the known names.
        known: Vec<String>,
    },
    /// The table would not fit.
    TooLarge {
        /// Windows.
        windows: usize,
        /// Numbers in all its matrices.
        cells: usize,
        /// How many it may have.
        cells_max: usize,
    },
}

impl fmt::Display for WindowError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            WindowError::NoSamples { samples: 0 } => {
                write!(f, "no samples were found: need counts of transactions and CPU utilization by time")
            }
            WindowError::NoSamples { samples } => write!(
                f,
                "none of {samples} samples has transactions or CPU utilization of a complete window in the requested \
                 time; check --since, --until and --window"
            ),
            WindowError::TooFine { length, spacing, what } => write!(
                f,
                "{what} come every {}, so windows of {} are too short; try --window {}s",
                plain(*spacing),
                plain(*length),
                spacing.ns().div_ceil(1_000_000_000)
            ),
            WindowError::NoUtilization { samples } => write!(
                f,
                "none of {samples} samples is a CPU utilization, so there is nothing to compare transactions with: provide \
                 a CPU series, too"
            ),
            WindowError::Length { length } => {
                write!(f, "a window of {} is not between 1 ms and 366 days", plain(*length))
            }
            WindowError::Unknown { name, known } => {
                write!(
                    f,
                    "no server or tier in the samples is named {name:?}; known are {}",
                    known.join(", ")
                )
            }
            WindowError::TooLarge { windows, cells, cells_max } => write!(
                f,
                "{windows} windows make a table of {cells} numbers, more than {cells_max}; use longer windows, \
                 less time, or some servers only (--window, --since, --server)"
            ),
        }
    }
}

impl std::error::Error for WindowError {}

// Limit: numbers in a sample table | rejected
/// Most numbers in all matrices of a table by default: 1 GiB.
pub(crate) const CELLS_MAX: usize = 1 << 27;

fn plain(length: Nanos) -> String {
    let seconds = length.ns() as f64 / 1e9;
    format!("{} s", (seconds * 1e3).round() / 1e3)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_period_of_few_minutes_has_shorter_windows() {
        let lengths = |windows| shorter_windows(windows).map(|length| length.ns() / 1_000_000_000);
        assert_eq!(lengths(89).collect::<Vec<u64>>(), [15, 30]);
        assert_eq!(lengths(90).count(), 0);
    }
}
