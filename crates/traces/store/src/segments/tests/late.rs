//! Which traces are stored as late, and when they are merged with the rest.

use super::random_spans::flush_batch_of;
use super::{SMALL, compact_all};
use crate::StoreSettings;
use crate::empty_objects::empty_objects;
use crate::segments::manifest::SegmentKind;
use crate::segments::plan::SegmentLimits;
use crate::segments::{Segments, SegmentsInner};
use laggard_model::{Nanos, TraceId};
use std::collections::BTreeMap;
use std::ops::RangeInclusive;
use std::sync::Arc;

async fn open_with(limits: SegmentLimits) -> Segments {
    let shared = SegmentsInner::open(empty_objects(), &StoreSettings::default(), limits).await.unwrap();
    Segments { shared: Arc::new(shared) }
}

async fn commit(segments: &Segments, traces: impl IntoIterator<Item = u128>) {
    segments.commit(Arc::new(flush_batch_of(traces))).await.unwrap();
}

fn spans_of(segments: &Segments, kind: SegmentKind) -> u64 {
    let manifest = segments.shared.manifest();
    manifest.segments.iter().filter(|segment| segment.kind == kind).map(|segment| segment.spans).sum()
}

#[tokio::test]
async fn a_new_trace_that_a_filter_reports_as_known_is_not_late() {
    const STORED: u128 = 4_000;
    let segments = open_with(SegmentLimits { spans_max: 10_000, group_spans: 10_000, ..SMALL }).await;
    commit(&segments, (1..=STORED).map(|number| number << 32)).await;
    let index = segments.shared.index(&segments.shared.manifest().segments[0]).await.unwrap();
    let is_reported = |&trace: &u128| index.may_hold(TraceId::from_value(trace));
    let reported = (1 << 32..STORED << 32).step_by(12_345).filter(is_reported);
    let reported: Vec<u128> = reported.filter(|trace| trace % (1 << 32) != 0).take(3).collect();
    assert_eq!(reported.len(), 3, "the filter has false positives");
    // One of the traces is late.
    commit(&segments, [1 << 32].into_iter().chain(reported)).await;
    assert_eq!(spans_of(&segments, SegmentKind::Traces), 2 * (STORED as u64 + 3));
    assert_eq!(spans_of(&segments, SegmentKind::Late), 2);
}

#[tokio::test]
async fn traces_that_are_late_by_the_hundred_are_late() {
    let segments = open_with(SegmentLimits { spans_max: 10_000, group_spans: 10_000, ..SMALL }).await;
    commit(&segments, 1..=1_000).await;
    commit(&segments, 301..=1_300).await;
    assert_eq!(spans_of(&segments, SegmentKind::Late), 2 * 700);
}

#[tokio::test]
async fn a_large_slice_that_grows_is_not_written_again_for_a_few_late_spans() {
    let segments = open_with(SMALL).await;
    for first in (1..=40).map(|number| 1_000 * number) {
        commit(&segments, first..first + 6).await;
    }
    for late in 1..=8 {
        commit(&segments, [1_000 * late]).await;
    }
    let compactions = compact_all(&segments).await;
    assert_eq!((compactions, spans_of(&segments, SegmentKind::Late)), (0, 16));
    for late in 9..=20 {
        commit(&segments, [1_000 * late]).await;
    }
    compact_all(&segments).await;
    assert_eq!(spans_of(&segments, SegmentKind::Late), 0, "one for every two is merged");
}

/// Late spans of an hour are near the second window only, so that each window alone divides the segments into other slices.
#[tokio::test]
async fn requests_of_overlapping_windows_are_in_one_slice_each() {
    const HOUR: Nanos = Nanos::from_secs(3600);
    let segments = open_with(SMALL).await;
    let commit_at = |hours: u64, traces: RangeInclusive<u128>| {
        let mut batch = flush_batch_of(traces);
        let shift = Nanos::from_ns(hours * HOUR.ns());
        batch.spans.iter_mut().for_each(|row| row.start = row.start.plus(shift));
        segments.commit(Arc::new(batch))
    };
    commit_at(0, 1..=6).await.unwrap();
    commit_at(1, 11..=16).await.unwrap();
    commit_at(2, 21..=26).await.unwrap();
    commit_at(2, 21..=21).await.unwrap();
    commit_at(1, 11..=11).await.unwrap();
    assert_eq!(spans_of(&segments, SegmentKind::Late), 4);
    let start = flush_batch_of([1]).spans[0].start;
    let after = |hours: u64| start.plus(Nanos::from_ns(hours * HOUR.ns()));
    let view = segments.view();
    let [first, second] = [start..=after(1), after(1)..=after(2)];
    let mut traces = BTreeMap::new();
    for slice in view.requests_within(&[first, second]).await.unwrap() {
        for request in &slice.requests {
            *traces.entry(request.trace.value()).or_insert(0) += 1;
        }
    }
    assert_eq!(traces.len(), 18);
    assert!(traces.values().all(|&times| times == 1), "{traces:?}");
}
