//! Readers beside a writer: they answer what the writer does, and change nothing.

use super::contents::{SliceContents, answered, expected};
use super::random_spans::{batches, much_later, spans};
use super::units::{EVERYTHING, selected_slices};
use super::{compact_all, open};
use crate::empty_objects::empty_objects;
use crate::segments::manifest::FileKind;
use crate::segments::{Segments, StoreReader, layout};
use crate::{FlushBatch, StoreSettings};
use futures::TryStreamExt;
use laggard_model::{Loss, Timestamp, TraceId};
use object_store::path::Path;
use object_store::{ObjectStore, ObjectStoreExt};
use proptest::prelude::*;
use std::collections::BTreeMap;
use std::sync::Arc;

/// One trace a batch, so that there is a segment for each, some of them small enough to be merged.
fn traces(numbers: std::ops::Range<u128>) -> Vec<FlushBatch> {
    let batch = |number| {
        let mut batch = much_later();
        batch.spans.iter_mut().for_each(|row| row.trace = TraceId::from_value(number));
        batch
    };
    numbers.map(batch).collect()
}

async fn of(batches: &[FlushBatch]) -> (Arc<dyn ObjectStore>, Segments) {
    let objects = empty_objects();
    let segments = open(&objects, &StoreSettings::default()).await;
    for batch in batches {
        segments.commit(Arc::new(batch.clone())).await.unwrap();
    }
    (objects, segments)
}

async fn reader(objects: &Arc<dyn ObjectStore>) -> StoreReader {
    StoreReader::open(Arc::clone(objects), &StoreSettings::default()).await.unwrap()
}

/// All objects and what they contain.
async fn contents(objects: &Arc<dyn ObjectStore>) -> BTreeMap<String, bytes::Bytes> {
    let listed: Vec<_> = objects.list(None).try_collect().await.unwrap();
    let mut all = BTreeMap::new();
    for object in listed {
        let bytes = objects.get(&object.location).await.unwrap().bytes().await.unwrap();
        all.insert(object.location.to_string(), bytes);
    }
    all
}

async fn overwrite(objects: &Arc<dyn ObjectStore>, path: &Path) {
    objects.put(path, "damaged".into()).await.unwrap();
}

/// What a reader says that cannot be opened.
async fn refused(objects: &Arc<dyn ObjectStore>) -> String {
    let opened = StoreReader::open(Arc::clone(objects), &StoreSettings::default()).await;
    opened.err().expect("it cannot be opened").to_string()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 12, ..ProptestConfig::default() })]

    #[test]
    fn a_reader_answers_what_the_writer_does_before_and_after_compaction(random_batches in spans()) {
        let mut batches = batches(&random_batches);
        batches.push(much_later());
        let expected = expected(&batches);
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        let answers = runtime.block_on(async {
            let (objects, segments) = of(&batches).await;
            let reader = reader(&objects).await;
            let before = answered(&reader.views().newest()).await;
            compact_all(&segments).await;
            reader.refresh().await.unwrap();
            [before, answered(&reader.views().newest()).await]
        });
        for answer in answers {
            prop_assert_eq!(&answer, &expected);
        }
    }
}

#[tokio::test]
async fn nothing_is_changed_by_a_reader_even_where_files_are_damaged_or_not_named() {
    let (objects, segments) = of(&traces(1..4)).await;
    let bad = segments.shared.manifest().segments[1].clone();
    overwrite(&objects, &bad.path(FileKind::Requests)).await;
    // A writer that commits has files which no manifest names yet.
    objects.put(&Path::from("spans/0/000000000099.parquet"), "begun".into()).await.unwrap();
    let before = contents(&objects).await;
    let view = reader(&objects).await.views().newest();
    let mut answer = answered(&view).await;
    assert_eq!(answer.losses.remove(Loss::CorruptSegment.name()), Some(bad.spans));
    assert_eq!(answer, expected(&[traces(1..2), traces(3..4)].concat()));
    assert_eq!(contents(&objects).await, before);
    let again = answered(&view).await;
    assert_eq!(again.losses.get(Loss::CorruptSegment.name()), Some(&bad.spans), "it is counted each time");
}

