//! Bodies of requests: limited in bytes, in time, and in pauses.

use super::error::{ErrorKind, ReceiveError};
use super::in_flight::{InFlightLimit, MemoryPermit};
use super::settings::ReceiveSettings;
use crate::listen::BodyTooSlow;
use axum::body::{Body, Bytes};
use http_body_util::BodyExt;
use std::error::Error;
use std::time::Duration;

/// Memory for a message is allocated as it arrives, whatever length its sender announces: so much first, and then twice as much.
const FIRST_BYTES: usize = 16 << 10;

/// Longest pause within a message. The listener limits the time of all of it.
const PAUSE_MAX: Duration = if cfg!(test) { Duration::from_millis(300) } else { Duration::from_secs(10) };

/// A body, chunk by chunk.
#[derive(Debug)]
pub(super) struct Chunks {
    body: Body,
}

/// A complete message as sent, with its memory permit.
#[derive(Debug)]
pub(super) struct ReceivedBody {
    pub(super) bytes: Vec<u8>,
    pub(super) permit: MemoryPermit,
}

impl Chunks {
    pub(super) fn new(body: Body) -> Chunks {
        Chunks { body }
    }

    /// The next bytes; `None` at the end.
    pub(super) async fn next(&mut self) -> Result<Option<Bytes>, ReceiveError> {
        loop {
            let Ok(frame) = tokio::time::timeout(PAUSE_MAX, self.body.frame()).await else {
                return Err(too_slow());
            };
            match frame {
                None => return Ok(None),
                Some(Ok(frame)) => {
                    if let Ok(bytes) = frame.into_data() {
                        return Ok(Some(bytes));
                    }
                }
                Some(Err(error)) => return Err(incomplete(&error)),
            }
        }
    }
}

#[cold]
fn too_slow() -> ReceiveError {
    ReceiveError::permanent(ErrorKind::TooSlow, "the request timed out")
}

#[cold]
fn incomplete(error: &axum::Error) -> ReceiveError {
    let is_slow = error.source().is_some_and(|cause| cause.is::<BodyTooSlow>());
    if is_slow {
        return too_slow();
    }
    ReceiveError::permanent(ErrorKind::Malformed, format!("the body ended early: {error}"))
}

/// Collects the bytes of a message.
#[derive(Debug)]
pub(super) struct BodyBuffer {
    bytes: Vec<u8>,
    bytes_max: usize,
    /// Length that the sender announced.
    declared: Option<usize>,
    permit: MemoryPermit,
}

impl BodyBuffer {
    /// `declared`: the length that the sender announced, if it did.
    pub(super) fn new(
        in_flight: &InFlightLimit,
        declared: Option<u64>,
        settings: &ReceiveSettings,
    ) -> Result<BodyBuffer, ReceiveError> {
        let bytes_max = settings.message_bytes_max;
        if declared.is_some_and(|bytes| bytes > bytes_max as u64) {
            return Err(too_large(bytes_max));
        }
        let declared = declared.map(|bytes| bytes as usize);
        Ok(BodyBuffer { bytes: Vec::new(), bytes_max, declared, permit: in_flight.permit() })
    }

    pub(super) fn len(&self) -> usize {
        self.bytes.len()
    }

    pub(super) async fn add(&mut self, chunk: &[u8]) -> Result<(), ReceiveError> {
        let bytes = self.bytes.len() + chunk.len();
        if bytes > self.bytes_max {
            return Err(too_large(self.bytes_max));
        }
        if bytes > self.bytes.capacity() {
            self.grow(bytes).await?;
        }
        self.bytes.extend_from_slice(chunk);
        Ok(())
    }

    /// Makes room for so many bytes at least.
    async fn grow(&mut self, bytes: usize) -> Result<(), ReceiveError> {
        let before = self.bytes.capacity();
        let doubled = (2 * before).max(FIRST_BYTES);
        let capacity = doubled.min(self.declared.unwrap_or(self.bytes_max)).max(bytes);
        // Both exist while what is there is copied.
        self.permit.grow_to(before + capacity).await?;
        self.bytes.reserve_exact(capacity - self.bytes.len());
        self.permit.shrink_to(capacity);
        Ok(())
    }

    pub(super) fn finish(self) -> ReceivedBody {
        ReceivedBody { bytes: self.bytes, permit: self.permit }
    }
}

/// Reads a body to its end.
pub(super) async fn read_all(
    body: Body,
    declared: Option<u64>,
    in_flight: &InFlightLimit,
    settings: &ReceiveSettings,
) -> Result<ReceivedBody, ReceiveError> {
    let mut buffer = BodyBuffer::new(in_flight, declared, settings)?;
    let mut chunks = Chunks::new(body);
    while let Some(chunk) = chunks.next().await? {
        buffer.add(&chunk).await?;
    }
    Ok(buffer.finish())
}

#[cold]
fn too_large(bytes_max: usize) -> ReceiveError {
    let text = format!("the message has more than {bytes_max} bytes; send smaller batches, or compress them");
    ReceiveError::permanent(ErrorKind::TooLarge, text)
}
