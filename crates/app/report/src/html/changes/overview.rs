//! The top and the end of the page: the answer, what happened, what it rests on.

use super::super::markup::Markup;
use super::super::overview::{VerdictCard, sentences, verdict_card};
use super::super::remark;
use super::rest;
use crate::changes::{
    ChangeEventKind, ChangeReport, ChangeVerdict, JointChange, UNEXPLAINED, calendar, change_verdict_word,
    cost_clause, deployment, event_word, mix_clause, onset_margin, place, signed_length, unexplained,
};
use crate::times::Calendar;
use crate::{names, numbers};

/// Events and sentences the page can bear.
const ROWS: usize = 200;

pub(super) fn header(m: &mut Markup, report: &ChangeReport) {
    m.open("header", &[]);
    m.raw("<p class=\"brand\">Laggard</p>\n");
    if let Some(window) = &report.input.window {
        let text = format!("{} to {}", names::label(&window.since, 40), names::label(&window.until, 40));
        m.element("p", &[("class", "window")], &text);
    }
    m.close("header");
}

pub(super) fn verdict(m: &mut Markup, report: &ChangeReport) {
    let class = match report.verdict {
        ChangeVerdict::ApplicationChange => "verdict bad",
        ChangeVerdict::WorkloadChange | ChangeVerdict::Steady => "verdict good",
        ChangeVerdict::Anomaly | ChangeVerdict::UnexplainedChange | ChangeVerdict::InsufficientData => {
            "verdict unsure"
        }
    };
    let card = VerdictCard {
        class,
        word: change_verdict_word(report.verdict),
        headline: &report.headline,
        figures: figures(report),
    };
    verdict_card(m, card);
}

/// The figures under the sentence: name, value, remark.
fn figures(report: &ChangeReport) -> Vec<(&'static str, String, String)> {
    let mut figures = Vec::new();
    let lead = report.events.iter().rev().find_map(|event| Some((event, event.transactions.first()?)));
    if let Some((event, shift)) = lead {
        figures.push(("A call costs", signed_length(shift.difference_s), String::new()));
        let time = calendar(report).time(event.onset.at_ns);
        figures.push(("Since", time, format!("{} UTC", onset_margin(&event.onset))));
    }
    let count = |kind| report.events.iter().filter(|event| event.kind == kind).count() as u64;
    let rows = [
        ("Application changes", count(ChangeEventKind::ApplicationChange)),
        ("Anomalies", count(ChangeEventKind::AnomalyStart)),
        ("Workload changes", count(ChangeEventKind::WorkloadChange)),
    ];
    figures.extend(rows.map(|(name, count)| (name, numbers::count(count), String::new())));
    let gaps = match report.input.gaps {
        0 => String::new(),
        gaps => numbers::counted(gaps, "gap"),
    };
    figures.push(("Windows", numbers::count(report.input.windows), gaps));
    if report.servers.len() > 1 {
        figures.push(("Servers", numbers::count(report.servers.len() as u64), String::new()));
    }
    figures
}

/// Cautions of the whole and of each server.
pub(super) fn all_cautions(report: &ChangeReport) -> Vec<String> {
    report.cautions.iter().take(ROWS).cloned().collect()
}

pub(super) fn events(m: &mut Markup, report: &ChangeReport) {
    let calendar = calendar(report);
    remark(m, &format!("In order of time ({}).", calendar.zone()));
    m.open("ul", &[("class", "periods events")]);
    for event in report.events.iter().take(ROWS) {
        m.open("li", &[]);
        m.open("div", &[]);
        m.element("strong", &[], &calendar.time(event.onset.at_ns));
        m.text(" ");
        m.element("span", &[("class", "margin")], &onset_margin(&event.onset));
        m.close("div");
        m.open("div", &[]);
        tone(m, event.kind);
        m.element("span", &[("class", "away")], ": ");
        for text in details(event, &calendar) {
            m.within("span", &[("class", "detail")], |m| m.sentence(&text));
        }
        m.close("div");
        m.close("li");
    }
    m.close("ul");
    rest(m, report.events.len(), ROWS, "changes");
}

/// The word of an event, told by more than color.
pub(super) fn tone(m: &mut Markup, kind: ChangeEventKind) {
    let class = match kind {
        ChangeEventKind::ApplicationChange => "tone bad",
        ChangeEventKind::AnomalyStart | ChangeEventKind::Rollback | ChangeEventKind::Unexplained => {
            "tone unsure"
        }
        ChangeEventKind::AnomalyEnd => "tone good",
        ChangeEventKind::WorkloadChange => "tone",
    };
    m.element("span", &[("class", class)], event_word(kind));
}

fn details(event: &JointChange, calendar: &Calendar) -> Vec<String> {
    let what = match event.kind {
        ChangeEventKind::ApplicationChange => cost_clause(&event.transactions),
        ChangeEventKind::Rollback => "transactions cost again what they did once".to_owned(),
        ChangeEventKind::Unexplained => UNEXPLAINED.to_owned(),
        ChangeEventKind::WorkloadChange => mix_clause(&event.mix, 4),
        ChangeEventKind::AnomalyStart => event.region.as_ref().map_or_else(String::new, |region| {
            let [_, until] = calendar.ends(region.since_ns, region.until_ns);
            format!("until {until}: {} unexplained", unexplained(region))
        }),
        ChangeEventKind::AnomalyEnd => String::new(),
    };
    let mut out = vec![format!("{what}{}", place(event))];
    out.extend(event.deployment.as_ref().map(deployment));
    out.retain(|text| !text.trim().is_empty());
    out
}

pub(super) fn ruled_out(m: &mut Markup, report: &ChangeReport) {
    sentences(m, &report.ruled_out[..report.ruled_out.len().min(ROWS)]);
}

pub(super) fn basis(m: &mut Markup, report: &ChangeReport) {
    m.element("p", &[], &report.input.sentence());
    m.element("p", &[], &format!("Method: {}.", names::label(&report.method, 40)));
    for server in report.servers.iter().take(super::SERVERS).filter(|server| !server.estimator.is_empty()) {
        m.within("p", &[], |m| {
            if report.servers.len() > 1 {
                m.name("server", &crate::changes::heading_of(&server.server, &server.tier), 48);
                m.text(": ");
            }
            m.sentence(&server.estimator);
        });
    }
    m.open("details", &[("class", "fold")]);
    m.raw("<summary>Settings in force</summary>\n<dl class=\"settings\">\n");
    for setting in &report.settings {
        m.open("div", &[]);
        m.element("dt", &[], &format!("--{}", names::label(&setting.name, 64)));
        m.element("dd", &[], &names::label(&setting.value, 200));
        m.close("div");
    }
    m.close("dl");
    m.close("details");
}
