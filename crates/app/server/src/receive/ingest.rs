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

/// Larger messages are decoded on a blocking thread: this many bytes of protobuf take less than a millisecond.
const INLINE_BYTES_MAX: usize = 512 << 10;
/// The same for compressed messages, which may grow.
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
    let is_compressed = message.encoding != Encoding::Identity;
    let inline_bytes_max = if is_compressed { COMPRESSED_INLINE_BYTES_MAX } else { INLINE_BYTES_MAX };
    if message.body.bytes.len() <= inline_bytes_max {
        return decode_inline(tenant, message, bytes_max);
    }
    let _slot = receivers.decode_slots.acquire().await.expect("the semaphore is never closed");
    let tenant = Arc::clone(tenant);
    let decoding = tokio::task::spawn_blocking(move || decode_inline(&tenant, message, bytes_max));
    // A panic in a reader is a bug, but the server must continue.
    decoding.await.unwrap_or_else(|error| {
        tracing::error!(%error, "a message could not be read");
        Err(ReceiveError::permanent(ErrorKind::Malformed, "the message could not be read"))
    })
}

fn decode_inline(
    tenant: &Tenant,
    message: Message,
    bytes_max: usize,
) -> Result<DecodedMessage, ReceiveError> {
    let Message { kind, encoding, body: ReceivedBody { bytes, mut permit } } = message;
    let bytes = match encoding {
        Encoding::Identity => bytes,
        encoding => decompress(encoding, &bytes, bytes_max, &mut permit)?,
    };
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
