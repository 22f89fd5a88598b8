//! Metrics whose resource was not read yet.

use laggard_model::{Loss, Sink};

// Limit: bytes of metrics that wait for their resource | `oversized_record`
/// Bytes that may wait; further metrics are lost.
const BYTES_MAX: usize = if cfg!(test) { 1 << 14 } else { 64 << 20 };

/// Metrics as they were encoded, in order.
#[derive(Debug, Default)]
pub(crate) struct WaitingMetrics {
    metrics: Vec<Vec<u8>>,
    bytes: usize,
}

impl WaitingMetrics {
    /// Stores a metric, or counts it as lost at the limit.
    pub(crate) fn push(&mut self, metric: &[u8], sink: &mut dyn Sink) {
        let bytes = self.bytes + metric.len() + size_of::<Vec<u8>>();
        if bytes > BYTES_MAX {
            return sink.lose(Loss::OversizedRecord, &|| {
                "too many metrics precede the resource with their service".to_owned()
            });
        }
        self.bytes = bytes;
        self.metrics.push(metric.to_vec());
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.metrics.is_empty()
    }

    /// Returns the waiting metrics.
    pub(crate) fn take(&mut self) -> Vec<Vec<u8>> {
        self.bytes = 0;
        std::mem::take(&mut self.metrics)
    }

    /// Drops every metric. Each counts when damage to the input is the cause; an input that was cut off is
    /// one loss, counted already.
    pub(crate) fn abandon(&mut self, cause: Loss, sink: &mut dyn Sink) {
        for _ in self.take().iter().filter(|_| cause != Loss::TruncatedInput) {
            sink.lose(cause, &|| "a metric: the resource with its service is damaged".to_owned());
        }
    }
}
