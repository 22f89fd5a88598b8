//! Compaction and retention, on a timer.

use super::write_path::WritePath;
use crate::clock::ClockWatch;
use crate::problems::Severity;
use crate::{Segments, StoreError};
use std::sync::Arc;
use std::time::Duration;

/// More often is of no use.
const EVERY_MIN: Duration = Duration::from_millis(10);

/// Retention runs after this number of compactions.
const RETAIN_EVERY: u32 = 6;

/// How long the result of a replay is reported.
const REPLAY_REPORT_AGE: Duration = Duration::from_secs(24 * 3600);

/// Runs compaction at an interval, until it is canceled.
pub(super) async fn run(path: Arc<WritePath>, segments: Segments, every: Duration) {
    let mut watch = ClockWatch::new(&*path.clock);
    let every = every.max(EVERY_MIN);
    let begun = path.clock.monotonic();
    let mut ticks = tokio::time::interval(every);
    ticks.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
    for round in 0_u32.. {
        ticks.tick().await;
        watch.check(&*path.clock);
        report(&path, "compaction_failed", compact(&path, &segments).await);
        if path.clock.monotonic() - begun > REPLAY_REPORT_AGE {
            path.forget_findings();
        }
        if round % RETAIN_EVERY == 0 {
            tracing::debug!("retention begins");
            let retained = segments.retain(watch.trusted()).await;
            tracing::debug!("retention ended");
            report(&path, "retention_failed", retained);
        }
    }
}

/// Compacts until nothing is left to do, or memory is short, and measures each compaction.
pub(super) async fn compact(path: &WritePath, segments: &Segments) -> Result<(), StoreError> {
    let memory = path.budget.shared();
    loop {
        let _turn = memory.compaction_turn().await;
        let start = path.clock.monotonic();
        if !segments.compact_once().await? {
            return Ok(());
        }
        path.compactions.add_since(start, &*path.clock);
    }
}

fn report(path: &WritePath, name: &'static str, outcome: Result<(), StoreError>) {
    match outcome {
        Ok(()) => path.problems.clear(name),
        Err(error) => path.report(name, Severity::Warns, format!("tried again: {error}")),
    }
}
