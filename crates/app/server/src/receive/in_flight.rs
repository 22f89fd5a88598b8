//! A limit on the bytes of all messages that are being received.

use super::error::ReceiveError;
use crate::operations::ProcessMemory;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

/// Memory is permitted in blocks of this many bytes.
const BLOCK_BYTES: usize = 16 << 10;

/// When no memory is free, a sender should retry after this time.
const RETRY_AFTER: Duration = Duration::from_secs(1);

/// Limits the bytes of messages in flight.
#[derive(Debug)]
pub(super) struct InFlightLimit {
    blocks: Arc<Semaphore>,
    wait_max: Duration,
    process: Arc<ProcessMemory>,
}

/// Memory that a message may use, released when this is dropped.
#[derive(Debug)]
pub(super) struct MemoryPermit {
    blocks: Arc<Semaphore>,
    wait_max: Duration,
    held: Option<OwnedSemaphorePermit>,
    process: Arc<ProcessMemory>,
}

impl InFlightLimit {
    /// At most `bytes_max` bytes at a time; a message waits for free memory for at most `wait_max`. There is none as long as
    /// the process is full.
    pub(super) fn new(bytes_max: usize, wait_max: Duration, process: Arc<ProcessMemory>) -> InFlightLimit {
        let blocks = bytes_max.div_ceil(BLOCK_BYTES).min(Semaphore::MAX_PERMITS);
        InFlightLimit { blocks: Arc::new(Semaphore::new(blocks)), wait_max, process }
    }

    /// A permit of no bytes yet.
    pub(super) fn permit(&self) -> MemoryPermit {
        MemoryPermit {
            blocks: Arc::clone(&self.blocks),
            wait_max: self.wait_max,
            held: None,
            process: Arc::clone(&self.process),
        }
    }

    #[cfg(test)]
    pub(super) fn free_bytes(&self) -> usize {
        self.blocks.available_permits() * BLOCK_BYTES
    }
}

impl MemoryPermit {
    /// Extends the permit to `bytes` in all; waits when too little is free.
    pub(super) async fn grow_to(&mut self, bytes: usize) -> Result<(), ReceiveError> {
        let missing = self.missing_blocks(bytes)?;
        if missing == 0 {
            return Ok(());
        }
        let more = Arc::clone(&self.blocks).acquire_many_owned(missing);
        match tokio::time::timeout(self.wait_max, more).await {
            Ok(Ok(more)) => {
                self.add(more);
                Ok(())
            }
            _ => Err(overloaded()),
        }
    }

    /// Extends the permit to `bytes` in all, unless too little is free.
    pub(super) fn try_grow_to(&mut self, bytes: usize) -> Result<(), ReceiveError> {
        let missing = self.missing_blocks(bytes)?;
        if missing == 0 {
            return Ok(());
        }
        let more = Arc::clone(&self.blocks).try_acquire_many_owned(missing).map_err(|_| overloaded())?;
        self.add(more);
        Ok(())
    }

    /// Releases what is permitted beyond `bytes` in all.
    pub(super) fn shrink_to(&mut self, bytes: usize) {
        if let Some(held) = &mut self.held {
            drop(held.split(held.num_permits().saturating_sub(bytes.div_ceil(BLOCK_BYTES))));
        }
    }

    fn missing_blocks(&self, bytes: usize) -> Result<u32, ReceiveError> {
        if self.process.is_full() {
            return Err(overloaded());
        }
        let held = self.held.as_ref().map_or(0, OwnedSemaphorePermit::num_permits);
        u32::try_from(bytes.div_ceil(BLOCK_BYTES).saturating_sub(held)).map_err(|_| overloaded())
    }

    fn add(&mut self, more: OwnedSemaphorePermit) {
        match &mut self.held {
            Some(held) => held.merge(more),
            None => self.held = Some(more),
        }
    }
}

#[cold]
fn overloaded() -> ReceiveError {
    ReceiveError::retry_after("too many messages are being received", RETRY_AFTER)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn memory(resident: u64) -> Arc<ProcessMemory> {
        Arc::new(ProcessMemory::with_resident(100, resident))
    }

    #[tokio::test]
    async fn nothing_is_received_while_the_process_is_full() {
        let limit = InFlightLimit::new(10 * BLOCK_BYTES, Duration::from_millis(1), memory(99));
        assert!(limit.permit().grow_to(1).await.unwrap_err().retry_after.is_some());
    }

    #[tokio::test]
    async fn memory_is_limited_and_released() {
        let limit = InFlightLimit::new(10 * BLOCK_BYTES, Duration::from_millis(1), memory(0));
        let mut first = limit.permit();
        first.grow_to(6 * BLOCK_BYTES).await.unwrap();
        first.grow_to(BLOCK_BYTES).await.unwrap();
        let mut second = limit.permit();
        second.try_grow_to(4 * BLOCK_BYTES).unwrap();
        assert!(second.try_grow_to(4 * BLOCK_BYTES + 1).is_err());
        assert!(second.grow_to(4 * BLOCK_BYTES + 1).await.unwrap_err().retry_after.is_some());
        first.shrink_to(2 * BLOCK_BYTES);
        assert_eq!(limit.free_bytes(), 4 * BLOCK_BYTES);
        first.shrink_to(3 * BLOCK_BYTES);
        assert_eq!(limit.free_bytes(), 4 * BLOCK_BYTES, "it does not grow");
        drop(first);
        second.grow_to(10 * BLOCK_BYTES).await.unwrap();
        drop(second);
        assert_eq!(limit.free_bytes(), 10 * BLOCK_BYTES);
    }
}
