//! Failures without a baseline: compared with the time before them, or only mentioned.

use super::failures::OutcomeStudy;
use crate::diagnose::answer::{Evidence, Suspect};
use laggard_localize::{
    CallChange, ErrorRise, errors_since, find_rate_onset, frequent_errors, missing_calls_since,
};
use laggard_model::{OperationId, SpanKind};

/// Most operations mentioned that fail often.
const FREQUENT_ERRORS_MAX: usize = 3;

impl OutcomeStudy<'_> {
    /// Operations that fail from some time of the window on, if there is no baseline.
    pub(super) fn errors_since(&self) -> Vec<ErrorRise> {
        if self.study.baseline.is_some() {
            return Vec::new();
        }
        let start = |row: u32| self.study.window.requests[row as usize].start;
        let onset = |rows: &[(u32, bool)]| {
            let series: Vec<_> = rows.iter().map(|&(row, is_hit)| (start(row), is_hit)).collect();
            let onset = find_rate_onset(&series)?.at;
            rows.iter().map(|&(row, _)| row).find(|&row| start(row) >= onset)
        };
        errors_since(&self.window.table, &self.question.settings.sites.failures, onset)
    }

    /// Calls that are no longer made from some time of the window on, if there is no baseline. Messages are often processed
    /// later, so those sent at the end of the window seem not to be processed.
    pub(super) fn missing_since(&self) -> Vec<CallChange> {
        if self.study.baseline.is_some() {
            return Vec::new();
        }
        let names = self.study.union.names();
        let is_message = |callee: OperationId| names.operation_key(callee).kind == SpanKind::Consumer;
        let settings = &self.question.settings.sites.failures;
        missing_calls_since(&self.window.table, settings, |callee| !is_message(callee))
    }

    /// Without a baseline, what fails often enough to be mentioned and is no suspect.
    pub(super) fn frequent_errors(&self, suspects: &[Suspect]) -> Option<String> {
        if self.study.baseline.is_some() {
            return None;
        }
        let fails = |suspect: &Suspect| suspect.evidence.contains(&Evidence::Errors);
        let is_suspect =
            |operation| suspects.iter().any(|suspect| suspect.operation == operation && fails(suspect));
        let frequent = frequent_errors(&self.window.table, &self.question.settings.sites.failures);
        let frequent = frequent.into_iter().filter(|rate| !is_suspect(rate.operation));
        let phrases: Vec<String> = frequent
            .take(FREQUENT_ERRORS_MAX)
            .map(|rate| {
                let operation = self.study.operation_text(rate.operation);
                format!("`{operation}` fails in {:.0} % of its calls", 100.0 * rate.rate)
            })
            .collect();
        let (last, others) = phrases.split_last()?;
        let all = if others.is_empty() { last.clone() } else { format!("{}, and {last}", others.join(", ")) };
        Some(format!("{all}; nothing shows that this is new. A baseline would show it."))
    }
}
