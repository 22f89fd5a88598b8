//! Finds executions in a stream of kernel events: the intervals between the events that a delimiter names as begin and end.

use super::delimiter::{Delimiter, DelimiterKind, MarkerRule};
use super::execution::DelimitedExecutions;
use super::matcher::DelimiterMatcher;
use super::threads::Threads;
use crate::worker::HostId;
use laggard_model::{KernelEvent, KernelTexts, Losses};

/// Finds executions in a stream of events in time order.
///
/// Memory: the executions, and at most 2¹⁸ open beginnings.
#[derive(Debug)]
pub struct ExecutionFinder {
    requested: Delimiter,
    host: HostId,
    threads: Threads,
    /// One matcher, or for [`DelimiterKind::Auto`] one per candidate, in order of preference.
    matchers: Vec<DelimiterMatcher>,
}

impl ExecutionFinder {
    /// A finder of the executions of a delimiter on host 0.
    pub fn new(delimiter: Delimiter) -> ExecutionFinder {
        ExecutionFinder::on_host(delimiter, HostId::default())
    }

    /// A finder for the trace of a host.
    pub fn on_host(delimiter: Delimiter, host: HostId) -> ExecutionFinder {
        let matchers = candidate_delimiters(&delimiter)
            .into_iter()
            .map(|candidate| DelimiterMatcher::new(candidate, host))
            .collect();
        ExecutionFinder { requested: delimiter, host, threads: Threads::default(), matchers }
    }

    /// The host assigned to its executions.
    pub fn host(&self) -> HostId {
        self.host
    }

    /// Adds the next event.
    pub fn push(&mut self, event: &KernelEvent, texts: &KernelTexts) {
        self.threads.push(event, texts);
        for matcher in &mut self.matchers {
            matcher.push(event, texts, &self.threads);
        }
    }

    /// Returns the executions; beginnings and ends without a counterpart are added to `losses`.
    pub fn finish(self, losses: &mut Losses) -> DelimitedExecutions {
        let is_auto = self.requested.kind == DelimiterKind::Auto;
        let mut nothing = DelimitedExecutions {
            executions: Vec::new(),
            delimiter: self.requested,
            delimiter_reason: String::new(),
            unfinished: 0,
        };
        for matcher in self.matchers {
            let (delimiter, paired) = matcher.finish(&self.threads);
            if is_auto && paired.executions.is_empty() {
                continue;
            }
            losses.merge(&paired.unfinished);
            let unfinished = paired.unfinished.iter().map(|(_, loss)| loss.count).sum();
            let delimiter_reason = if is_auto { delimiter_reason(&delimiter) } else { String::new() };
            return DelimitedExecutions {
                executions: paired.executions,
                delimiter,
                delimiter_reason,
                unfinished,
            };
        }
        nothing.delimiter_reason =
            "the trace contains neither paired markers nor programs from start to exit".to_owned();
        nothing
    }
}

/// The delimiters to try.
fn candidate_delimiters(requested: &Delimiter) -> Vec<Delimiter> {
    if requested.kind != DelimiterKind::Auto {
        return vec![requested.clone()];
    }
    [DelimiterKind::Markers(MarkerRule::Usual { name: None }), DelimiterKind::Process { name: None }]
        .map(|kind| Delimiter { kind, scope: requested.scope.clone() })
        .into()
}

fn delimiter_reason(delimiter: &Delimiter) -> String {
    match delimiter.kind {
        DelimiterKind::Markers(_) => "the trace contains paired markers".to_owned(),
        _ => "the trace contains no paired markers, but programs from start to exit".to_owned(),
    }
}
