//! Code, workload, or something else on the host? What changed, and what transactions cost on each server.

mod charts;
pub(crate) mod headline;
pub(crate) mod phrases;
mod server;

use super::basis::basis;
use crate::document::{
    Cell, CellKind, ColumnKind, Detail, Document, Emphasis, Figure, PageLink, Prose, Section, SpanStyle,
    Table, TableRow, Tone, cautions, columns, further_missing, losses, ruled_out,
};
use crate::render::Present;
use crate::times::Calendar;
use crate::{
    ChangeEventKind, ChangeReport, ChangeVerdict, JointChange, ServerChanges, TransactionShift, Window,
    names, numbers,
};
use laggard_model::Nanos;
use phrases::{
    UNEXPLAINED, VARIES, before_after, by_verdict, calendar, capacity_sentence, change_verdict, cost_clause,
    deployment, drift_clause, error, event_word, heading_of, host_clause, location, mix_clause, onset_margin,
    percent, plus_minus, split_clause, unexplained, wait_clause,
};

/// Events, transactions, and servers of a document; the JSON output has all.
const EVENTS: usize = 360;
const TRANSACTIONS: usize = 200;
const SERVERS: usize = 12;

/// Servers named with an event, and shares of the mix, at once and at all.
const SERVERS_NAMED: usize = 6;
const SHARES: usize = 3;
const SHARES_NAMED: usize = 8;

/// Half of the interval around an event that is worth diagnosing: half an hour.
const AROUND: Nanos = Nanos::from_secs(1_800);

/// Rows of tables that text shows.
const ROWS: u32 = 16;

/// Servers that text shows one by one.
const SERVERS_IN_TEXT: usize = 4;

impl Present for ChangeReport {
    fn present(&self) -> Document {
        let calendar = calendar(self);
        let mut sections = vec![
            further_missing(self.verdict == ChangeVerdict::InsufficientData, &self.missing),
            events(self, &calendar),
            changed(self, &calendar),
            servers(self),
        ];
        let tested = by_verdict(self).into_iter().filter(|server| !server.segments.is_empty());
        for (index, server) in tested.take(SERVERS).enumerate() {
            let section = server::section(self, server, index, &calendar);
            let detail = if index < SERVERS_IN_TEXT { Detail::Full } else { Detail::Page };
            sections.push(Some(section.detail(detail)));
        }
        sections.extend([
            self.response.as_ref().map(|response| charts::response(self, response)),
            self.mix.as_ref().map(|mix| charts::mix(self, mix)),
            cautions(&self.cautions),
            ruled_out(&self.ruled_out),
            Some(losses(&self.input.losses)),
            Some(basis_section(self)),
        ]);
        let verdict = change_verdict(self.verdict);
        Document {
            time: self.input.window.map(|window| window.to_string()),
            figures: figures(self, &calendar),
            ..Document::new(verdict, &self.headline, sections)
        }
    }
}

fn figures(report: &ChangeReport, calendar: &Calendar) -> Vec<Figure> {
    let mut figures = Vec::new();
    let lead = report.events.iter().rev().find_map(|event| Some((event, event.transactions.first()?)));
    if let Some((event, shift)) = lead {
        figures.push(Figure::new("A call takes", difference(shift.difference_s), ""));
        let since = Cell::time(calendar, event.onset.at);
        figures.push(Figure::new("Since", since, format!("{} UTC", onset_margin(&event.onset))));
    }
    let count = |kind| Cell::count(report.events.iter().filter(|event| event.kind == kind).count() as u64);
    figures.push(Figure::new("Application changes", count(ChangeEventKind::ApplicationChange), ""));
    figures.push(Figure::new("Anomalies", count(ChangeEventKind::AnomalyStart), ""));
    figures.push(Figure::new("Workload changes", count(ChangeEventKind::WorkloadChange), ""));
    let gaps =
        if report.input.gaps == 0 { String::new() } else { numbers::counted(report.input.gaps, "gap") };
    figures.push(Figure::new("Windows", Cell::count(report.input.windows), gaps));
    if report.servers.len() > 1 {
        figures.push(Figure::new("Servers", Cell::count(report.servers.len() as u64), ""));
    }
    figures
}

