//! Prometheus remote write: series of numbers, told apart by labels, to samples.
//!
//! ```text
//! series ─ by name ─► role ─ labels ─► names ─► joined with series of the same names ─► samples
//! ```
//!
//! Prometheus spreads series over connections, so that series that are one sample here (they differ only in
//! labels that name nothing, like a status code) come in different messages. What is joined is therefore
//! remembered: of counters what each series grew by, of gauges the latest value of each.

mod joined;
mod role;
#[cfg(test)]
mod tests;
mod wire;

pub(crate) use wire::Version;

use super::mappings::{Mappings, MetricRule};
use super::{Attributes, Names};
use crate::format::FormatError;
use crate::messages::Contents;
use joined::{JoinedSeries, Reading, Told};
use laggard_model::{FingerprintBuilder, Loss, Sink};
use role::{Role, find_role};
use wire::WireSeries;

/// The value that says that a series has ended; it is not a number.
const STALE: u64 = 0x7FF0_0000_0000_0002;

/// Labels that tell apart what is scraped as a whole.
const TARGET: [&str; 4] = ["job", "instance", "pod", "namespace"];

/// Reads messages of remote write; remembers series between them.
#[derive(Debug)]
pub(crate) struct RemoteWrite {
    mappings: Mappings,
    joined: JoinedSeries,
}

impl RemoteWrite {
    /// With the user's rules before what is known.
    pub(crate) fn new(rules: &[MetricRule]) -> RemoteWrite {
        RemoteWrite { mappings: Mappings::new(rules), joined: JoinedSeries::default() }
    }

    /// Reads a message.
    ///
    /// # Errors
    /// When it is none; nothing of it was taken then.
    pub(crate) fn read(
        &mut self,
        version: Version,
        message: &[u8],
        sink: &mut dyn Sink,
    ) -> Result<Contents, FormatError> {
        let mut contents = Contents::default();
        // First only looked at: what is remembered must not know half a message.
        wire::each(version, message, &mut |series| {
            contents.points += series.points.len() as u64;
            contents.histograms += series.histograms;
        })?;
        wire::each(version, message, &mut |series| self.series(series, sink))?;
        self.joined.emit(sink);
        Ok(contents)
    }

    fn series(&mut self, series: &WireSeries<'_>, sink: &mut dyn Sink) {
        let name = series.labels.first(&["__name__"]);
        if series.histograms > 0 {
            sink.lose(Loss::OtherSignal, &|| {
                format!("native histograms of {}", crate::columns::shorten(name))
            });
        }
        let role = match find_role(&self.mappings, name, &series.labels) {
            Ok(role) => role,
            Err(role::NoRole::Part) => return,
            Err(role::NoRole::Unknown) => {
                return sink.lose(Loss::OtherSignal, &|| {
                    format!("metric {:?} is mapped to no measure", crate::columns::shorten(name))
                });
            }
        };
        let Some(names) = role.names(&series.labels) else { return };
        self.points(series, &role, names, sink);
    }

    fn points(&mut self, series: &WireSeries<'_>, role: &Role, names: Names, sink: &mut dyn Sink) {
        let told = Told {
            measure: role.measure_of(&names),
            kind: role.kind,
            names,
            series: identity(&series.labels),
            target: target(&series.labels),
            processor: role.processor(&series.labels).to_owned(),
        };
        for point in &series.points {
            let is_stale = point.value.to_bits() == STALE;
            let is_number = point.value.is_finite() && point.value >= 0.0;
            if !is_stale && !is_number {
                sink.lose(Loss::InvalidSample, &|| {
                    format!("{} of {}", point.value, crate::columns::shorten(&told.names.server))
                });
                continue;
            }
            let Some(time_ns) = point.ms.checked_mul(1_000_000) else {
                sink.lose(Loss::InvalidSample, &|| format!("a point at {} ms", point.ms));
                continue;
            };
            let value = (!is_stale).then_some(point.value * role.factor);
            self.joined.add(&told, Reading { time_ns, value }, sink);
        }
    }
}

/// What tells a series from all others.
fn identity(labels: &Attributes<'_>) -> u128 {
    let mut builder = FingerprintBuilder::new();
    for (name, value) in labels.pairs() {
        builder.bytes(name.as_bytes());
        builder.bytes(value.as_bytes());
    }
    builder.finish().value()
}

fn target(labels: &Attributes<'_>) -> u128 {
    let mut builder = FingerprintBuilder::new();
    for name in TARGET {
        builder.bytes(labels.first(&[name]).as_bytes());
    }
    builder.finish().value()
}
