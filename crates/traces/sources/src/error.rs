//! Why a server gave no traces, with what to do about it.

use laggard_system::printable;
use std::fmt;

/// Variable of the environment with a bearer token for the server.
pub const TOKEN_VARIABLE: &str = "LAGGARD_SOURCE_TOKEN";

/// Variable of the environment with `user:password` for the server.
pub const BASIC_VARIABLE: &str = "LAGGARD_SOURCE_BASIC";

/// A query that was not answered. No secret is part of it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum SourceError {
    /// The URL or another setting cannot be used.
    Settings(String),
    /// No response: no connection, a broken one, or a timeout.
    Unreachable {
        /// What it should be.
        title: &'static str,
        /// The URL that was requested, without its query.
        url: String,
        /// The cause, in words.
        reason: String,
    },
    /// The server answered with an HTTP status that is not success.
    Status {
        /// What it should be.
        title: &'static str,
        /// The URL that was requested, without its query.
        url: String,
        /// A URL as an example.
        example: &'static str,
        /// The status code.
        status: u16,
        /// The server's message.
        message: String,
    },
    /// The response is a web page.
    WebPage {
        /// What it should be.
        title: &'static str,
        /// The URL that was requested, without its query.
        url: String,
        /// A URL as an example.
        example: &'static str,
    },
    /// The response is not that of such a server.
    Unexpected {
        /// What it should be.
        title: &'static str,
        /// The URL that was requested, without its query.
        url: String,
        /// The unexpected part of it.
        reason: String,
    },
    /// A response that cannot be divided further is larger than allowed.
    TooLarge {
        /// The URL that was requested, without its query.
        url: String,
        /// The limit in bytes.
        limit: u64,
    },
    /// Reading the window takes more queries than allowed.
    TooManyQueries {
        /// The limit.
        limit: u64,
    },
    /// The server has no service of this name.
    UnknownService {
        /// The kind of server.
        title: &'static str,
        /// The requested name.
        service: String,
        /// Those it has.
        known: Vec<String>,
    },
    /// The server has no trace in the window: a sentence, with what it has.
    NoTrace(String),
}

impl SourceError {
    /// Whether a query for a shorter time may succeed.
    pub(crate) fn is_too_much(&self) -> bool {
        matches!(self, SourceError::TooLarge { .. } | SourceError::Status { status: 413 | 422, .. })
    }
}

impl fmt::Display for SourceError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            SourceError::Settings(text) | SourceError::NoTrace(text) => f.write_str(text),
            SourceError::Unreachable { title, url, reason } => {
                write!(
                    f,
                    "{title} does not answer at {url}: {reason}; is it running there, and is the port right?"
                )
            }
            SourceError::Status { title, url, example, status, message } => {
                write!(f, "{url} answers with status {status}")?;
                if !message.is_empty() {
                    write!(f, ": {message}")?;
                }
                write_advice(f, title, example, *status)
            }
            SourceError::WebPage { title, url, example } => write!(
                f,
                "{url} answers with a web page instead of JSON: it is the page of a login or of something else than {title}'s \
                 query API. Give the URL that its API is below, like {example}, with the path where it has one"
            ),
            SourceError::Unexpected { title, url, reason } => {
                write!(f, "{url} does not answer like {title}: {reason}")
            }
            SourceError::TooLarge { url, limit } => write!(
                f,
                "the answer of {url} for the shortest slice of time is larger than {} MiB: choose one service with --service",
                limit >> 20
            ),
            SourceError::TooManyQueries { limit } => write!(
                f,
                "reading the window takes more than {limit} queries: choose a shorter window, one service with --service, or \
                 fewer traces with --source-traces"
            ),
            SourceError::UnknownService { title, service, known } => {
                write!(f, "{title} knows no service {service:?}; ")?;
                write_services(f, known)
            }
        }
    }
}

impl std::error::Error for SourceError {}

fn write_advice(f: &mut fmt::Formatter<'_>, title: &str, example: &str, status: u16) -> fmt::Result {
    match status {
        300..=399 => f.write_str("; redirects are not followed, so give the URL they lead to"),
        401 | 403 => write!(
            f,
            "; set the environment variable {TOKEN_VARIABLE} to a bearer token, or {BASIC_VARIABLE} to user:password, that may \
             read traces"
        ),
        404 => write!(
            f,
            "; so the URL is not that of {title}'s query API: give the one that its API is below, like {example}, with the path \
             where it has one"
        ),
        429 | 502..=504 => f.write_str("; the query was retried"),
        _ => Ok(()),
    }
}

/// Names in an error at most.
const NAMES_MAX: usize = 20;

fn write_services(f: &mut fmt::Formatter<'_>, known: &[String]) -> fmt::Result {
    if known.is_empty() {
        return f.write_str("it knows none");
    }
    let shown: Vec<String> = known.iter().take(NAMES_MAX).map(|name| printable(name, 100)).collect();
    write!(f, "it knows {}", shown.join(", "))?;
    match known.len().saturating_sub(NAMES_MAX) {
        0 => Ok(()),
        more => write!(f, " and {more} more"),
    }
}