/// A signed difference given in seconds; longer is worse.
fn difference(seconds: f64) -> Cell {
    let tone = if seconds > 0.0 { Tone::Bad } else { Tone::Good };
    Cell::worded_seconds(numbers::signed_seconds(seconds), seconds).tone(tone)
}

/// The changes, in order of time.
fn events(report: &ChangeReport, calendar: &Calendar) -> Option<Section> {
    let columns = columns![Text "since", Text "", Text "change"];
    let table = Table::new("Changes", &columns).preview(ROWS).at_most(EVENTS, &report.events, |event| {
        let tone = match event.kind {
            ChangeEventKind::ApplicationChange | ChangeEventKind::Drift | ChangeEventKind::HostChange => {
                Tone::Bad
            }
            ChangeEventKind::AnomalyStart
            | ChangeEventKind::Rollback
            | ChangeEventKind::WaitChange
            | ChangeEventKind::Unexplained => Tone::Unsure,
            ChangeEventKind::AnomalyEnd => Tone::Good,
            ChangeEventKind::WorkloadChange => Tone::Neutral,
        };
        let around = Window { since: event.onset.at.minus(AROUND), until: event.onset.at.plus(AROUND) };
        let row = TableRow::new([
            Cell::time(calendar, event.onset.at).page(PageLink::diagnosis(around)),
            Cell::text(Prose::default().faint(onset_margin(&event.onset))),
            Cell::mark(event_word(event.kind), tone),
        ]);
        let row = if event.kind.is_alarm() { row.emphasis(Emphasis::Worse) } else { row };
        let row = row.note(Detail::Summary, "", Prose::quoted(&explanation(event, calendar)));
        further(event, calendar, row)
    });
    let section = Section::new("events", "Changes").remark(format!("in order of time ({})", calendar.zone()));
    (!report.events.is_empty()).then(|| section.block(table))
}

/// For pages: the interval of the onset, further servers and shares, and why a region is anomalous.
fn further(event: &JointChange, calendar: &Calendar, row: TableRow) -> TableRow {
    let onset = calendar.ends(event.onset.interval()).join(" and ");
    let row = row.note(Detail::Page, "between", onset);
    let row = match event.servers.as_slice() {
        [_, _, ..] => {
            row.note(Detail::Page, "on", Prose::names(SpanStyle::Replica, &event.servers, SERVERS_NAMED))
        }
        _ => row,
    };
    let reasons = event.region.as_ref().map(|region| region.reasons.join("; ")).unwrap_or_default();
    let mix = if event.mix.len() > SHARES { mix_clause(&event.mix, SHARES_NAMED) } else { String::new() };
    let split = event.cpu.as_ref().map(split_clause).unwrap_or_default();
    let capacity = capacity_sentence(event).unwrap_or_default();
    row.note(Detail::Full, "", Prose::default().faint(split))
        .note(Detail::Full, "", Prose::from(capacity))
        .note(Detail::Page, "because", Prose::quoted(&reasons))
        .note(Detail::Page, "mix", Prose::quoted(&mix))
}

