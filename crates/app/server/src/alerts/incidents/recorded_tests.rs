//! Verdicts about waits from spans with thread ids and the recordings of two hosts.

use super::super::detection::Detection;
use super::super::finding::AlertFinding;
use super::super::lifecycle::tests::{evaluated, rules, time};
use super::super::lifecycle::{AlertList, Interval};
use super::super::store_reader::{ReadError, StoreReader};
use super::verdict::Evidence;
use super::*;
use crate::events::TenantEvents;
use crate::operations::ProcessMemory;
use crate::recordings::{AgentStatus, RecordingRequest, TenantRecordings, UploadResult};
use crate::settings::RecordingSettings;
use laggard_engine::Batch;
use laggard_model::{
    Nanos, ReplicaSource, Sampling, Sink, SpanAttributes, SpanId, SpanKind, SpanRecord, Status, Tid, TraceId,
};
use laggard_params::Window;
use laggard_report::ClauseKind;
use laggard_store::{DurableFolder, Store, StoreSettings};
use laggard_testkit::{RecordedInstant, WORKER, WorkerWait, worker_recording};
use std::num::NonZeroUsize;
use std::sync::Arc;
use tempfile::TempDir;

/// Milliseconds from one call of a replica to the next.
const EVERY_MS: u64 = 200;
/// Minutes of data, and when the second replica becomes slow.
const MINUTES: u64 = 6;
const ONSET: u64 = 4;
const HOSTS: [&str; 3] = ["web-1", "web-2", "web-3"];

fn start_of(call: u64) -> Timestamp {
    time(0).plus(Nanos::from_ms(call * EVERY_MS))
}

fn wait_of(host: &str, call: u64) -> WorkerWait {
    match host {
        "web-2" if call * EVERY_MS >= ONSET * 60_000 => WorkerWait::Lock(30),
        _ => WorkerWait::Lock(1 + call % 2),
    }
}

/// Calls of an operation by three replicas, each in its own trace.
#[derive(Clone, Copy)]
struct Calls<'a> {
    operation: &'a str,
    first_trace: u128,
    /// Time of a call by its replica and number, in nanoseconds.
    time_ns: fn(&str, u64) -> u64,
    /// The thread that their spans have.
    tid: Option<Tid>,
}

fn buy(tid: Option<Tid>) -> Calls<'static> {
    Calls { operation: "buy", first_trace: 1, time_ns: |replica, call| wait_of(replica, call).call_ns(), tid }
}

fn add_calls(batch: &mut Batch, calls: &Calls<'_>) {
    for call in 0..MINUTES * 60_000 / EVERY_MS {
        for (at, replica) in HOSTS.into_iter().enumerate() {
            batch.span(&SpanRecord {
                trace_id: TraceId::from_value(u128::from(call) * 8 + at as u128 + calls.first_trace),
                trace_text: None,
                span_id: SpanId::new(1).unwrap(),
                parent: None,
                service: "shop",
                replica,
                replica_source: ReplicaSource::Host,
                operation: calls.operation,
                kind: SpanKind::Server,
                status: Status::Ok,
                start: start_of(call),
                inclusive: Nanos::from_ns((calls.time_ns)(replica, call)),
                sampling: Sampling::default(),
                attributes: SpanAttributes { thread: calls.tid, ..SpanAttributes::default() },
            });
        }
    }
}

/// The recording of a host's agent: its calls within the requested time.
fn recording(request: &RecordingRequest) -> Vec<u8> {
    const CLOCK_NS: u64 = 50_000_000_000;
    let calls = (0..MINUTES * 60_000 / EVERY_MS)
        .map(|call| (call, start_of(call).unix_ns()))
        .filter(|(_, start)| (request.since_ns..request.until_ns).contains(start));
    let calls: Vec<(u64, WorkerWait)> = calls
        .map(|(call, start)| (CLOCK_NS + (start - request.since_ns) as u64, wait_of(&request.host, call)))
        .collect();
    worker_recording(&calls, Some(RecordedInstant { clock_ns: CLOCK_NS, unix_ns: request.since_ns as u64 }))
}

