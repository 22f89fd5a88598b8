//! Workers that read a store for a question, in this process.

use super::*;
use crate::{ReadLimits, StoredData, WorkerStore};
use async_trait::async_trait;
use laggard_engine::UnitId;
use laggard_model::mix64;
use laggard_params::{BaselineMode, DiagnoseParams};
use laggard_store::{UnitWorkers, WorkerRound};
use std::num::NonZeroUsize;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

/// Computes units one after the other, and counts rounds.
struct TestWorkers {
    /// The data folder.
    folder: String,
    rounds: AtomicU64,
    /// Of these, so many are computed; what goes wrong in the next one.
    rounds_max: u64,
    fault: Fault,
    repaired: AtomicBool,
    /// On which the order of the units depends, and how many processes read them.
    seed: u64,
    /// A server that merges segments after the first round was planned; with whether their files are gone then.
    merging: OnceLock<(Arc<Tenant>, bool)>,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Fault {
    /// They are gone after all units but one.
    Gone,
    /// One unit does not arrive, without an error.
    Loses,
    /// One unit arrives twice.
    Repeats,
}

impl TestWorkers {
    fn of(folder: &str) -> TestWorkers {
        TestWorkers {
            folder: folder.to_owned(),
            rounds: AtomicU64::new(0),
            rounds_max: u64::MAX,
            fault: Fault::Gone,
            repaired: AtomicBool::new(false),
            seed: 0,
            merging: OnceLock::new(),
        }
    }

