//! Finds the executions in a trace by delimiters.
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
mod lifetimes;
mod marker;
mod marks;
mod matcher;
mod pairs;
mod parse;
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
pub use execution::{DelimitedExecutions, Execution, TraceContext};
pub(crate) use fields::number as field_number;
pub use finder::ExecutionFinder;
pub use glob::Glob;
pub use spans::{SpanExecution, SpanExecutionError, SpanInterval, SpanThread, executions_of_spans};
pub use survey::{DelimiterProposal, DelimiterSurvey};
pub(crate) use syscalls::name_of;
pub use template::Template;
pub(crate) use threads::{PID_NAMESPACE, Threads};

#[cfg(test)]
mod tests;
