//! Bodies as they arrive: bounded in bytes, in time, and in pauses.

use super::gate::{Gate, Room};
use super::refusal::{Cause, Refusal};
use super::settings::ReceiveSettings;
use crate::listen::BodyTooSlow;
use axum::body::{Body, Bytes};
use http_body_util::BodyExt;
use std::error::Error;
use std::time::Duration;

/// Memory for a message is taken at once up to this many bytes; more only as they come.
const TRUSTED_BYTES: usize = 1 << 20;

/// How long a message may pause while it arrives. How long it may take in all the listener says.
const PAUSE_MAX: Duration = if cfg!(test) { Duration::from_millis(300) } else { Duration::from_secs(10) };

/// A body, chunk by chunk.
#[derive(Debug)]
pub(super) struct Chunks {
    body: Body,
}

/// A message as it came, with the room that it takes.
#[derive(Debug)]
pub(super) struct Arrived {
    pub(super) bytes: Vec<u8>,
    pub(super) room: Room,
}

impl Chunks {
    pub(super) fn new(body: Body) -> Chunks {
        Chunks { body }
    }

    /// The next bytes; `None` at the end.
    pub(super) async fn next(&mut self) -> Result<Option<Bytes>, Refusal> {
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
                Some(Err(error)) => return Err(broken_off(&error)),
            }
        }
    }
}

#[cold]
fn too_slow() -> Refusal {
    Refusal::lasting(Cause::TooSlow, "the message did not arrive in time")
}

#[cold]
fn broken_off(error: &axum::Error) -> Refusal {
    let is_slow = error.source().is_some_and(|cause| cause.is::<BodyTooSlow>());
    if is_slow {
        return too_slow();
    }
    Refusal::lasting(Cause::Malformed, format!("the message broke off: {error}"))
}

/// A message of which bytes come in.
#[derive(Debug)]
pub(super) struct Arriving {
    bytes: Vec<u8>,
    bytes_max: usize,
    room: Room,
}

impl Arriving {
    /// A message that says it has so many bytes, if it says.
    pub(super) fn new(
        gate: &Gate,
        declared: Option<u64>,
        settings: &ReceiveSettings,
    ) -> Result<Arriving, Refusal> {
        let bytes_max = settings.message_bytes_max;
        if declared.is_some_and(|bytes| bytes > bytes_max as u64) {
            return Err(too_large(bytes_max));
        }
        let trusted = declared.map_or(0, |bytes| (bytes as usize).min(TRUSTED_BYTES));
        Ok(Arriving { bytes: Vec::with_capacity(trusted), bytes_max, room: gate.enter() })
    }

    pub(super) fn len(&self) -> usize {
        self.bytes.len()
    }

    pub(super) async fn add(&mut self, chunk: &[u8]) -> Result<(), Refusal> {
        let bytes = self.bytes.len() + chunk.len();
        if bytes > self.bytes_max {
            return Err(too_large(self.bytes_max));
        }
        self.room.grow_to(bytes).await?;
        self.bytes.extend_from_slice(chunk);
        Ok(())
    }

    pub(super) fn finish(self) -> Arrived {
        Arrived { bytes: self.bytes, room: self.room }
    }
}

/// A whole body.
pub(super) async fn whole(
    body: Body,
    declared: Option<u64>,
    gate: &Gate,
    settings: &ReceiveSettings,
) -> Result<Arrived, Refusal> {
    let mut arriving = Arriving::new(gate, declared, settings)?;
    let mut chunks = Chunks::new(body);
    while let Some(chunk) = chunks.next().await? {
        arriving.add(&chunk).await?;
    }
    Ok(arriving.finish())
}

#[cold]
fn too_large(bytes_max: usize) -> Refusal {
    let text = format!("the message has more than {bytes_max} bytes; send smaller batches, or compress them");
    Refusal::lasting(Cause::TooLarge, text)
}
