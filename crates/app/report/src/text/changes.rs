//! What changed, for a person at a terminal.

use super::page::Page;
use super::paint::{Paint, Piece, bar};
use super::sections::{bullets, losses};
use super::table::{Fit, Table};
use super::{TextStyle, WIDTH_MAX, WIDTH_MIN};
use crate::changes::{
    ChangeEventKind, ChangeReport, ChangeVerdict, CostModel, JointChange, SegmentState, ServerChanges,
    UNEXPLAINED, before_after, by_verdict, calendar, change_verdict_word, cost_clause, deployment, error,
    event_word, heading_of, length, letter, mix_clause, onset_margin, percent, place, plus_minus,
    segment_word, signed_length, tied_sentence, unexplained,
};
use crate::times::Calendar;
use crate::{names, numbers};
use std::io;

/// Rows of each table; the other outputs list all.
const ROWS: usize = 16;

/// Servers shown one by one.
const SERVERS: usize = 4;

/// Columns a name may take.
const NAME_ROOM: usize = 40;

/// Groups of transactions that move together.
const TIED: usize = 4;

/// Columns of a bar.
const BAR: usize = 10;

pub(crate) fn changes(report: &ChangeReport, style: &TextStyle, out: &mut dyn io::Write) -> io::Result<()> {
    let width = usize::from(style.width.clamp(WIDTH_MIN, WIDTH_MAX));
    let mut page = Page::new(width, style.color);
    verdict(&mut page, report);
    bullets(&mut page, "What is missing", &report.missing, Paint::Unsure);
    events(&mut page, report);
    let judged = by_verdict(report).into_iter().filter(|server| !server.segments.is_empty());
    for (at, one) in judged.take(SERVERS).enumerate() {
        server(&mut page, report, one);
        // Servers of one tier run the same code: the first stands for all.
        if at == 0 {
            in_force(&mut page, one);
        }
    }
    more(&mut page, report.servers.len(), SERVERS, "servers");
    bullets(&mut page, "Cautions", &report.cautions, Paint::Unsure);
    bullets(&mut page, "Looked at and found fine", &report.ruled_out, Paint::Good);
    losses(&mut page, &report.input.losses);
    basis(&mut page, report);
    out.write_all(page.finish().as_bytes())
}

fn verdict(page: &mut Page, report: &ChangeReport) {
    let (mark, paint) = match report.verdict {
        ChangeVerdict::ApplicationChange => ("[!]", Paint::Bad),
        ChangeVerdict::Anomaly => ("[!]", Paint::Unsure),
        ChangeVerdict::UnexplainedChange => ("[~]", Paint::Unsure),
        ChangeVerdict::WorkloadChange | ChangeVerdict::Steady => ("[ok]", Paint::Good),
        ChangeVerdict::InsufficientData => ("[?]", Paint::Unsure),
    };
    let lead = [Piece::new(mark, paint), Piece::plain(" ")];
    page.wrapped(&lead, &[Piece::new(change_verdict_word(report.verdict), paint)]);
    page.blank();
    page.sentence(&[Piece::plain("  ")], &report.headline, Paint::Plain, Paint::Strong);
}

fn event_paint(kind: ChangeEventKind) -> Paint {
    match kind {
        ChangeEventKind::ApplicationChange => Paint::Bad,
        ChangeEventKind::AnomalyStart | ChangeEventKind::Rollback | ChangeEventKind::Unexplained => {
            Paint::Unsure
        }
        ChangeEventKind::AnomalyEnd => Paint::Good,
        ChangeEventKind::WorkloadChange => Paint::Strong,
    }
}

fn events(page: &mut Page, report: &ChangeReport) {
    if report.events.is_empty() {
        return;
    }
    let calendar = calendar(report);
    page.heading("What happened", &format!("in order of time ({})", calendar.zone()));
    let mut table = Table::new(1, &[("since", Fit::Fixed), ("", Fit::Fixed), ("", Fit::Name)]);
    for event in report.events.iter().take(ROWS) {
        table.row(vec![
            Piece::plain(calendar.time(event.onset.at_ns)),
            Piece::faint(onset_margin(&event.onset)),
            Piece::new(event_word(event.kind), event_paint(event.kind)),
        ]);
        for line in event_lines(event, &calendar) {
            table.note("  ", vec![Piece::plain(line.replace('`', ""))]);
        }
    }
    table.print(page);
    more(page, report.events.len(), ROWS, "changes");
}

