//! Damaged and missing files: quarantined and reported; the rest is answered, and no readable data is lost.

use super::contents::{TextSink, answered, expected};
use super::random_spans::{flush_batch_of, samples};
use super::{SMALL, compact_all, open};
use crate::empty_objects::empty_objects;
use crate::segments::layout;
use crate::segments::manifest::{FileKind, Manifest, SegmentKind};
use crate::segments::{DurableFolder, Segments, SegmentsInner};
use crate::{FlushBatch, StoreSettings};
use futures::TryStreamExt;
use laggard_model::{Loss, Nanos, Timestamp, TraceId};
use object_store::path::Path;
use object_store::{ObjectStore, ObjectStoreExt};
use std::sync::Arc;

async fn of(batches: &[FlushBatch]) -> (Arc<dyn ObjectStore>, Segments) {
    let objects = empty_objects();
    let segments = open(&objects, &StoreSettings::default()).await;
    for batch in batches {
        segments.commit(Arc::new(batch.clone())).await.unwrap();
    }
    (objects, segments)
}

/// Changes one byte of a file.
async fn damage(objects: &dyn ObjectStore, path: &Path, index: usize) {
    let mut bytes = objects.get(path).await.unwrap().bytes().await.unwrap().to_vec();
    let position = index % bytes.len();
    bytes[position] ^= 0x10;
    objects.put(path, bytes.into()).await.unwrap();
}

async fn lost(segments: &Segments) -> u64 {
    answered(&segments.view()).await.losses.get(Loss::CorruptSegment.name()).copied().unwrap_or(0)
}

#[tokio::test]
async fn any_damaged_byte_is_detected_and_the_rest_is_answered() {
    let (first, second) = (flush_batch_of(1..4), flush_batch_of(10..12));
    for kind in [FileKind::Requests, FileKind::Calls, FileKind::Structures] {
        for position in [4, 100, 333, 700] {
            let (objects, segments) = of(&[first.clone(), second.clone()]).await;
            let bad = segments.shared.manifest().segments[0].clone();
            damage(&*objects, &bad.path(kind), position).await;
            let mut answer = answered(&segments.view()).await;
            assert_eq!(answer.losses.remove("corrupt_segment"), Some(6), "{kind:?} {position}");
            assert_eq!(answer, expected(std::slice::from_ref(&second)));
            // It remains quarantined, and is reported as long as its time is queried.
            let again = open(&objects, &StoreSettings::default()).await;
            assert_eq!(lost(&again).await, 6);
            let problems = again.figures().problems;
            assert_eq!((problems.len(), problems[0].name), (1, "corrupt_segment"));
            assert!(objects.head(&layout::quarantined(kind, bad.number)).await.is_ok());
            assert!(again.view().trace(TraceId::from_value(1)).await.unwrap().is_none());
            assert!(again.view().trace(TraceId::from_value(10)).await.unwrap().is_some());
        }
    }
}

#[tokio::test]
async fn damaged_missing_and_truncated_spans_are_detected_by_a_lookup() {
    for how in ["damaged rows", "damaged tail", "cut", "missing"] {
        let (objects, segments) = of(&[flush_batch_of(1..4), flush_batch_of(10..12)]).await;
        let bad = segments.shared.manifest().segments[0].clone();
        let path = bad.path(FileKind::Spans);
        let bytes = objects.get(&path).await.unwrap().bytes().await.unwrap();
        match how {
            "damaged rows" => damage(&*objects, &path, 20).await,
            "damaged tail" => damage(&*objects, &path, bytes.len() - 20).await,
            "cut" => drop(objects.put(&path, bytes.slice(..bytes.len() / 2).into()).await.unwrap()),
            _ => objects.delete(&path).await.unwrap(),
        }
        // The index of what was just written may still be in memory; a new process has nothing.
        drop(segments);
        let segments = open(&objects, &StoreSettings::default()).await;
        assert!(segments.view().trace(TraceId::from_value(2)).await.unwrap().is_none(), "{how}");
        assert!(segments.view().trace(TraceId::from_value(11)).await.unwrap().is_some(), "{how}");
        assert_eq!(lost(&segments).await, 6, "{how}");
    }
}

