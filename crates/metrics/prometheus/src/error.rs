//! Why a server gave no samples.

use std::fmt;

/// A question that was not answered, with what to try.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum PrometheusError {
    /// The address or another setting cannot be used.
    Settings(String),
    /// No response: no connection, a broken one, or a timeout.
    Unreachable {
        /// Where.
        url: String,
        /// The cause, in words.
        reason: String,
    },
    /// The server answered with an HTTP status that is not success.
    Status {
        /// Where.
        url: String,
        /// The status code.
        status: u16,
        /// The server's message.
        message: String,
    },
    /// The server understood and refused: `"status": "error"`.
    Refused {
        /// The query.
        query: String,
        /// Its word for the kind of error: `bad_data`, `timeout`, `execution`.
        kind: String,
        /// The server's message.
        message: String,
    },
    /// The response is not that of a Prometheus server.
    Unexpected {
        /// Where.
        url: String,
        /// The unexpected part of it.
        reason: String,
    },
    /// The answer is larger than allowed.
    TooLarge {
        /// The query.
        query: String,
        /// The limit in bytes.
        limit: u64,
    },
}

impl fmt::Display for PrometheusError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            PrometheusError::Settings(reason) => f.write_str(reason),
            PrometheusError::Unreachable { url, reason } => write!(f, "{url} does not answer: {reason}"),
            PrometheusError::Status { url, status, message } => {
                write!(f, "{url} answers with status {status}: {message}")?;
                f.write_str(advice(*status))
            }
            PrometheusError::Refused { query, kind, message } => {
                write!(f, "Prometheus refuses the query {query:?} ({kind}): {message}")
            }
            PrometheusError::Unexpected { url, reason } => {
                write!(f, "{url} does not answer like Prometheus: {reason}")
            }
            PrometheusError::TooLarge { query, limit } => write!(
                f,
                "the answer to {query:?} for a single step is larger than {} MiB; aggregate in the query, as with sum by (…)",
                limit >> 20
            ),
        }
    }
}

fn advice(status: u16) -> &'static str {
    match status {
        300..=399 => "; redirects are not followed, so give the address they lead to",
        401 | 403 => "; give --bearer-token-file or --basic-auth-file",
        404 => "; is there a path before /api/v1, as in http://host/prometheus?",
        429 | 502..=504 => "; the query was retried",
        _ => "",
    }
}

impl std::error::Error for PrometheusError {}

/// Text from the server, shortened and without control characters.
pub(crate) fn quoted(text: &str) -> String {
    laggard_system::printable(text, 300).trim().to_owned()
}
