//! The sections of the text report, from the answer down to what it rests on.

use super::page::Page;
use super::paint::{Paint, Piece, bar};
use super::table::{Fit, Table};
use crate::{Report, Suspect, Verdict, facts, names, numbers};

/// Suspects, replicas and categories listed; the other outputs list all.
const ROWS: usize = 10;

/// Suspects with example traces.
const WITH_TRACES: usize = 3;

/// Columns a name may take before it is shortened, however wide the page.
const NAME_ROOM: usize = 60;

/// Narrower pages have no bars.
const BAR_PAGE_MIN: usize = 80;

pub(super) fn verdict(page: &mut Page, report: &Report) {
    let (mark, paint) = match report.verdict {
        Verdict::Suspects => ("[!]", Paint::Bad),
        Verdict::Healthy => ("[ok]", Paint::Good),
        Verdict::InsufficientData => ("[?]", Paint::Unsure),
    };
    let lead = [Piece::new(mark, paint), Piece::plain(" ")];
    page.wrapped(&lead, &[Piece::new(facts::verdict(report.verdict), paint)]);
    page.blank();
    page.sentence(&[Piece::plain("  ")], &report.headline, Paint::Plain, Paint::Strong);
}

pub(super) fn suspects(page: &mut Page, report: &Report) {
    if report.suspects.is_empty() {
        return;
    }
    page.heading("Suspects", "what makes requests slow, the most suspicious first");
    let with_bar = page.width() >= BAR_PAGE_MIN;
    let mut columns = vec![
        ("#", Fit::Number),
        ("operation", Fit::Name),
        ("slower by", Fit::Number),
        ("factor", Fit::Number),
        ("explains", Fit::Number),
    ];
    if with_bar {
        columns.push(("of the excess", Fit::Fixed));
    }
    columns.push(("requests", Fit::Number));
    let mut table = Table::new(1, &columns);
    for (at, suspect) in report.suspects.iter().take(ROWS).enumerate() {
        table.row(suspect_cells(suspect, with_bar));
        table.note("on ", replicas_of(suspect));
        if at < WITH_TRACES && !suspect.trace_ids.is_empty() {
            let ids = names::list(&suspect.trace_ids, 3, 40);
            table.note("e.g. trace ", vec![Piece::plain(ids)]);
        }
    }
    table.print(page);
    more(page, report.suspects.len(), "suspects");
}

fn suspect_cells(suspect: &Suspect, with_bar: bool) -> Vec<Piece> {
    let mut cells = vec![
        Piece::plain(suspect.rank.to_string()),
        Piece::strong(operation(suspect)),
        Piece::new(&numbers::effect(suspect.effect_ns), Paint::Bad),
        Piece::plain(numbers::factor(suspect.factor)),
        Piece::plain(numbers::share(suspect.share)),
    ];
    if with_bar {
        cells.push(Piece::new(&bar(suspect.share, 13), Paint::Bad));
    }
    cells.push(Piece::plain(numbers::count(suspect.requests_hit)));
    cells
}

fn operation(suspect: &Suspect) -> String {
    let name = facts::operation(&suspect.service, &suspect.operation, NAME_ROOM);
    if suspect.kind.is_empty() { name } else { format!("{name} ({})", names::label(&suspect.kind, 12)) }
}

fn replicas_of(suspect: &Suspect) -> Vec<Piece> {
    let place = facts::place(suspect);
    if suspect.replicas.is_empty() {
        return vec![Piece::plain(place)];
    }
    vec![Piece::plain(place + ": "), Piece::strong(names::list(&suspect.replicas, 8, NAME_ROOM))]
}

