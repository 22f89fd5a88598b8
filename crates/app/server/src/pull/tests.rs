//! Reading from a stand-in of Jaeger into a real store.

use super::position::load_position;
use super::{Failing, Pull};
use crate::api::{self, AppState};
use crate::operations::ServerIssueKind;
use crate::settings::{ServeSettings, TraceSourceSettings};
use axum::Extension;
use axum::body::Body;
use http::{Request, StatusCode};
use laggard_model::{Nanos, Timestamp};
use laggard_testkit::{HttpStandIn, StandInResponse, jaeger_response, jaeger_traces};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use tokio::runtime::Handle;
use tokio_util::sync::CancellationToken;
use tower::ServiceExt;

/// 2026-01-12T09:00:00Z
const START: Timestamp = Timestamp::from_unix_ns(1_768_208_400_000_000_000);

fn after(seconds: u64) -> Timestamp {
    START.plus(Nanos::from_secs(seconds))
}

fn trace_id(number: u64) -> String {
    format!("{:032x}", 0xABC_0000_0000_0000_0000_u128 + u128::from(number))
}

/// A Jaeger server with a trace every ten minutes; it fails as long as the flag says.
fn jaeger(count: u64, fails: Arc<AtomicBool>) -> HttpStandIn {
    let trace = |number: u64| {
        let (id, start_us) = (trace_id(number), after(number * 600).unix_ns() / 1_000);
        format!(
            r#"{{"traceID":"{id}","spans":[{{"traceID":"{id}","spanID":"00000000000000a1","operationName":"get","startTime":{start_us},
            "duration":1000,"processID":"p1"}}],"processes":{{"p1":{{"serviceName":"front"}}}}}}"#
        )
    };
    let traces: Vec<String> = (0..count).map(trace).collect();
    let traces = jaeger_traces(&format!(r#"{{"data":[{}]}}"#, traces.join(",")));
    HttpStandIn::new(move |_, request| match fails.load(Ordering::Relaxed) {
        true => StandInResponse::new("401 Unauthorized", ""),
        false => jaeger_response(&traces, request),
    })
}

struct Pulling {
    pull: Pull,
    state: AppState,
    _data: tempfile::TempDir,
}

impl Pulling {
    async fn from(url: &str) -> Pulling {
        let data = tempfile::tempdir().unwrap();
        let settings = ServeSettings { data: data.path().to_owned(), ..ServeSettings::default() };
        let settings = settings.check().unwrap();
        let state = crate::run::state(&settings, Vec::new(), None, CancellationToken::new()).await.unwrap();
        let source = TraceSourceSettings::example(url);
        let pull = Pull::new(source, data.path().join("sources"), state.clone(), Failing::default());
        Pulling { pull, state, _data: data }
    }

    async fn read_due(self, now: Timestamp) -> (Pulling, Result<(), String>) {
        let tenant = self.state.tenants.only().await.unwrap();
        let handle = Handle::current();
        let reading = tokio::task::spawn_blocking(move || {
            let read = self.pull.read_due(&tenant, &handle, now);
            (self, read)
        });
        reading.await.unwrap()
    }

    fn position(&self) -> Option<Timestamp> {
        load_position(&self.pull.folder, "jaeger").unwrap()
    }

    /// The numbers of the traces that are stored.
    async fn stored(&self, count: u64) -> Vec<u64> {
        let tenant = self.state.tenants.only().await.unwrap();
        tenant.store.flush().await.unwrap();
        let mut stored = Vec::new();
        for number in 0..count {
            let router = api::routes(self.state.clone()).layer(Extension(tenant.clone()));
            let uri = format!("/api/v1/traces/{}", trace_id(number));
            let response = router.oneshot(Request::get(uri).body(Body::empty()).unwrap()).await.unwrap();
            if response.status() == StatusCode::OK {
                stored.push(number);
            }
        }
        stored
    }
}

#[tokio::test]
async fn a_source_is_read_from_where_it_was_read_before() {
    let server = jaeger(20, Arc::default());
    let pulling = Pulling::from(&server.url()).await;
    // The delay is a minute, and the first time it reads one second.
    let (pulling, read) = pulling.read_due(after(660)).await;
    assert_eq!((read, pulling.position()), (Ok(()), Some(after(600))));
    assert_eq!(pulling.stored(20).await, Vec::<u64>::new(), "the trace at 600 s is not in a window yet");
    let (pulling, read) = pulling.read_due(after(1_900)).await;
    assert_eq!((read, pulling.position()), (Ok(()), Some(after(1_840))));
    assert_eq!(pulling.stored(20).await, [1, 2, 3]);
    // After a long pause, the last hour is read.
    let (pulling, read) = pulling.read_due(after(9_660)).await;
    assert_eq!((read, pulling.position()), (Ok(()), Some(after(9_600))));
    assert_eq!(pulling.stored(20).await, [1, 2, 3, 10, 11, 12, 13, 14, 15]);
}

#[tokio::test]
async fn a_failure_leaves_the_position() {
    let fails = Arc::new(AtomicBool::new(false));
    let server = jaeger(5, fails.clone());
    let (pulling, read) = Pulling::from(&server.url()).await.read_due(after(100)).await;
    assert_eq!(read, Ok(()));
    fails.store(true, Ordering::Relaxed);
    let (pulling, read) = pulling.read_due(after(700)).await;
    assert!(read.unwrap_err().contains("401"));
    assert_eq!(pulling.position(), Some(after(40)));
    fails.store(false, Ordering::Relaxed);
    let (pulling, read) = pulling.read_due(after(700)).await;
    assert_eq!((read, pulling.stored(5).await), (Ok(()), vec![1]));
}

#[tokio::test]
async fn a_failing_source_is_a_problem_until_it_is_read() {
    let pulling = Pulling::from("http://127.0.0.1:1").await;
    let kinds =
        |pulling: &Pulling| pulling.state.issues.all().into_iter().map(|(kind, _)| kind).collect::<Vec<_>>();
    pulling.pull.note(true);
    assert_eq!(kinds(&pulling), [ServerIssueKind::TraceSources]);
    pulling.pull.note(false);
    assert_eq!(kinds(&pulling), []);
}