#[tokio::test]
async fn what_a_writer_has_replaced_is_no_damage_and_is_found_after_a_refresh() {
    let batches = [traces(1..20), vec![much_later()]].concat();
    let (objects, segments) = of(&batches).await;
    let reader = reader(&objects).await;
    assert!(!reader.refresh().await.unwrap(), "nothing was written since");
    let view = reader.views().newest();
    assert!(compact_all(&segments).await > 0);
    let error = view.requests(Timestamp::MIN, Timestamp::MAX).await.unwrap_err();
    assert!(error.to_string().ends_with("was replaced while it was read"), "{error}");
    assert!(reader.refresh().await.unwrap());
    assert_eq!(answered(&reader.views().newest()).await, expected(&batches));
}

#[tokio::test]
async fn a_store_that_is_gone_is_an_error_and_not_empty() {
    let (objects, _) = of(&traces(1..4)).await;
    let reader = reader(&objects).await;
    let all: Vec<_> = objects.list(None).map_ok(|found| found.location).try_collect().await.unwrap();
    for path in all {
        objects.delete(&path).await.unwrap();
    }
    let error = reader.refresh().await.unwrap_err().to_string();
    assert!(error.contains("is it mounted?"), "{error}");
    assert!(reader.views().newest().extent().is_some(), "what was read stays known");
}

#[tokio::test]
async fn an_earlier_manifest_does_not_stand_in_for_one_that_cannot_be_read() {
    let (objects, segments) = of(&traces(1..4)).await;
    let newest = segments.shared.manifest().number;
    let all = expected(&traces(1..4));
    overwrite(&objects, &layout::manifest(newest)).await;
    assert_eq!(answered(&reader(&objects).await.views().newest()).await, all, "its copy can be read");
    overwrite(&objects, &layout::manifest_copy(newest)).await;
    let error = refused(&objects).await;
    let path = layout::manifest(newest).to_string();
    assert!(error.starts_with(&path) && error.contains("laggard store repair"), "{error}");
    let manifests: Vec<_> = objects.list(Some(&Path::from("manifest"))).try_collect().await.unwrap();
    for manifest in manifests {
        objects.delete(&manifest.location).await.unwrap();
    }
    let error = refused(&objects).await;
    assert!(error.contains("no manifest that names them"), "{error}");
}

#[tokio::test]
async fn a_store_of_a_later_version_is_refused_and_an_empty_one_is_empty() {
    let objects = empty_objects();
    assert_eq!(reader(&objects).await.views().newest().extent(), None);
    let body = "{\"format\":9,\"number\":1}\n";
    let text = format!("{body}{{\"crc32c\":{}}}\n", crc32c::crc32c(body.as_bytes()));
    objects.put(&layout::manifest(1), text.into()).await.unwrap();
    let error = refused(&objects).await;
    assert!(error.starts_with("the store is of version 9"), "{error}");
}

