//! Words and phrases of a comparison.

use crate::names::{self, quoted};
use crate::numbers::{self, signed_time};
use crate::{
    Change, ComparedSet, Comparison, Input, LatencyChange, LatencyPart, MeasuredShift, OperationChange,
    ReplicaChange, ShapeDifference, ShapeFate,
};

/// A change in one word.
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

/// A shape's change in one word.
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

/// Replicas named in a phrase, and columns of a name.
const REPLICAS_NAMED: usize = 3;
const REPLICA_COLUMNS: usize = 40;

/// `different on 1 of 2 replicas: node017, +9.90 ms per call on 50 % of calls`; `None` unless some replicas changed, and
/// others did not.
fn some_replicas(operation: &OperationChange) -> Option<String> {
    let changed = operation.replicas.len() as u64;
    if changed == 0 || changed >= operation.replicas_compared {
        return None;
    }
    let same = operation.replicas.iter().filter(|replica| replica.change == operation.replicas[0].change);
    let moved = |replica: &&ReplicaChange| replica.moved_share * replica.calls_share;
    let share: f64 = same.clone().map(|replica| moved(&replica)).sum();
    let shift =
        same.clone().map(|replica| moved(&replica) * replica.shift_ns).sum::<f64>() / share.max(1e-12);
    let names: Vec<String> = same.map(|replica| replica.replica.replace('`', "'")).collect();
    Some(format!(
        "different on {} of {}: {}, {} per call on {} of calls",
        numbers::count(changed),
        numbers::counted(operation.replicas_compared, "replica"),
        names::list(&names, REPLICAS_NAMED, REPLICA_COLUMNS),
        signed_time(shift),
        numbers::share(share)
    ))
}

/// On which replicas an operation differs, or for which requests; `None` if on all and for all.
pub(crate) fn some_parts(operation: &OperationChange) -> Option<String> {
    some_replicas(operation).or_else(|| some_requests(operation))
}

/// `different only for requests with tenant=acme: +9.90 ms per call on 50 % of their calls`
fn some_requests(operation: &OperationChange) -> Option<String> {
    let first = operation.attributes.first()?;
    let same = operation.attributes.iter().filter(|attribute| attribute.key == first.key);
    let names: Vec<String> =
        same.map(|attribute| format!("{}={}", attribute.key, attribute.value).replace('`', "'")).collect();
    Some(format!(
        "different only for requests with {}: {} per call on {} of their calls",
        names::list(&names, REPLICAS_NAMED, REPLICA_COLUMNS),
        signed_time(first.shift_ns),
        numbers::share(first.moved_share)
    ))
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

/// A difference of shapes, in a sentence with its names in backticks.
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

/// One set in a sentence.
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
