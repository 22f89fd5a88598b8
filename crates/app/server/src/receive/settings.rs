//! Limits of the receivers.

use crate::operations::ProcessMemory;
use crate::settings::LimitSettings;
use std::time::Duration;

/// Sizes of messages, and how long receivers wait for memory.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct ReceiveSettings {
    /// Most bytes of a message as sent, perhaps compressed.
    pub(super) message_bytes_max: usize,
    /// Most bytes of a message decompressed.
    pub(super) decompressed_bytes_max: usize,
    /// Most bytes of all messages that are being received and stored at a time.
    pub(super) in_flight_bytes_max: usize,
    /// How long a message waits for memory before it is rejected with a time to retry after.
    pub(super) wait_max: Duration,
}

/// Most bytes in flight, unless few of the largest messages need more; at most an eighth of the process's memory, for a decoded message
/// takes a multiple of its bytes. One message of the largest size fits at least, with what it is copied from as it grows.
const IN_FLIGHT_BYTES_MAX: usize = 256 << 20;
const WAIT_MAX: Duration = Duration::from_secs(1);

impl ReceiveSettings {
    pub(super) fn new(limits: &LimitSettings, memory: &ProcessMemory) -> ReceiveSettings {
        let decompressed_bytes_max = limits.decompressed.bytes().max(limits.message.bytes());
        ReceiveSettings {
            message_bytes_max: limits.message.bytes(),
            decompressed_bytes_max,
            in_flight_bytes_max: memory
                .at_most_an_eighth(decompressed_bytes_max.saturating_mul(4).max(IN_FLIGHT_BYTES_MAX))
                .max(decompressed_bytes_max.saturating_mul(2)),
            wait_max: WAIT_MAX,
        }
    }
}
