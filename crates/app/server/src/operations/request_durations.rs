//! How long requests take, by route.

use crate::settings::ListenerKind;
use axum::extract::{MatchedPath, Request, State};
use axum::middleware::Next;
use axum::response::Response;
use http::Method;
use laggard_model::{DurationHistogram, Nanos};
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};
use std::time::Instant;

/// The route of requests that no other route matches: the pages, and unknown paths.
const OTHER_ROUTES: &str = "other";

/// Requests that are measured together. There are only as many as routes.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) struct RequestKind {
    /// The name of the listener.
    pub(crate) listener: &'static str,
    /// The method; `other` for unusual ones, of which clients can invent any number.
    pub(crate) method: &'static str,
    /// The pattern of the path.
    pub(crate) route: Box<str>,
}

/// Time from an admitted request to its response, without its sending.
#[derive(Debug, Default)]
pub(crate) struct RequestDurations {
    all: Mutex<BTreeMap<RequestKind, DurationHistogram>>,
}

impl RequestDurations {
    fn add(&self, kind: RequestKind, duration: Nanos) {
        self.all
            .lock()
            .expect("no thread panics while it holds the lock")
            .entry(kind)
            .or_default()
            .add(duration);
    }

    /// All until now.
    pub(crate) fn current(&self) -> Vec<(RequestKind, DurationHistogram)> {
        let all = self.all.lock().expect("no thread panics while it holds the lock");
        all.iter().map(|(kind, histogram)| (kind.clone(), histogram.clone())).collect()
    }
}

/// A layer: measures every request of a listener.
pub(crate) async fn measure(
    State((listener, durations)): State<(ListenerKind, Arc<RequestDurations>)>,
    request: Request,
    next: Next,
) -> Response {
    let route = request.extensions().get::<MatchedPath>().map_or(OTHER_ROUTES, MatchedPath::as_str);
    let kind =
        RequestKind { listener: listener.name(), method: method_name(request.method()), route: route.into() };
    let start = Instant::now();
    let response = next.run(request).await;
    let took = u64::try_from(start.elapsed().as_nanos()).unwrap_or(u64::MAX);
    durations.add(kind, Nanos::from_ns(took));
    response
}

fn method_name(method: &Method) -> &'static str {
    match *method {
        Method::GET => "GET",
        Method::HEAD => "HEAD",
        Method::POST => "POST",
        Method::PUT => "PUT",
        Method::DELETE => "DELETE",
        _ => "other",
    }
}
