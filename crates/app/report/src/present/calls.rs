//! The cost of a call, in words.

use crate::{CallCost, numbers};

/// The cost of a call, as a sentence about the tier or server before it.
pub(super) fn call_sentence(call: &CallCost) -> String {
    let time = numbers::seconds;
    let cost = format!("{} of CPU ({} to {})", time(call.demand_s), time(call.low_s), time(call.high_s));
    match call.common {
        true => format!("A call takes {cost}, whichever transaction makes it."),
        false => format!("A call takes {cost} on average; calls of different transactions differ."),
    }
}
