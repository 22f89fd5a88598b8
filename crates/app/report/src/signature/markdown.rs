//! Signatures and their differences, for an incident channel or a comment on a change.

use super::{
    Signature, SignatureDiff, SignatureVerdict, TransactionDiff, TransactionFate, TransactionSignature,
    verdict_word,
};
use crate::markdown::{code, losses, prose, row, sentence, shown_of, table};
use crate::numbers;
use crate::present::changes::phrases::{heading_of, length, plus_minus, signed_length};
use std::io;

/// Rows of a table and lines of a list; together they stay within forty lines.
const ROWS: usize = 16;
const REMARKS: usize = 3;

fn finish(blocks: Vec<Vec<String>>, out: &mut dyn io::Write) -> io::Result<()> {
    let blocks = blocks.iter().filter(|block| !block.is_empty());
    let text: Vec<String> = blocks.map(|block| block.join("\n")).collect();
    writeln!(out, "{}", text.join("\n\n"))
}

fn remarks(name: &'static str, texts: &[String]) -> impl Iterator<Item = String> {
    texts.iter().take(REMARKS).map(move |text| format!("- {name}: {}", sentence(text)))
}

/// Writes a signature as GitHub-flavored Markdown in at most forty lines.
pub(super) fn signature(signature: &Signature, out: &mut dyn io::Write) -> io::Result<()> {
    let title = match signature.verdict {
        SignatureVerdict::Usable => "### Laggard: signature",
        SignatureVerdict::InsufficientData => "### Laggard: not enough data for a signature",
    };
    let of: Vec<_> = signature
        .servers
        .iter()
        .flat_map(|server| server.by_share().into_iter().map(move |one| (server, one)))
        .collect();
    let head = shown_of("transaction", ROWS, of.len());
    let rows = of.iter().take(ROWS).map(|(server, one)| {
        row(&[
            code(&heading_of(&server.server, &server.tier)),
            code(&one.transaction),
            service_time(one),
            numbers::count(one.windows),
            one.demand_s.map_or_else(String::new, length),
            numbers::share(one.share),
        ])
    });
    let columns = ["server", &head, "without queueing", "windows", "CPU", "share"];
    let mut notes: Vec<String> = remarks("Missing", signature.missing.get(1..).unwrap_or_default()).collect();
    notes.extend(remarks("Caution", &signature.cautions));
    notes.extend(
        losses(&signature.input.losses).map(|text| format!("- Lost, repaired or mistrusted: {text}")),
    );
    let blocks = vec![
        vec![title.to_owned(), String::new(), sentence(&signature.headline)],
        table(&columns, "l l r r r r", rows),
        notes,
        vec![prose(&signature.input.sentence())],
    ];
    finish(blocks, out)
}

/// `4.00 ms ±0.31 ms`
fn service_time(one: &TransactionSignature) -> String {
    let Some(seconds) = one.service_time_s else { return String::new() };
    format!("{} {}", length(seconds), plus_minus(one.standard_error_s.unwrap_or(f64::NAN)))
}

/// Writes a difference as GitHub-flavored Markdown in at most forty lines. What got slower comes first.
pub(super) fn diff(diff: &SignatureDiff, out: &mut dyn io::Write) -> io::Result<()> {
    let told: Vec<&TransactionDiff> =
        diff.transactions.iter().filter(|one| one.fate != TransactionFate::Same).collect();
    let head = shown_of("transaction", ROWS, told.len());
    let rows = told.iter().take(ROWS).map(|one| {
        row(&[
            code(one.place()),
            code(&one.transaction),
            one.fate.word().to_owned(),
            format!(
                "{} → {}",
                one.before_s.map_or_else(|| "–".to_owned(), length),
                one.after_s.map_or_else(|| "–".to_owned(), length)
            ),
            one.difference_s.map_or_else(String::new, signed_length),
            one.standard_error_s.map_or_else(String::new, plus_minus),
        ])
    });
    let mut notes: Vec<String> = remarks("Missing", diff.missing.get(1..).unwrap_or_default()).collect();
    notes.extend(remarks("Caution", &diff.cautions));
    let blocks = vec![
        vec![
            format!("### Laggard: {}", verdict_word(diff.verdict).to_lowercase()),
            String::new(),
            sentence(&diff.headline),
        ],
        table(&["server", &head, "", "before → after", "difference", "95 %"], "l l l r r r", rows),
        notes,
        vec![prose(&super::diff::basis(diff))],
    ];
    finish(blocks, out)
}
