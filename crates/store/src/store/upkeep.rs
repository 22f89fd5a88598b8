//! Compaction and retention, on a timer.

use super::write_path::WritePath;
use crate::clock::ClockWatch;
use crate::problems::Gravity;
use crate::{Segments, StoreError};
use std::sync::Arc;
use std::time::Duration;

/// How often there is something to compact, perhaps.
const COMPACT_EVERY: Duration = Duration::from_secs(10);

/// Retention comes with every so many compactions.
const RETAIN_EVERY: u32 = 6;

/// Compactions until what replay found is told no more: a day.
const FINDINGS_ROUNDS: u32 = 24 * 360;

/// Runs until it is cancelled.
pub(super) async fn run(path: Arc<WritePath>, segments: Segments) {
    let mut watch = ClockWatch::new(&*path.clock);
    let mut ticks = tokio::time::interval(COMPACT_EVERY);
    ticks.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
    for round in 0_u32.. {
        ticks.tick().await;
        watch.look(&*path.clock);
        tell(&path, "compaction_failed", compact(&segments).await);
        if round == FINDINGS_ROUNDS {
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