#[tokio::test]
async fn the_stores_of_several_writers_are_read_as_one() {
    let (first, first_writer) = of(&traces(1..9)).await;
    let (second, second_writer) = of(&traces(9..12)).await;
    let (third, _) = of(&[]).await;
    let all = || vec![Arc::clone(&first), Arc::clone(&second), Arc::clone(&third)];
    let before = contents(&second).await;
    let reader = StoreReader::open_all(all(), &StoreSettings::default()).await.unwrap();
    assert_eq!(answered(&reader.views().newest()).await, expected(&traces(1..12)));
    let view = reader.views().newest();
    let trace = view.trace(TraceId::from_value(10)).await.unwrap().unwrap();
    assert_eq!(trace.spans[0].trace, TraceId::from_value(10));
    assert!(!reader.refresh().await.unwrap(), "nothing was written since");
    assert_eq!(contents(&second).await, before);
    // Each writer goes on by itself.
    let late = Arc::new(traces(12..13).remove(0));
    second_writer.commit(late).await.unwrap();
    first_writer.commit(Arc::new(much_later())).await.unwrap();
    assert!(compact_all(&first_writer).await > 0);
    assert!(reader.refresh().await.unwrap());
    let now = [traces(1..13), vec![much_later()]].concat();
    assert_eq!(answered(&reader.views().newest()).await, expected(&now));
    let bad = second_writer.shared.manifest().segments[0].clone();
    overwrite(&second, &bad.path(FileKind::Requests)).await;
    let damaged = StoreReader::open_all(all(), &StoreSettings::default()).await.unwrap();
    let losses = answered(&damaged.views().newest()).await.losses;
    assert_eq!(losses.get(Loss::CorruptSegment.name()), Some(&bad.spans));
}

/// What a reader of several writers answers, at once and by units, where each batch was committed by one of them.
async fn of_writers(batches: &[FlushBatch], writers: &[u8], compact_after: u8) -> [SliceContents; 2] {
    let mut stores = Vec::new();
    for _ in 0..3 {
        stores.push(of(&[]).await);
    }
    for (index, batch) in batches.iter().enumerate() {
        let (_, segments) = &stores[usize::from(writers[index])];
        segments.commit(Arc::new(batch.clone())).await.unwrap();
        if compact_after >> index & 1 == 1 {
            compact_all(segments).await;
        }
    }
    let objects = stores.iter().map(|(objects, _)| Arc::clone(objects)).collect();
    let view = StoreReader::open_all(objects, &StoreSettings::default()).await.unwrap().views().newest();
    let by_units = selected_slices(&view, &[EVERYTHING], 0).await;
    [answered(&view).await, SliceContents::from_slices(&by_units)]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, ..ProptestConfig::default() })]

    #[test]
    fn spans_of_a_trace_may_be_stored_by_several_writers(
        random_batches in spans(),
        writers in proptest::collection::vec(0_u8..3, 7),
        compact_after in any::<u8>(),
    ) {
        let mut batches = batches(&random_batches);
        batches.push(much_later());
        let expected = expected(&batches);
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        for answer in runtime.block_on(of_writers(&batches, &writers, compact_after)) {
            prop_assert_eq!(&answer, &expected);
        }
    }
}

/// The pages' charts, too, and the same after more was stored.
#[tokio::test]
async fn a_split_trace_is_one_before_and_after_a_refresh() {
    let [whole, other] = [traces(1..2).remove(0), traces(2..3).remove(0)];
    let parts = [0, 1].map(|part| {
        let mut batch = whole.clone();
        batch.spans[0].span = laggard_model::SpanId::new(part + 1).unwrap();
        batch.spans[0].parent = laggard_model::SpanId::new(part);
        batch
    });
    let (first, _first_writer) = of(&parts[..1]).await;
    let (second, second_writer) = of(&[other]).await;
    let reader = StoreReader::open_all(vec![first, second], &StoreSettings::default()).await.unwrap();
    assert_eq!(answered(&reader.views().newest()).await.counts[0], 2);
    second_writer.commit(Arc::new(parts[1].clone())).await.unwrap();
    assert!(reader.refresh().await.unwrap());
    let view = reader.views().newest();
    let contents = answered(&view).await;
    assert_eq!((contents.counts, contents.requests.len()), ([2, 3, 3], 2));
    let minute = laggard_model::Nanos::from_secs(60);
    let summaries = view.summaries(Timestamp::MIN, Timestamp::MAX, minute).await.unwrap();
    let requests = summaries.iter().flat_map(|summary| &summary.cells).map(|cell| cell.requests);
    assert_eq!(requests.sum::<u64>(), 2);
}
