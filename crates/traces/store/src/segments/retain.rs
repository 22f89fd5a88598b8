//! Retention: segments that are too old, or beyond the size limit, are deleted, the oldest first.

use super::error::SegmentError;
use super::manifest::Manifest;
use super::shared::SegmentsInner;
use crate::StoreSettings;
use laggard_model::Timestamp;
use std::collections::HashSet;

impl SegmentsInner {
    /// Deletes segments beyond the retention settings.
    pub(crate) async fn retain(&self, now: Timestamp) -> Result<(), SegmentError> {
        let _one_at_a_time = self.maintaining.lock().await;
        let settings = self.settings.clone();
        let changed = self
            .swap(move |manifest| {
                let leave = leaving(manifest, &settings, now);
                if !leave.is_empty() {
                    tracing::debug!(segments = leave.len(), "retention begins");
                }
                manifest.segments.retain(|segment| !leave.contains(&segment.number));
                let before = manifest.quarantined.len();
                let limit = age_limit(manifest, &settings, now);
                manifest
                    .quarantined
                    .retain(|quarantined| limit.is_none_or(|limit| quarantined.last_ns >= limit.unix_ns()));
                Ok(!leave.is_empty() || manifest.quarantined.len() < before)
            })
            .await?;
        self.sweep().await;
        if changed {
            tracing::debug!("retention ended");
        }
        Ok(())
    }
}

/// The time before which data are too old. Age counts from the clock or from the latest data, whichever is
/// earlier, so that a clock that jumps ahead does not delete data.
fn age_limit(manifest: &Manifest, settings: &StoreSettings, now: Timestamp) -> Option<Timestamp> {
    let newest = manifest.segments.iter().map(|segment| segment.last()).max()?;
    Some(newest.min(now).minus(settings.keep_for?))
}

fn leaving(manifest: &Manifest, settings: &StoreSettings, now: Timestamp) -> HashSet<u64> {
    let limit = age_limit(manifest, settings, now);
    let mut order: Vec<_> = manifest.segments.iter().collect();
    order.sort_by_key(|segment| (segment.ages_from(), segment.number));
    let mut bytes: u64 = order.iter().map(|segment| segment.bytes()).sum();
    let mut leave = HashSet::new();
    for segment in order {
        let old = limit.is_some_and(|limit| segment.ages_from() < limit);
        let much = settings.keep_bytes.is_some_and(|keep| bytes > keep);
        if !old && !much {
            break;
        }
        bytes -= segment.bytes();
        leave.insert(segment.number);
    }
    leave
}
