//! The system clock. Only the program and the server read it: methods and reports are given times.

use laggard_model::Timestamp;
use std::time::{SystemTime, UNIX_EPOCH};

/// The time of this host's clock; 1970 for a clock before that.
pub fn now() -> Timestamp {
    let since_epoch = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    Timestamp::from_unix_ns(i64::try_from(since_epoch.as_nanos()).unwrap_or(i64::MAX))
}
