//! Workers that read a store for a question, in this process.

use super::*;
use crate::{ReadLimits, StoredData, WorkerStore};
use async_trait::async_trait;
use laggard_engine::UnitId;
use laggard_params::{BaselineMode, DiagnoseParams};
use laggard_store::UnitWorkers;
use std::num::NonZeroUsize;
use std::sync::atomic::{AtomicU64, Ordering};

/// Computes units one after the other, and counts rounds.
struct TestWorkers {
    store: WorkerStore,
    rounds: AtomicU64,
}

#[async_trait]
impl UnitWorkers for TestWorkers {
    async fn compute(
        &self,
        round: Arc<[u8]>,
        units: &[UnitId],
        deliver: &mut (dyn FnMut(Vec<u8>) -> Result<(), String> + Send),
    ) -> Result<Vec<(UnitId, String)>, String> {
        self.rounds.fetch_add(1, Ordering::Relaxed);
        let round = self.store.round(&round).await.unwrap();
        for &unit in units {
            deliver(round.part(unit).await.unwrap())?;
        }
        Ok(Vec::new())
    }
}

fn open(folder: &str, calls_max: u64) -> StoredData {
    let threads = NonZeroUsize::new(2).unwrap();
    StoredData::open(folder, None, ReadLimits { memory_bytes: 1 << 30, calls_max, threads }).unwrap()
}

/// The report on all requests, or those of the last seconds, by threads and by workers, and in how many rounds workers read.
fn reports(folder: &str, calls_max: u64, seconds: i64) -> ([Value; 2], u64) {
    let since = format!("{}", START + (600 - seconds) * SECOND).parse().unwrap();
    let params =
        DiagnoseParams { since: Some(since), baseline: BaselineMode::None, ..DiagnoseParams::default() };
    let store = tokio::runtime::Runtime::new().unwrap().block_on(WorkerStore::open(folder, 1 << 30)).unwrap();
    let workers = Arc::new(TestWorkers { store, rounds: AtomicU64::new(0) });
    let by_threads = open(folder, calls_max).diagnose(&params).unwrap();
    let by_workers = open(folder, calls_max).with_workers(workers.clone()).diagnose(&params).unwrap();
    let reports = [by_threads, by_workers].map(|report| serde_json::to_value(report).unwrap());
    (reports, workers.rounds.load(Ordering::Relaxed))
}

#[tokio::test(flavor = "multi_thread")]
async fn windows_that_fit_are_read_by_workers_in_one_round() {
    let server = TestServer::with_shop().await;
    let folder = server.data.path().to_str().unwrap().to_owned();
    let compared = move || {
        for (calls_max, seconds, expected) in [(1_000_000, 600, 1), (1_000_000, 200, 1), (300, 600, 2)] {
            let ([by_threads, by_workers], rounds) = reports(&folder, calls_max, seconds);
            assert_eq!(by_workers, by_threads, "{calls_max} {seconds}");
            assert_eq!(rounds, expected, "{calls_max} {seconds}");
        }
    };
    tokio::task::spawn_blocking(compared).await.unwrap();
}
