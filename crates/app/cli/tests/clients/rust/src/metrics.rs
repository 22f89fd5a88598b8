//! Response times and CPU time of every replica that requests enter at, in one message each.

use crate::exporters::Destination;
use crate::{ClientError, Plan, PlannedSpan, resource};
use opentelemetry::KeyValue;
use opentelemetry::metrics::MeterProvider;
use opentelemetry_sdk::metrics::{PeriodicReader, SdkMeterProvider};
use std::collections::BTreeMap;
use std::time::Duration;

/// Longer than any test.
const NEVER: Duration = Duration::from_secs(86_400);

pub(crate) fn measure(plan: &Plan, to: &Destination) -> Result<(), ClientError> {
    let mut entries: BTreeMap<&str, Vec<&PlannedSpan>> = BTreeMap::new();
    for request in &plan.requests {
        entries.entry(&request[0].replica).or_default().push(&request[0]);
    }
    for (replica, entries) in entries {
        let reader = PeriodicReader::builder(to.metric_exporter()?).with_interval(NEVER).build();
        let resource = resource(&entries[0].service, replica);
        let provider = SdkMeterProvider::builder().with_reader(reader).with_resource(resource).build();
        let meter = provider.meter("shop");
        let latency = meter.f64_histogram("http.server.request.duration").with_unit("s").build();
        let cpu = meter.f64_counter("process.cpu.time").with_unit("s").build();
        let route = [KeyValue::new("http.request.method", "GET"), KeyValue::new("http.route", "/cart")];
        for entry in entries {
            let seconds = (entry.end_ns - entry.start_ns) as f64 / 1e9;
            latency.record(seconds, &route);
            cpu.add(seconds / 10.0, &[]);
        }
        // Shutting down the provider sends the metrics.
        provider.shutdown()?;
    }
    Ok(())
}
