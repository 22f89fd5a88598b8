//! How much is left, for an incident channel.

use super::words::{
    accuracy_sentence, amount, binding_sentence, capacity_verdict_word, latency, most, tier_size,
};
use super::{CapacityAnswer, CapacityReport};
use crate::markdown::{code, losses, prose, row, sentence, shown_of, table};
use crate::numbers;
use std::io;

/// Rows of each table and lines of each list; together they stay within forty lines.
const TIERS: usize = 5;
const TRANSACTIONS: usize = 6;
const CHANGES: usize = 3;
const REMARKS: usize = 3;

/// Writes how much is left as GitHub-flavored Markdown in at most forty lines, whatever it holds. Names stand in
/// code spans and cannot break out of their cell.
///
/// # Errors
/// Those of `out`.
pub(super) fn markdown(report: &CapacityReport, out: &mut dyn io::Write) -> io::Result<()> {
    let blocks = [
        vec![
            format!("### Laggard: {}", capacity_verdict_word(report.verdict).to_lowercase()),
            String::new(),
            sentence(&report.headline),
        ],
        report
            .answer
            .as_ref()
            .map_or_else(Vec::new, |answer| vec![sentence(&binding_sentence(report, answer))]),
        tiers(report),
        transactions(report),
        changes(report),
        remarks(report),
        vec![basis(report)],
    ];
    let blocks = blocks.iter().filter(|block| !block.is_empty());
    let text: Vec<String> = blocks.map(|block| block.join("\n")).collect();
    writeln!(out, "{}", text.join("\n\n"))
}

fn tiers(report: &CapacityReport) -> Vec<String> {
    let (Some(answer), Some(model)) = (&report.answer, &report.model) else { return vec![] };
    let title = shown_of("tier", TIERS, model.tiers.len());
    let rows = model.tiers.iter().zip(&answer.tiers).take(TIERS).map(|(tier, load)| {
        row(&[
            code(&tier.tier),
            prose(&tier_size(tier)),
            latency(tier.mean_s),
            latency(load.residence_s),
            load.utilization.map_or_else(|| "–".to_owned(), numbers::share),
        ])
    });
    table(&[&title, "", "demand", "time at capacity", "utilization"], "l l r r r", rows)
}

fn transactions(report: &CapacityReport) -> Vec<String> {
    let Some(answer) = &report.answer else { return vec![] };
    let shown = by_share(answer);
    let title = shown_of("transaction", TRANSACTIONS, shown.len());
    let rows = shown.iter().take(TRANSACTIONS).map(|&at| {
        let one = &answer.transactions[at];
        row(&[code(&one.transaction), numbers::share(one.share), latency(one.response_s)])
    });
    table(&[&title, "share", "response at capacity"], "l r r", rows)
}

/// The largest share first.
fn by_share(answer: &CapacityAnswer) -> Vec<usize> {
    let mut order: Vec<usize> = (0..answer.transactions.len()).collect();
    order.sort_by(|&a, &b| answer.transactions[b].share.total_cmp(&answer.transactions[a].share));
    order
}

fn changes(report: &CapacityReport) -> Vec<String> {
    let Some(what_if) = &report.what_if else { return vec![] };
    let mut lines = vec![format!("With these changes up to {}:", most(&what_if.answer)), String::new()];
    lines.extend(what_if.changes.iter().take(CHANGES).map(|change| format!("- {}", sentence(change))));
    if what_if.changes.len() > CHANGES {
        lines.push(format!("- and {} more", what_if.changes.len() - CHANGES));
    }
    lines
}

fn remarks(report: &CapacityReport) -> Vec<String> {
    let missing = report.missing.iter().skip(1).chain(&report.cautions);
    let mut lines: Vec<String> =
        missing.take(REMARKS).map(|caution| format!("- {}", sentence(caution))).collect();
    lines.extend(losses(&report.input.losses).map(|losses| format!("- {losses}")));
    lines
}

fn basis(report: &CapacityReport) -> String {
    let accuracy = report
        .accuracy
        .as_ref()
        .map_or_else(String::new, |accuracy| format!(" {}", accuracy_sentence(accuracy).replace('`', "")));
    let load = report.load.map_or_else(String::new, |load| {
        format!(" Highest throughput observed: {} requests/s.", amount(load.throughput_peak))
    });
    prose(&format!("{}{accuracy}{load}", report.input.sentence()))
}