/// What an event is, in lines of its own.
fn event_lines(event: &JointChange, calendar: &Calendar) -> Vec<String> {
    let where_and_after = |text: String| {
        let after = event.deployment.as_ref().map_or_else(String::new, |d| format!(", {}", deployment(d)));
        format!("{text}{}{after}", place(event))
    };
    match event.kind {
        ChangeEventKind::ApplicationChange => vec![where_and_after(cost_clause(&event.transactions))],
        ChangeEventKind::Rollback => {
            vec![where_and_after("transactions cost again what they did once".to_owned())]
        }
        ChangeEventKind::Unexplained => vec![where_and_after(UNEXPLAINED.to_owned())],
        ChangeEventKind::WorkloadChange => match mix_clause(&event.mix, 3) {
            mix if mix.is_empty() => vec![],
            mix => vec![format!("{mix} of the transactions")],
        },
        ChangeEventKind::AnomalyStart => match &event.region {
            Some(region) => {
                let [_, until] = calendar.ends(region.since_ns, region.until_ns);
                vec![where_and_after(format!("until {until}: {} unexplained", unexplained(region)))]
            }
            None => vec![where_and_after("transactions stop explaining the CPU".to_owned())],
        },
        ChangeEventKind::AnomalyEnd => vec![],
    }
}

fn server(page: &mut Page, report: &ChangeReport, server: &ServerChanges) {
    let cores = format!("{} cores", server.cores);
    let cores = if server.cores == 1.0 { "1 core" } else { &cores };
    let windows = numbers::counted(server.windows, "window");
    let name = heading_of(&server.server, &server.tier);
    page.heading(
        &name,
        &format!("{cores}, {windows}: {}", change_verdict_word(server.verdict).to_lowercase()),
    );
    segments(page, server, &calendar(report));
    changed_transactions(page, server, &calendar(report));
}

fn in_force(page: &mut Page, server: &ServerChanges) {
    if let Some(model) = server.models.iter().find(|model| model.in_force) {
        costs(page, server, model);
    }
}

/// A line of the table of segments: neighboring anomalous ones are one.
struct Stretch {
    since_ns: i64,
    until_ns: i64,
    windows: u64,
    word: String,
    state: SegmentState,
    constant_percent: f64,
    error: f64,
}

fn stretches(server: &ServerChanges) -> Vec<Stretch> {
    let mut out: Vec<Stretch> = Vec::new();
    for segment in &server.segments {
        let anomalous = segment.state == SegmentState::Anomalous;
        match out.last_mut() {
            Some(last) if anomalous && last.state == SegmentState::Anomalous => {
                last.until_ns = segment.until_ns;
                last.windows += segment.windows;
                last.word = "anomalous".to_owned();
                (last.constant_percent, last.error) = (f64::NAN, f64::NAN);
            }
            _ => out.push(Stretch {
                since_ns: segment.since_ns,
                until_ns: segment.until_ns,
                windows: segment.windows,
                word: segment_word(segment),
                state: segment.state,
                constant_percent: segment.constant_percent,
                error: segment.error,
            }),
        }
    }
    out
}

fn segments(page: &mut Page, server: &ServerChanges, calendar: &Calendar) {
    let columns = [
        ("from", Fit::Fixed),
        ("to", Fit::Fixed),
        ("windows", Fit::Number),
        ("", Fit::Name),
        ("constant", Fit::Number),
        ("error", Fit::Number),
    ];
    let mut table = Table::new(1, &columns);
    let stretches = stretches(server);
    for stretch in stretches.iter().take(ROWS) {
        let [from, to] = calendar.ends(stretch.since_ns, stretch.until_ns);
        let paint = match stretch.state {
            SegmentState::Normal => Paint::Plain,
            SegmentState::Anomalous => Paint::Unsure,
            SegmentState::Pending => Paint::Faint,
        };
        table.row(vec![
            Piece::plain(from),
            Piece::plain(to),
            Piece::plain(numbers::count(stretch.windows)),
            Piece::new(&stretch.word, paint),
            Piece::plain(percent(stretch.constant_percent)),
            Piece::plain(error(stretch.error)),
        ]);
    }
    table.print(page);
    more(page, stretches.len(), ROWS, "stretches");
}

