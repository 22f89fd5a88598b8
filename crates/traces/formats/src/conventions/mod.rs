//! OpenTelemetry's semantic conventions, old and new: which attributes name a service, its replica and an
//! operation, and which are retained. The manual's pages on OTLP and Jaeger state the same rules for users.

mod operation;
mod peer;
mod query;
mod resource;
mod selected;
mod template;
mod thread;

pub(crate) use operation::{NameQuality, OperationAttributes, OperationNamer};
pub(crate) use resource::{ResourceAttributes, ResourceNames};
pub(crate) use selected::SpanSelection;
pub use selected::{DEFAULT_ATTRIBUTES, SelectedAttributes, attribute_key, attribute_name};
pub(crate) use template::replace_ids;
pub use thread::THREAD_ATTRIBUTE;
pub(crate) use thread::read_thread;

/// The name used when none is specified.
pub(crate) const UNKNOWN: &str = "unknown";
