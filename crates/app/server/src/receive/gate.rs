//! A bound on the bytes of all messages that are in the house.

use super::refusal::Refusal;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

/// Room is given in pieces of this many bytes.
const PIECE_BYTES: usize = 16 << 10;

/// When there is no room, a sender should come back after this time.
const RETRY_AFTER: Duration = Duration::from_secs(1);

/// Hands out room for bytes.
#[derive(Debug)]
pub(super) struct Gate {
    pieces: Arc<Semaphore>,
    wait_max: Duration,
}

/// Room that is held, and given back when this is dropped.
#[derive(Debug)]
pub(super) struct Room {
    pieces: Arc<Semaphore>,
    wait_max: Duration,
    held: Option<OwnedSemaphorePermit>,
}

impl Gate {
    /// A gate for so many bytes at one time; one that finds none waits for at most `wait_max`.
    pub(super) fn new(bytes_max: usize, wait_max: Duration) -> Gate {
        let pieces = bytes_max.div_ceil(PIECE_BYTES).min(Semaphore::MAX_PERMITS);
        Gate { pieces: Arc::new(Semaphore::new(pieces)), wait_max }
    }

    /// Room for nothing yet.
    pub(super) fn enter(&self) -> Room {
        Room { pieces: Arc::clone(&self.pieces), wait_max: self.wait_max, held: None }
    }

    /// Bytes that there is room for now.
    #[cfg(test)]
    pub(super) fn free_bytes(&self) -> usize {
        self.pieces.available_permits() * PIECE_BYTES
    }
}

impl Room {
    /// Makes it room for `bytes` in all; waits when there is none.
    pub(super) async fn grow_to(&mut self, bytes: usize) -> Result<(), Refusal> {
        let missing = self.missing(bytes)?;
        if missing == 0 {
            return Ok(());
        }
        let more = Arc::clone(&self.pieces).acquire_many_owned(missing);
        match tokio::time::timeout(self.wait_max, more).await {
            Ok(Ok(more)) => {
                self.add(more);
                Ok(())
            }
            _ => Err(no_room()),
        }
    }

    /// Makes it room for `bytes` in all, unless there is none now.
    pub(super) fn try_grow_to(&mut self, bytes: usize) -> Result<(), Refusal> {
        let missing = self.missing(bytes)?;
        if missing == 0 {
            return Ok(());
        }
        let more = Arc::clone(&self.pieces).try_acquire_many_owned(missing).map_err(|_| no_room())?;
        self.add(more);
        Ok(())
    }

    fn missing(&self, bytes: usize) -> Result<u32, Refusal> {
        let held = self.held.as_ref().map_or(0, OwnedSemaphorePermit::num_permits);
        u32::try_from(bytes.div_ceil(PIECE_BYTES).saturating_sub(held)).map_err(|_| no_room())
    }

    fn add(&mut self, more: OwnedSemaphorePermit) {
        match &mut self.held {
            Some(held) => held.merge(more),
            None => self.held = Some(more),
        }
    }
}

#[cold]
fn no_room() -> Refusal {
    Refusal::busy("too many messages are being received", RETRY_AFTER)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn room_is_bounded_and_given_back() {
        let gate = Gate::new(10 * PIECE_BYTES, Duration::from_millis(1));
        let mut one = gate.enter();
        one.grow_to(6 * PIECE_BYTES).await.unwrap();
        one.grow_to(PIECE_BYTES).await.unwrap();
        let mut two = gate.enter();
        two.try_grow_to(4 * PIECE_BYTES).unwrap();
        assert!(two.try_grow_to(4 * PIECE_BYTES + 1).is_err());
        assert!(two.grow_to(4 * PIECE_BYTES + 1).await.unwrap_err().after.is_some());
        drop(one);
        two.grow_to(10 * PIECE_BYTES).await.unwrap();
        drop(two);
        assert_eq!(gate.free_bytes(), 10 * PIECE_BYTES);
    }
}