/// Transactions of all application changes, one table.
fn changed_transactions(page: &mut Page, server: &ServerChanges, calendar: &Calendar) {
    let columns = [
        ("since", Fit::Fixed),
        ("transaction", Fit::Name),
        ("before → after", Fit::Number),
        ("difference", Fit::Number),
        ("95 %", Fit::Number),
    ];
    let mut table = Table::new(1, &columns);
    let rows =
        server.changes.iter().flat_map(|change| change.transactions.iter().map(move |one| (change, one)));
    let all = rows.clone().count();
    for (change, shift) in rows.take(ROWS) {
        let worse = if shift.difference_s > 0.0 { Paint::Bad } else { Paint::Good };
        table.row(vec![
            Piece::plain(calendar.time(change.onset.at_ns)),
            Piece::strong(names::label(&shift.transaction, NAME_ROOM)),
            Piece::plain(before_after(shift)),
            Piece::new(&signed_length(shift.difference_s), worse),
            Piece::plain(plus_minus(shift.standard_error_s)),
        ]);
    }
    if all > 0 {
        page.blank();
        table.print(page);
        more(page, all, ROWS, "transactions");
    }
}

fn costs(page: &mut Page, server: &ServerChanges, model: &CostModel) {
    page.blank();
    let at = server.models.iter().position(|one| one.in_force).unwrap_or(0) as u32;
    let title = format!("model {} (in force)", letter(at));
    let words = format!(
        "{title}: constant {}, error {}, condition {}",
        percent(model.constant_percent),
        error(model.error),
        model.condition.map_or_else(|| "infinite".to_owned(), numbers::ratio),
    );
    page.wrapped(&[Piece::plain(" ")], &[Piece::faint(words)]);
    let columns = [
        ("transaction", Fit::Name),
        ("CPU a call", Fit::Number),
        ("95 % interval", Fit::Number),
        ("service time", Fit::Number),
        ("", Fit::Fixed),
        ("", Fit::Fixed),
    ];
    let mut table = Table::new(1, &columns);
    let largest = model.transactions.iter().map(|cost| cost.demand_s).fold(0.0, f64::max);
    for cost in model.transactions.iter().take(ROWS) {
        let interval = format!("{} to {}", length(cost.demand_low_s), length(cost.demand_high_s));
        let known = cost.demand_low_s.is_finite() && cost.demand_high_s.is_finite();
        table.row(vec![
            Piece::plain(names::label(&cost.transaction, NAME_ROOM)),
            Piece::strong(length(cost.demand_s)),
            Piece::plain(if known { interval } else { "–".to_owned() }),
            Piece::plain(cost.service_time_s.map_or_else(|| "–".to_owned(), length)),
            Piece::plain(bar(cost.demand_s / largest, BAR)),
            Piece::faint(if cost.told_apart { "" } else { "not told apart" }),
        ]);
    }
    table.print(page);
    more(page, model.transactions.len(), ROWS, "transactions");
    for tied in model.indistinguishable.iter().take(TIED) {
        page.sentence(&[Piece::plain(" ")], &tied_sentence(tied), Paint::Faint, Paint::Faint);
    }
    if !server.estimator.is_empty() {
        page.sentence(&[Piece::plain(" ")], &server.estimator, Paint::Faint, Paint::Faint);
    }
}

fn basis(page: &mut Page, report: &ChangeReport) {
    page.heading("What this rests on", "");
    let lead = [Piece::plain("  ")];
    page.wrapped(&lead, &[Piece::plain(report.input.sentence())]);
    page.wrapped(&lead, &[Piece::plain(format!("Method: {}.", names::label(&report.method, 40)))]);
}

fn more(page: &mut Page, all: usize, shown: usize, what: &str) {
    if all > shown {
        let left = numbers::count((all - shown) as u64);
        page.line(&[Piece::faint(format!("  ... and {left} more {what}: see the html or json output"))]);
    }
}