#[tokio::test]
async fn compaction_retains_all_readable_rows() {
    let batches =
        [flush_batch_of(1..4), flush_batch_of(10..12), flush_batch_of(20..23), flush_batch_of(2..3)];
    let (objects, segments) = of(&batches).await;
    let kinds: Vec<SegmentKind> =
        segments.shared.manifest().segments.iter().map(|segment| segment.kind).collect();
    assert_eq!(kinds, [SegmentKind::Traces, SegmentKind::Traces, SegmentKind::Traces, SegmentKind::Late]);
    let bad = segments.shared.manifest().segments[1].clone();
    objects.delete(&bad.path(FileKind::Spans)).await.unwrap();
    drop(segments);
    let segments = open(&objects, &StoreSettings::default()).await;
    let mut later = flush_batch_of(90..91);
    later.spans.iter_mut().for_each(|row| row.start = row.start.plus(Nanos::from_secs(9000)));
    segments.commit(Arc::new(later.clone())).await.unwrap();
    assert!(compact_all(&segments).await >= 2);
    let mut answer = answered(&segments.view()).await;
    let problems = segments.figures().problems;
    assert_eq!(answer.losses.remove("corrupt_segment"), Some(4), "{problems:?}");
    let rest = [batches[0].clone(), batches[2].clone(), batches[3].clone(), later];
    assert_eq!(answer, expected(&rest));
}

#[tokio::test]
async fn damaged_samples_are_reported_and_the_rest_is_returned() {
    let of_times = |times: &[i64]| FlushBatch { samples: samples(times), ..FlushBatch::default() };
    let (objects, segments) = of(&[of_times(&[1, 2, 3]), of_times(&[4, 5])]).await;
    let bad = segments.shared.manifest().segments[0].path(FileKind::Samples);
    damage(&*objects, &bad, 30).await;
    let mut exported = TextSink::default();
    let losses = segments.view().samples(Timestamp::MIN, Timestamp::MAX, &mut exported).await.unwrap();
    assert_eq!((exported.samples.len(), losses.count(Loss::CorruptSegment)), (2, 3));
}

/// Truncates a file.
async fn tear(objects: &dyn ObjectStore, path: &Path) {
    let bytes = objects.get(path).await.unwrap().bytes().await.unwrap();
    objects.put(path, bytes.slice(..bytes.len() - 9).into()).await.unwrap();
}

#[tokio::test]
async fn a_damaged_manifest_has_a_copy() {
    for how in ["torn", "missing", "its copy"] {
        let (objects, segments) = of(&[flush_batch_of(1..4), flush_batch_of(10..12)]).await;
        let number = segments.shared.manifest().number;
        drop(segments);
        match how {
            "torn" => tear(&*objects, &layout::manifest(number)).await,
            "missing" => objects.delete(&layout::manifest(number)).await.unwrap(),
            _ => tear(&*objects, &layout::manifest_copy(number)).await,
        }
        let segments = open(&objects, &StoreSettings::default()).await;
        assert_eq!(
            answered(&segments.view()).await,
            expected(&[flush_batch_of(1..4), flush_batch_of(10..12)]),
            "{how}"
        );
        let problems = segments.figures().problems;
        assert_eq!(problems.len(), usize::from(how != "its copy"), "{problems:?}");
        assert!(problems.iter().all(|notes| notes.text.contains("nothing is missing")), "{problems:?}");
        segments.commit(Arc::new(flush_batch_of(20..21))).await.unwrap();
        let again = open(&objects, &StoreSettings::default()).await;
        let all = [flush_batch_of(1..4), flush_batch_of(10..12), flush_batch_of(20..21)];
        assert_eq!(answered(&again.view()).await, expected(&all), "{how}");
        assert_eq!(again.figures().problems, []);
    }
}