/// A change in words, with where it occurred, and which deployment it followed.
fn explanation(event: &JointChange, calendar: &Calendar) -> String {
    let after = event.deployment.as_ref().map_or_else(String::new, |d| format!(", {}", deployment(d)));
    let located = |text: &str| format!("{text}{}{after}", location(event));
    match event.kind {
        ChangeEventKind::ApplicationChange => located(&cost_clause(&event.transactions)),
        ChangeEventKind::Drift => {
            let until = event.drift.as_ref().map_or(event.onset.at, |drift| drift.until);
            located(&format!("until {}: {}", calendar.time(until), drift_clause(event)))
        }
        ChangeEventKind::HostChange => located(&host_clause(event.cpu.as_ref())),
        ChangeEventKind::WaitChange => located(&wait_clause(&event.transactions)),
        ChangeEventKind::Rollback => located("transactions cost what they did before the last change"),
        ChangeEventKind::Unexplained => located(UNEXPLAINED),
        ChangeEventKind::WorkloadChange => match mix_clause(&event.mix, SHARES) {
            mix if mix.is_empty() => String::new(),
            mix => format!("{mix} of the transactions"),
        },
        ChangeEventKind::AnomalyStart => match &event.region {
            Some(region) => {
                let [_, until] = calendar.ends(region.time);
                match unexplained(region) {
                    Some(cpu) => located(&format!("until {until}: {cpu} unexplained")),
                    None => located(&format!("until {until}: {VARIES}")),
                }
            }
            None => located("transactions no longer explain the CPU utilization"),
        },
        ChangeEventKind::AnomalyEnd => String::new(),
    }
}

const SHIFT_COLUMNS: [(&str, ColumnKind); 5] = columns![
    Text "since", Name "transaction", Number "before → after", Number "difference", Number "95 %"
];

fn shift_row(since: Cell, shift: &TransactionShift) -> TableRow {
    TableRow::new([
        since,
        Cell::name(SpanStyle::Operation, &shift.transaction),
        Cell::worded_seconds(before_after(shift), shift.after_s),
        difference(shift.difference_s),
        Cell::text(plus_minus(shift.standard_error_s)),
    ])
}

/// The transactions of all application changes, means over their servers; the latest change first.
fn changed(report: &ChangeReport, calendar: &Calendar) -> Option<Section> {
    let latest = report.events.iter().rev();
    let all = latest.flat_map(|event| event.transactions.iter().map(move |shift| (event, shift)));
    let all: Vec<(&JointChange, &TransactionShift)> = all.collect();
    let table = Table::new("Transactions", &SHIFT_COLUMNS).preview(ROWS);
    let table = table
        .at_most(TRANSACTIONS, &all, |(event, shift)| shift_row(Cell::time(calendar, event.onset.at), shift));
    let section =
        Section::new("changed", "Transactions that changed").remark("time per call, the latest change first");
    (!all.is_empty()).then(|| section.block(table))
}

/// All servers at a glance, where there are several.
fn servers(report: &ChangeReport) -> Option<Section> {
    let columns = columns![
        Name "server", Text "verdict", Number "windows", Number "constant", Number "error"
    ];
    let row = |server: &&ServerChanges| {
        let model = server.models.iter().find(|model| model.current);
        let number = |text: fn(f64) -> String, value: Option<f64>| {
            value.map_or_else(Cell::empty, |value| Cell::worded(CellKind::Number, text(value), value))
        };
        TableRow::new([
            Cell::name(SpanStyle::Replica, &heading_of(&server.server, &server.tier)),
            Cell::text(change_verdict(server.verdict).1.to_lowercase()),
            Cell::count(server.windows),
            number(percent, model.map(|model| model.constant_percent)),
            number(error, model.map(|model| model.error)),
        ])
    };
    let table = Table::new("Servers", &columns).at_most(TRANSACTIONS, &by_verdict(report), row);
    let section = Section::new("servers", "Servers").remark("those with the strongest verdict first");
    (report.servers.len() > 1).then(|| section.block(table))
}

fn basis_section(report: &ChangeReport) -> Section {
    let method = format!("Method: {}.", names::label(&report.method, 40));
    let mut sentences = vec![Prose::from(report.input.sentence()), Prose::from(method)];
    let estimators = report.servers.iter().take(SERVERS).filter(|server| !server.estimator.is_empty());
    let mut last = "";
    for server in estimators {
        if server.estimator != last {
            let name = Prose::name(SpanStyle::Replica, &heading_of(&server.server, &server.tier));
            sentences.push(name.plain(": ").then(Prose::quoted(&server.estimator)));
            last = &server.estimator;
        }
    }
    basis(sentences, &report.settings)
}
