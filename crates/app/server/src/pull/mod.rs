//! Traces that are read from other servers: Jaeger, Tempo, ClickHouse, …
//!
//! ```text
//! every `every`:  position ─► window up to now − delay ─► read_traces ─► Filling ─► store ─► position
//! ```
//!
//! The position is stored after the traces, so that a window that was interrupted is read again; spans that are there already
//! are duplicates, of which the first counts.

mod position;

use crate::api::{AppState, Filling};
use crate::operations::ServerIssueKind;
use crate::settings::{ServeSettings, TraceSourceSettings};
use crate::tenants::{ONLY, Tenant};
use laggard_formats::{NoProgress, ReaderOptions};
use laggard_model::{Nanos, Timestamp};
use laggard_system::now;
use laggard_trace_sources::{ReadRequest, SourceError, SourceSummary, TimeSlice, read_traces};
use position::{load_position, store_position};
use std::path::PathBuf;
use std::sync::{Arc, Mutex};
use tokio::runtime::Handle;

/// Longest window that is read at a time.
const WINDOW_MAX: Nanos = Nanos::from_secs(600);

/// How far back a server is read that was not read for longer.
const CATCH_UP_MAX: Nanos = Nanos::from_secs(3_600);

/// The sources that could not be read the last time.
type Failing = Arc<Mutex<usize>>;

/// Starts reading every source, until the server stops.
pub(crate) fn start(state: &AppState, settings: &ServeSettings) {
    let failing = Failing::default();
    for source in &settings.trace_sources {
        let pull = Pull::new(source.clone(), settings.data.join("sources"), state.clone(), failing.clone());
        tokio::spawn(pull.run());
    }
}

/// Reads one source.
struct Pull {
    source: TraceSourceSettings,
    /// Where positions are stored.
    folder: PathBuf,
    reader: ReaderOptions,
    state: AppState,
    failing: Failing,
}

impl Pull {
    fn new(source: TraceSourceSettings, folder: PathBuf, state: AppState, failing: Failing) -> Pull {
        // Events of spans are not part of what the crate passes on; the rest is read as what is received.
        let reader = state.tenants.reader().clone();
        Pull { source, folder, reader, state, failing }
    }

    async fn run(self) {
        let pull = Arc::new(self);
        let (every, name) = (pull.source.every.duration(), pull.source.name.clone());
        let mut is_failing = false;
        loop {
            tokio::select! {
                () = pull.state.stopping.cancelled() => return,
                () = tokio::time::sleep(every) => {}
            }
            let tenant_name = pull.source.tenant.as_deref().unwrap_or(ONLY);
            let read = match pull.state.tenants.get(tenant_name).await {
                Err(error) => Err(error.to_string()),
                Ok(tenant) => {
                    let (pull, handle) = (pull.clone(), Handle::current());
                    let reading = tokio::task::spawn_blocking(move || pull.read_due(&tenant, &handle, now()));
                    reading.await.unwrap_or_else(|error| Err(error.to_string()))
                }
            };
            if let Err(reason) = &read {
                tracing::warn!(source = name, reason, "a trace source could not be read; it is tried again");
            }
            if read.is_err() != is_failing {
                is_failing = read.is_err();
                pull.note(is_failing);
            }
        }
    }

    /// Counts this source as failing, or no more.
    fn note(&self, is_failing: bool) {
        let mut failing = self.failing.lock().expect("no thread panics while it holds the lock");
        *failing = if is_failing { *failing + 1 } else { failing.saturating_sub(1) };
        self.state.issues.set(ServerIssueKind::TraceSources, *failing > 0, now());
    }

    /// Reads everything up to the delay, window by window. Blocks.
    fn read_due(&self, tenant: &Arc<Tenant>, handle: &Handle, now: Timestamp) -> Result<(), String> {
        let end = now.minus(self.source.delay.nanos());
        let client = self.source.client()?;
        let mut since = self.begin(end)?;
        while since < end && !self.state.stopping.is_cancelled() {
            let window = TimeSlice { since, until: end.min(since.plus(WINDOW_MAX)) };
            let request = ReadRequest {
                windows: &[window],
                service: self.source.service.as_deref(),
                traces_max: self.source.traces,
                reader: &self.reader,
                now: None,
            };
            let mut filling = Filling::new(tenant.clone(), handle.clone());
            let read = read_traces(&client, &request, &mut filling, &NoProgress);
            filling.finish()?;
            match read {
                Ok(summary) => self.log(&summary),
                // Nothing happened in that time.
                Err(SourceError::NoTrace(_)) => {}
                Err(error) => return Err(error.to_string()),
            }
            store_position(&self.folder, &self.source.name, window.until)
                .map_err(|error| format!("the position cannot be stored: {error}"))?;
            since = window.until;
        }
        Ok(())
    }

    /// Where reading goes on: at the position, but not more than an hour ago.
    fn begin(&self, end: Timestamp) -> Result<Timestamp, String> {
        let known = load_position(&self.folder, &self.source.name)
            .map_err(|error| format!("the position cannot be read: {error}"))?;
        let earliest = end.minus(CATCH_UP_MAX);
        match known {
            None => Ok(end.minus(self.source.every.nanos())),
            Some(position) if position < earliest => {
                let name = &self.source.name;
                let unread_s = earliest.since(position).ns() / 1_000_000_000;
                tracing::warn!(
                    source = name,
                    unread_s,
                    "a trace source was not read for too long; that time is left out"
                );
                Ok(earliest)
            }
            Some(position) => Ok(position),
        }
    }

    fn log(&self, summary: &SourceSummary) {
        let name = &self.source.name;
        let traces: u64 = summary.windows.iter().map(|window| window.traces).sum();
        tracing::debug!(source = name, traces, queries = summary.queries, "a trace source was read");
        for caution in summary.cautions() {
            tracing::warn!(source = name, caution, "a trace source was read in part");
        }
    }
}

#[cfg(test)]
mod tests;
