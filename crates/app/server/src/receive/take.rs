//! From the bytes of a message to rows that are stored.

use super::Receivers;
use super::body::Arrived;
use super::counters::{Receiver, Taken};
use super::gate::Room;
use super::refusal::{Cause, Refusal};
use super::unpack::{Encoding, unpack};
use crate::shared::{AppState, Tenant};
use laggard_engine::Batch;
use laggard_formats::{Contents, MessageKind};
use laggard_model::Loss;
use std::sync::Arc;

/// Larger messages are unpacked and read on a thread of their own: this many bytes of protobuf take less than a
/// millisecond.
const HERE_BYTES_MAX: usize = 512 << 10;
/// The same for what has to be unpacked, which may grow.
const PACKED_HERE_BYTES_MAX: usize = 64 << 10;

/// Longest example of a rejected record in an answer, in characters.
const EXAMPLE_CHARS_MAX: usize = 200;

/// A message that has arrived.
#[derive(Debug)]
pub(super) struct Message {
    pub(super) kind: MessageKind,
    pub(super) encoding: Encoding,
    pub(super) arrived: Arrived,
}

/// A message that was read; the room is held until it is stored.
struct Read {
    batch: Batch,
    contents: Contents,
    room: Room,
}

/// Unpacks a message, reads it and stores what it holds for a tenant.
pub(super) async fn take(
    shared: &AppState,
    tenant: &Arc<Tenant>,
    receiver: Receiver,
    message: Message,
) -> Result<Taken, Refusal> {
    let receivers = &shared.receivers;
    receivers.counters(receiver).arrived(message.arrived.bytes.len());
    let is_of_logs = matches!(message.kind, MessageKind::LogsProtobuf | MessageKind::LogsJson);
    let Read { batch, contents, room } = read(receivers, tenant, message).await?;
    let taken = Taken { points: contents.points, ..taken(&batch, is_of_logs) };
    let losses = batch.losses.clone();
    if !batch.is_empty() {
        tenant.store.append(batch).await?;
    }
    drop(room);
    receivers.counters(receiver).took(&taken, &losses);
    Ok(taken)
}

/// Counts how a request for `receiver` went.
pub(super) fn count<T>(shared: &AppState, receiver: Receiver, result: &Result<T, Refusal>) {
    let counters = shared.receivers.counters(receiver);
    counters.asked();
    if let Err(refusal) = result {
        counters.turned_away(refusal.after.is_some());
        tracing::debug!(receiver = receiver.name(), refusal.text, "message refused");
    }
}

async fn read(receivers: &Receivers, tenant: &Arc<Tenant>, message: Message) -> Result<Read, Refusal> {
    let bytes_max = receivers.settings.unpacked_bytes_max;
    let is_packed = message.encoding != Encoding::Identity;
    let here_bytes_max = if is_packed { PACKED_HERE_BYTES_MAX } else { HERE_BYTES_MAX };
    if message.arrived.bytes.len() <= here_bytes_max {
        return read_here(tenant, message, bytes_max);
    }
    let _desk = receivers.desks.acquire().await.expect("nobody closes the desks");
    let tenant = Arc::clone(tenant);
    let reading = tokio::task::spawn_blocking(move || read_here(&tenant, message, bytes_max));
    // A reader that panics is a bug, and no reason to stop serving.
    reading.await.unwrap_or_else(|error| {
        tracing::error!(%error, "a message could not be read");
        Err(Refusal::lasting(Cause::Malformed, "the message could not be read"))
    })
}

fn read_here(tenant: &Tenant, message: Message, bytes_max: usize) -> Result<Read, Refusal> {
    let Message { kind, encoding, arrived: Arrived { bytes, mut room } } = message;
    let bytes = match encoding {
        Encoding::Identity => bytes,
        encoding => unpack(encoding, &bytes, bytes_max, &mut room)?,
    };
    let mut batch = Batch::default();
    let read = tenant.messages.read(kind, &bytes, &mut batch);
    let contents = read.map_err(|error| Refusal::lasting(Cause::Malformed, error.to_string()))?;
    Ok(Read { batch, contents, room })
}

fn taken(batch: &Batch, is_of_logs: bool) -> Taken {
    let (spans, samples) = (batch.spans.len() as u64, batch.samples.rows.len() as u64);
    // A metric that measures nothing of interest is no failure of its sender; log records are of no use at all.
    let is_rejection = |loss: Loss| is_rejection(loss) || (is_of_logs && loss == Loss::OtherSignal);
    let mut taken = Taken { spans, samples, ..Taken::default() };
    for (loss, found) in batch.losses.iter().filter(|(loss, _)| is_rejection(*loss)) {
        let separator = if taken.reason.is_empty() { "" } else { "; " };
        taken.rejected += found.count;
        let (count, phrase) = (found.count.to_string(), loss.phrase());
        taken.reason.extend([separator, &count, " ", phrase, " (", cut(&found.example), ")"]);
    }
    taken
}

/// An example as an answer has it: what senders write may be long.
fn cut(example: &str) -> &str {
    let end = example.char_indices().nth(EXAMPLE_CHARS_MAX).map_or(example.len(), |(at, _)| at);
    &example[..end]
}

/// Whether a record was not taken; of the others something was repaired.
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
    )
}
