//! Phrases about signatures and their differences.

use crate::names::label;
use crate::numbers;
use crate::{ComparedQuantity, DiffSide, SignatureDiff, TransactionDiff};

/// `takes 9.00 ms of CPU instead of 4.00 ms (+5.00 ms, +125 %; windows 120 and 118)`, or why nothing can be said.
pub(crate) fn difference_clause(transaction: &TransactionDiff) -> String {
    let (Some(before), Some(after), Some(difference)) =
        (transaction.before_s, transaction.after_s, transaction.difference_s)
    else {
        return transaction.reason.clone().unwrap_or_else(|| transaction.outcome.word().to_owned());
    };
    let ratio = match before > 0.0 {
        true => format!(", {}", signed_percent(difference / before)),
        false => String::new(),
    };
    let windows = format!(
        "{} and {}",
        numbers::count(transaction.windows_before),
        numbers::count(transaction.windows_after)
    );
    let reason = transaction.reason.as_ref().map_or_else(String::new, |reason| format!(": {reason}"));
    format!(
        "takes {}{} instead of {} ({}{ratio}; windows {windows}){reason}",
        numbers::seconds(after),
        of_cpu(transaction),
        numbers::seconds(before),
        numbers::signed_seconds(difference)
    )
}

/// ` of CPU`, or nothing where the seconds are time.
pub(super) fn of_cpu(transaction: &TransactionDiff) -> &'static str {
    match transaction.quantity {
        Some(ComparedQuantity::WorkShare | ComparedQuantity::WorkDifference) => " of CPU",
        Some(ComparedQuantity::Time) | None => "",
    }
}

/// `+12 %`, `−3.4 %`
pub(crate) fn signed_percent(share: f64) -> String {
    let sign = if share < 0.0 { "−" } else { "+" };
    format!("{sign}{}", numbers::share(share.abs()))
}

/// The compared signatures and the method, in a sentence or two.
pub(crate) fn basis(diff: &SignatureDiff) -> String {
    let side = |side: &DiffSide| {
        let label = if side.label.is_empty() { String::new() } else { format!("{}, ", shown(&side.label)) };
        let time = side.time.map_or_else(String::new, |time| format!(", {time}"));
        format!("{label}{}{time}", shown(&side.file))
    };
    format!(
        "Compared {} with {}. A difference counts above {} and {} standard errors, with {} on both sides.",
        side(&diff.old),
        side(&diff.new),
        numbers::share(diff.test.change_min),
        diff.test.standard_errors_min,
        numbers::counted(diff.test.windows_min, "window"),
    )
}

fn shown(text: &str) -> String {
    label(text, 80)
}
