//! Limits of the receivers.

use crate::settings::LimitSettings;
use std::time::Duration;

/// What receivers take, and how long they wait for it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct ReceiveSettings {
    /// Most bytes of a message as it comes, perhaps compressed.
    pub(super) message_bytes_max: usize,
    /// Most bytes of a message unpacked.
    pub(super) unpacked_bytes_max: usize,
    /// Most bytes of all messages that are being received, unpacked and stored at one time; beyond it senders wait
    /// and are then told to come back.
    pub(super) in_flight_bytes_max: usize,
    /// How long a message waits for room before its sender is told to come back.
    pub(super) wait_max: Duration,
}

/// Room for all messages at one time, unless few of the largest need more.
const IN_FLIGHT_BYTES_MAX: usize = 256 << 20;
const WAIT_MAX: Duration = Duration::from_secs(1);

impl ReceiveSettings {
    /// As the limits of the server say.
    pub(super) fn new(limits: &LimitSettings) -> ReceiveSettings {
        let unpacked_bytes_max = limits.decompressed.bytes().max(limits.message.bytes());
        ReceiveSettings {
            message_bytes_max: limits.message.bytes(),
            unpacked_bytes_max,
            in_flight_bytes_max: unpacked_bytes_max.saturating_mul(4).max(IN_FLIGHT_BYTES_MAX),
            wait_max: WAIT_MAX,
        }
    }
}
