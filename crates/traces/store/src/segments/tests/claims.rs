//! Stores that several processes can reach: an owner that was replaced, and files that other processes read.

use super::open;
use super::retention::{HOUR, at_hour, files, hours, requests, with_hours};
use crate::empty_objects::empty_objects;
use crate::unreliable_objects::{Creation, UnreliableObjects};
use crate::{Claim, Segments, StoreSettings};
use laggard_model::Nanos;
use object_store::ObjectStore;
use std::sync::Arc;
use std::sync::atomic::Ordering;

fn claimed(number: u64) -> StoreSettings {
    StoreSettings { claim: Some(Claim::new(number, None)), ..StoreSettings::default() }
}

#[tokio::test]
async fn an_owner_that_was_replaced_can_write_nothing() {
    let objects = empty_objects();
    let first = open(&objects, &claimed(1)).await;
    first.commit(at_hour(1)).await.unwrap();
    let second = open(&objects, &claimed(2)).await;
    // As if each of the next manifests had been tried before: what is there may be its own.
    first.shared.attempted.store(u64::MAX, Ordering::Relaxed);
    let error = first.commit(at_hour(2)).await.unwrap_err().to_string();
    assert!(error.contains("taken over"), "{error}");
    second.commit(at_hour(3)).await.unwrap();
    for _ in 0..3 {
        first.commit(at_hour(2)).await.unwrap_err();
        first.retain(hours(1_000_000)).await.unwrap_err();
    }
    second.commit(at_hour(4)).await.unwrap();
    assert_eq!(requests(&second).await, 3);
    let error = Segments::open(Arc::clone(&objects), &claimed(1)).await.err().unwrap().to_string();
    assert!(error.contains("taken over"), "{error}");
    let third = open(&objects, &claimed(3)).await;
    assert_eq!(requests(&third).await, 3);
    assert_eq!(files(&objects).await, 3 * 4, "what the first wrote in vain is gone");
}

#[tokio::test]
async fn an_owner_that_was_replaced_writes_over_no_file_of_the_next() {
    let objects = empty_objects();
    let first = open(&objects, &claimed(1)).await;
    first.commit(at_hour(1)).await.unwrap();
    let second = open(&objects, &claimed(2)).await;
    second.commit(at_hour(3)).await.unwrap();
    // Until it tries to write a manifest, it does not know.
    first.commit(at_hour(2)).await.unwrap_err();
    second.release_memory();
    assert_eq!(requests(&second).await, 2);
    assert!(second.figures().problems.is_empty());
    let numbers = |segments: &Segments| -> Vec<u64> {
        segments.view().manifest.segments.iter().map(|segment| segment.number).collect()
    };
    assert_eq!(numbers(&second), [1, 1_000_002]);
}

#[tokio::test]
async fn an_answer_that_was_lost_is_no_other_owner() {
    let unreliable = Arc::new(UnreliableObjects::new(Creation::Honored));
    let objects: Arc<dyn ObjectStore> = Arc::clone(&unreliable) as _;
    for (number, creation) in [(1, Creation::RepeatsLost), (2, Creation::LosesAnswers)] {
        unreliable.set(creation);
        if creation == Creation::LosesAnswers {
            assert!(Segments::open(Arc::clone(&objects), &claimed(number)).await.is_err());
            unreliable.set(Creation::Honored);
        }
        let segments = open(&objects, &claimed(number)).await;
        unreliable.set(creation);
        let committed = segments.commit(at_hour(number as i64)).await;
        assert_eq!(committed.is_ok(), creation == Creation::RepeatsLost);
        unreliable.set(Creation::Honored);
        // The same batch again, as the flusher does: under the next number, and once.
        if committed.is_err() {
            segments.commit(at_hour(number as i64)).await.unwrap();
        }
        assert_eq!(requests(&segments).await, number as usize);
    }
    assert_eq!(requests(&open(&objects, &claimed(3)).await).await, 2);
}

#[tokio::test]
async fn replaced_files_stay_for_processes_that_read_them() {
    let settings = StoreSettings { keep_for: Some(HOUR), delete_after: HOUR, ..claimed(1) };
    let (objects, segments) = with_hours(&settings, 0..5).await;
    segments.retain(hours(3)).await.unwrap();
    assert_eq!((requests(&segments).await, files(&objects).await), (3, 5 * 4));
    drop(segments);
    let segments = open(&objects, &StoreSettings { claim: Some(Claim::new(2, None)), ..settings }).await;
    segments.compact_once().await.unwrap();
    assert_eq!(
        (requests(&segments).await, files(&objects).await),
        (3, 5 * 4),
        "nor does a new owner delete them at once"
    );
    let settings = StoreSettings { keep_for: Some(HOUR), delete_after: Nanos::from_ms(1), ..claimed(3) };
    let segments = open(&objects, &settings).await;
    segments.retain(hours(4)).await.unwrap();
    tokio::time::sleep(std::time::Duration::from_millis(5)).await;
    segments.compact_once().await.unwrap();
    assert_eq!((requests(&segments).await, files(&objects).await), (2, 2 * 4));
}
