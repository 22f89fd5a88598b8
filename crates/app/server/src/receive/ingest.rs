//! From the bytes of a message to stored rows.

use super::body::ReceivedBody;
use super::counters::{IngestResult, Receiver};
use super::decompress::{Encoding, decompress};
use super::error::{ErrorKind, ReceiveError};
use super::in_flight::MemoryPermit;
use super::receivers::Receivers;
use crate::tenants::Tenant;
use laggard_engine::Batch;
use laggard_formats::{MessageContents, MessageKind};
use laggard_model::Loss;
use std::sync::Arc;

/// Larger messages, decompressed, are decoded on a blocking thread: this many bytes of protobuf take less than a millisecond.
const INLINE_BYTES_MAX: usize = 512 << 10;
/// Larger compressed messages are not even decompressed before.
const COMPRESSED_INLINE_BYTES_MAX: usize = 64 << 10;

/// Longest example of a rejected record in a response, in characters.
const EXAMPLE_CHARS_MAX: usize = 200;

/// A received message.
#[derive(Debug)]
pub(super) struct Message {
    pub(super) kind: MessageKind,
    pub(super) encoding: Encoding,
    pub(super) body: ReceivedBody,
}

/// A decoded message; its memory permit is held until it is stored.
struct DecodedMessage {
    batch: Batch,
    contents: MessageContents,
    permit: MemoryPermit,
}

/// Decompresses and decodes a message, and stores its records for a tenant.
pub(super) async fn ingest(
    receivers: &Receivers,
    tenant: &Arc<Tenant>,
    receiver: Receiver,
    message: Message,
) -> Result<IngestResult, ReceiveError> {
    receivers.counters(receiver).record_bytes(message.body.bytes.len());
    let DecodedMessage { batch, contents, permit } = decode(receivers, tenant, message).await?;
    let result = IngestResult { points: contents.points, ..summarize(&batch) };
    let losses = batch.losses.clone();
    if !batch.is_empty() {
        tenant.append(batch).await?;
    }
    drop(permit);
    receivers.counters(receiver).record_success(&result, &losses);
    Ok(result)
}

/// Counts the outcome of a request for `receiver`.
pub(super) fn count<T>(receivers: &Receivers, receiver: Receiver, result: &Result<T, ReceiveError>) {
    let counters = receivers.counters(receiver);
    counters.record_request();
    if let Err(error) = result {
        counters.record_error(error.retry_after.is_some());
        tracing::debug!(receiver = receiver.name(), error.text, "message rejected");
    }
}

async fn decode(
    receivers: &Receivers,
    tenant: &Arc<Tenant>,
    message: Message,
) -> Result<DecodedMessage, ReceiveError> {
    let bytes_max = receivers.settings.decompressed_bytes_max;
    let message = decompress_small(message, INLINE_BYTES_MAX.min(bytes_max))?;
    if message.encoding == Encoding::Identity && message.body.bytes.len() <= INLINE_BYTES_MAX {
        return read(tenant, message);
    }
    let _slot = receivers.decode_slots.acquire().await.expect("the semaphore is never closed");
    let tenant = Arc::clone(tenant);
    let decoding = tokio::task::spawn_blocking(move || read(&tenant, message.decompressed(bytes_max)?));
    // A panic in a reader is a bug, but the server must continue.
    decoding.await.unwrap_or_else(|error| {
        tracing::error!(%error, "a message could not be read");
        Err(ReceiveError::permanent(ErrorKind::Malformed, "the message could not be read"))
    })
}

/// Decompresses a small message if it is small afterwards, too. A few kilobytes can become megabytes, which would delay all others.
fn decompress_small(mut message: Message, bytes_max: usize) -> Result<Message, ReceiveError> {
    let ReceivedBody { bytes, permit } = &mut message.body;
    if message.encoding == Encoding::Identity || bytes.len() > COMPRESSED_INLINE_BYTES_MAX {
        return Ok(message);
    }
    match decompress(message.encoding, bytes, bytes_max, permit) {
        Ok(decompressed) => (message.encoding, *bytes) = (Encoding::Identity, decompressed),
        Err(error) if error.kind == ErrorKind::TooLarge => {}
        Err(error) => return Err(error),
    }
    Ok(message)
}

