//! What changed, for an incident channel.

use super::words::{
    UNEXPLAINED, before_after, by_verdict, calendar, change_verdict_word, cost_clause, error, event_word,
    heading_of, mix_clause, onset_margin, percent, place, plus_minus, signed_length, unexplained,
};
use super::{ChangeEventKind, ChangeReport, ChangeVerdict, JointChange, deployment};
use crate::markdown::{code, losses, prose, row, sentence, shown_of, table};
use crate::numbers;
use std::io;

/// Rows of each table and lines of each list; together they stay within forty lines.
const EVENTS: usize = 7;
const TRANSACTIONS: usize = 5;
const SERVERS: usize = 4;
const REMARKS: usize = 2;

/// Writes what changed as GitHub-flavored Markdown in at most forty lines, whatever it holds. Names stand in
/// code spans and cannot break out of their cell.
///
/// # Errors
/// Those of `out`.
pub(super) fn markdown(report: &ChangeReport, out: &mut dyn io::Write) -> io::Result<()> {
    let blocks = [
        vec![
            format!("### Laggard: {}", change_verdict_word(report.verdict).to_lowercase()),
            String::new(),
            sentence(&report.headline),
        ],
        events(report),
        transactions(report),
        servers(report),
        remarks(report),
        vec![prose(&format!("{} Method: {}.", report.input.sentence(), report.method))],
    ];
    let blocks = blocks.iter().filter(|block| !block.is_empty());
    let text: Vec<String> = blocks.map(|block| block.join("\n")).collect();
    writeln!(out, "{}", text.join("\n\n"))
}

/// Alarms come before changes of the workload when not all fit; shown in order of time.
fn events(report: &ChangeReport) -> Vec<String> {
    let calendar = calendar(report);
    let mut places: Vec<usize> = (0..report.events.len()).collect();
    places.sort_by_key(|&at| (rank(report.events[at].kind), std::cmp::Reverse(at)));
    places.truncate(EVENTS);
    places.sort_unstable();
    let title = shown_of("what", EVENTS, report.events.len());
    let rows = places.into_iter().map(|at| {
        let event = &report.events[at];
        let time = calendar.time(event.onset.at_ns);
        row(&[time, onset_margin(&event.onset), event_word(event.kind).to_owned(), sentence(&detail(event))])
    });
    table(&["since (UTC)", "", &title, ""], "l l l l", rows)
}

const fn rank(kind: ChangeEventKind) -> u8 {
    match kind {
        ChangeEventKind::ApplicationChange | ChangeEventKind::Rollback => 0,
        ChangeEventKind::AnomalyStart => 1,
        ChangeEventKind::Unexplained => 2,
        ChangeEventKind::WorkloadChange => 3,
        ChangeEventKind::AnomalyEnd => 4,
    }
}

fn detail(event: &JointChange) -> String {
    let what = match event.kind {
        ChangeEventKind::ApplicationChange => cost_clause(&event.transactions),
        ChangeEventKind::Rollback => "transactions cost again what they did once".to_owned(),
        ChangeEventKind::Unexplained => UNEXPLAINED.to_owned(),
        ChangeEventKind::WorkloadChange => return mix_clause(&event.mix, 2),
        ChangeEventKind::AnomalyStart => event
            .region
            .as_ref()
            .map_or_else(String::new, |region| format!("{} unexplained", unexplained(region))),
        ChangeEventKind::AnomalyEnd => return String::new(),
    };
    let after = event.deployment.as_ref().map_or_else(String::new, |d| format!(", {}", deployment(d)));
    format!("{what}{}{after}", place(event))
}

/// The transactions of the last application change.
fn transactions(report: &ChangeReport) -> Vec<String> {
    let last = report.events.iter().rev().find(|event| !event.transactions.is_empty());
    let Some(last) = last else { return vec![] };
    let title = shown_of("transaction", TRANSACTIONS, last.transactions.len());
    let rows = last.transactions.iter().take(TRANSACTIONS).map(|shift| {
        row(&[
            code(&shift.transaction),
            before_after(shift),
            signed_length(shift.difference_s),
            plus_minus(shift.standard_error_s),
        ])
    });
    table(&[&title, "before → after", "difference", "95 %"], "l r r r", rows)
}

fn servers(report: &ChangeReport) -> Vec<String> {
    if report.servers.len() < 2 {
        return vec![];
    }
    let title = shown_of("server", SERVERS, report.servers.len());
    let rows = by_verdict(report).into_iter().take(SERVERS).map(|server| {
        let model = server.models.iter().find(|model| model.in_force);
        row(&[
            code(&heading_of(&server.server, &server.tier)),
            change_verdict_word(server.verdict).to_lowercase(),
            numbers::count(server.windows),
            model.map_or_else(String::new, |model| percent(model.constant_percent)),
            model.map_or_else(String::new, |model| error(model.error)),
        ])
    });
    table(&[&title, "", "windows", "constant", "error"], "l l r r r", rows)
}

fn remarks(report: &ChangeReport) -> Vec<String> {
    let list = |name: &'static str, texts: &[String]| -> Vec<String> {
        texts.iter().take(REMARKS).map(|text| format!("- {name}: {}", sentence(text))).collect()
    };
    // The headline already tells the first thing that is missing.
    let told = usize::from(report.verdict == ChangeVerdict::InsufficientData).min(report.missing.len());
    let mut lines = list("Missing", &report.missing[told..]);
    lines.extend(list("Caution", &report.cautions));
    lines.extend(list("Ruled out", &report.ruled_out));
    lines.extend(losses(&report.input.losses).map(|text| format!("- Lost, repaired or mistrusted: {text}")));
    lines
}
