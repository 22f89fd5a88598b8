//! What transactions cost by each model, and the segments.

use super::super::markup::Markup;
use super::super::{NAME_ROOM, remark, scroller};
use super::{SERVERS, number, number_titles, rest};
use crate::changes::{
    ChangeReport, CostModel, ReportedSegment, SegmentState, ServerChanges, TransactionCost, by_verdict,
    calendar, error, heading_of, length, letter, percent, segment_word, tied_sentence,
};
use crate::numbers;
use crate::times::Calendar;

/// Models and segments of one server, and transactions of one model, that the page can bear.
const MODELS: usize = 12;
const ROWS: usize = 200;
const SEGMENTS: usize = 400;

/// Groups of transactions that move together.
const TIED: usize = 20;

/// Segments shown unfolded.
const UNFOLDED: usize = 24;

pub(super) fn any(report: &ChangeReport) -> bool {
    report.servers.iter().any(|server| !server.models.is_empty())
}

pub(super) fn any_segment(report: &ChangeReport) -> bool {
    report.servers.iter().any(|server| !server.segments.is_empty())
}

pub(super) fn write(m: &mut Markup, report: &ChangeReport) {
    remark(
        m,
        "CPU a call takes by the model, with its 95 % interval: windows of one steady mix cannot tell transactions \
         apart that always come together. The service time (the signature) is measured on each alone.",
    );
    for server in by_verdict(report).into_iter().filter(|server| !server.models.is_empty()).take(SERVERS) {
        let name = heading_of(&server.server, &server.tier);
        let many = report.servers.len() > 1;
        let in_force = server.models.iter().position(|model| model.in_force);
        let order = in_force.into_iter().chain((0..server.models.len()).filter(|&at| Some(at) != in_force));
        for (place, at) in order.take(MODELS).enumerate() {
            let title = model_title(&server.models[at], at as u32, if many { &name } else { "" });
            if place == 0 {
                m.element("h3", &[], &title);
                costs(m, &title, &server.models[at]);
            } else {
                m.open("details", &[("class", "fold")]);
                m.element("summary", &[], &title);
                costs(m, &title, &server.models[at]);
                m.close("details");
            }
        }
        rest(m, server.models.len(), MODELS, "models");
    }
}

fn model_title(model: &CostModel, at: u32, server: &str) -> String {
    let of = if server.is_empty() { String::new() } else { format!("{server}: ") };
    let force = if model.in_force { ", in force" } else { "" };
    format!(
        "{of}Model {}{force}: {}, constant {}, error {}, condition {}",
        letter(at),
        numbers::counted(model.windows, "window"),
        percent(model.constant_percent),
        error(model.error),
        model.condition.map_or_else(|| "infinite".to_owned(), numbers::ratio),
    )
}

fn costs(m: &mut Markup, caption: &str, model: &CostModel) {
    scroller(m, caption, |m| {
        m.raw("<table class=\"plain sortable\">\n");
        m.element("caption", &[("class", "away")], caption);
        m.raw("<thead><tr><th scope=\"col\" data-sort=\"text\">Transaction</th>");
        number_titles(m, &["CPU a call", "95 % from", "to", "Service time"]);
        m.raw("<th scope=\"col\" data-sort=\"text\">Told apart</th></tr></thead>\n<tbody>\n");
        model.transactions.iter().take(ROWS).for_each(|found| cost(m, found));
        m.raw("</tbody></table>\n");
    });
    rest(m, model.transactions.len(), ROWS, "transactions");
    for tied in model.indistinguishable.iter().take(TIED) {
        m.within("p", &[("class", "remark")], |m| m.sentence(&tied_sentence(tied)));
    }
    rest(m, model.indistinguishable.len(), TIED, "groups of transactions that move together");
}

fn cost(m: &mut Markup, found: &TransactionCost) {
    m.open("tr", &[]);
    m.within("th", &[("scope", "row")], |m| m.name("operation", &found.transaction, NAME_ROOM));
    for value in [found.demand_s, found.demand_low_s, found.demand_high_s] {
        number(m, &length(value), value);
    }
    let service = found.service_time_s.unwrap_or(f64::NAN);
    number(m, &length(service), service);
    m.element("td", &[], if found.told_apart { "yes" } else { "no" });
    m.close("tr");
}

pub(super) fn segments(m: &mut Markup, report: &ChangeReport) {
    let calendar = calendar(report);
    remark(m, &format!("Each with the constant and the error of a fit of its own ({}).", calendar.zone()));
    for server in by_verdict(report).into_iter().filter(|server| !server.segments.is_empty()).take(SERVERS) {
        let name = heading_of(&server.server, &server.tier);
        if report.servers.len() > 1 {
            m.element("h3", &[], &name);
        }
        if server.segments.len() <= UNFOLDED {
            segment_table(m, &name, server, &calendar);
        } else {
            m.open("details", &[("class", "fold tall")]);
            m.element("summary", &[], &numbers::counted(server.segments.len() as u64, "segment"));
            segment_table(m, &name, server, &calendar);
            m.close("details");
        }
    }
}

fn segment_table(m: &mut Markup, name: &str, server: &ServerChanges, calendar: &Calendar) {
    let caption = format!("Segments of {name}");
    scroller(m, &caption, |m| {
        m.raw("<table class=\"plain\">\n");
        m.element("caption", &[("class", "away")], &caption);
        m.raw("<thead><tr><th scope=\"col\">From</th><th scope=\"col\">To</th><th scope=\"col\">What</th>");
        number_titles(m, &["Windows", "Constant", "Error"]);
        m.raw("</tr></thead>\n<tbody>\n");
        server.segments.iter().take(SEGMENTS).for_each(|found| segment(m, found, calendar));
        m.raw("</tbody></table>\n");
    });
    rest(m, server.segments.len(), SEGMENTS, "segments");
}

fn segment(m: &mut Markup, found: &ReportedSegment, calendar: &Calendar) {
    let class = if found.state == SegmentState::Anomalous { "tone unsure" } else { "" };
    let [since, until] = calendar.ends(found.since_ns, found.until_ns);
    m.open("tr", &[]);
    m.element("th", &[("scope", "row"), ("class", "time")], &since);
    m.element("td", &[("class", "time")], &until);
    m.within("td", &[], |m| m.element("span", &[("class", class)], &segment_word(found)));
    number(m, &numbers::count(found.windows), found.windows as f64);
    number(m, &percent(found.constant_percent), found.constant_percent);
    number(m, &error(found.error), found.error);
    m.close("tr");
}