impl Message {
    fn decompressed(mut self, bytes_max: usize) -> Result<Message, ReceiveError> {
        if self.encoding != Encoding::Identity {
            let ReceivedBody { bytes, permit } = &mut self.body;
            *bytes = decompress(self.encoding, bytes, bytes_max, permit)?;
            self.encoding = Encoding::Identity;
        }
        Ok(self)
    }
}

/// Reads a message that is not compressed, or no longer.
fn read(tenant: &Tenant, message: Message) -> Result<DecodedMessage, ReceiveError> {
    let Message { kind, body: ReceivedBody { bytes, permit }, .. } = message;
    let mut batch = Batch::default();
    let read = tenant.messages.read(kind, &bytes, &mut batch);
    let contents = read.map_err(|error| ReceiveError::permanent(ErrorKind::Malformed, error.to_string()))?;
    Ok(DecodedMessage { batch, contents, permit })
}

fn summarize(batch: &Batch) -> IngestResult {
    let (spans, samples) = (batch.spans.len() as u64, batch.samples.rows.len() as u64);
    let events = batch.events.len() as u64;
    let mut result = IngestResult { spans, samples, events, ..IngestResult::default() };
    for (loss, rejected) in batch.losses.iter().filter(|(loss, _)| is_rejection(*loss)) {
        let separator = if result.reason.is_empty() { "" } else { "; " };
        result.rejected += rejected.count;
        let (count, phrase) = (rejected.count.to_string(), loss.phrase());
        result.reason.extend([separator, &count, " ", phrase, " (", truncate(&rejected.example), ")"]);
    }
    result
}

/// A rejected record as an example in a response, which may be long.
fn truncate(example: &str) -> &str {
    let end = example.char_indices().nth(EXAMPLE_CHARS_MAX).map_or(example.len(), |(position, _)| position);
    &example[..end]
}

/// Whether the loss rejects a record; the others repair one, or are no error of the sender, such as an unknown metric.
const fn is_rejection(loss: Loss) -> bool {
    matches!(
        loss,
        Loss::MalformedRecord
            | Loss::TruncatedInput
            | Loss::OversizedRecord
            | Loss::InvalidId
            | Loss::NameLimit
            | Loss::SeriesLimit
            | Loss::InvalidSample
            | Loss::UntracedLog
    )
}

#[cfg(test)]
mod tests {
    use super::super::in_flight::InFlightLimit;
    use super::*;
    use crate::operations::ProcessMemory;
    use std::io::Write;
    use std::time::Duration;

    fn compressed(bytes: usize) -> Message {
        let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
        encoder.write_all(&vec![0; bytes]).unwrap();
        let memory = Arc::new(ProcessMemory::with_resident(100, 0));
        let permit = InFlightLimit::new(64 << 20, Duration::from_millis(1), memory).permit();
        let body = ReceivedBody { bytes: encoder.finish().unwrap(), permit };
        Message { kind: MessageKind::TracesProtobuf, encoding: Encoding::Gzip, body }
    }

    #[test]
    fn a_small_message_that_becomes_large_is_left_to_a_blocking_thread() {
        for (bytes, encoding) in [
            (INLINE_BYTES_MAX, Encoding::Identity),
            (INLINE_BYTES_MAX + 1, Encoding::Gzip),
            (4 << 20, Encoding::Gzip),
        ] {
            let message = compressed(bytes);
            assert!(message.body.bytes.len() <= COMPRESSED_INLINE_BYTES_MAX);
            let message = decompress_small(message, INLINE_BYTES_MAX).unwrap();
            assert_eq!(message.encoding, encoding, "of {bytes} bytes");
            assert_eq!(message.decompressed(8 << 20).unwrap().body.bytes.len(), bytes);
        }
    }
}
