//! Why a message was not taken, in the words of HTTP and of gRPC.

use http::StatusCode;
use laggard_store::AppendError;
use std::time::Duration;

/// A message that was not taken: nothing of it was kept.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Refusal {
    pub(super) cause: Cause,
    /// What is wrong and what to do, in a sentence.
    pub(super) text: String,
    /// When the sender should come back; `None` when that is no use.
    pub(super) after: Option<Duration>,
}

/// What kind of refusal it is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Cause {
    /// The bytes are not what they should be.
    Malformed,
    /// Of a content type that is not read here.
    MediaType,
    /// Compressed in a way that is not read here.
    Encoding,
    /// Larger than is taken.
    TooLarge,
    /// Its sender was too slow.
    TooSlow,
    /// No such method.
    UnknownMethod,
    /// There is no room now, or what is taken cannot be made durable.
    Unavailable,
}

/// While what is taken cannot be stored, a sender should come back after this time.
const STORAGE_RETRY_AFTER: Duration = Duration::from_secs(5);
const CLOSING_RETRY_AFTER: Duration = Duration::from_secs(1);

impl Refusal {
    /// A refusal that coming back does not change.
    pub(super) fn lasting(cause: Cause, text: impl Into<String>) -> Refusal {
        Refusal { cause, text: text.into(), after: None }
    }

    /// A refusal that will pass.
    pub(super) fn busy(text: impl Into<String>, after: Duration) -> Refusal {
        Refusal { cause: Cause::Unavailable, text: text.into(), after: Some(after) }
    }

    /// The status of HTTP. Prometheus does not come back after 429, so the one for "later" is 503.
    pub(super) fn http_status(&self) -> StatusCode {
        match self.cause {
            Cause::Malformed => StatusCode::BAD_REQUEST,
            Cause::MediaType | Cause::Encoding => StatusCode::UNSUPPORTED_MEDIA_TYPE,
            Cause::TooLarge => StatusCode::PAYLOAD_TOO_LARGE,
            Cause::TooSlow => StatusCode::REQUEST_TIMEOUT,
            Cause::UnknownMethod => StatusCode::NOT_FOUND,
            Cause::Unavailable => StatusCode::SERVICE_UNAVAILABLE,
        }
    }

    /// The status code of gRPC (<https://grpc.io/docs/guides/status-codes/>).
    pub(super) fn grpc_code(&self) -> u32 {
        match self.cause {
            Cause::Malformed => 3,                                           // INVALID_ARGUMENT
            Cause::TooSlow => 4,                                             // DEADLINE_EXCEEDED
            Cause::TooLarge => 8,                                            // RESOURCE_EXHAUSTED
            Cause::MediaType | Cause::Encoding | Cause::UnknownMethod => 12, // UNIMPLEMENTED
            Cause::Unavailable => 14,                                        // UNAVAILABLE
        }
    }

    /// For `Retry-After`, whole seconds from 1.
    pub(super) fn retry_after_s(&self) -> Option<u64> {
        self.after.map(|after| (after.as_millis().div_ceil(1_000) as u64).max(1))
    }
}

impl From<AppendError> for Refusal {
    fn from(error: AppendError) -> Refusal {
        match error {
            AppendError::Busy(after) => Refusal::busy("the store has no room now", after),
            AppendError::Storage(error) => {
                Refusal::busy(format!("the data cannot be stored: {error}"), STORAGE_RETRY_AFTER)
            }
            AppendError::Closing => Refusal::busy("the server is stopping", CLOSING_RETRY_AFTER),
            AppendError::TooLarge { bytes, bytes_max } => Refusal::lasting(
                Cause::TooLarge,
                format!(
                    "the message takes {bytes} bytes in memory, at most {bytes_max} are taken; send smaller batches"
                ),
            ),
        }
    }
}
