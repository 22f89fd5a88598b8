//! The complete write path over simulated log files.

use super::*;
use crate::clock::tests::ManualClock;
use crate::empty_objects::empty_objects;
use crate::log::simulated::{Fault, Simulated};
use crate::random_batches::{TestRng, batch};
use crate::{DurableFolder, KnownSegments, View};
use laggard_model::{Sink, SpanRecord, Timestamp};
use std::collections::BTreeMap;

struct Fixture {
    objects: Arc<dyn ObjectStore>,
    files: Simulated,
    clock: Arc<ManualClock>,
    settings: StoreSettings,
}

impl Fixture {
    fn new() -> Fixture {
        Fixture {
            objects: empty_objects(),
            files: Simulated::default(),
            clock: Arc::new(ManualClock::new()),
            settings: StoreSettings::default(),
        }
    }

    async fn open(&self) -> Store {
        let files = Arc::new(self.files.clone());
        Store::open_over(self.settings.clone(), self.objects.clone(), files, self.clock.clone())
            .await
            .unwrap()
    }
}

/// How often each span is stored, by its id.
async fn stored(view: &View) -> BTreeMap<u64, u32> {
    #[derive(Default)]
    struct Count(BTreeMap<u64, u32>);
    impl Sink for Count {
        fn span(&mut self, span: &SpanRecord<'_>) {
            *self.0.entry(span.span_id.value()).or_default() += 1;
        }
        fn call(&mut self, _: &laggard_model::CallRecord<'_>) {}
        fn lose(&mut self, _: laggard_model::Loss, _: &dyn Fn() -> String) {}
    }
    let mut count = Count::default();
    let lost = view.spans(Timestamp::MIN, Timestamp::MAX, &mut count).await.unwrap();
    assert!(lost.is_empty(), "{lost:?}");
    count.0
}

fn once(ids: std::ops::RangeInclusive<u64>) -> BTreeMap<u64, u32> {
    ids.map(|id| (id, 1)).collect()
}

fn problem(store: &Store, name: &str) -> bool {
    store.state().problems.iter().any(|problem| problem.name == name)
}

/// Waits for background work; the timeout allows for a busy machine.
async fn eventually(mut is_so: impl FnMut() -> bool) -> bool {
    for _ in 0..2000 {
        if is_so() {
            return true;
        }
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    false
}

#[tokio::test]
async fn appended_data_is_open_then_stored_and_the_log_is_emptied() {
    let fixture = Fixture::new();
    let store = fixture.open().await;
    store.append(batch(&[(1, 1), (2, 2)])).await.unwrap();
    store.append(batch(&[])).await.unwrap();
    store.append(batch(&[(1, 3)])).await.unwrap();
    let state = store.state();
    assert!(state.accepts && state.problems.is_empty(), "{:?}", state.problems);
    assert_eq!((state.spans_appended, state.open_traces, state.open_spans), (3, 2, 3));
    assert!(state.log_bytes > 100 && state.open_bytes > 0);
    assert!(stored(&store.view()).await.is_empty());
    store.flush().await.unwrap();
    assert_eq!(stored(&store.view()).await, once(1..=3));
    assert!(eventually(|| store.state().log_bytes == 0).await);
    let state = store.state();
    assert_eq!((state.open_spans, state.open_bytes, state.spans_stored), (0, 0, 3));
    store.close().await.unwrap();
    assert_eq!(store.append(batch(&[(1, 9)])).await, Err(AppendError::Closing));
    assert!(store.flush().await.is_err());
    assert_eq!(stored(&fixture.open().await.view()).await, once(1..=3));
}

#[tokio::test]
async fn data_written_since_a_position_is_known() {
    let fixture = Fixture::new();
    let store = fixture.open().await;
    let none = KnownSegments::default();
    assert_eq!(store.view().written_since(&none).extents, []);
    store.append(batch(&[(1, 1)])).await.unwrap();
    store.flush().await.unwrap();
    let first = store.view().written_since(&none);
    assert_eq!(first.extents.len(), 1);
    assert_eq!(store.view().written_since(&first.seen).extents, [], "nothing since");
    let stored = serde_json::to_string(&first.seen).unwrap();
    assert_eq!(serde_json::from_str::<KnownSegments>(&stored).unwrap(), first.seen);
    for other in ["1000", "[1,1]", "[]"] {
        let seen: KnownSegments = serde_json::from_str(other).unwrap();
        assert_eq!(store.view().written_since(&seen), first, "another store: all of it");
    }
    // A late span of the first trace: its request may begin up to an hour earlier.
    store.append(batch(&[(1, 2)])).await.unwrap();
    store.flush().await.unwrap();
    let since = store.view().written_since(&first.seen);
    assert_eq!(since.extents.len(), 1);
    assert!(since.extents[0].0 <= first.extents[0].0, "{since:?}");
    store.close().await.unwrap();
}

#[tokio::test]
async fn compaction_waits_while_memory_is_short() {
    let fixture = Fixture::new();
    fixture.settings.shared.set_compaction_bytes(1 << 20);
    let store = fixture.open().await;
    for id in 1..=8 {
        store.append(batch(&[(u128::from(id), id)])).await.unwrap();
        store.flush().await.unwrap();
    }
    store.compact().await.unwrap();
    assert_eq!(store.state().segments, 8);
    fixture.settings.shared.set_compaction_bytes(usize::MAX);
    store.compact().await.unwrap();
    assert_eq!(store.state().segments, 1);
    assert_eq!(stored(&store.view()).await, once(1..=8));
}

#[tokio::test]
async fn open_data_is_restored_after_a_power_loss() {
    let mut fixture = Fixture::new();
    let store = fixture.open().await;
    store.append(batch(&[(1, 1), (2, 2)])).await.unwrap();
    store.flush().await.unwrap();
    store.append(batch(&[(1, 3), (4, 4)])).await.unwrap();
    fixture.files = fixture.files.after_power_loss(&mut TestRng(1));
    drop(store);
    let store = fixture.open().await;
    assert_eq!((store.state().open_spans, store.state().problems.len()), (2, 0));
    assert!(store.state().open_bytes > 0);
    store.flush().await.unwrap();
    assert_eq!(stored(&store.view()).await, once(1..=4));
    assert_eq!(store.state().open_bytes, 0);
}

#[tokio::test]
async fn a_full_disk_rejects_batches_is_reported_and_recovers() {
    let fixture = Fixture::new();
    let store = fixture.open().await;
    store.append(batch(&[(1, 1)])).await.unwrap();
    fixture.files.fail(0, Fault::OutOfSpace(4));
    let rejected = store.append(batch(&[(1, 2)])).await;
    assert!(matches!(rejected, Err(AppendError::Storage(_))), "{rejected:?}");
    assert!(problem(&store, "disk_full") && !store.state().accepts);
    assert!(eventually(|| store.state().problems.is_empty()).await);
    store.append(batch(&[(1, 3)])).await.unwrap();
    store.close().await.unwrap();
    assert_eq!(stored(&store.view()).await, [(1, 1), (3, 1)].into());
}

#[tokio::test]
async fn failed_segment_writes_hold_data_back_and_recover() {
    let folder = tempfile::tempdir().unwrap();
    let (there, away) = (folder.path().join("segments"), folder.path().join("away"));
    std::fs::create_dir(&there).unwrap();
    let mut fixture = Fixture::new();
    fixture.objects = Arc::new(DurableFolder::open(&there).unwrap());
    fixture.settings.memory_bytes = 400_000;
    let store = fixture.open().await;
    std::fs::rename(&there, &away).unwrap();
    std::fs::write(&there, "in the way").unwrap();
    store.append(batch(&[(1, 1)])).await.unwrap();
    assert!(store.flush().await.is_err());
    assert!(problem(&store, "segments_unwritable"));
    let mut next = 2;
    let rejected = loop {
        let spans: Vec<(u128, u64)> = (next..next + 200).map(|id| (u128::from(id), id)).collect();
        match store.append(batch(&spans)).await {
            Ok(()) => next += 200,
            Err(rejected) => break rejected,
        }
        assert!(next < 10_000, "memory is bounded");
    };
    assert!(matches!(rejected, AppendError::Busy(_)), "{rejected:?}");
    std::fs::remove_file(&there).unwrap();
    std::fs::rename(&away, &there).unwrap();
    assert!(eventually(|| !problem(&store, "segments_unwritable")).await);
    store.flush().await.unwrap();
    assert_eq!(stored(&store.view()).await, once(1..=next - 1));
    assert_eq!(store.state().open_bytes, 0);
}

#[tokio::test]
async fn a_batch_larger_than_the_limit_is_rejected_permanently() {
    let mut fixture = Fixture::new();
    fixture.settings.memory_bytes = 100_000;
    let store = fixture.open().await;
    let spans: Vec<(u128, u64)> = (1..1000).map(|id| (1, id)).collect();
    let rejected = store.append(batch(&spans)).await;
    assert!(matches!(rejected, Err(AppendError::TooLarge { bytes_max: 50_000, .. })), "{rejected:?}");
}

#[tokio::test]
async fn low_memory_flushes_the_oldest_traces_early() {
    let mut fixture = Fixture::new();
    fixture.settings.memory_bytes = 1 << 20;
    let store = fixture.open().await;
    for number in 0..40 {
        let spans: Vec<(u128, u64)> =
            (1..=200).map(|id| (number * 200 + u128::from(id), number as u64 * 200 + id)).collect();
        // A slow machine may not free memory in time.
        let mut tries = 0;
        while store.append(batch(&spans)).await.is_err() {
            tries += 1;
            assert!(tries < 10, "no memory is freed");
        }
    }
    assert!(store.state().spans_stored > 0, "nothing is idle, the clock stands still");
    store.flush().await.unwrap();
    assert_eq!(stored(&store.view()).await, once(1..=8000));
}

#[tokio::test]
async fn idleness_is_measured_by_the_monotonic_clock() {
    let fixture = Fixture::new();
    let store = fixture.open().await;
    let spans: Vec<(u128, u64)> = (1..=25_000).map(|id| (u128::from(id) / 10, id)).collect();
    store.append(batch(&spans)).await.unwrap();
    // A day ahead, an hour back: no trace has been idle for ten seconds yet.
    fixture.clock.jump_secs(86_400);
    fixture.clock.pass(Duration::from_secs(9));
    assert!(eventually(|| problem(&store, "clock_jumped")).await);
    assert_eq!(store.state().spans_stored, 0);
    fixture.clock.jump_secs(-90_000);
    fixture.clock.pass(Duration::from_secs(2));
    assert!(eventually(|| store.state().spans_stored == 25_000).await);
    assert!(store.state().accepts, "reported, but nothing is blocked");
}

#[tokio::test]
async fn damage_of_the_log_is_reported_and_the_rest_is_read() {
    let fixture = Fixture::new();
    let store = fixture.open().await;
    for id in 1..=3 {
        store.append(batch(&[(1, id)])).await.unwrap();
    }
    drop(store);
    let name = fixture.files.list().unwrap().remove(0);
    fixture.files.damage(&name, |bytes| {
        bytes[40] ^= 1;
        bytes.extend([1, 2, 3]);
    });
    let store = fixture.open().await;
    assert!(problem(&store, "corrupt_log") && problem(&store, "torn_log"));
    assert!(store.state().accepts);
    store.flush().await.unwrap();
    assert_eq!(stored(&store.view()).await, once(2..=3));
}

#[tokio::test]
async fn a_store_of_another_server_now_rejects_what_comes() {
    let claim = crate::Claim::new(1, Some("its log is elsewhere".to_owned()));
    let mut fixture = Fixture::new();
    fixture.settings.claim = Some(claim.clone());
    let lost = async |store: &Store| {
        let slices = store.view().requests(Timestamp::MIN, Timestamp::MAX).await.unwrap();
        slices.iter().map(|slice| slice.facts.losses.count(laggard_model::Loss::CorruptLog)).sum::<u64>()
    };
    let store = fixture.open().await;
    store.append(batch(&[(1, 1)])).await.unwrap();
    store.flush().await.unwrap();
    assert!(problem(&store, "log_elsewhere") && lost(&store).await == 0, "it had nothing before");
    drop(store);
    fixture.files = Simulated::default();
    let store = fixture.open().await;
    store.append(batch(&[(1, 3)])).await.unwrap();
    store.flush().await.unwrap();
    assert_eq!(lost(&store).await, 1);
    assert!(store.state().accepts && !problem(&store, "writer_taken_over"));
    claim.lose("a test says so");
    let refused = store.append(batch(&[(2, 2)])).await;
    assert!(matches!(refused, Err(AppendError::Storage(_))), "{refused:?}");
    assert!(!store.state().accepts && problem(&store, "writer_taken_over"));
    assert_eq!(stored(&store.view()).await.len(), 2, "it still answers");
}
