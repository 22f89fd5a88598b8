//! Where executions begin and end.
//!
//! ```text
//! KernelEvents ─► Threads (who acts, whose process) ─► marks of a Delimiter ─► pairs ─► Executions
//! ```

mod delimiter;
mod events;
mod execution;
mod fields;
mod finder;
mod glob;
mod lives;
mod marker;
mod marks;
mod pairs;
mod parse;
mod seeker;
mod spans;
mod survey;
mod syscalls;
mod template;
mod threads;
mod traceparent;

pub use delimiter::{
    Delimiter, DelimiterError, DelimiterKind, EventPattern, FieldPattern, MarkerRule, Pairing, Scope,
    SyscallName,
};
pub use execution::{Execution, FoundExecutions, TraceContext};
pub use finder::ExecutionFinder;
pub use glob::Glob;
pub use spans::{NoExecution, SpanExecution, SpanInterval, SpanThread, executions_of_spans};
pub use survey::{DelimiterSurvey, Proposal};
pub use template::Template;

#[cfg(test)]
mod tests;
