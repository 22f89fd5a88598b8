//! How much is left, for a person at a terminal.

use super::page::Page;
use super::paint::{Paint, Piece, bar};
use super::sections::{bullets, losses};
use super::table::{Fit, Table};
use super::{TextStyle, WIDTH_MAX, WIDTH_MIN};
use crate::capacity::{
    CapacityAnswer, CapacityReport, CapacityVerdict, CurvePoint, TransactionLatency, accuracy_sentence,
    amount, binding_sentence, capacity_verdict_word, latency, most, most_amount, tier_size, trust_word,
};
use crate::{names, numbers};
use std::io;

/// Rows of each table; the other outputs list all.
const ROWS: usize = 16;

/// Columns a name may take.
const NAME_ROOM: usize = 40;

/// Columns of a bar.
const BAR: usize = 16;

/// Tiers whose demands are shown, and the page from which more than the first are.
const TIERS: usize = 4;
const WIDE: usize = 80;

/// Columns of a tier's name as a title.
const TITLE_ROOM: usize = 10;

/// Points of the curve that are told, as parts of the capacity: more of them where it bends.
const POINTS: [f64; 9] = [0.1, 0.25, 0.5, 0.75, 0.9, 0.95, 1.0, 1.05, 1.2];

/// Utilization from which a tier is marked.
const BUSY: f64 = 0.9;

pub(crate) fn capacity(
    report: &CapacityReport,
    style: &TextStyle,
    out: &mut dyn io::Write,
) -> io::Result<()> {
    let width = usize::from(style.width.clamp(WIDTH_MIN, WIDTH_MAX));
    let mut page = Page::new(width, style.color);
    verdict(&mut page, report);
    bullets(&mut page, "What is missing", &report.missing, Paint::Unsure);
    if let Some(answer) = &report.answer {
        curve(&mut page, report, answer);
        tiers(&mut page, report, answer);
        transactions(&mut page, report, answer);
    }
    changes(&mut page, report);
    breakdown(&mut page, report);
    bullets(&mut page, "Cautions", &report.cautions, Paint::Unsure);
    losses(&mut page, &report.input.losses);
    basis(&mut page, report);
    out.write_all(page.finish().as_bytes())
}

fn verdict(page: &mut Page, report: &CapacityReport) {
    let (mark, paint) = match report.verdict {
        CapacityVerdict::Exceeded => ("[!]", Paint::Bad),
        CapacityVerdict::NearLimit => ("[!]", Paint::Unsure),
        CapacityVerdict::Enough => ("[ok]", Paint::Good),
        CapacityVerdict::InsufficientData => ("[?]", Paint::Unsure),
    };
    let lead = [Piece::new(mark, paint), Piece::plain(" ")];
    page.wrapped(&lead, &[Piece::new(capacity_verdict_word(report.verdict), paint)]);
    page.blank();
    let lead = [Piece::plain("  ")];
    page.sentence(&lead, &report.headline, Paint::Plain, Paint::Strong);
    if let Some(answer) = &report.answer {
        page.sentence(&lead, &binding_sentence(report, answer), Paint::Plain, Paint::Strong);
    }
}

/// Some points of the curve up to a little beyond the capacity.
fn curve(page: &mut Page, report: &CapacityReport, answer: &CapacityAnswer) {
    if answer.curve.is_empty() {
        return;
    }
    page.heading("Load and response", "by the model, with the mix that binds");
    let closed = answer.clients.is_some();
    let first = if closed { "clients" } else { "inside" };
    let columns = [
        (first, Fit::Number),
        ("requests/s", Fit::Number),
        ("response", Fit::Number),
        ("", Fit::Fixed),
        ("", Fit::Fixed),
    ];
    let mut table = Table::new(1, &columns);
    let longest = 2.0 * report.latency_max_s;
    for point in told_points(answer) {
        let within = point.response_s <= report.latency_max_s;
        let clients =
            if closed { numbers::count(point.clients.round() as u64) } else { amount(point.clients) };
        table.row(vec![
            Piece::plain(clients),
            Piece::plain(amount(point.throughput)),
            Piece::new(&latency(point.response_s), if within { Paint::Plain } else { Paint::Bad }),
            Piece::plain(bar((point.response_s / longest).min(1.0), BAR)),
            Piece::faint(if within { "" } else { "beyond the target" }),
        ]);
    }
    table.print(page);
}

