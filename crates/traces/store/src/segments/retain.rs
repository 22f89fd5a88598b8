//! Retention: segments that were stored too long ago, or are beyond the size limit, are deleted, the oldest first.

use super::error::SegmentError;
use super::manifest::{Manifest, Segment};
use super::shared::SegmentsInner;
use crate::StoreSettings;
use laggard_model::Timestamp;
use std::collections::HashSet;
use std::sync::Arc;
use std::sync::atomic::Ordering;

impl SegmentsInner {
    /// Deletes segments beyond the retention settings.
    pub(crate) async fn retain(&self, now: Timestamp) -> Result<(), SegmentError> {
        let _one_at_a_time = self.maintaining.lock().await;
        let settings = &self.settings;
        let (mut spans, mut samples, mut events) = (0, 0, 0);
        self.swap(|manifest| {
            let leave = leaving(manifest, settings, now);
            let is_left = |segment: &&Arc<Segment>| leave.contains(&segment.number);
            spans = manifest.segments.iter().filter(is_left).map(|segment| segment.spans).sum();
            samples = manifest.segments.iter().filter(is_left).map(|segment| segment.samples).sum();
            events = manifest.segments.iter().filter(is_left).map(|segment| segment.events).sum();
            manifest.segments.retain(|segment| !leave.contains(&segment.number));
            let before = manifest.quarantined.len();
            let limit = age_limit(manifest, settings, now);
            manifest
                .quarantined
                .retain(|quarantined| limit.is_none_or(|limit| quarantined.last_ns >= limit.unix_ns()));
            Ok(!leave.is_empty() || manifest.quarantined.len() < before)
        })
        .await?;
        if spans + samples + events > 0 {
            tracing::info!(spans, samples, events, "expired data was deleted");
            self.expired_spans.fetch_add(spans, Ordering::Relaxed);
            self.expired_samples.fetch_add(samples, Ordering::Relaxed);
            self.expired_events.fetch_add(events, Ordering::Relaxed);
        }
        self.sweep().await;
        Ok(())
    }
}

/// The time before which data is too old. Age counts from the clock or from the latest data, whichever is earlier, so that a
/// clock that jumps ahead does not delete data.
fn age_limit(manifest: &Manifest, settings: &StoreSettings, now: Timestamp) -> Option<Timestamp> {
    let newest = manifest.segments.iter().map(|segment| segment.known_since()).max()?;
    Some(newest.min(now).minus(settings.keep_for?))
}

fn leaving(manifest: &Manifest, settings: &StoreSettings, now: Timestamp) -> HashSet<u64> {
    let limit = age_limit(manifest, settings, now);
    let mut order: Vec<_> = manifest.segments.iter().collect();
    order.sort_by_key(|segment| (segment.ages_from(now), segment.number));
    let mut bytes: u64 = order.iter().map(|segment| segment.bytes()).sum();
    let mut leave = HashSet::new();
    for segment in order {
        let old = limit.is_some_and(|limit| segment.ages_from(now) < limit);
        let much = settings.keep_bytes.is_some_and(|keep| bytes > keep);
        if !old && !much {
            break;
        }
        bytes -= segment.bytes();
        leave.insert(segment.number);
    }
    leave
}

#[cfg(test)]
mod tests {
    use super::super::manifest::tests::segment;
    use super::*;
    use laggard_model::Nanos;

    fn hours(hours: i64) -> Timestamp {
        Timestamp::from_unix_ns(hours * 3_600_000_000_000)
    }

    /// Segments by the hour of their latest span and the hour in which they arrived.
    fn manifest(hours_of: &[(i64, i64)]) -> Manifest {
        let segments = hours_of.iter().enumerate().map(|(index, &(last, arrived))| {
            Arc::new(Segment {
                number: index as u64,
                last_ns: hours(last).unix_ns(),
                arrived_ns: Some(hours(arrived).unix_ns()),
                ..segment()
            })
        });
        Manifest { segments: segments.collect(), ..Manifest::empty() }
    }

    fn left(hours_of: &[(i64, i64)], now: i64) -> Vec<u64> {
        let settings =
            StoreSettings { keep_for: Some(Nanos::from_secs(10 * 3_600)), ..StoreSettings::default() };
        let mut left: Vec<u64> = leaving(&manifest(hours_of), &settings, hours(now)).into_iter().collect();
        left.sort_unstable();
        left
    }

    #[test]
    fn imported_data_is_retained_for_as_long_as_live_data() {
        // Data of hour 0 that was imported in hour 1,000, and live data.
        let stored = [(0, 1_000), (1_000, 1_000), (1_011, 1_011)];
        assert_eq!(left(&stored[..2], 1_001), [0; 0]);
        assert_eq!(left(&stored[..1], 2_000), [0; 0], "alone, it does not age");
        assert_eq!(left(&stored, 1_011), [0, 1]);
    }

    #[test]
    fn one_span_from_the_future_and_a_wrong_clock_delete_nothing() {
        let stored = [(1_000, 1_000), (8_200, 1_000)];
        assert_eq!(left(&stored, 10_600), [0; 0]);
        // The span itself expires like the data it arrived with.
        assert_eq!(left(&[(1_000, 1_000), (8_200, 1_000), (1_011, 1_011)], 1_011), [0, 1]);
    }

    #[test]
    fn data_stored_under_a_wrong_clock_ages_by_its_spans_once_the_clock_is_right() {
        let stored = [(1_000, 10_600), (1_011, 1_011)];
        assert_eq!(left(&stored, 1_005), [0; 0]);
        assert_eq!(left(&stored, 1_011), [0]);
    }
}
