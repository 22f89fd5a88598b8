//! The headline of a comparison: the difference in one sentence.

use super::phrases::{change_word, changed_operations, some_parts};
use crate::names::quoted;
use crate::numbers::{self, relative, signed_share, signed_time};
use crate::{Change, Comparison, ComparisonVerdict, EntryChange, LatencyChange, OperationChange};

/// Parts smaller than this share of the largest are left out.
const PART_LEAST: f64 = 0.1;

/// The answer in one sentence, from everything else in the comparison. Names stand in backticks.
///
/// ```text
/// Requests take 57.3 ms on average instead of 52.1 ms (+10 %): the same requests take +5.0 ms. Most by
/// `chunk-store read`, slower (1.10×); 2 other operations changed.
/// ```
pub fn comparison_headline(comparison: &Comparison) -> String {
    let requests = [&comparison.before, &comparison.after].map(|set| set.input.requests);
    let counted = |index: usize| numbers::counted(requests[index], "complete request");
    if comparison.verdict == ComparisonVerdict::InsufficientData {
        return format!("Too little data to say: {} before, {} after.", counted(0), counted(1));
    }
    if comparison.verdict == ComparisonVerdict::Unchanged {
        return format!(
            "No difference beyond chance and the usual variation between {} before and {} after{}.",
            counted(0),
            counted(1),
            comparison.latency.as_ref().map_or_else(String::new, means)
        );
    }
    let mut sentence = comparison.latency.as_ref().map_or_else(String::new, latency);
    let changed: Vec<&OperationChange> = changed_operations(comparison).collect();
    if let Some((lead, others)) = changed.split_first() {
        sentence.push_str(&format!(" The largest change of an operation: {}", operation(lead)));
        match others.len() as u64 {
            0 => {}
            others => {
                sentence.push_str(&format!("; {} changed too", numbers::counted(others, "other operation")))
            }
        }
        sentence.push('.');
    } else if let Some(entry) = comparison.entries.iter().find(|entry| entry.change != Change::None) {
        sentence.push_str(&by_entry(entry));
    }
    let shapes = comparison.shapes.iter().filter(|shape| shape.significant).count() as u64;
    if shapes > 0 {
        let shapes = numbers::counted(shapes, "call tree");
        sentence.push_str(&format!(" {shapes} became more or less frequent."));
    }
    sentence
}

/// No operation changed by itself, and still requests of one entry did: a fault of few calls moves the mean and no median.
fn by_entry(entry: &EntryChange) -> String {
    let Some(latency) = entry.latency else { return String::new() };
    let change = signed_time(latency.same_requests.change_ns);
    let share = signed_share(latency.same_requests.change_ns / latency.before_ns);
    format!(
        " Requests that enter at {} take {change} ({share}); most calls of every operation take as long as before.",
        quoted(&format!("{} {}", entry.service, entry.operation))
    )
}

fn means(latency: &LatencyChange) -> String {
    let [before, after] = [latency.before_ns, latency.after_ns].map(numbers::time_float);
    format!(": {before} and {after} on average")
}

fn latency(latency: &LatencyChange) -> String {
    let [before, after] = [latency.before_ns, latency.after_ns].map(numbers::time_float);
    let change = relative(latency.before_ns, latency.after_ns).map_or_else(String::new, signed_share);
    // A changed call tree counts as one that vanished and one that is new, so only their sum has a meaning.
    let trees = latency.new_shapes.change_ns + latency.vanished_shapes.change_ns;
    let parts = [
        (latency.same_requests.change_ns, "the same requests take"),
        (latency.mix.change_ns, "a different mix of requests adds"),
        (trees, "new and vanished call trees add"),
    ];
    let largest = parts.iter().map(|(change, _)| change.abs()).fold(0.0, f64::max);
    let notable = parts.iter().filter(|(change, _)| *change != 0.0 && change.abs() >= PART_LEAST * largest);
    let notable: Vec<String> =
        notable.map(|(change, words)| format!("{words} {}", signed_time(*change))).collect();
    let why = if notable.is_empty() { String::new() } else { format!(": {}", notable.join(", ")) };
    format!("Requests take {after} on average instead of {before} ({change}){why}.")
}

fn operation(operation: &OperationChange) -> String {
    let name = quoted(&format!("{} {}", operation.service, operation.operation));
    if let Some(parts) = some_parts(operation) {
        return format!("{name}, {parts}");
    }
    let word = change_word(operation.change);
    let shift = match operation.change {
        Change::Slower | Change::Faster => operation.time,
        Change::MoreCalls | Change::FewerCalls => operation.calls,
        _ => None,
    };
    match shift.and_then(|shift| shift.ratio) {
        Some(ratio) => format!("{name}, {word} ({})", numbers::factor(ratio)),
        None => format!("{name}, {word}"),
    }
}
