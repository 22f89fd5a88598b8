//! Windows of transaction counts and utilization: when did the application change, and which transaction?

mod cusum;
mod demands;
mod laggard;
mod mean_changes;
mod score;
mod series;
mod threshold;

pub use demands::{DemandCase, DemandScore, EstimatedDemand, demand_estimators, score_demands};
pub use mean_changes::pelt;
pub use score::{ChangeScore, score_changes};

use crate::arm::Arms;
use laggard_changes::Observations;
use std::ops::Range;

/// One server's windows with the truth about them.
#[derive(Clone, Debug)]
pub struct ChangeCase {
    /// Name, unique within its group.
    pub name: String,
    /// Input of the methods, without the truth.
    pub observations: Observations,
    /// Names of the transaction types, by column.
    pub transactions: Vec<String>,
    /// The right answer.
    pub truth: ChangeTruth,
}

/// Ground truth of a case. Windows are numbered as in [`Observations::windows`].
#[derive(Clone, PartialEq, Debug, Default)]
pub struct ChangeTruth {
    /// Changes of the application, in order of time.
    pub alarms: Vec<TrueAlarm>,
    /// Windows in which something foreign used the CPU.
    pub regions: Vec<Range<usize>>,
    /// Windows with background load so short that it may, but need not, be reported.
    pub tolerated: Vec<Range<usize>>,
}

/// A change of the application.
#[derive(Clone, PartialEq, Debug)]
pub struct TrueAlarm {
    /// The first window of it.
    pub window: usize,
    /// The transactions whose cost changed.
    pub transactions: Vec<Difference>,
}

/// By how much a transaction's cost changed.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Difference {
    /// Its column.
    pub transaction: usize,
    /// Milliseconds.
    pub difference_ms: f64,
}

/// The answer of a method.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct ChangeAnswer {
    /// Changes of the application, in order of time.
    pub alarms: Vec<ReportedAlarm>,
    /// Windows in which something foreign used the CPU.
    pub regions: Vec<Range<usize>>,
}

impl ChangeAnswer {
    /// In words, windows by number.
    pub(crate) fn words(&self, names: &[String]) -> String {
        let alarm = |alarm: &ReportedAlarm| {
            let name = |difference: &Difference| {
                let name = names.get(difference.transaction).map_or("?", String::as_str);
                format!(" {name} {:+.1} ms", difference.difference_ms)
            };
            format!("alarm at {}{}", alarm.window, alarm.transactions.iter().map(name).collect::<String>())
        };
        let region = |region: &Range<usize>| format!("foreign {}–{}", region.start, region.end);
        let all: Vec<String> = self.alarms.iter().map(alarm).chain(self.regions.iter().map(region)).collect();
        match all.len() {
            0 => "nothing".to_owned(),
            1..=SHOWN => all.join(", "),
            more => format!("{}, and {} more", all[..SHOWN].join(", "), more - SHOWN),
        }
    }
}

/// Findings that a table shows.
const SHOWN: usize = 6;

/// A change of the application that a method found.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct ReportedAlarm {
    /// The first window of it, most likely.
    pub window: usize,
    /// The earliest and the latest possible window, for methods that report it.
    pub interval: Option<[usize; 2]>,
    /// The transactions that are named, for methods that name any.
    pub transactions: Vec<Difference>,
}

/// Every method, Laggard's first, its default before all.
pub fn change_finders() -> Arms<Observations, ChangeAnswer> {
    use series::Series;
    let mut all = laggard::finders();
    all.push(Box::new(threshold::BusyThreshold));
    for series in [Series::Utilization, Series::PerTransaction] {
        all.push(Box::new(cusum::Cusum::new(series)));
        all.push(Box::new(mean_changes::MeanChanges::new(series)));
    }
    all
}
