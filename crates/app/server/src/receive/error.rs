//! Why a message was not ingested, as a status of HTTP and of gRPC.

use crate::grpc::Code;
use crate::tenants::ONLY_ANSWERS;
use http::StatusCode;
use laggard_store::AppendError;
use std::time::Duration;

/// A message was not ingested: nothing of it is stored.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct ReceiveError {
    pub(super) kind: ErrorKind,
    /// The problem and its remedy, in a sentence.
    pub(super) text: String,
    /// When the sender should retry; `None` for a permanent error.
    pub(super) retry_after: Option<Duration>,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum ErrorKind {
    Malformed,
    /// The content type is not supported.
    MediaType,
    /// The compression is not supported.
    Encoding,
    TooLarge,
    /// The sender was too slow.
    TooSlow,
    /// There is no such method, or not on this server.
    UnknownMethod,
    /// Memory is exhausted, or data cannot be made durable now.
    Unavailable,
}

/// While data cannot be stored, a sender should retry after this time.
const STORAGE_RETRY_AFTER: Duration = Duration::from_secs(5);
const CLOSING_RETRY_AFTER: Duration = Duration::from_secs(1);

impl ReceiveError {
    /// An error that a retry would meet again.
    pub(super) fn permanent(kind: ErrorKind, text: impl Into<String>) -> ReceiveError {
        ReceiveError { kind, text: text.into(), retry_after: None }
    }

    /// A temporary error.
    pub(super) fn retry_after(text: impl Into<String>, after: Duration) -> ReceiveError {
        ReceiveError { kind: ErrorKind::Unavailable, text: text.into(), retry_after: Some(after) }
    }

    /// The status of HTTP. Prometheus does not retry after 429, so temporary errors are 503.
    pub(super) fn http_status(&self) -> StatusCode {
        match self.kind {
            ErrorKind::Malformed => StatusCode::BAD_REQUEST,
            ErrorKind::MediaType | ErrorKind::Encoding => StatusCode::UNSUPPORTED_MEDIA_TYPE,
            ErrorKind::TooLarge => StatusCode::PAYLOAD_TOO_LARGE,
            ErrorKind::TooSlow => StatusCode::REQUEST_TIMEOUT,
            ErrorKind::UnknownMethod => StatusCode::NOT_FOUND,
            ErrorKind::Unavailable => StatusCode::SERVICE_UNAVAILABLE,
        }
    }

    /// The status code of gRPC.
    pub(super) fn grpc_code(&self) -> Code {
        match self.kind {
            ErrorKind::Malformed => Code::InvalidArgument,
            ErrorKind::TooSlow => Code::DeadlineExceeded,
            ErrorKind::TooLarge => Code::ResourceExhausted,
            ErrorKind::MediaType | ErrorKind::Encoding | ErrorKind::UnknownMethod => Code::Unimplemented,
            ErrorKind::Unavailable => Code::Unavailable,
        }
    }

    /// For `Retry-After`, whole seconds from 1.
    pub(super) fn retry_after_s(&self) -> Option<u64> {
        self.retry_after.map(|after| (after.as_millis().div_ceil(1_000) as u64).max(1))
    }
}

impl From<AppendError> for ReceiveError {
    fn from(error: AppendError) -> ReceiveError {
        match error {
            AppendError::Busy(after) => ReceiveError::retry_after("the store is overloaded", after),
            AppendError::Storage(error) => {
                ReceiveError::retry_after(format!("data cannot be stored: {error}"), STORAGE_RETRY_AFTER)
            }
            AppendError::Closing => ReceiveError::retry_after("the server is stopping", CLOSING_RETRY_AFTER),
            AppendError::ReadOnly => ReceiveError::permanent(ErrorKind::UnknownMethod, ONLY_ANSWERS),
            AppendError::TooLarge { bytes, bytes_max } => ReceiveError::permanent(
                ErrorKind::TooLarge,
                format!(
                    "the message needs {bytes} bytes of memory, and the limit is {bytes_max}; send smaller batches"
                ),
            ),
        }
    }
}
