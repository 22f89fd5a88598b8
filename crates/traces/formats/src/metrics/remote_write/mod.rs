//! Prometheus remote write: from series of numbers, identified by labels, to samples.
//!
//! ```text
//! series ─ by name ─► role ─ labels ─► names ─► joined with series of the same names ─► samples
//! ```
//!
//! Prometheus spreads series over connections, so that series that are one sample here (they differ only in
//! labels that name nothing, like a status code) come in different messages. What is joined is therefore
//! stored: for counters the increase of each series, for gauges the latest value of each.

mod joined;
mod role;
#[cfg(test)]
mod tests;
mod wire;

pub(crate) use wire::RemoteWriteVersion;

use super::mappings::{Mappings, MetricRule};
use super::{Attributes, PointNames};
use crate::format::FormatError;
use crate::messages::MessageContents;
use joined::{JoinedSeries, SeriesPoint, SeriesUpdate};
use laggard_model::{FingerprintBuilder, Loss, Sink};
use role::{SeriesRole, find_role};
use wire::WireSeries;

/// The stale marker: a NaN value that marks the end of a series.
const STALE: u64 = 0x7FF0_0000_0000_0002;

/// Labels that identify a scrape target.
const TARGET: [&str; 4] = ["job", "instance", "pod", "namespace"];

/// Reads messages of remote write; keeps series state between them.
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
    /// When it is not a message; then none of it was used.
    pub(crate) fn read(
        &mut self,
        version: RemoteWriteVersion,
        message: &[u8],
        sink: &mut dyn Sink,
    ) -> Result<MessageContents, FormatError> {
        let mut contents = MessageContents::default();
        // First a dry run: the state must not contain half a message.
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
            Err(role::RoleError::MetricPart) => return,
            Err(role::RoleError::Unknown) => {
                return sink.lose(Loss::OtherSignal, &|| {
                    format!("metric {:?} is mapped to no measure", crate::columns::shorten(name))
                });
            }
        };
        let Some(names) = role.names(&series.labels) else { return };
        self.points(series, &role, names, sink);
    }

    fn points(&mut self, series: &WireSeries<'_>, role: &SeriesRole, names: PointNames, sink: &mut dyn Sink) {
        let update = SeriesUpdate {
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
                    format!("{} of {}", point.value, crate::columns::shorten(&update.names.server))
                });
                continue;
            }
            let Some(time_ns) = point.ms.checked_mul(1_000_000) else {
                sink.lose(Loss::InvalidSample, &|| format!("a point at {} ms", point.ms));
                continue;
            };
            let value = (!is_stale).then_some(point.value * role.factor);
            self.joined.add(&update, SeriesPoint { time_ns, value }, sink);
        }
    }
}

/// The identity of a series.
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
