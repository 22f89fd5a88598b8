//! Running as a service: configuration, logs, start and stop.

mod answer_bytes;
mod data_folder;
mod data_lock;
mod file_stamp;
mod health;
mod load;
mod logs;
mod memory;
mod notice;
mod otel_variables;
mod process;
#[cfg(test)]
mod recipe_tests;
mod request_durations;
mod self_tracing;
mod server_issues;
mod yaml;

pub(crate) use answer_bytes::{QUERY_BYTES, QUESTION_BYTES};
pub use data_folder::DataFolder;
pub(crate) use data_lock::DataLock;
pub(crate) use file_stamp::FileStamp;
pub use health::check_health;
pub use load::{SettingSources, SettingText, environment_name, load};
pub(crate) use logs::start_logs;
pub(crate) use memory::{ProcessMemory, ReservedMemory};
pub(crate) use notice::Notice;
pub use otel_variables::OtelVariables;
pub(crate) use process::ProcessFigures;
pub(crate) use request_durations::{RequestDurations, measure};
pub(crate) use self_tracing::{SelfTracing, trace};
pub(crate) use server_issues::{ServerIssueKind, ServerIssues};