/// The points next to the parts of the capacity, none twice.
fn told_points(answer: &CapacityAnswer) -> Vec<&CurvePoint> {
    let across = |point: &CurvePoint| if answer.clients.is_some() { point.clients } else { point.throughput };
    let capacity = most_amount(answer);
    let mut told: Vec<usize> = POINTS
        .iter()
        .map(|part| answer.curve.partition_point(|point| across(point) < part * capacity))
        .map(|at| at.min(answer.curve.len() - 1))
        .collect();
    told.dedup();
    told.into_iter().map(|at| &answer.curve[at]).collect()
}

fn tiers(page: &mut Page, report: &CapacityReport, answer: &CapacityAnswer) {
    let Some(model) = &report.model else { return };
    page.heading("Tiers", "at capacity");
    let columns = [
        ("tier", Fit::Name),
        ("", Fit::Name),
        ("demand", Fit::Number),
        ("time there", Fit::Number),
        ("utilization", Fit::Number),
        ("", Fit::Fixed),
    ];
    let mut table = Table::new(1, &columns);
    for (tier, load) in model.tiers.iter().zip(&answer.tiers).take(ROWS) {
        let used = load.utilization;
        let paint = if used.is_some_and(|used| used >= BUSY) { Paint::Bad } else { Paint::Plain };
        table.row(vec![
            Piece::strong(names::label(&tier.tier, NAME_ROOM)),
            Piece::faint(tier_size(tier)),
            Piece::plain(latency(tier.mean_s)),
            Piece::plain(latency(load.residence_s)),
            Piece::new(&used.map_or_else(|| "–".to_owned(), numbers::share), paint),
            Piece::plain(used.map_or_else(String::new, |used| bar(used, BAR))),
        ]);
    }
    table.print(page);
    more(page, model.tiers.len(), "tiers");
}

/// One row a transaction type: what it demands where, and its response time at capacity.
fn transactions(page: &mut Page, report: &CapacityReport, answer: &CapacityAnswer) {
    let Some(model) = &report.model else { return };
    if model.transactions.len() < 2 {
        return;
    }
    page.heading("Transactions", "demand at each tier, and response time at capacity");
    let mut columns = vec![("transaction", Fit::Name), ("share", Fit::Number)];
    let tiers = model.tiers.iter().take(if page.width() >= WIDE { TIERS } else { 1 });
    let titles: Vec<String> =
        tiers.clone().map(|tier| format!("at {}", names::label(&tier.tier, TITLE_ROOM))).collect();
    columns.extend(titles.iter().map(|title| (title.as_str(), Fit::Number)));
    columns.extend([("response", Fit::Number), ("", Fit::Fixed)]);
    let longest = answer.transactions.iter().map(|one| one.response_s).fold(0.0, f64::max);
    let mut table = Table::new(1, &columns);
    for (at, one) in answer.transactions.iter().enumerate().take(ROWS) {
        let mut cells = vec![
            Piece::plain(names::label(&one.transaction, NAME_ROOM)),
            Piece::plain(numbers::share(one.share)),
        ];
        cells.extend(tiers.clone().map(|tier| Piece::plain(latency(tier.demands_s[at]))));
        cells.push(Piece::strong(latency(one.response_s)));
        cells.push(Piece::plain(if longest > 0.0 {
            bar(one.response_s / longest, BAR)
        } else {
            String::new()
        }));
        table.row(cells);
    }
    table.print(page);
    more(page, answer.transactions.len(), "transactions");
    for tier in tiers {
        let words = format!("{}: {}", names::label(&tier.tier, NAME_ROOM), tier.source);
        page.wrapped(&[Piece::plain(" ")], &[Piece::faint(words)]);
    }
}

