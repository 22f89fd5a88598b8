//! Tables of windows from hand-written samples.

mod counters;
mod counts;
mod limits;
mod measured;
mod properties;
mod servers;
mod systems;

use laggard_model::{Measure, Nanos, SampleRecord, Sink, Timestamp};
use laggard_samples::{SampleTable, WindowSettings, WindowTable};

/// A minute in ns.
const MINUTE: i64 = 60_000_000_000;
/// A second in ns.
const SECOND: i64 = 1_000_000_000;

/// One sample.
#[derive(Clone, Debug, PartialEq)]
struct GeneratedSamples {
    ns: i64,
    measure: Measure,
    server: &'static str,
    tier: &'static str,
    transaction: &'static str,
    callee: &'static str,
    value: f64,
}

/// A sample of the system at a second.
fn sample(second: f64, measure: Measure, transaction: &'static str, value: f64) -> GeneratedSamples {
    let ns = (second * 1e9) as i64;
    GeneratedSamples { ns, measure, server: "", tier: "", transaction, callee: "", value }
}

impl GeneratedSamples {
    fn at(self, server: &'static str, tier: &'static str) -> GeneratedSamples {
        GeneratedSamples { server, tier, ..self }
    }

    fn to(self, callee: &'static str) -> GeneratedSamples {
        GeneratedSamples { callee, ..self }
    }

    fn push(&self, table: &mut SampleTable) {
        table.sample(&SampleRecord {
            time: Timestamp::from_unix_ns(self.ns),
            measure: self.measure,
            server: self.server,
            tier: self.tier,
            transaction: self.transaction,
            callee: self.callee,
            value: self.value,
        });
    }
}

fn table_of(samples: &[GeneratedSamples]) -> SampleTable {
    let mut table = SampleTable::default();
    samples.iter().for_each(|sample| sample.push(&mut table));
    table
}

/// Windows of `seconds` over everything.
fn settings(seconds: u64) -> WindowSettings {
    WindowSettings { length: Nanos::from_secs(seconds), ..WindowSettings::default() }
}

fn windows(samples: &[GeneratedSamples], seconds: u64) -> WindowTable {
    table_of(samples).finish(&settings(seconds)).expect("there are samples")
}

/// The counts of one type, NaN as -1 so that they can be compared.
fn counts(table: &WindowTable, transaction: &str) -> Vec<f64> {
    let column = table.transactions.iter().position(|name| name == transaction).expect("the type is known");
    shown(table.system.counts.column(column))
}

fn responses(table: &WindowTable, transaction: &str) -> Vec<f64> {
    let column = table.transactions.iter().position(|name| name == transaction).expect("the type is known");
    shown(table.system.response_s.column(column))
}

fn shown(values: impl IntoIterator<Item = f64>) -> Vec<f64> {
    let rounded = |value: f64| (value * 1e9).round() / 1e9;
    values.into_iter().map(|value| if value.is_nan() { -1.0 } else { rounded(value) }).collect()
}
