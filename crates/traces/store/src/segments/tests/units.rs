//! Rounds over units read what a view reads at once: late traces, damage, and windows included.

use super::contents::{SliceContents, answered, expected};
use super::random_spans::{batches, much_later, spans};
use super::{compact_all, open};
use crate::empty_objects::empty_objects;
use crate::segments::Segments;
use crate::segments::manifest::{FileKind, SegmentKind};
use crate::{FlushBatch, StoreSettings, View};
use laggard_engine::{Count, Levels, RequestSlice, StartRange, Take};
use laggard_model::{Loss, Timestamp};
use object_store::{ObjectStore, ObjectStoreExt};
use proptest::prelude::*;
use std::sync::Arc;

pub(super) const EVERYTHING: StartRange = Timestamp::MIN..=Timestamp::MAX;

fn block_on<T>(job: impl Future<Output = T>) -> T {
    tokio::runtime::Builder::new_current_thread().build().unwrap().block_on(job)
}

/// What both rounds read: the number of requests and calls that were counted, and what was taken.
async fn gathered(view: &View, read: &[StartRange]) -> ([u64; 2], SliceContents) {
    let mut units = view.units(read.to_vec());
    let counts = units.fold(Count { read: read.to_vec(), windows: read.to_vec() }).await.unwrap();
    let counted = counts.all();
    ([counted.requests, counted.calls], SliceContents::from_slices(&selected_slices(view, read, 0).await))
}

/// One request in 2^`level`, as a round takes them.
pub(super) async fn selected_slices(view: &View, read: &[StartRange], level: u32) -> Vec<RequestSlice> {
    let mut units = view.units(read.to_vec());
    let take = Take { read: read.to_vec(), levels: Levels::uniform(level) };
    let selected = units.fold(take).await.unwrap().into_slices();
    let facts = units.facts().map(|facts| RequestSlice { facts, ..RequestSlice::default() });
    selected.into_iter().chain(facts).collect()
}

fn counted(slices: &[Arc<RequestSlice>]) -> [u64; 2] {
    let requests = slices.iter().map(|slice| slice.requests.len() as u64);
    [requests.sum(), slices.iter().map(|slice| slice.calls.replica.len() as u64).sum()]
}

async fn of(batches: &[FlushBatch]) -> (Arc<dyn ObjectStore>, Segments) {
    let objects = empty_objects();
    let segments = open(&objects, &StoreSettings::default()).await;
    for batch in batches {
        segments.commit(Arc::new(batch.clone())).await.unwrap();
    }
    (objects, segments)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, ..ProptestConfig::default() })]

    #[test]
    fn units_have_all_requests_once_before_and_after_compaction(random_batches in spans()) {
        let mut batches = batches(&random_batches);
        batches.push(much_later());
        let expected = expected(&batches);
        let rounds = block_on(async {
            let (_, segments) = of(&batches).await;
            let view = segments.view();
            // Counted before anything is in memory: without calls.
            let before = gathered(&view, &[EVERYTHING]).await;
            let slices = view.requests(Timestamp::MIN, Timestamp::MAX).await.unwrap();
            compact_all(&segments).await;
            let after = gathered(&segments.view(), &[EVERYTHING]).await;
            [(before, counted(&slices)), (after, counted(&slices))]
        });
        for ((counts, selected), at_once) in rounds {
            prop_assert_eq!(counts, at_once);
            prop_assert_eq!(&selected, &expected);
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, ..ProptestConfig::default() })]

    #[test]
    fn a_view_samples_as_a_round_does(random_batches in spans(), level in 1_u32..4) {
        let mut batches = batches(&random_batches);
        batches.push(much_later());
        let sampled = async |view: &View| {
            let slices = view.sampled_requests(Timestamp::MIN, Timestamp::MAX, level).await.unwrap();
            let slices: Vec<RequestSlice> = slices.into_iter().map(Arc::unwrap_or_clone).collect();
            SliceContents::from_slices(&slices)
        };
        let (expected, found) = block_on(async {
            let (_, segments) = of(&batches).await;
            let expected = SliceContents::from_slices(&selected_slices(&segments.view(), &[EVERYTHING], level).await);
            let view = segments.view();
            let (first, cached) = (sampled(&view).await, sampled(&view).await);
            compact_all(&segments).await;
            (expected, [first, cached, sampled(&segments.view()).await])
        });
        for found in found {
            prop_assert_eq!(&found, &expected);
        }
    }
}

#[tokio::test]
async fn two_windows_that_share_a_segment_read_it_once() {
    let batches = [much_later()];
    let (_, segments) = of(&batches).await;
    let start = batches[0].spans[0].start;
    let (_, once) = gathered(&segments.view(), &[start..=start, EVERYTHING]).await;
    assert_eq!(once, expected(&batches));
    let (counts, outside) =
        gathered(&segments.view(), &[Timestamp::MIN..=start.minus(laggard_model::Nanos::from_ns(1))]).await;
    assert_eq!((counts, outside.requests.len()), ([0, 0], 0));
}

#[tokio::test]
async fn a_damaged_segment_is_set_aside_in_either_round() {
    let first = much_later();
    let mut second = much_later();
    second
        .spans
        .iter_mut()
        .for_each(|row| row.start = row.start.plus(laggard_model::Nanos::from_secs(9_000)));
    for kind in [FileKind::Requests, FileKind::Structures, FileKind::Calls] {
        let (objects, segments) = of(&[first.clone(), second.clone()]).await;
        let bad = segments.shared.manifest().segments[0].clone();
        assert_eq!(bad.kind, SegmentKind::Traces);
        let path = bad.path(kind);
        let mut bytes = objects.get(&path).await.unwrap().bytes().await.unwrap().to_vec();
        bytes[40] ^= 1;
        objects.put(&path, bytes.into()).await.unwrap();
        let (_, mut found) = gathered(&segments.view(), &[EVERYTHING]).await;
        assert_eq!(found.losses.remove(Loss::CorruptSegment.name()), Some(bad.spans), "{kind:?}");
        assert_eq!(found, expected(std::slice::from_ref(&second)), "{kind:?}");
        assert_eq!(segments.shared.manifest().quarantined.len(), 1);
        let again = answered(&segments.view()).await;
        assert_eq!(gathered(&segments.view(), &[EVERYTHING]).await.1, again, "it is reported from now on");
    }
}