fn changes(page: &mut Page, report: &CapacityReport) {
    let Some(what_if) = &report.what_if else { return };
    bullets(page, "With these changes", &what_if.changes, Paint::Strong);
    page.blank();
    let lead = [Piece::plain("  ")];
    page.sentence(&lead, &format!("Up to {}.", most(&what_if.answer)), Paint::Strong, Paint::Strong);
    page.sentence(&lead, &binding_sentence(report, &what_if.answer), Paint::Plain, Paint::Strong);
    let Some(load) = &what_if.load else { return };
    let of = load.clients.map_or_else(String::new, |clients| format!("{} clients: ", amount(clients)));
    let words = format!(
        "{} times the present load: {of}{} requests/s in {}, {} the target.",
        load.factor,
        amount(load.throughput),
        latency(load.response_s),
        if load.within { "within" } else { "beyond" }
    );
    page.wrapped(&lead, &[Piece::new(&words, if load.within { Paint::Good } else { Paint::Bad })]);
}

fn breakdown(page: &mut Page, report: &CapacityReport) {
    if report.latency.is_empty() {
        return;
    }
    page.heading("Where the latency goes", "mean of what was observed");
    let mut columns = vec![
        ("transaction", Fit::Name),
        ("response", Fit::Number),
        ("service", Fit::Number),
        ("waiting", Fit::Number),
    ];
    if !report.callees.is_empty() {
        columns.push(("calls", Fit::Number));
    }
    let mut table = Table::new(1, &columns);
    for one in report.latency.iter().take(ROWS) {
        let mut cells = vec![
            Piece::plain(names::label(&one.transaction, NAME_ROOM)),
            Piece::strong(latency(one.response_s)),
            Piece::plain(latency(one.service_s)),
            Piece::plain(latency(one.queueing_s)),
        ];
        if !report.callees.is_empty() {
            cells.push(Piece::plain(latency(one.callees_s.iter().sum())));
        }
        table.row(cells);
        if report.callees.len() > 1 {
            table.note("calls ", vec![Piece::faint(callee_words(report, one))]);
        }
    }
    table.print(page);
    more(page, report.latency.len(), "transactions");
}

fn callee_words(report: &CapacityReport, one: &TransactionLatency) -> String {
    let called = report.callees.iter().zip(&one.callees_s).filter(|(_, seconds)| **seconds > 0.0);
    let words: Vec<String> = called
        .take(6)
        .map(|(name, seconds)| format!("{} {}", names::label(name, 24), latency(*seconds)))
        .collect();
    words.join(", ")
}

fn basis(page: &mut Page, report: &CapacityReport) {
    page.heading("What this rests on", "");
    let lead = [Piece::plain("  ")];
    page.wrapped(&lead, &[Piece::plain(report.input.sentence())]);
    if let Some(answer) = &report.answer {
        page.wrapped(&lead, &[Piece::plain(format!("Solved by {}.", answer.algorithm))]);
    }
    if let Some(think) = report.model.as_ref().and_then(|model| model.think.as_ref()) {
        let words = format!("Think time {}. {}", latency(think.seconds), think.source);
        page.sentence(&lead, &words, Paint::Plain, Paint::Plain);
    }
    if let Some(accuracy) = &report.accuracy {
        let words = format!("{} Trust: {}.", accuracy_sentence(accuracy), trust_word(accuracy.trust));
        page.sentence(&lead, &words, Paint::Plain, Paint::Strong);
    }
}

fn more(page: &mut Page, all: usize, what: &str) {
    if all > ROWS {
        let left = numbers::count((all - ROWS) as u64);
        page.line(&[Piece::faint(format!("  ... and {left} more {what}: see the html or json output"))]);
    }
}
