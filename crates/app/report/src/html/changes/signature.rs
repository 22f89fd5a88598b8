//! What a call cost before and after each application change, transaction by transaction.

use super::super::markup::Markup;
use super::super::{NAME_ROOM, remark, scroller};
use super::{SERVERS, number, number_titles, rest};
use crate::changes::{
    ChangeEvent, ChangeEventKind, ChangeReport, ServerChanges, SignatureShift, by_verdict, calendar,
    heading_of, length, plus_minus, signed_length, when,
};

/// Changes of one server, and transactions of one change, that the page can bear.
const CHANGES: usize = 12;
const ROWS: usize = 100;

/// Width of a chart, in pixels.
const CHART: f64 = 260.0;

pub(super) fn any(report: &ChangeReport) -> bool {
    report.servers.iter().any(|server| compared(server).next().is_some())
}

fn compared(server: &ServerChanges) -> impl Iterator<Item = &ChangeEvent> {
    let is_one = |kind| matches!(kind, ChangeEventKind::ApplicationChange | ChangeEventKind::Rollback);
    server.changes.iter().filter(move |change| is_one(change.kind) && !rows(server, change).is_empty())
}

pub(super) fn write(m: &mut Markup, report: &ChangeReport) {
    remark(
        m,
        "Time at the server without queueing (the signature), or CPU by the two models where response times are not \
         known. Open dots are before, filled ones after, lines 95 % intervals. Marked transactions explain the change.",
    );
    let servers =
        by_verdict(report).into_iter().filter(|server| compared(server).next().is_some()).take(SERVERS);
    for server in servers {
        let all: Vec<&ChangeEvent> = compared(server).collect();
        // The latest is what matters now.
        for (at, change) in all.iter().rev().take(CHANGES).enumerate() {
            let mut title = when(&change.onset, &calendar(report));
            if report.servers.len() > 1 {
                title = format!("{}, {title}", heading_of(&server.server, &server.tier));
            }
            if at == 0 {
                m.element("h3", &[], &title);
                table(m, &title, &rows(server, change));
            } else {
                m.open("details", &[("class", "fold")]);
                m.element("summary", &[], &title);
                table(m, &title, &rows(server, change));
                m.close("details");
            }
        }
        rest(m, all.len(), CHANGES, "changes");
    }
}

/// The signature or, without response times, the demands of the two models; the largest difference first.
fn rows(server: &ServerChanges, change: &ChangeEvent) -> Vec<SignatureShift> {
    let mut rows =
        if change.signature.is_empty() { demands(server, change) } else { change.signature.clone() };
    let size = |row: &SignatureShift| {
        let size = (row.after_s - row.before_s).abs();
        if size.is_finite() { size } else { -1.0 }
    };
    rows.sort_by(|a, b| b.changed.cmp(&a.changed).then(size(b).total_cmp(&size(a))));
    rows
}

fn demands(server: &ServerChanges, change: &ChangeEvent) -> Vec<SignatureShift> {
    let model = |at: Option<u32>| at.and_then(|at| server.models.get(at as usize));
    let (Some(before), Some(after)) = (model(change.model_before), model(change.model_after)) else {
        return vec![];
    };
    let error = |low: f64, high: f64| (high - low) / (2.0 * 1.96);
    let pairs = std::iter::zip(&before.transactions, &after.transactions);
    let row = pairs.map(|(old, new)| SignatureShift {
        transaction: new.transaction.clone(),
        before_s: old.demand_s,
        before_error_s: error(old.demand_low_s, old.demand_high_s),
        after_s: new.demand_s,
        after_error_s: error(new.demand_low_s, new.demand_high_s),
        changed: change.transactions.iter().any(|shift| shift.transaction == new.transaction),
    });
    row.collect()
}

fn table(m: &mut Markup, caption: &str, rows: &[SignatureShift]) {
    let values = rows.iter().take(ROWS).flat_map(|row| [row.before_s, row.after_s]);
    let largest = values.filter(|value| value.is_finite()).fold(0.0, f64::max);
    scroller(m, caption, |m| {
        m.raw("<table class=\"plain sortable parts shifts\">\n");
        m.element("caption", &[("class", "away")], caption);
        m.raw("<thead><tr><th scope=\"col\" data-sort=\"text\">Transaction</th>");
        number_titles(m, &["Difference", "95 %"]);
        m.raw("<th scope=\"col\"><span class=\"away\">Chart</span></th>");
        number_titles(m, &["Before", "After"]);
        m.raw("</tr></thead>\n<tbody>\n");
        rows.iter().take(ROWS).for_each(|found| row(m, found, largest));
        m.raw("</tbody></table>\n");
    });
    rest(m, rows.len(), ROWS, "transactions");
}

fn row(m: &mut Markup, found: &SignatureShift, largest: f64) {
    m.open("tr", if found.changed { &[("class", "changed")] } else { &[] });
    m.within("th", &[("scope", "row")], |m| {
        m.name("operation", &found.transaction, NAME_ROOM);
        if found.changed {
            m.text(" ");
            m.element("span", &[("class", "tone bad")], "changed");
        }
    });
    let difference = found.after_s - found.before_s;
    number(m, &signed_length(difference), difference);
    let error = found.before_error_s.hypot(found.after_error_s);
    number(m, &plus_minus(error), error);
    m.within("td", &[], |m| chart(m, found, largest));
    number(m, &length(found.before_s), found.before_s);
    number(m, &length(found.after_s), found.after_s);
    m.close("tr");
}

fn chart(m: &mut Markup, found: &SignatureShift, largest: f64) {
    let at = |value: f64| 6.0 + (CHART - 12.0) * (value / (1.05 * largest)).clamp(0.0, 1.0);
    m.raw("<svg class=\"change\" viewBox=\"0 0 260 20\" width=\"260\" height=\"20\" aria-hidden=\"true\">");
    m.shape("line", "grid", &[("x1", 0.0), ("x2", CHART), ("y1", 10.0), ("y2", 10.0)]);
    let known = found.before_s.is_finite() && found.after_s.is_finite() && largest > 0.0;
    if known {
        let ends = [("x1", at(found.before_s)), ("x2", at(found.after_s)), ("y1", 10.0), ("y2", 10.0)];
        m.shape("line", "way-to", &ends);
        for (value, error, y) in
            [(found.before_s, found.before_error_s, 6.5), (found.after_s, found.after_error_s, 13.5)]
        {
            if error.is_finite() {
                let ends = [
                    ("x1", at(value - 1.96 * error)),
                    ("x2", at(value + 1.96 * error)),
                    ("y1", y),
                    ("y2", y),
                ];
                m.shape("line", "whisker", &ends);
            }
        }
        m.shape("circle", "dot before", &[("cx", at(found.before_s)), ("cy", 10.0), ("r", 4.0)]);
        m.shape("circle", "dot after", &[("cx", at(found.after_s)), ("cy", 10.0), ("r", 4.0)]);
    }
    m.close("svg");
}
