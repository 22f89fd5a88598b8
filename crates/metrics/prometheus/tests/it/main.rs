//! The client against a stand-in that speaks the query API, and against the real server where there is one.

#![expect(clippy::unwrap_used, reason = "a test that finds nothing fails")]

mod answers;
mod conventions;
mod counters;
mod failures;
mod real_server;
mod stand_in;

use laggard_model::{Collect, Nanos, OwnedSample, Timestamp};
use laggard_prometheus::{Client, ClientSettings, Fetched, PrometheusError, Query, TimeRange, fetch};
use stand_in::StandIn;
use std::time::Duration;

/// A client with short timeouts.
fn settings(server: &StandIn) -> ClientSettings {
    ClientSettings {
        pause: Duration::from_millis(5),
        timeout: Duration::from_millis(700),
        ..ClientSettings::new(server.url())
    }
}

/// Instants 0 to `until` seconds, `step` apart.
fn range(until: i64, step: u64) -> TimeRange {
    TimeRange {
        since: Timestamp::from_unix_ns(0),
        until: Timestamp::from_unix_ns(until * 1_000_000_000),
        step: Nanos::from_secs(step),
    }
}

struct ReceivedSamples {
    collected: Collect,
    fetched: Fetched,
}

impl ReceivedSamples {
    /// Seconds and values of the samples of a transaction.
    fn of(&self, transaction: &str) -> Vec<(f64, f64)> {
        let samples = self.collected.samples.iter().filter(|sample| sample.transaction == transaction);
        samples.map(|sample: &OwnedSample| (sample.time.unix_ns() as f64 / 1e9, sample.value)).collect()
    }
}

fn get(settings: ClientSettings, query: &str, range: TimeRange) -> Result<ReceivedSamples, PrometheusError> {
    let client = Client::new(settings)?;
    let mut collected = Collect::default();
    let fetched = fetch(&client, &Query::parse(query)?, &range, &mut collected)?;
    Ok(ReceivedSamples { collected, fetched })
}
