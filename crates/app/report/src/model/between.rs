//! The two ends of a call that is slow between them.

use serde::Serialize;
use utoipa::ToSchema;

/// Two operations between which time is spent: network, queueing, and the caller's work around the call.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, ToSchema)]
pub struct Between {
    /// Service of the caller.
    pub caller_service: String,
    /// The calling operation.
    pub caller_operation: String,
    /// Service of the callee.
    pub callee_service: String,
    /// The called operation.
    pub callee_operation: String,
    /// Which end is the likely cause, by everything else that both ends do.
    pub end: LinkEnd,
}

/// The end of a call that is the likely cause of the time between both.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, ToSchema)]
#[serde(rename_all = "kebab-case")]
pub enum LinkEnd {
    /// The caller's.
    Caller,
    /// The callee's.
    Callee,
    /// Either end, or what is between them.
    Unknown,
}
