//! Events of spans: found with their trace and by their text, each once, for as long as their spans.

use super::random_spans::much_later;
use super::{compact_all, open};
use crate::empty_objects::empty_objects;
use crate::segments::manifest::{FileKind, SegmentKind};
use crate::segments::{DurableFolder, Segments};
use crate::{FlushBatch, StoreFolder, StoreSettings};
use laggard_model::{Loss, Losses, Nanos, Severity, SpanEvent, Timestamp, TraceId, tidy_events};
use object_store::{ObjectStore, ObjectStoreExt};
use std::sync::Arc;

fn trace(number: u128) -> TraceId {
    TraceId::from_value(number)
}

/// A flush batch of a span, and one event of it for each text.
fn logged(number: u128, texts: &[&str]) -> FlushBatch {
    let mut batch = much_later();
    batch.spans[0].trace = trace(number);
    let span = batch.spans[0];
    let event = |(index, text): (usize, &&str)| SpanEvent {
        trace: span.trace,
        span: span.span,
        time: span.start.plus(Nanos::from_ns(index as u64)),
        severity: Severity::from_number(9),
        name: "".into(),
        body: (*text).into(),
        attributes: r#"{"item":"Shoe"}"#.into(),
    };
    batch.events = texts.iter().enumerate().map(event).collect();
    batch
}

fn only_events(batch: &FlushBatch) -> FlushBatch {
    FlushBatch { spans: Vec::new(), ..batch.clone() }
}

async fn of(batches: &[FlushBatch]) -> (Arc<dyn ObjectStore>, Segments) {
    let objects = empty_objects();
    let segments = open(&objects, &StoreSettings::default()).await;
    for batch in batches {
        segments.commit(Arc::new(batch.clone())).await.unwrap();
    }
    (objects, segments)
}

async fn texts(segments: &Segments, number: u128) -> Vec<Box<str>> {
    let found = segments.view().trace(trace(number)).await.unwrap().expect("its span is there");
    found.events.into_iter().map(|event| event.body).collect()
}

async fn traces_with(segments: &Segments, word: &str) -> Vec<TraceId> {
    let (view, all) = (segments.view(), (Timestamp::MIN, Timestamp::MAX));
    let mut found: Vec<TraceId> =
        view.traces_that_logged(all.0, all.1, word).await.unwrap().into_iter().collect();
    found.sort_unstable();
    found
}

fn event_segments(segments: &Segments) -> usize {
    let manifest = segments.shared.manifest();
    manifest.segments.iter().filter(|segment| segment.kind == SegmentKind::Events).count()
}

#[tokio::test]
async fn events_are_found_with_their_trace_and_by_their_text_once_each() {
    let one = logged(1, &["Out of stock", "retried"]);
    // Logs may come before their spans, after them, and twice.
    let (_, segments) = of(&[only_events(&one), one.clone(), only_events(&one), logged(2, &["fine"])]).await;
    assert_eq!(texts(&segments, 1).await, ["Out of stock".into(), "retried".into()]);
    assert_eq!(traces_with(&segments, "out OF").await, [trace(1)]);
    assert_eq!(traces_with(&segments, "shoe").await, [trace(1), trace(2)], "the attributes have it");
    assert_eq!(traces_with(&segments, "stocks").await, []);
    let start = one.spans[0].start;
    let (view, after) = (segments.view(), start.plus(Nanos::from_ns(1)));
    let found_after = view.traces_that_logged(after, Timestamp::MAX, "stock").await.unwrap();
    assert_eq!(found_after.len(), 0, "it was logged before");
}

/// Much later than the others, so that their slice is closed.
fn later() -> FlushBatch {
    let mut later = logged(99, &["later"]);
    later.spans[0].start = later.spans[0].start.plus(Nanos::from_secs(9_000));
    later.events[0].time = later.spans[0].start;
    later
}

#[tokio::test]
async fn small_segments_of_events_are_joined() {
    let names: Vec<String> = (0..20).map(|number| format!("step {number}")).collect();
    let one = |(number, name): (u128, &String)| logged(number, &[name]);
    let batches: Vec<FlushBatch> = (1..).zip(&names).map(one).chain([later()]).collect();
    let (_, segments) = of(&batches).await;
    assert_eq!(event_segments(&segments), 21);
    compact_all(&segments).await;
    let left = event_segments(&segments);
    assert!((3..8).contains(&left), "each holds at most 1,500 bytes: {left}");
    for (number, name) in (1..).zip(&names) {
        assert_eq!(texts(&segments, number).await, [name.as_str().into()]);
    }
    assert_eq!(texts(&segments, 99).await, ["later".into()]);
}

