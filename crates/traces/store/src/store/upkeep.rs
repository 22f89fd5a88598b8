//! Compaction and retention, on a timer.

use super::write_path::WritePath;
use crate::clock::ClockWatch;
use crate::problems::Gravity;
use crate::{Segments, StoreError};
use std::sync::Arc;
use std::time::Duration;

/// More often is of no use.
const EVERY_MIN: Duration = Duration::from_millis(10);

/// Retention comes with every so many compactions.
const RETAIN_EVERY: u32 = 6;

/// What replay found is told for so long.
const FINDINGS_TOLD: Duration = Duration::from_secs(24 * 3600);

/// Looks for something to compact every so often, until it is canceled.
pub(super) async fn run(path: Arc<WritePath>, segments: Segments, every: Duration) {
    let mut watch = ClockWatch::new(&*path.clock);
    let every = every.max(EVERY_MIN);
    let begun = path.clock.monotonic();
    let mut ticks = tokio::time::interval(every);
    ticks.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
    for round in 0_u32.. {
        ticks.tick().await;
        watch.look(&*path.clock);
        tell(&path, "compaction_failed", compact(&segments).await);
        if path.clock.monotonic() - begun > FINDINGS_TOLD {
            path.forget_findings();
        }
        if round % RETAIN_EVERY == 0 {
            tell(&path, "retention_failed", segments.retain(watch.trusted()).await);
        }
    }
}

async fn compact(segments: &Segments) -> Result<(), StoreError> {
    while segments.compact_once().await? {}
    Ok(())
}

fn tell(path: &WritePath, name: &'static str, outcome: Result<(), StoreError>) {
    match outcome {
        Ok(()) => path.problems.clear(name),
        Err(error) => path.tell(name, Gravity::Warns, format!("tried again: {error}")),
    }
}
