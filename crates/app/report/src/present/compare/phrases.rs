//! Words and phrases of a comparison.

use crate::names::quoted;
use crate::numbers::{self, signed_time};
use crate::{
    Change, ComparedSet, Comparison, Input, LatencyChange, LatencyPart, MeasuredShift, OperationChange,
    ShapeDifference, ShapeFate,
};

/// What became of something.
pub(crate) const fn change_word(change: Change) -> &'static str {
    match change {
        Change::Slower => "slower",
        Change::Faster => "faster",
        Change::MoreCalls => "more calls",
        Change::FewerCalls => "fewer calls",
        Change::New => "new",
        Change::Vanished => "vanished",
        Change::None => "no change",
    }
}

/// What became of a shape.
pub(crate) const fn fate_word(fate: ShapeFate) -> &'static str {
    match fate {
        ShapeFate::New => "new",
        ShapeFate::Vanished => "vanished",
        ShapeFate::Grown => "more frequent",
        ShapeFate::Shrunk => "less frequent",
    }
}

/// Name and value of the parts of a change of latency, in the order in which they are shown.
pub(crate) fn latency_parts(latency: &LatencyChange) -> [(&'static str, &LatencyPart); 4] {
    [
        ("the same requests", &latency.same_requests),
        ("a different mix of requests", &latency.mix),
        ("new call trees", &latency.new_shapes),
        ("vanished call trees", &latency.vanished_shapes),
    ]
}

/// `[+1.20 ms, +2.30 ms]`
pub(crate) fn interval(part: &LatencyPart) -> String {
    format!("[{}, {}]", signed_time(part.low_ns), signed_time(part.high_ns))
}

/// The interval of a shift in time, when there is one.
pub(crate) fn shift_interval(shift: &MeasuredShift) -> String {
    match (shift.low, shift.high) {
        (Some(low), Some(high)) => format!("[{}, {}]", signed_time(low), signed_time(high)),
        _ => String::new(),
    }
}

/// A number of calls per request: `1`, `2.35`, `120`.
pub(crate) fn calls(value: f64) -> String {
    match value {
        v if !v.is_finite() => "–".to_owned(),
        v if v.fract() == 0.0 && v < 1e6 => format!("{v:.0}"),
        v if v < 100.0 => format!("{v:.2}"),
        v => format!("{v:.0}"),
    }
}

/// Operations that are not as before.
pub(crate) fn changed_operations(comparison: &Comparison) -> impl Iterator<Item = &OperationChange> {
    comparison.operations.iter().filter(|operation| operation.change != Change::None)
}

/// What distinguishes a shape, in a sentence with its names in backticks.
pub(crate) fn difference(difference: &ShapeDifference) -> String {
    let (called, caller) = match difference.path.as_slice() {
        [.., caller, called] => (called.as_str(), Some(caller.as_str())),
        [called] => (called.as_str(), None),
        [] => ("", None),
    };
    let under = caller.map_or_else(String::new, |caller| format!(" under {}", quoted(caller)));
    match (difference.calls_before, difference.calls_after) {
        (0.0, after) => format!("call to {} added{under} ({} per request)", quoted(called), calls(after)),
        (before, 0.0) => format!("call to {} gone{under} ({} per request)", quoted(called), calls(before)),
        (before, after) => {
            let (before, after) = (calls(before), calls(after));
            format!("calls per request of {}{under} went from {before} to {after}", quoted(called))
        }
    }
}

/// What one set is, as a sentence.
pub(crate) fn set_sentence(name: &str, set: &ComparedSet) -> String {
    let Input { requests, spans, operations, replicas, .. } = set.input;
    let window = set.window.as_ref().map_or_else(String::new, |window| format!(", {window}"));
    format!(
        "{name}: {}: {} of {}, {}, {}{window}.",
        quoted(&set.label),
        numbers::counted(requests, "complete request"),
        numbers::counted(spans, "span"),
        numbers::counted(operations, "operation"),
        numbers::counted(replicas, "replica"),
    )
}
