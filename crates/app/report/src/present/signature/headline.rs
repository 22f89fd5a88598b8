//! The answers in one or two sentences.

use super::phrases::{of_cpu, signed_percent};
use crate::names::quoted;
use crate::numbers;
use crate::{DiffVerdict, Signature, SignatureDiff, SignatureVerdict, TransactionDiff, TransactionOutcome};

/// The headline of a signature, from everything else in it. Names stand in backticks.
pub fn signature_headline(signature: &Signature) -> String {
    if signature.verdict == SignatureVerdict::InsufficientData {
        let missing = signature.missing.first().map_or_else(String::new, |text| format!(" {text}"));
        return format!("Too little data for a signature.{missing}");
    }
    let known = signature.servers.iter().flat_map(|server| &server.transactions);
    let mut known: Vec<_> = known.filter(|transaction| transaction.service_time_s.is_some()).collect();
    known.sort_by(|a, b| b.service_time_s.unwrap_or(0.0).total_cmp(&a.service_time_s.unwrap_or(0.0)));
    let longest = known.first().map_or_else(String::new, |transaction| {
        format!(
            " {} takes longest: {} without queueing.",
            quoted(&transaction.transaction),
            numbers::seconds(transaction.service_time_s.unwrap_or(f64::NAN))
        )
    });
    format!(
        "{} at {}.{longest}",
        numbers::counted(known.len() as u64, "service time"),
        numbers::counted(signature.servers.len() as u64, "server")
    )
}

/// The headline of a comparison, from everything else in the report. Names stand in backticks.
///
/// ```text
/// `Home` takes +5.00 ms of CPU (+125 %) on `app-1`, and 2 more transactions got slower.
/// ```
pub fn diff_headline(diff: &SignatureDiff) -> String {
    let counts = &diff.counts;
    let tested = numbers::counted(counts.tested(), "transaction");
    let inconclusive = match counts.inconclusive {
        0 => String::new(),
        count => format!(" {} could not be compared.", numbers::counted(count, "transaction")),
    };
    match diff.verdict {
        DiffVerdict::InsufficientData => {
            let missing = diff.missing.first().map_or_else(String::new, |text| format!(" {text}"));
            format!("Too little data to say.{missing}")
        }
        DiffVerdict::Same => {
            format!(
                "No transaction got slower or faster, of {tested} compared.{}{inconclusive}",
                detectable(diff)
            )
        }
        DiffVerdict::Slower => {
            format!("{}{inconclusive}", first_of(diff, TransactionOutcome::Slower, counts.slower, "slower"))
        }
        DiffVerdict::Faster => {
            let faster = first_of(diff, TransactionOutcome::Faster, counts.faster, "faster");
            format!("No transaction got slower. {faster}{}{inconclusive}", detectable(diff))
        }
    }
}

/// The least difference that each comparison in which nothing got slower would have shown.
fn detectable(diff: &SignatureDiff) -> String {
    let tested = diff
        .transactions
        .iter()
        .filter(|row| matches!(row.outcome, TransactionOutcome::Same | TransactionOutcome::Faster));
    let share =
        |row: &TransactionDiff| Some(row.detectable_s? / row.before_s.filter(|&before| before > 0.0)?);
    let largest = tested.filter_map(share).fold(0.0, f64::max);
    if largest <= 0.0 {
        return String::new();
    }
    format!(" A difference of {} would have been seen in each.", numbers::share(largest))
}

fn first_of(diff: &SignatureDiff, outcome: TransactionOutcome, count: u64, word: &str) -> String {
    let Some(first) = diff.transactions.iter().find(|transaction| transaction.outcome == outcome) else {
        return String::new();
    };
    let more = match count {
        0 | 1 => String::new(),
        n => format!(", and {} got {word}", numbers::counted(n - 1, "more transaction")),
    };
    format!("{} takes {}{}{more}.", quoted(&first.transaction), by(first), on(first))
}

fn by(transaction: &TransactionDiff) -> String {
    let difference = transaction.difference_s.unwrap_or(f64::NAN);
    let ratio = transaction.before_s.filter(|&before| before > 0.0).map(|before| difference / before);
    let ratio = ratio.map_or_else(String::new, |ratio| format!(" ({})", signed_percent(ratio)));
    format!("{}{}{ratio}", numbers::signed_seconds(difference), of_cpu(transaction))
}

fn on(transaction: &TransactionDiff) -> String {
    match (transaction.server.as_str(), transaction.tier.as_str()) {
        ("", "") => String::new(),
        ("", tier) => format!(" on tier {}", quoted(tier)),
        (server, _) => format!(" on {}", quoted(server)),
    }
}
