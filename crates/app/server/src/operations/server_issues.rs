//! What needs a person's attention and concerns the whole server, not the store of a tenant.

use laggard_model::Timestamp;
use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard};

/// Kinds of issues; `/readyz` shows their texts to everybody, so they name no file and no token.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) enum ServerIssueKind {
    /// A changed file with a token, or the list of tokens.
    Tokens,
    /// A changed file of TLS.
    Certificates,
    /// A server that traces are read from.
    TraceSources,
    /// Workers that read the store for this server.
    Workers,
}

impl ServerIssueKind {
    /// A word for programs.
    pub(crate) const fn name(self) -> &'static str {
        match self {
            ServerIssueKind::Tokens => "tokens_unusable",
            ServerIssueKind::Certificates => "certificates_unusable",
            ServerIssueKind::TraceSources => "trace_source_unread",
            ServerIssueKind::Workers => "workers_failed",
        }
    }

    /// The issue, and what the server does about it.
    pub(crate) const fn text(self) -> &'static str {
        match self {
            ServerIssueKind::Tokens => {
                "a token's file, or the list of tokens in the configuration, has changed and cannot be used (the log says why); \
                 the tokens from before stay valid"
            }
            ServerIssueKind::Certificates => {
                "the files of TLS have changed and cannot be used (the log says why); the certificates from before stay in use"
            }
            ServerIssueKind::TraceSources => {
                "a server that traces are read from cannot be read (the log says which and why); it is tried again, and up to an hour \
                 is caught up"
            }
            ServerIssueKind::Workers => {
                "the workers did not read the store for the last question that they were to (the log says which and why); the server \
                 read it itself"
            }
        }
    }
}

/// The issues of now, each with its beginning.
#[derive(Debug, Default)]
pub(crate) struct ServerIssues {
    open: Mutex<BTreeMap<ServerIssueKind, Timestamp>>,
}

impl ServerIssues {
    /// Notes that an issue is there, or is no more. One that was there before keeps its beginning.
    pub(crate) fn set(&self, kind: ServerIssueKind, is_there: bool, now: Timestamp) {
        match is_there {
            true => {
                self.open().entry(kind).or_insert(now);
            }
            false => {
                self.open().remove(&kind);
            }
        }
    }

    /// All of now, with the time at which each began.
    pub(crate) fn all(&self) -> Vec<(ServerIssueKind, Timestamp)> {
        self.open().iter().map(|(kind, since)| (*kind, *since)).collect()
    }

    fn open(&self) -> MutexGuard<'_, BTreeMap<ServerIssueKind, Timestamp>> {
        self.open.lock().expect("no thread panics while it holds the lock")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_issue_lasts_from_its_first_report_until_it_is_gone() {
        let (issues, at) = (ServerIssues::default(), Timestamp::from_unix_ns);
        issues.set(ServerIssueKind::Tokens, true, at(1));
        issues.set(ServerIssueKind::Tokens, true, at(2));
        issues.set(ServerIssueKind::Certificates, false, at(2));
        assert_eq!(issues.all(), [(ServerIssueKind::Tokens, at(1))]);
        issues.set(ServerIssueKind::Tokens, false, at(3));
        assert_eq!(issues.all(), []);
    }
}
