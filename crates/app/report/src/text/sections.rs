//! The sections of the text report, from the answer down to what it rests on.

use super::evidence;
use super::page::Page;
use super::paint::{Paint, Piece, bar};
use super::table::{Fit, Table};
use crate::{Report, Suspect, Verdict, facts, names, numbers};
use laggard_model::Losses;

/// Suspects, replicas and categories listed; the other outputs list all.
const ROWS: usize = 10;

/// Suspects with example traces and more of their replicas.
const DETAILED: usize = 3;

/// Columns a name may take before it is shortened, however wide the page.
const NAME_ROOM: usize = 60;

/// Narrower pages have no bars, and names on lines of their own.
const WIDE: usize = 80;

/// Columns of a full bar.
const BAR: usize = 13;

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
    let wide = page.width() >= WIDE;
    let mut table = Table::new(1, if wide { &SUSPECT_COLUMNS } else { &SUSPECT_COLUMNS_NARROW });
    for (at, suspect) in report.suspects.iter().take(ROWS).enumerate() {
        suspect_row(&mut table, suspect, wide);
        let detailed = at < DETAILED;
        table.note("on ", replicas_of(suspect, if detailed { 8 } else { 3 }));
        if detailed {
            evidence::notes(&mut table, report, suspect);
        } else {
            evidence::brief_note(&mut table, suspect);
        }
        if detailed && !suspect.trace_ids.is_empty() {
            let ids = names::list(&suspect.trace_ids, 3, 40);
            table.note("e.g. trace ", vec![Piece::plain(ids)]);
        }
    }
    table.print(page);
    more(page, report.suspects.len(), ROWS, "suspects");
}

const SUSPECT_COLUMNS: [(&str, Fit); 7] = [
    ("#", Fit::Number),
    ("operation", Fit::Name),
    ("slower by", Fit::Number),
    ("factor", Fit::Number),
    ("explains", Fit::Number),
    ("of the excess", Fit::Fixed),
    ("requests", Fit::Number),
];

const SUSPECT_COLUMNS_NARROW: [(&str, Fit); 5] = [
    ("#", Fit::Number),
    ("slower by", Fit::Number),
    ("factor", Fit::Number),
    ("explains", Fit::Number),
    ("requests", Fit::Number),
];

fn suspect_row(table: &mut Table, suspect: &Suspect, wide: bool) {
    let rank = Piece::plain(suspect.rank.to_string());
    let name = Piece::strong(operation(suspect));
    let effect = Piece::new(&numbers::effect(suspect.effect_ns), Paint::Bad);
    let factor = Piece::plain(crate::evidence::factor(suspect));
    let share = Piece::plain(numbers::share(suspect.share));
    let requests = Piece::plain(numbers::count(suspect.requests_hit));
    if !wide {
        return table.headed_row(name, vec![rank, effect, factor, share, requests]);
    }
    let bar = Piece::new(&bar(suspect.share, BAR), Paint::Bad);
    table.row(vec![rank, name, effect, factor, share, bar, requests]);
}

fn operation(suspect: &Suspect) -> String {
    let name = facts::operation(&suspect.service, &suspect.operation, NAME_ROOM);
    if suspect.kind.is_empty() { name } else { format!("{name} ({})", names::label(&suspect.kind, 12)) }
}

fn replicas_of(suspect: &Suspect, limit: usize) -> Vec<Piece> {
    let place = facts::place(suspect);
    if suspect.replicas.is_empty() {
        return vec![Piece::plain(place)];
    }
    vec![Piece::plain(place + ": "), Piece::strong(names::list(&suspect.replicas, limit, NAME_ROOM))]
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
    more(page, report.replicas.len(), ROWS, "replicas");
}

pub(super) fn categories(page: &mut Page, report: &Report) {
    let paying = facts::paying(report);
    if paying.is_empty() {
        return;
    }
    page.heading("Who pays", "request categories the suspects slow down");
    let wide = page.width() >= WIDE;
    let mut table = Table::new(1, if wide { &CATEGORY_COLUMNS } else { &CATEGORY_COLUMNS[1..] });
    for category in paying.iter().take(ROWS) {
        let id = names::label(&category.id, 12);
        let mut cells = vec![
            Piece::faint(&id),
            Piece::plain(facts::operation(&category.service, &category.operation, NAME_ROOM)),
            Piece::plain(numbers::count(category.requests)),
            Piece::plain(numbers::time(category.latency_p50_ns)),
            Piece::plain(numbers::time(category.latency_p99_ns)),
            Piece::plain(numbers::ratio(category.cv)),
        ];
        if wide {
            table.row(cells);
            continue;
        }
        cells.remove(0);
        table.row(cells);
        table.note("category ", vec![Piece::faint(id)]);
    }
    table.print(page);
    more(page, paying.len(), ROWS, "categories");
}

const CATEGORY_COLUMNS: [(&str, Fit); 6] = [
    ("category", Fit::Fixed),
    ("entry", Fit::Name),
    ("requests", Fit::Number),
    ("p50", Fit::Number),
    ("p99", Fit::Number),
    ("CV", Fit::Number),
];

pub(super) fn ruled_out(page: &mut Page, report: &Report) {
    bullets(page, "Looked at and found fine, or not judged", &report.ruled_out, Paint::Good);
}

pub(super) fn missing(page: &mut Page, report: &Report) {
    bullets(page, "What is missing", &report.missing, Paint::Unsure);
}

pub(super) fn cautions(page: &mut Page, report: &Report) {
    bullets(page, "Cautions", &report.cautions, Paint::Unsure);
}

pub(super) fn bullets(page: &mut Page, title: &str, sentences: &[String], mark: Paint) {
    if sentences.is_empty() {
        return;
    }
    page.heading(title, "");
    for sentence in sentences.iter().take(ROWS) {
        let lead = [Piece::plain(" "), Piece::new("-", mark), Piece::plain(" ")];
        page.sentence(&lead, sentence, Paint::Plain, Paint::Strong);
    }
    more(page, sentences.len(), ROWS, "remarks");
}

pub(super) fn losses(page: &mut Page, losses: &Losses) {
    if losses.is_empty() {
        return;
    }
    page.heading("Lost, repaired or mistrusted", "");
    let counts = losses.iter().map(|(_, found)| numbers::count(found.count).len());
    let widest = counts.max().unwrap_or(0);
    for (loss, found) in losses.iter() {
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
    if let Some(sampling) = facts::sampling(&report.input.sampling) {
        page.wrapped(&lead, &[Piece::plain(sampling)]);
    }
    if let Some(clocks) = facts::clocks(&report.input.clocks) {
        page.wrapped(&lead, &[Piece::plain(clocks)]);
    }
    page.wrapped(&lead, &[Piece::plain(format!("Method: {}.", facts::method(report)))]);
}

/// Says so when not all rows are shown.
pub(super) fn more(page: &mut Page, all: usize, shown: usize, what: &str) {
    if all > shown {
        let left = numbers::count((all - shown) as u64);
        page.line(&[Piece::faint(format!("  ... and {left} more {what}: see the html or json output"))]);
    }
}