struct RecordedIncident {
    folder: TempDir,
    runtime: tokio::runtime::Runtime,
    store: Store,
    recordings: TenantRecordings,
    events: TenantEvents,
    detection: Detection,
    list: AlertList,
}

impl RecordedIncident {
    /// An incident about `buy` of one replica.
    fn new(tid: Option<Tid>) -> RecordedIncident {
        RecordedIncident::about("shop buy", &[buy(tid)])
    }

    fn about(operation: &str, calls: &[Calls<'_>]) -> RecordedIncident {
        let mut batch = Batch::default();
        calls.iter().for_each(|calls| add_calls(&mut batch, calls));
        let folder = tempfile::tempdir().unwrap();
        let runtime = tokio::runtime::Runtime::new().unwrap();
        let store = runtime.block_on(async {
            let objects = Arc::new(DurableFolder::open(&folder.path().join("segments")).unwrap());
            let store = Store::open(StoreSettings::default(), objects, folder.path()).await.unwrap();
            store.append(batch).await.unwrap();
            store.flush().await.unwrap();
            store
        });
        let allowed = RecordingSettings { hosts: vec!["web-*".to_owned()], ..RecordingSettings::default() };
        let mut list = AlertList::default();
        for minute in 0..3 {
            let mut evaluation = evaluated(&[operation], minute);
            evaluation.findings[0].replicas = vec!["web-2".to_owned()];
            list.apply(&evaluation, rules(), time(minute));
        }
        let interval =
            |from: u64, to: u64| Interval::from(Window { since: time(from as i64), until: time(to as i64) });
        let alert = &mut list.active[0];
        (alert.window, alert.baseline) = (interval(ONSET, MINUTES), interval(0, ONSET));
        alert.healthy_ns = time(ONSET as i64).unix_ns();
        assert!(matches!(alert.finding, AlertFinding::Operation(_)));
        RecordedIncident {
            recordings: TenantRecordings::open(folder.path(), &allowed).unwrap(),
            events: TenantEvents::open(folder.path(), None).unwrap(),
            detection: Detection::from_settings(&crate::AlertSettings::default()),
            folder,
            runtime,
            store,
            list,
        }
    }

    /// When the verdict is reached.
    fn at() -> Timestamp {
        time(MINUTES as i64)
    }

    fn poll(&self, host: &str) -> Vec<RecordingRequest> {
        let status = AgentStatus {
            host: host.to_owned(),
            polled_ns: Self::at().unix_ns(),
            recording: true,
            note: String::new(),
        };
        self.recordings.poll(status, Vec::new()).requests
    }

    fn reader(&self, memory: ProcessMemory) -> StoreReader {
        StoreReader {
            view: self.store.view(),
            handle: self.runtime.handle().clone(),
            memory_bytes: 1 << 28,
            memory: Arc::new(memory),
            threads: NonZeroUsize::MIN,
        }
    }

    /// `newest`: until when spans are stored.
    fn verdict(&self, newest: Timestamp) -> IncidentVerdict {
        let reader = self.reader(ProcessMemory::new(None));
        let evidence = Evidence {
            reader: &reader,
            events: &self.events,
            recordings: &self.recordings,
            detection: &self.detection,
            list: &self.list,
            at: Self::at(),
            newest: Some(newest),
        };
        evidence.verdict(&self.list.incidents[0]).expect("a verdict").0
    }

    /// The verdict before and after both recordings have arrived.
    fn verdicts(&self) -> [IncidentVerdict; 2] {
        HOSTS.iter().for_each(|host| assert_eq!(self.poll(host), []));
        let before = self.verdict(Self::at());
        let requests: Vec<RecordingRequest> = HOSTS.iter().flat_map(|host| self.poll(host)).collect();
        assert_eq!(requests.iter().filter(|request| request.host == "web-2").count(), 1);
        assert_eq!(requests.len(), 2, "a culprit and a peer");
        for request in &requests {
            let path = self.folder.path().join("uploaded");
            std::fs::write(&path, recording(request)).unwrap();
            assert_eq!(self.recordings.store(&request.id, &path, Self::at()).unwrap(), UploadResult::Stored);
        }
        let early = self.verdict(Self::at().minus(Nanos::from_secs(5)));
        assert_eq!((early.recordings, wait_clause(&early)), (0, None), "spans are still to come");
        [before, self.verdict(Self::at())]
    }
}

fn wait_clause(verdict: &IncidentVerdict) -> Option<&str> {
    let mut clauses = verdict.clauses.iter().filter(|clause| clause.kind == ClauseKind::Wait);
    clauses.next().map(|clause| clause.text.as_str())
}

#[test]
fn waits_are_attributed_to_calls_with_thread_ids() {
    let [before, after] = RecordedIncident::new(Some(Tid(WORKER as u32))).verdicts();
    assert_eq!((before.recordings, wait_clause(&before)), (0, None));
    let wait = wait_clause(&after).unwrap_or_else(|| panic!("{:#?}", after.clauses));
    assert!(wait.contains("`other`, which ran"), "{wait}");
    assert!(
        wait.starts_with("All 49 executions are slower") || wait.starts_with("All 50 executions"),
        "{wait}"
    );
    assert_eq!((after.recordings, after.class), (2, Some(laggard_report::CauseClass::Waiting)));
}

#[test]
fn requests_are_read_only_if_memory_for_their_evaluation_is_free() {
    let incident = RecordedIncident::new(None);
    let ever = Window { since: Timestamp::MIN, until: Timestamp::MAX };
    let full = incident.reader(ProcessMemory::with_resident(100 << 20, 67 << 20));
    assert!(matches!(full.requests(&[ever]), Err(ReadError::NoMemory(bytes)) if bytes > 300_000));
    let free = incident.reader(ProcessMemory::with_resident(1 << 30, 60 << 20));
    let sample = free.requests(&[ever]).unwrap_or_else(|error| panic!("{error:?}"));
    let all = 622 << 20;
    assert!(
        free.memory.reserve_in_background(all).is_none() && !sample.requests.is_empty(),
        "some of it is reserved"
    );
    drop(sample);
    assert!(free.memory.reserve_in_background(all).is_some(), "80 % of 853 MiB, less 60");
}

#[test]
fn thread_ids_that_never_ran_are_not_kernel_threads() {
    for tid in [None, Some(Tid(7))] {
        let [_, after] = RecordedIncident::new(tid).verdicts();
        assert_eq!(after.recordings, 2);
        let wait = wait_clause(&after).unwrap_or_default();
        assert!(!wait.contains("All 50 executions") && !wait.contains("All 49 executions"), "{wait}");
    }
}

#[test]
fn a_verdict_starts_with_the_operation_of_the_alert() {
    fn time_ns(call: u64, slower_ms: u64) -> u64 {
        let is_slow = call * EVERY_MS >= ONSET * 60_000;
        5_000_000 + call % 7 * 100_000 + slower_ms * 1_000_000 * u64::from(is_slow)
    }
    let calls = |operation, first_trace, time_ns| Calls { operation, first_trace, time_ns, tid: None };
    let search = calls("search", 1 << 64, |_, call| time_ns(call, 8));
    let pay = calls("pay", 1 << 65, |_, call| time_ns(call, 80));
    for operation in ["search", "pay"] {
        let incident = RecordedIncident::about(&format!("shop {operation}"), &[search, pay]);
        let verdict = incident.verdict(RecordedIncident::at());
        let what = verdict.clauses.iter().find(|clause| clause.kind == ClauseKind::What).expect("a clause");
        assert!(what.text.starts_with(&format!("`shop` operation `{operation}`")), "{}", what.text);
    }
}
