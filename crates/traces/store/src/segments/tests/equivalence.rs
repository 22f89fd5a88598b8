//! Neither the flush batches that spans arrive in, nor compaction, nor a restart changes an answer.

use super::contents::{SliceContents, TextSink, answered, expected};
use super::random_spans::{batches, much_later, samples, spans, tid_of, trace};
use super::{compact_all, open};
use crate::empty_objects::empty_objects;
use crate::{FlushBatch, StoreSettings};
use laggard_model::{CallRecord, Loss, Sink, SpanId, SpanRecord, ThreadRow, Timestamp, TraceId};
use proptest::prelude::*;
use std::collections::BTreeSet;
use std::sync::Arc;

fn block_on<T>(job: impl Future<Output = T>) -> T {
    tokio::runtime::Builder::new_current_thread().build().unwrap().block_on(job)
}

/// Commits flush batches in order, with compaction after some of them; returns the answers before and after all of it,
/// and after reopening.
async fn through_the_store(batches: &[FlushBatch], compact_after: u8) -> [SliceContents; 3] {
    let objects = empty_objects();
    let settings = StoreSettings::default();
    let segments = open(&objects, &settings).await;
    for (index, batch) in batches.iter().enumerate() {
        segments.commit(Arc::new(batch.clone())).await.unwrap();
        if compact_after >> index & 1 == 1 {
            compact_all(&segments).await;
        }
    }
    let before = segments.view();
    compact_all(&segments).await;
    let after = answered(&segments.view()).await;
    // The view from before still reads its own files.
    let before = answered(&before).await;
    drop(segments);
    let again = answered(&open(&objects, &settings).await.view()).await;
    [before, after, again]
}

/// The spans that have a thread, which is that of their id.
#[derive(Default)]
struct ThreadSink(BTreeSet<(TraceId, Timestamp, SpanId)>);

impl Sink for ThreadSink {
    fn span(&mut self, span: &SpanRecord<'_>) {
        let Some(tid) = span.attributes.thread else { return };
        assert_eq!(tid, tid_of(span.span_id));
        self.0.insert((span.trace_id, span.start, span.span_id));
    }

    fn call(&mut self, _: &CallRecord<'_>) {}

    fn lose(&mut self, _: Loss, _: &dyn Fn() -> String) {}
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, ..ProptestConfig::default() })]

    #[test]
    fn query_results_do_not_depend_on_flush_batches_or_compaction(random_batches in spans(), compact_after in any::<u8>()) {
        let mut batches = batches(&random_batches);
        batches.push(much_later());
        let expected = expected(&batches);
        let [before, after, again] = block_on(through_the_store(&batches, compact_after));
        prop_assert_eq!(&before, &expected);
        prop_assert_eq!(&after, &expected);
        prop_assert_eq!(&again, &expected);
    }

    #[test]
    fn spans_keep_their_threads(random_batches in spans(), compact_after in any::<u8>()) {
        let batches = batches(&random_batches);
        let expected: BTreeSet<_> = batches.iter().flat_map(|batch| &batch.threads).map(ThreadRow::key).collect();
        let found = block_on(async {
            let objects = empty_objects();
            let segments = open(&objects, &StoreSettings::default()).await;
            for (index, batch) in batches.iter().enumerate() {
                segments.commit(Arc::new(batch.clone())).await.unwrap();
                if compact_after >> index & 1 == 1 {
                    compact_all(&segments).await;
                }
            }
            let mut threads = ThreadSink::default();
            segments.view().spans(Timestamp::MIN, Timestamp::MAX, &mut threads).await.unwrap();
            threads.0
        });
        prop_assert_eq!(found, expected);
    }

    #[test]
    fn a_trace_is_found_with_all_its_spans(random_batches in spans(), number in 0_u8..14) {
        let batches = batches(&random_batches);
        let filter: BTreeSet<u64> = batches.iter().flat_map(|batch| &batch.spans)
            .filter(|row| row.trace == trace(number)).map(|row| row.span.value()).collect();
        let found = block_on(async {
            let objects = empty_objects();
            let segments = open(&objects, &StoreSettings::default()).await;
            for batch in &batches {
                segments.commit(Arc::new(batch.clone())).await.unwrap();
            }
            segments.view().trace(trace(number)).await.unwrap()
        });
        let spans = found.map_or(Vec::new(), |found| found.spans);
        prop_assert_eq!(spans.len(), filter.len(), "copies are left out");
        prop_assert_eq!(spans.iter().map(|row| row.span.value()).collect::<std::collections::BTreeSet<_>>(), filter);
    }
}

#[tokio::test]
async fn samples_are_read_by_time_before_and_after_compaction() {
    let objects = empty_objects();
    let segments = open(&objects, &StoreSettings::default()).await;
    for times in [&[5, 3, 301, 3][..], &[2, 900, 4], &[301, 302, 303, 304, 305, 306, 307, 308, 309], &[9000]]
    {
        let batch = FlushBatch { samples: samples(times), ..FlushBatch::default() };
        segments.commit(Arc::new(batch)).await.unwrap();
    }
    let mut before = TextSink::default();
    let (since, until) = (Timestamp::from_unix_ns(3_000_000_000), Timestamp::from_unix_ns(900_000_000_000));
    segments.view().samples(since, until, &mut before).await.unwrap();
    let segments_before = segments.figures().segments;
    assert!(compact_all(&segments).await > 0);
    assert!(segments.figures().segments < segments_before);
    let mut after = TextSink::default();
    segments.view().samples(since, until, &mut after).await.unwrap();
    assert_eq!(before.samples.len(), 15);
    assert_eq!(before.samples, after.samples);
    let position_of = |text: &str| before.samples.iter().position(|sample| sample.contains(text)).unwrap();
    assert!(
        position_of("3000000000") < position_of("4000000000")
            && position_of("4000000000") < position_of("900000000000")
    );
}

#[tokio::test]
async fn spans_of_a_window_are_exported() {
    let objects = empty_objects();
    let segments = open(&objects, &StoreSettings::default()).await;
    segments.commit(Arc::new(much_later())).await.unwrap();
    let mut exported = TextSink::default();
    segments.view().spans(Timestamp::MIN, Timestamp::MAX, &mut exported).await.unwrap();
    assert_eq!(exported.spans.len(), 1);
    assert!(exported.spans[0].contains("service: \"front\", replica: \"a\""), "{}", exported.spans[0]);
}
