//! Retention, files held by views, and files that no manifest names.

use super::contents::answered;
use super::random_spans::much_later;
use super::{compact_all, open};
use crate::empty_objects::empty_objects;
use crate::{FlushBatch, Segments, StoreSettings};
use futures::TryStreamExt;
use laggard_model::{Nanos, Timestamp, TraceId};
use object_store::path::Path;
use object_store::{ObjectStore, ObjectStoreExt};
use std::sync::Arc;

pub(super) const HOUR: Nanos = Nanos::from_secs(3600);

pub(super) fn hours(hours: i64) -> Timestamp {
    Timestamp::from_unix_ns(hours * 3_600_000_000_000)
}

/// A flush batch of one span that starts at an hour since the epoch.
pub(super) fn at_hour(hour: i64) -> Arc<FlushBatch> {
    let mut batch = much_later();
    batch.spans[0].start = hours(hour);
    batch.spans[0].trace = TraceId::from_value(1000 + hour as u128);
    Arc::new(batch)
}

pub(super) async fn with_hours(
    settings: &StoreSettings,
    of: std::ops::Range<i64>,
) -> (Arc<dyn ObjectStore>, Segments) {
    let objects = empty_objects();
    let segments = open(&objects, settings).await;
    for hour in of {
        segments.commit(at_hour(hour)).await.unwrap();
    }
    (objects, segments)
}

pub(super) async fn files(objects: &Arc<dyn ObjectStore>) -> usize {
    let found: Vec<_> = objects.list(None).try_collect().await.unwrap();
    found.iter().filter(|object| object.location.as_ref().ends_with(".parquet")).count()
}

pub(super) async fn requests(segments: &Segments) -> usize {
    answered(&segments.view()).await.requests.len()
}

#[tokio::test]
async fn data_is_deleted_by_age_but_not_because_a_clock_jumped() {
    let settings = StoreSettings { keep_for: Some(HOUR), ..StoreSettings::default() };
    let (objects, segments) = with_hours(&settings, 0..5).await;
    segments.retain(hours(3)).await.unwrap();
    assert_eq!(requests(&segments).await, 3, "hours 2, 3 and 4 are not older than an hour at 3");
    segments.retain(hours(4)).await.unwrap();
    assert_eq!(requests(&segments).await, 2, "beside the latest data, hour 3 is an hour old");
    assert_eq!((segments.figures().expired_spans, segments.figures().expired_samples), (3, 0));
    segments.retain(hours(1_000_000)).await.unwrap();
    assert_eq!(requests(&segments).await, 2, "all of it arrived in this test");
    assert_eq!(files(&objects).await, 2 * 4);
    let keep = StoreSettings { keep_for: None, ..StoreSettings::default() };
    let (_, segments) = with_hours(&keep, 0..5).await;
    segments.retain(hours(1_000_000)).await.unwrap();
    assert_eq!(requests(&segments).await, 5);
}

#[tokio::test]
async fn the_oldest_segments_are_deleted_beyond_the_size_limit() {
    let (_, segments) = with_hours(&StoreSettings { keep_for: None, ..StoreSettings::default() }, 0..4).await;
    let bytes = segments.figures().bytes;
    let settings = StoreSettings { keep_for: None, keep_bytes: Some(bytes - 1), ..StoreSettings::default() };
    let (_, segments) = with_hours(&settings, 0..4).await;
    segments.retain(hours(4)).await.unwrap();
    let figures = segments.figures();
    assert_eq!((figures.segments, figures.oldest), (3, Some(hours(1))));
    assert!(figures.bytes < bytes);
}

#[tokio::test]
async fn files_remain_while_a_view_holds_them() {
    let settings = StoreSettings { keep_for: Some(HOUR), ..StoreSettings::default() };
    let (objects, segments) = with_hours(&settings, 0..5).await;
    let view = segments.view();
    segments.retain(hours(5)).await.unwrap();
    assert_eq!(files(&objects).await, 5 * 4);
    assert_eq!(answered(&view).await.requests.len(), 5);
    drop(view);
    segments.retain(hours(5)).await.unwrap();
    assert_eq!(files(&objects).await, 2 * 4, "hours 3 and 4");
}

#[tokio::test]
async fn files_named_by_no_manifest_are_deleted_at_startup() {
    let (objects, segments) = with_hours(&StoreSettings::default(), 0..2).await;
    drop(segments);
    for stray in ["spans/0/000000000099.parquet", "requests/7/000000000098.parquet"] {
        objects.put(&Path::from(stray), "half".into()).await.unwrap();
    }
    let segments = open(&objects, &StoreSettings::default()).await;
    assert_eq!(files(&objects).await, 2 * 4);
    assert_eq!(requests(&segments).await, 2);
}

#[tokio::test]
async fn compaction_leaves_few_segments_and_few_manifests() {
    let objects = empty_objects();
    let segments = open(&objects, &StoreSettings::default()).await;
    for trace in 0..20_u128 {
        let mut batch = FlushBatch::clone(&at_hour(0));
        batch.spans[0].trace = TraceId::from_value(1 + trace);
        segments.commit(Arc::new(batch)).await.unwrap();
    }
    segments.commit(at_hour(2)).await.unwrap();
    compact_all(&segments).await;
    assert_eq!(segments.figures().segments, 3, "20 spans, 12 a segment at most, and one of hour 2");
    assert_eq!(files(&objects).await, 3 * 4);
    let manifests: Vec<_> = objects.list(Some(&Path::from("manifest"))).try_collect().await.unwrap();
    assert!(manifests.len() <= 2 * 5, "five and their copies: {}", manifests.len());
}

#[tokio::test]
async fn a_flush_batch_scattered_over_days_becomes_few_segments() {
    let mut batch = FlushBatch::clone(&at_hour(0));
    let row = batch.spans[0];
    batch.spans = (0..9_u128)
        .map(|index| {
            let start = hours(20 * index as i64);
            laggard_model::SpanRow { trace: TraceId::from_value(index + 1), start, ..row }
        })
        .collect();
    let objects = empty_objects();
    let segments = open(&objects, &StoreSettings::default()).await;
    segments.commit(Arc::new(batch)).await.unwrap();
    assert_eq!(segments.figures().segments, 3, "three slices of one span share a segment");
    assert_eq!(requests(&segments).await, 9);
}

#[tokio::test]
async fn the_size_of_a_window_is_known_without_reading_it() {
    let (_, segments) = with_hours(&StoreSettings::default(), 0..6).await;
    let view = segments.view();
    assert_eq!(view.spans_within(hours(0), hours(5)), 6);
    assert_eq!(view.spans_within(hours(2), hours(3)), 2);
    assert_eq!(view.spans_within(hours(7), hours(9)), 0);
    assert_eq!(view.spans_estimated(hours(0), hours(5)), 6, "all of each slice");
    let (first, last) = view.extent().expect("there are spans");
    let middle = first.plus(Nanos::from_ns(last.since(first).magnitude().ns() / 2));
    assert!(view.spans_estimated(middle, last) < 6, "part of a slice");
    assert_eq!(view.spans_estimated(hours(7), hours(9)), 0);
    assert_eq!(view.around(hours(3), hours(3), 100), (hours(0), hours(5)), "all there is");
    assert_eq!(view.around(hours(3), hours(3), 3), (hours(2), hours(4)), "the nearest on either side");
    assert_eq!(view.around(hours(3), hours(4), 0), (hours(3), hours(4)), "the window itself in any case");
    assert_eq!(
        view.around(hours(8), hours(9), 2),
        (hours(4), hours(9)),
        "beside a window with nothing in it"
    );
}
