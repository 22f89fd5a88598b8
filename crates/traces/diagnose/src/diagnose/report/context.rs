//! The inputs of every part of the report.

use crate::diagnose::answer::MethodAnswer;
use crate::diagnose::question::DiagnoseQuestion;
use crate::survey::Survey;
use laggard_localize::CategoryCalls;
use laggard_model::OperationId;
use std::ops::Deref;

/// The question and its answer.
pub(crate) struct Context<'a> {
    pub(crate) question: &'a DiagnoseQuestion<'a>,
    pub(crate) answer: &'a MethodAnswer,
}

impl<'a> Deref for Context<'a> {
    type Target = DiagnoseQuestion<'a>;

    fn deref(&self) -> &DiagnoseQuestion<'a> {
        self.question
    }
}

impl<'a> Context<'a> {
    /// The surveyed categories that were gathered.
    pub(crate) fn categories(&self) -> &'a [CategoryCalls] {
        &self.answer.surveyed.categories
    }

    /// All categories, with their latencies.
    pub(crate) fn survey(&self) -> &'a Survey {
        &self.answer.surveyed.survey
    }

    /// `service operation`.
    pub(crate) fn operation_text(&self, operation: OperationId) -> String {
        let key = self.requests.names().operation_key(operation);
        format!("{} {}", key.service, key.operation)
    }
}