pub(super) fn replicas(page: &mut Page, report: &Report) {
    if report.replicas.is_empty() {
        return;
    }
    page.heading("Replicas that stand out", "from their peers, over all operations");
    let columns = [
        ("#", Fit::Number),
        ("replica", Fit::Name),
        ("service", Fit::Name),
        ("slower by", Fit::Number),
        ("slow calls", Fit::Number),
        ("of", Fit::Number),
        ("p", Fit::Number),
    ];
    let mut table = Table::new(1, &columns);
    for replica in report.replicas.iter().take(ROWS) {
        table.row(vec![
            Piece::plain(replica.rank.to_string()),
            Piece::strong(names::label(&replica.replica, NAME_ROOM)),
            Piece::plain(names::label(&replica.service, NAME_ROOM)),
            Piece::new(&numbers::effect(replica.effect_ns), Paint::Bad),
            Piece::plain(numbers::count(replica.slow_calls)),
            Piece::plain(numbers::count(replica.calls)),
            Piece::plain(numbers::p_value(replica.p_value)),
        ]);
        if replica.operations.len() > 1 {
            table.note("in ", vec![Piece::plain(names::list(&replica.operations, 4, 40))]);
        }
    }
    table.print(page);
    more(page, report.replicas.len(), "replicas");
}

pub(super) fn categories(page: &mut Page, report: &Report) {
    let paying = facts::paying(report);
    if paying.is_empty() {
        return;
    }
    page.heading("Who pays", "request categories the suspects slow down");
    let columns = [
        ("category", Fit::Fixed),
        ("entry", Fit::Name),
        ("requests", Fit::Number),
        ("p50", Fit::Number),
        ("p99", Fit::Number),
        ("CV", Fit::Number),
    ];
    let mut table = Table::new(1, &columns);
    for category in paying.iter().take(ROWS) {
        table.row(vec![
            Piece::faint(names::label(&category.id, 12)),
            Piece::plain(facts::operation(&category.service, &category.operation, NAME_ROOM)),
            Piece::plain(numbers::count(category.requests)),
            Piece::plain(numbers::time(category.latency_p50_ns)),
            Piece::plain(numbers::time(category.latency_p99_ns)),
            Piece::plain(numbers::ratio(category.cv)),
        ]);
    }
    table.print(page);
    more(page, paying.len(), "categories");
}

pub(super) fn ruled_out(page: &mut Page, report: &Report) {
    bullets(page, "Looked at and found fine, or not judged", &report.ruled_out, Paint::Good);
}

pub(super) fn cautions(page: &mut Page, report: &Report) {
    bullets(page, "Cautions", &report.cautions, Paint::Unsure);
}

fn bullets(page: &mut Page, title: &str, sentences: &[String], mark: Paint) {
    if sentences.is_empty() {
        return;
    }
    page.heading(title, "");
    for sentence in sentences.iter().take(ROWS) {
        let lead = [Piece::plain(" "), Piece::new("-", mark), Piece::plain(" ")];
        page.sentence(&lead, &names::shorten(sentence, 600), Paint::Plain, Paint::Strong);
    }
    more(page, sentences.len(), "remarks");
}

pub(super) fn losses(page: &mut Page, report: &Report) {
    if report.input.losses.is_empty() {
        return;
    }
    page.heading("Lost, repaired or mistrusted", "");
    let counts = report.input.losses.iter().map(|(_, found)| numbers::count(found.count).len());
    let widest = counts.max().unwrap_or(0);
    for (loss, found) in report.input.losses.iter() {
        let count = format!("{:>width$}  ", numbers::count(found.count), width = widest + 1);
        let mut pieces = vec![Piece::plain(loss.phrase())];
        if !found.example.is_empty() {
            pieces.push(Piece::faint(format!(" (e.g. {})", names::label(&found.example, 120))));
        }
        page.wrapped(&[Piece::plain(count)], &pieces);
    }
}

pub(super) fn basis(page: &mut Page, report: &Report) {
    page.heading("What this rests on", "");
    let lead = [Piece::plain("  ")];
    page.wrapped(&lead, &[Piece::plain(facts::read(&report.input))]);
    if let Some(window) = facts::window(report) {
        page.wrapped(&lead, &[Piece::plain(format!("Requests started {window}."))]);
    }
    if let Some(clocks) = facts::clocks(&report.input.clocks) {
        page.wrapped(&lead, &[Piece::plain(clocks)]);
    }
    page.wrapped(&lead, &[Piece::plain(format!("Method: {}.", facts::method(report)))]);
}

fn more(page: &mut Page, all: usize, what: &str) {
    if all > ROWS {
        let left = numbers::count((all - ROWS) as u64);
        page.line(&[Piece::faint(format!("  ... and {left} more {what}: see the html or json output"))]);
    }
}
