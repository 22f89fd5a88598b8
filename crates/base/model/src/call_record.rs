//! One line of a call log (CloudDiag, section 3).

use crate::{Timestamp, TraceId};

/// One call's start or return, as CloudDiag's collectors write it. A *fragment* is all records of one
/// `(request, mid)`; it lives on one host, and only times inside a fragment may be compared.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct CallRecord<'a> {
    /// The host that wrote the line: the clock, and the replica.
    pub host: &'a str,
    /// Time on that host's clock.
    pub time: Timestamp,
    /// The request, as a trace id.
    pub request: TraceId,
    /// The request id as received, when [`TraceId`]'s display text differs from it.
    pub request_text: Option<&'a str>,
    /// The fragment (the paper's MID). The entry fragment has the request's own id.
    pub fragment: TraceId,
    /// The service or component; empty when the log has no such field and the operation no such prefix.
    pub service: &'a str,
    /// The method.
    pub operation: &'a str,
    /// Start or return.
    pub flag: CallFlag,
    /// The fragment that this call invokes on another host.
    pub callee: Option<TraceId>,
}

/// Whether a call starts or returns.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum CallFlag {
    /// The method was invoked.
    Enter,
    /// The method returned.
    Exit,
}
