//! Complete messages, as received over a network protocol.
//!
//! ```text
//! message ─► MessageReader::read ─► Sink
//!                 │  what is known of each series of metrics, from message to message
//! ```
//!
//! A damaged file is read up to the damage. A message is accepted or rejected as a unit: when its nesting is damaged, nothing of it
//! may be stored, because its sender is informed that it was rejected. Single records that cannot be read are losses
//! here, too, and the sender is notified of their number.

mod logs;
#[cfg(test)]
mod tests;

use crate::format::{FormatError, Reader, ReaderOptions};
use crate::metrics::remote_write::{RemoteWrite, RemoteWriteVersion};
use crate::metrics::{MetricRule, MetricSamples};
use crate::otlp_json::OtlpJson;
use crate::otlp_protobuf::{OtlpProtobuf, Signal};
use crate::sampling::WantedAttributes;
use crate::zipkin::Zipkin;
use laggard_model::Sink;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Kind of a message.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum MessageKind {
    /// `ExportTraceServiceRequest` of OTLP, as protobuf.
    TracesProtobuf,
    /// `ExportMetricsServiceRequest` of OTLP, as protobuf.
    MetricsProtobuf,
    /// `ExportLogsServiceRequest` of OTLP, as protobuf: its records become events of their spans.
    LogsProtobuf,
    /// `ExportTraceServiceRequest` of OTLP, as JSON.
    TracesJson,
    /// `ExportMetricsServiceRequest` of OTLP, as JSON.
    MetricsJson,
    /// `ExportLogsServiceRequest` of OTLP, as JSON: its records become events of their spans.
    LogsJson,
    /// A list of Zipkin's spans, version 2, as JSON.
    ZipkinJson,
    /// The same as protobuf: `ListOfSpans`.
    ZipkinProtobuf,
    /// `prometheus.WriteRequest`, remote write 1.0, unpacked.
    RemoteWrite,
    /// `io.prometheus.write.v2.LogsRequest`, remote write 2.0, unpacked.
    RemoteWrite2,
}

impl MessageKind {
    /// All of them.
    pub const ALL: [MessageKind; 10] = [
        MessageKind::TracesProtobuf,
        MessageKind::MetricsProtobuf,
        MessageKind::LogsProtobuf,
        MessageKind::TracesJson,
        MessageKind::MetricsJson,
        MessageKind::LogsJson,
        MessageKind::ZipkinJson,
        MessageKind::ZipkinProtobuf,
        MessageKind::RemoteWrite,
        MessageKind::RemoteWrite2,
    ];
}

/// What a message of remote write held, of which only some measure what is of interest; of other messages nothing
/// is notified.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct MessageContents {
    /// Points that are numbers.
    pub points: u64,
    /// Points that are native histograms: none of them is read.
    pub histograms: u64,
}

/// Reads the messages of one tenant, in any number of threads: only metrics wait for each other.
///
/// The state of metric series is bounded; a message that is resent, because its sender did not
/// receive the acknowledgment, gives the same samples again.
#[derive(Debug)]
pub struct MessageReader {
    wanted: WantedAttributes,
    metrics: Mutex<MetricSamples>,
    remote: Mutex<RemoteWrite>,
}

impl MessageReader {
    /// A reader that has seen nothing; of the options those for metrics and sampling weights count.
    pub fn new(options: &ReaderOptions) -> MessageReader {
        MessageReader {
            wanted: WantedAttributes::new(options),
            metrics: Mutex::new(MetricSamples::new(&options.get::<Vec<MetricRule>>())),
            remote: Mutex::new(RemoteWrite::new(&options.get::<Vec<MetricRule>>())),
        }
    }

    /// Reads a message.
    ///
    /// # Errors
    /// When its nesting is damaged. Records passed on until then must not be stored.
    pub fn read(
        &self,
        kind: MessageKind,
        message: &[u8],
        sink: &mut dyn Sink,
    ) -> Result<MessageContents, FormatError> {
        let damage = match kind {
            MessageKind::TracesProtobuf => {
                let mut reader = self.protobuf(message, MetricSamples::default(), Signal::Traces);
                read_protobuf(&mut reader, message, sink)
            }
            MessageKind::MetricsProtobuf => {
                let mut metrics = self.metrics();
                let mut reader = self.protobuf(message, std::mem::take(&mut *metrics), Signal::Metrics);
                let damage = read_protobuf(&mut reader, message, sink);
                *metrics = reader.take_metrics();
                damage
            }
            MessageKind::TracesJson => {
                let mut reader = OtlpJson::new(&self.wanted, MetricSamples::default());
                read_json(&mut reader, message, sink)
            }
            MessageKind::MetricsJson => {
                let mut metrics = self.metrics();
                let mut reader = OtlpJson::new(&self.wanted, std::mem::take(&mut *metrics));
                let damage = read_json(&mut reader, message, sink);
                *metrics = reader.take_metrics();
                damage
            }
            MessageKind::LogsProtobuf => logs::read_protobuf(message, sink),
            MessageKind::LogsJson => logs::read_json(message, sink),
            MessageKind::ZipkinJson => read_zipkin(Zipkin::new(&self.wanted), message, sink)?,
            MessageKind::ZipkinProtobuf => {
                crate::zipkin::protobuf::read(message, Zipkin::new(&self.wanted), sink)?;
                None
            }
            MessageKind::RemoteWrite => return self.remote().read(RemoteWriteVersion::One, message, sink),
            MessageKind::RemoteWrite2 => return self.remote().read(RemoteWriteVersion::Two, message, sink),
        };
        damage.map_or(Ok(MessageContents::default()), |damage| Err(FormatError::new(damage)))
    }

    fn protobuf(&self, message: &[u8], metrics: MetricSamples, signal: Signal) -> OtlpProtobuf {
        OtlpProtobuf::new(Some(message.len() as u64), &self.wanted, metrics).only(signal)
    }

    /// A thread that fails while it reads loses only the state of series.
    fn metrics(&self) -> MutexGuard<'_, MetricSamples> {
        self.metrics.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn remote(&self) -> MutexGuard<'_, RemoteWrite> {
        self.remote.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn read_protobuf(reader: &mut OtlpProtobuf, message: &[u8], sink: &mut dyn Sink) -> Option<String> {
    reader.push(message, sink);
    reader.end(sink);
    reader.take_damage()
}

fn read_json(reader: &mut OtlpJson, message: &[u8], sink: &mut dyn Sink) -> Option<String> {
    reader.push(message, sink);
    reader.end(sink);
    reader.take_damage()
}

fn read_zipkin(
    mut reader: Zipkin,
    message: &[u8],
    sink: &mut dyn Sink,
) -> Result<Option<String>, FormatError> {
    reader.push(message, sink)?;
    reader.finish(sink)?;
    Ok(reader.take_damage())
}
