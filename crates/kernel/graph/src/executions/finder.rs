//! Events to executions.

use super::delimiter::{Delimiter, DelimiterKind, MarkerRule};
use super::execution::FoundExecutions;
use super::seeker::Seeker;
use super::threads::Threads;
use crate::worker::HostId;
use laggard_model::{KernelEvent, KernelTexts, Losses};

/// Finds executions in a stream of events, which come in time order.
///
/// Memory: the executions found, and at most 2¹⁸ beginnings that wait for their end.
#[derive(Debug)]
pub struct ExecutionFinder {
    asked: Delimiter,
    host: HostId,
    threads: Threads,
    /// One, or for [`DelimiterKind::Auto`] the candidates, the preferred first.
    seekers: Vec<Seeker>,
}

impl ExecutionFinder {
    /// A finder of what a delimiter delimits, on host 0.
    pub fn new(delimiter: Delimiter) -> ExecutionFinder {
        ExecutionFinder::on_host(delimiter, HostId::default())
    }

    /// A finder for the trace of one host of several.
    pub fn on_host(delimiter: Delimiter, host: HostId) -> ExecutionFinder {
        let seekers =
            candidates(&delimiter).into_iter().map(|candidate| Seeker::new(candidate, host)).collect();
        ExecutionFinder { asked: delimiter, host, threads: Threads::default(), seekers }
    }

    /// The host its executions are said to be on.
    pub fn host(&self) -> HostId {
        self.host
    }

    /// Takes the next event.
    pub fn push(&mut self, event: &KernelEvent, texts: &KernelTexts) {
        self.threads.push(event, texts);
        for seeker in &mut self.seekers {
            seeker.push(event, texts, &self.threads);
        }
    }

    /// The executions. What has no beginning or no end is a loss.
    pub fn finish(self, losses: &mut Losses) -> FoundExecutions {
        let is_auto = self.asked.kind == DelimiterKind::Auto;
        let mut nothing = FoundExecutions {
            executions: Vec::new(),
            delimiter: self.asked,
            chosen: String::new(),
            unfinished: 0,
        };
        for seeker in self.seekers {
            let (delimiter, paired) = seeker.finish(&self.threads);
            if is_auto && paired.executions.is_empty() {
                continue;
            }
            losses.merge(&paired.unfinished);
            let unfinished = paired.unfinished.iter().map(|(_, found)| found.count).sum();
            let chosen = if is_auto { why(&delimiter) } else { String::new() };
            return FoundExecutions { executions: paired.executions, delimiter, chosen, unfinished };
        }
        nothing.chosen =
            "neither markers in pairs nor programs from start to exit are in the trace".to_owned();
        nothing
    }
}

/// What is looked for.
fn candidates(asked: &Delimiter) -> Vec<Delimiter> {
    if asked.kind != DelimiterKind::Auto {
        return vec![asked.clone()];
    }
    [DelimiterKind::Markers(MarkerRule::Usual { name: None }), DelimiterKind::Process { name: None }]
        .map(|kind| Delimiter { kind, scope: asked.scope.clone() })
        .into()
}

fn why(delimiter: &Delimiter) -> String {
    match delimiter.kind {
        DelimiterKind::Markers(_) => "the trace has markers in pairs".to_owned(),
        _ => "the trace has no markers in pairs, but programs from start to exit".to_owned(),
    }
}