#[tokio::test]
async fn compaction_removes_copies_of_events() {
    let one = logged(1, &["text"]);
    let (_, segments) = of(&[one.clone(), only_events(&one), later()]).await;
    assert_eq!(segments.figures().events, 3);
    compact_all(&segments).await;
    assert_eq!(segments.figures().events, 2);
    assert_eq!(texts(&segments, 1).await, ["text".into()]);
}

#[tokio::test]
async fn events_expire_with_their_spans() {
    let hour = Nanos::from_secs(3_600);
    let mut batches = Vec::new();
    for number in 0..4 {
        let mut batch = logged(u128::from(number) + 1, &["text"]);
        let start = Timestamp::from_unix_ns(0).plus(Nanos::from_ns(hour.ns() * number));
        (batch.spans[0].start, batch.events[0].time) = (start, start);
        batches.push(batch);
    }
    let objects = empty_objects();
    let settings = StoreSettings { keep_for: Some(hour), ..StoreSettings::default() };
    let segments = open(&objects, &settings).await;
    for batch in batches {
        segments.commit(Arc::new(batch)).await.unwrap();
    }
    segments.retain(Timestamp::from_unix_ns(0).plus(Nanos::from_ns(hour.ns() * 3))).await.unwrap();
    let figures = segments.figures();
    assert_eq!((figures.expired_spans, figures.expired_events, figures.events), (2, 2, 2));
    assert_eq!(traces_with(&segments, "text").await, [trace(3), trace(4)]);
}

#[tokio::test]
async fn a_damaged_file_of_events_costs_its_events_only() {
    let (objects, segments) = of(&[logged(1, &["lost"]), logged(2, &["found"])]).await;
    let manifest = segments.shared.manifest();
    let bad = manifest.segments.iter().find(|segment| segment.kind == SegmentKind::Events).unwrap();
    let path = bad.path(FileKind::Events);
    let mut bytes = objects.get(&path).await.unwrap().bytes().await.unwrap().to_vec();
    bytes[40] ^= 1;
    objects.put(&path, bytes.into()).await.unwrap();
    drop(segments);
    let segments = open(&objects, &StoreSettings::default()).await;
    assert_eq!(texts(&segments, 1).await, []);
    assert_eq!(texts(&segments, 2).await, ["found".into()]);
    let problems = segments.figures().problems;
    assert!(problems[0].text.contains("1 events"), "{problems:?}");
}

#[tokio::test]
async fn events_beyond_the_limit_of_a_span_are_counted() {
    let names: Vec<String> = (0..130).map(|number| format!("step {number:03}")).collect();
    let all: Vec<&str> = names.iter().map(String::as_str).collect();
    let one = logged(1, &all);
    let mut losses = Losses::none();
    let mut events = one.events.clone();
    tidy_events(&mut events, &mut losses);
    assert_eq!((events.len(), losses.count(Loss::EventLimit)), (128, 2));
    let (_, segments) = of(&[one]).await;
    let stored = segments.view().trace(trace(1)).await.unwrap().unwrap();
    assert_eq!((stored.events.len(), stored.losses.count(Loss::EventLimit)), (128, 2));
}

/// A manifest made from the files there are has the segments of events, too.
#[tokio::test]
async fn repair_finds_events_without_a_manifest() {
    let folder = tempfile::tempdir().unwrap();
    let stored = folder.path().join("segments");
    std::fs::create_dir_all(&stored).unwrap();
    std::fs::create_dir_all(folder.path().join("log")).unwrap();
    let objects: Arc<dyn ObjectStore> = Arc::new(DurableFolder::open(&stored).unwrap());
    let segments = open(&objects, &StoreSettings::default()).await;
    for batch in [logged(1, &["first"]), logged(2, &["second"])] {
        segments.commit(Arc::new(batch)).await.unwrap();
    }
    drop((segments, objects));
    let checked = StoreFolder::new(folder.path());
    assert_eq!(checked.check().await.unwrap().events, 2);
    std::fs::remove_dir_all(stored.join("manifest")).unwrap();
    checked.repair().await.unwrap();
    let found_again = checked.check().await.unwrap();
    assert_eq!((found_again.events, found_again.problems), (2, Vec::new()));
    let objects: Arc<dyn ObjectStore> = Arc::new(DurableFolder::open(&stored).unwrap());
    let segments = open(&objects, &StoreSettings::default()).await;
    assert_eq!(texts(&segments, 1).await, ["first".into()]);
    assert_eq!(traces_with(&segments, "second").await, [trace(2)]);
}