    fn rounds(&self) -> u64 {
        self.rounds.load(Ordering::Relaxed)
    }
}

#[async_trait]
impl UnitWorkers for TestWorkers {
    async fn compute(
        &self,
        round: Arc<[u8]>,
        units: &[UnitId],
        deliver: &mut (dyn FnMut(Vec<u8>) -> Result<(), String> + Send),
    ) -> Result<Vec<(UnitId, String)>, String> {
        let number = self.rounds.fetch_add(1, Ordering::Relaxed);
        if let (0, Some((tenant, files_are_gone))) = (number, self.merging.get()) {
            merge_segments(tenant, &self.folder, *files_are_gone).await;
        }
        let mut processes = Vec::new();
        for _ in 0..=self.seed % 3 {
            let store = WorkerStore::open(&self.folder, 1 << 30).await.unwrap();
            let WorkerRound::Fold(round) = store.round(&round).await.unwrap() else {
                panic!("a fold was sent")
            };
            processes.push(round);
        }
        let mut order: Vec<(usize, UnitId)> = units.iter().copied().enumerate().collect();
        order.sort_by_key(|&(index, _)| mix64(self.seed ^ (index as u64 + 1)));
        let fails = number >= self.rounds_max && !self.repaired.load(Ordering::Relaxed);
        let mut unreadable = Vec::new();
        match self.fault {
            Fault::Repeats if fails => order.push(order[0]),
            Fault::Gone | Fault::Loses if fails => {
                order.remove(0);
            }
            _ => {}
        }
        for &(index, unit) in &order {
            match processes[index % processes.len()].part(unit).await {
                Ok(part) => deliver(part)?,
                Err(error) => unreadable.push((unit, error.to_string())),
            }
        }
        if fails && self.fault == Fault::Gone {
            return Err("w1:4320: connection refused".to_owned());
        }
        Ok(unreadable)
    }
}

/// Lets a server merge the two segments that it has, and waits until it has done so, or has deleted their files as well.
async fn merge_segments(tenant: &Tenant, folder: &str, files_are_gone: bool) {
    let late = ("api", "ping", SpanKind::Server);
    let mut later = Batch::default();
    later.span(&span(9_000, 1, None, late, ("api-1", Status::Ok, START + 1_800 * SECOND, MS)));
    tenant.append(later).await.unwrap();
    tenant.store.flush().await.unwrap();
    for _ in 0..1_000 {
        let left = if files_are_gone { span_files(folder) } else { tenant.store.figures().segments };
        if left <= 2 {
            return;
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    panic!("the segments are not merged");
}

fn span_files(folder: &str) -> u64 {
    let spans = Path::new(folder).join("tenants/default/segments/spans");
    let entries = |folder: &Path| std::fs::read_dir(folder).into_iter().flatten().flatten();
    entries(&spans).map(|slice| entries(&slice.path()).count() as u64).sum()
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
    let workers = Arc::new(TestWorkers::of(folder));
    let by_threads = open(folder, calls_max).diagnose(&params).unwrap();
    let by_workers = open(folder, calls_max).with_workers(workers.clone()).diagnose(&params).unwrap();
    let reports = [by_threads, by_workers].map(|report| serde_json::to_value(report).unwrap());
    (reports, workers.rounds())
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

const NEVER: (u64, Fault) = (u64::MAX, Fault::Gone);

/// A server with the shop, and its workers, which fail after some rounds.
async fn served(
    spans_min: u32,
    calls: u32,
    (rounds_max, fault): (u64, Fault),
) -> (TestServer, Arc<TestWorkers>) {
    let workers =
        |data: &Path| Arc::new(TestWorkers { rounds_max, fault, ..TestWorkers::of(data.to_str().unwrap()) });
    let mut made = None;
    let server = TestServer::with_workers(
        |settings| (settings.cluster.spans_min, settings.limits.calls) = (spans_min, calls),
        |data| Some(Arc::clone(made.insert(workers(data))) as _),
    );
    let server = server.await;
    server.append(shop()).await;
    (server, made.unwrap())
}

/// The bytes of a report.
async fn answer(server: &TestServer, question: &str, body: Value) -> Vec<u8> {
    let answered = server.post(&format!("/api/v1/{question}?wait=true"), body).await;
    assert_eq!(answered.status, StatusCode::OK, "{}", answered.text());
    answered.body
}

/// Problems of the whole server.
fn problems(server: &TestServer) -> Vec<&'static str> {
    server.state.issues.all().into_iter().map(|(kind, _)| kind.name()).collect()
}

fn questions() -> [(&'static str, Value); 3] {
    let middle = format!("{}", START + 300 * SECOND);
    [
        ("diagnose", serde_json::json!({"baseline": "none"})),
        ("diagnose", serde_json::json!({"since": middle})),
        ("compare", serde_json::json!({"since": middle})),
    ]
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_answers_with_workers_as_without_them() {
    for calls in [1_000_000, 300] {
        let (plain, unused) = served(10_000, calls, NEVER).await;
        let (server, workers) = served(0, calls, NEVER).await;
        for (question, body) in questions() {
            let expected = answer(&plain, question, body.clone()).await;
            let before = workers.rounds();
            assert_eq!(answer(&server, question, body.clone()).await, expected, "{calls} {question} {body}");
            assert!(workers.rounds() > before, "{calls} {question} {body}");
        }
        assert_eq!(unused.rounds(), 0, "the window is too small for workers");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_whose_workers_fail_reads_the_store_itself() {
    let (plain, _) = served(10_000, 300, NEVER).await;
    let faults = [Fault::Gone, Fault::Loses, Fault::Repeats];
    for (fault, rounds_max) in faults.into_iter().flat_map(|fault| [(fault, 0), (fault, 1)]) {
        for (question, body) in questions() {
            let (server, workers) = served(0, 300, (rounds_max, fault)).await;
            let expected: Value =
                serde_json::from_slice(&answer(&plain, question, body.clone()).await).unwrap();
            let mut found: Value =
                serde_json::from_slice(&answer(&server, question, body.clone()).await).unwrap();
            assert_eq!(workers.rounds(), rounds_max + 1, "they are not asked again for this question");
            let caution = found["cautions"].as_array_mut().unwrap().pop().unwrap();
            assert_eq!(
                caution,
                "Read by the server itself, since its workers failed; its log has the reason."
            );
            assert_eq!(found, expected, "{fault:?} {rounds_max} {question} {body}");
            assert_eq!(problems(&server), ["workers_failed"]);
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn failed_workers_are_a_problem_until_they_read_again() {
    let (server, workers) = served(0, 300, (0, Fault::Gone)).await;
    let (question, body) = questions()[0].clone();
    assert_eq!(problems(&server), [""; 0]);
    answer(&server, question, body.clone()).await;
    assert_eq!(problems(&server), ["workers_failed"]);
    workers.repaired.store(true, Ordering::Relaxed);
    answer(&server, question, body).await;
    assert_eq!(problems(&server), [""; 0]);
}

/// Those spans of a batch for which something holds.
fn only(batch: &Batch, is_one: impl Fn(&SpanRow) -> bool) -> Batch {
    let mut part = batch.clone();
    part.spans.retain(is_one);
    part
}

/// The shop in several segments: traces that are whole, traces whose calls came late, so that one segment has no other, and one
/// trace that is larger than a row group.
async fn of_many_segments() -> TestServer {
    let server = TestServer::with(|settings| settings.store.upkeep = Length::from_secs(3_600)).await;
    let shop = shop();
    let third = |row: &SpanRow| row.trace.value() % 3;
    let is_late = |row: &SpanRow| third(row) == 1 && row.trace.value() < 1_000;
    for part in [
        only(&shop, |row| third(row) == 0),
        only(&shop, |row| is_late(row) && row.parent.is_none()),
        only(&shop, |row| third(row) == 2),
        only(&shop, |row| is_late(row) && row.parent.is_some()),
        only(&shop, |row| third(row) == 1 && !is_late(row)),
        large_trace(),
    ] {
        assert!(!part.spans.is_empty());
        server.append(part).await;
    }
    server
}

/// A request with 40,000 calls.
fn large_trace() -> Batch {
    let (mut batch, trace) = (Batch::default(), 5_000);
    let start = START + 400 * SECOND;
    let web = ("web-1", Status::Ok, start, 2 * SECOND);
    batch.span(&span(trace, 1, None, ("web", "report", SpanKind::Server), web));
    for call in 0..40_000_i64 {
        let read = ("db-1", Status::Ok, start + call * MS / 25, MS / 50);
        batch.span(&span(trace, 2 + call as u64, Some(1), ("db", "read", SpanKind::Server), read));
    }
    batch
}

#[tokio::test(flavor = "multi_thread")]
async fn units_in_any_order_from_any_number_of_processes_give_one_report() {
    let server = of_many_segments().await;
    let folder = server.data.path().to_str().unwrap().to_owned();
    let compared = move || {
        let params = DiagnoseParams { baseline: BaselineMode::None, ..DiagnoseParams::default() };
        for calls_max in [1_000_000, 300] {
            let report = |seed: Option<u64>| {
                let data = open(&folder, calls_max);
                let data = match seed {
                    Some(seed) => {
                        data.with_workers(Arc::new(TestWorkers { seed, ..TestWorkers::of(&folder) }))
                    }
                    None => data,
                };
                serde_json::to_string(&data.diagnose(&params).unwrap()).unwrap()
            };
            let expected = report(None);
            assert!(expected.contains("\"spans\":40611") && expected.contains("\"read\""), "{expected}");
            for seed in 0..8 {
                assert!(report(Some(seed)) == expected, "{calls_max} calls, order {seed}");
            }
        }
    };
    tokio::task::spawn_blocking(compared).await.unwrap();
}

/// A server whose two segments are merged as soon as there is a later one.
async fn of_two_segments(workers: impl FnOnce(&Path) -> Option<Arc<dyn UnitWorkers>>) -> TestServer {
    let change = |settings: &mut ServeSettings| {
        settings.store.upkeep = Length::from_millis(20);
        settings.cluster.spans_min = 0;
    };
    let server = TestServer::with_workers(change, workers).await;
    let shop = shop();
    for odd in [0, 1] {
        server.append(only(&shop, |row| row.trace.value() % 2 == odd)).await;
    }
    assert_eq!(server.tenant.store.figures().segments, 2);
    server
}

#[tokio::test(flavor = "multi_thread")]
async fn segments_that_are_replaced_during_a_question_are_read_again_by_another_process() {
    let server = of_two_segments(|_| None).await;
    let (folder, tenant) = (server.data.path().to_str().unwrap().to_owned(), server.tenant.clone());
    let compared = move || {
        let params = DiagnoseParams {
            until: Some(format!("{}", START + 600 * SECOND).parse().unwrap()),
            baseline: BaselineMode::None,
            ..DiagnoseParams::default()
        };
        let expected = serde_json::to_string(&open(&folder, 1_000_000).diagnose(&params).unwrap()).unwrap();
        let workers = Arc::new(TestWorkers::of(&folder));
        assert!(workers.merging.set((tenant, true)).is_ok());
        let data = open(&folder, 1_000_000).with_workers(workers.clone());
        assert_eq!(serde_json::to_string(&data.diagnose(&params).unwrap()).unwrap(), expected);
        assert_eq!(workers.rounds(), 2, "the first round read what is gone");
    };
    tokio::task::spawn_blocking(compared).await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn segments_that_a_server_replaces_during_its_own_question_stay_until_it_is_answered() {
    let mut made = None;
    let server = of_two_segments(|data| {
        Some(Arc::clone(made.insert(Arc::new(TestWorkers::of(data.to_str().unwrap())))) as _)
    });
    let server = server.await;
    let workers = made.unwrap();
    let question = serde_json::json!({"until": format!("{}", START + 600 * SECOND), "baseline": "none"});
    let expected = {
        let plain = of_two_segments(|_| None).await;
        answer(&plain, "diagnose", question.clone()).await
    };
    assert!(workers.merging.set((server.tenant.clone(), false)).is_ok());
    let found = answer(&server, "diagnose", question).await;
    assert_eq!(String::from_utf8(found), String::from_utf8(expected));
    assert_eq!(workers.rounds(), 1);
}