#[tokio::test]
async fn a_torn_manifest_without_a_copy_falls_back_to_the_previous_one() {
    let (objects, segments) = of(&[flush_batch_of(1..4), flush_batch_of(10..12)]).await;
    let manifest = segments.shared.manifest();
    drop(segments);
    tear(&*objects, &layout::manifest(manifest.number)).await;
    tear(&*objects, &layout::manifest_copy(manifest.number)).await;
    let segments = open(&objects, &StoreSettings::default()).await;
    assert_eq!(answered(&segments.view()).await, expected(&[flush_batch_of(1..4)]));
    assert_eq!(segments.figures().problems[0].name, "corrupt_manifest");
    // The next commit follows it, and files that only the torn one named are never deleted.
    segments.commit(Arc::new(flush_batch_of(20..21))).await.unwrap();
    let again = open(&objects, &StoreSettings::default()).await;
    assert_eq!(answered(&again.view()).await, expected(&[flush_batch_of(1..4), flush_batch_of(20..21)]));
    let only_there = layout::quarantined(FileKind::Spans, manifest.segments[1].number);
    assert!(objects.head(&only_there).await.is_ok());
}

#[tokio::test]
async fn no_readable_manifest_is_an_error_and_a_later_version_is_not_touched() {
    let (objects, segments) = of(&[flush_batch_of(1..4)]).await;
    let number = segments.shared.manifest().number;
    drop(segments);
    let newer = Manifest { format: 99, number: 7, ..Manifest::empty() };
    newer.put(&*objects).await.unwrap();
    let opened = Segments::open(Arc::clone(&objects), &StoreSettings::default()).await;
    assert!(opened.err().unwrap().to_string().contains("version 99"));
    assert_eq!(objects.list(Some(&Path::from("spans"))).try_collect::<Vec<_>>().await.unwrap().len(), 1);
    objects.delete(&layout::manifest(7)).await.unwrap();
    objects.delete(&layout::manifest_copy(7)).await.unwrap();
    damage(&*objects, &layout::manifest(number), 50).await;
    damage(&*objects, &layout::manifest_copy(number), 50).await;
    let opened = Segments::open(objects, &StoreSettings::default()).await;
    assert!(
        opened.err().unwrap().to_string().contains("no earlier manifest"),
        "not treated as an empty store"
    );
}

#[tokio::test]
async fn two_writers_cannot_both_commit() {
    let (objects, segment) = of(&[flush_batch_of(1..4)]).await;
    let other = open(&objects, &StoreSettings::default()).await;
    segment.commit(Arc::new(flush_batch_of(10..11))).await.unwrap();
    let rejected = other.commit(Arc::new(flush_batch_of(20..21))).await.unwrap_err();
    assert!(rejected.to_string().contains("another process"), "{rejected}");
    assert_eq!(answered(&other.view()).await, expected(&[flush_batch_of(1..4)]));
}

#[tokio::test]
async fn a_commit_that_fails_on_a_full_disk_leaves_nothing_behind() {
    let folder = tempfile::tempdir().unwrap();
    let objects: Arc<dyn ObjectStore> = Arc::new(DurableFolder::open(folder.path()).unwrap());
    let settings = StoreSettings::default();
    let shared = SegmentsInner::open(Arc::clone(&objects), &settings, SMALL).await.unwrap();
    let segments = Segments { shared: Arc::new(shared) };
    segments.commit(Arc::new(flush_batch_of(1..4))).await.unwrap();
    // A file where a folder must be created simulates a full disk.
    std::fs::remove_dir_all(folder.path().join("staging")).unwrap();
    std::fs::write(folder.path().join("staging"), "").unwrap();
    assert!(segments.commit(Arc::new(flush_batch_of(10..12))).await.is_err());
    assert_eq!(answered(&segments.view()).await, expected(&[flush_batch_of(1..4)]));
    std::fs::remove_file(folder.path().join("staging")).unwrap();
    std::fs::create_dir(folder.path().join("staging")).unwrap();
    segments.commit(Arc::new(flush_batch_of(10..12))).await.unwrap();
    assert_eq!(answered(&segments.view()).await, expected(&[flush_batch_of(1..4), flush_batch_of(10..12)]));
}
