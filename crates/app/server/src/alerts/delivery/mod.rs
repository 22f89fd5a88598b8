//! Delivers messages so that a kill at any instant loses none, and repeats at most one, with its id.
//!
//! ```text
//! pending ─► mark unconfirmed ─► save ─► send ─┬─ acknowledged ─► mark notified ─► save
//!    ▲                                         ├─ refused ─► not unconfirmed any more ─► save
//!    └─────────────────────────────────────────┴─ unknown, or killed ─► the same message again, with the same id
//! ```
//!
//! A message that is sent again remains unconfirmed if it is refused: the receiver that is down now may have got it before, and
//! must not get the same under another id. Only if it rejects the content, what is pending is decided anew.
//!
//! What is saved is the complete list of alerts, replaced atomically. A kill before the first save is as if nothing had been
//! pending; one before the second leaves the message unconfirmed.

use super::lifecycle::AlertList;
use super::message::Notice;
use super::pending_notifications::{mark_notified, mark_refused, mark_unconfirmed};
use laggard_model::{FingerprintBuilder, Timestamp};
use std::fmt;

/// A message to one receiver.
pub(super) struct OutgoingMessage {
    /// Thirty-two hexadecimal digits; the same when it is sent again.
    pub(super) id: String,
    /// Its notices.
    pub(super) notices: Vec<Notice>,
    /// Whether an earlier attempt, whose outcome is unknown, may have delivered it.
    pub(super) may_have_arrived: bool,
}

/// Why a message is not known to be delivered.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum SendError {
    /// The receiver does not have it from this attempt.
    Refused(String),
    /// The receiver does not accept its content, whenever it is sent.
    Rejected(String),
    /// The receiver may have it.
    Unconfirmed(String),
}

impl fmt::Display for SendError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            SendError::Refused(reason) | SendError::Rejected(reason) | SendError::Unconfirmed(reason) => {
                f.write_str(reason)
            }
        }
    }
}

/// The state that a delivery works on.
pub(super) trait DeliverySteps {
    /// Changes the list of alerts.
    fn change(&mut self, change: impl FnOnce(&mut AlertList));

    /// Makes the list of alerts durable.
    fn save(&mut self);

    /// Sends a message.
    ///
    /// # Errors
    /// When it is not known to be delivered.
    fn send(&mut self, message: &OutgoingMessage) -> Result<(), SendError>;
}

/// Delivers one message. `is_idempotent`: sending it twice does no harm, so that nothing is saved before.
///
/// # Errors
/// When it is not known to be delivered.
pub(super) fn deliver(
    steps: &mut impl DeliverySteps,
    receiver: &str,
    message: &OutgoingMessage,
    is_idempotent: bool,
    at: Timestamp,
) -> Result<(), SendError> {
    if !is_idempotent {
        steps.change(|list| mark_unconfirmed(list, receiver, message, at));
        steps.save();
    }
    let sent = steps.send(message);
    match &sent {
        Ok(()) => steps.change(|list| mark_notified(list, receiver, &message.notices, at)),
        Err(SendError::Refused(_)) if message.may_have_arrived => return sent,
        Err(SendError::Refused(_) | SendError::Rejected(_)) => {
            steps.change(|list| mark_refused(list, receiver, message));
        }
        Err(SendError::Unconfirmed(_)) => return sent,
    }
    steps.save();
    sent
}

impl OutgoingMessage {
    /// A new message.
    pub(super) fn new(tenant: &str, receiver: &str, notices: Vec<Notice>, at: Timestamp) -> OutgoingMessage {
        let mut id = FingerprintBuilder::new();
        [tenant, receiver].iter().for_each(|name| id.bytes(name.as_bytes()));
        id.bytes(&at.unix_ns().to_le_bytes());
        notices.iter().for_each(|notice| id.bytes(notice.incident.id.as_bytes()));
        OutgoingMessage { id: id.finish().to_string(), notices, may_have_arrived: false }
    }
}

#[cfg(test)]
mod tests;
