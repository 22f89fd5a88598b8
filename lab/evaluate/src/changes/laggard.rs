//! Laggard's methods.

use super::{ChangeAnswer, Difference, ReportedAlarm};
use crate::arm::{Arm, Arms};
use laggard_changes::{
    Analysis, Change, ChangeKind, ChangeSettings, CherkasovaMode, CherkasovaSettings, Observations,
    SegmentKind, TooLittleDataError, changes, cherkasova,
};
use std::num::NonZeroUsize;
use std::ops::Range;

/// The product's methods, the default first.
pub(super) fn finders() -> Arms<Observations, ChangeAnswer> {
    vec![
        Box::new(LaggardMethod {
            name: "changes",
            analyze: |observations, threads| changes(observations, &ChangeSettings::default(), threads),
        }),
        Box::new(LaggardMethod {
            name: "cherkasova",
            analyze: |observations, threads| {
                cherkasova(observations, &CherkasovaSettings::new(CherkasovaMode::Robust), threads)
            },
        }),
        Box::new(LaggardMethod {
            name: "cherkasova, paper",
            analyze: |observations, threads| {
                cherkasova(observations, &CherkasovaSettings::new(CherkasovaMode::Paper), threads)
            },
        }),
    ]
}

struct LaggardMethod {
    name: &'static str,
    analyze: fn(&Observations, NonZeroUsize) -> Result<Analysis, TooLittleDataError>,
}

impl Arm<Observations, ChangeAnswer> for LaggardMethod {
    fn name(&self) -> &str {
        self.name
    }

    fn is_laggard(&self) -> bool {
        true
    }

    fn answer(&self, observations: &Observations) -> Result<ChangeAnswer, String> {
        let threads = std::thread::available_parallelism().unwrap_or(NonZeroUsize::MIN);
        let analysis = (self.analyze)(observations, threads).map_err(|error| error.to_string())?;
        if analysis.groups.is_empty() {
            return Err("no stable model".to_owned());
        }
        Ok(answer(observations, &analysis))
    }
}

/// Rows become windows, and what is no alarm is left out.
fn answer(observations: &Observations, analysis: &Analysis) -> ChangeAnswer {
    let window = |row: usize| observations.windows[row.min(observations.windows.len() - 1)];
    let is_alarm = |change: &&Change| {
        matches!(
            change.kind,
            ChangeKind::ApplicationChange | ChangeKind::HostChange | ChangeKind::Rollback { .. }
        )
    };
    let alarms = analysis.changes.iter().filter(is_alarm).map(|change| ReportedAlarm {
        window: window(change.onset.row),
        interval: Some([window(change.onset.earliest), window(change.onset.latest)]),
        transactions: change
            .transactions
            .iter()
            .map(|change| Difference {
                transaction: change.transaction,
                difference_ms: (change.after_s - change.before_s) * 1_000.0,
            })
            .collect(),
    });
    ChangeAnswer { alarms: alarms.collect(), regions: regions(analysis, window) }
}

/// Runs of anomalous segments.
fn regions(analysis: &Analysis, window: impl Fn(usize) -> usize) -> Vec<Range<usize>> {
    let mut regions: Vec<Range<usize>> = Vec::new();
    let anomalous =
        analysis.segments.iter().filter(|segment| matches!(segment.kind, SegmentKind::Anomalous { .. }));
    for rows in anomalous.map(|segment| segment.rows.clone()).filter(|rows| !rows.is_empty()) {
        let region = window(rows.start)..window(rows.end - 1) + 1;
        match regions.last_mut() {
            Some(last) if last.end == region.start => last.end = region.end,
            _ => regions.push(region),
        }
    }
    regions
}
