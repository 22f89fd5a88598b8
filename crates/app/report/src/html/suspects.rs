//! The table of suspects.

use super::markup::Markup;
use super::{NAME_ROOM, call_tree, operation, remark};
use crate::times::Calendar;
use crate::{Report, Suspect, evidence, facts, names, numbers};

/// Suspects shown unfolded; the rest follow in a folded table.
const UNFOLDED: usize = 20;

/// Suspects the page can bear.
const MOST: usize = 2_000;

/// Replicas and links shown unfolded in a cell.
const IN_CELL: usize = 3;

/// Replicas, categories or traces listed at all.
const IN_LIST: usize = 60;

/// Width of the bar that shows a share, in pixels.
const BAR: f64 = 96.0;

const COLUMNS: [(&str, &str); 8] = [
    ("#", "number"),
    ("Operation", "text"),
    ("Slow on", "text"),
    ("Slower by", "number"),
    ("Factor", "number"),
    ("Explains", "number"),
    ("Requests hit", "number"),
    ("Evidence", ""),
];

pub(super) fn write(m: &mut Markup, report: &Report) {
    remark(
        m,
        "Operations whose own time makes requests slow, the most suspicious first. \u{201c}Explains\u{201d} is the \
         share of all slow requests\u{2019} excess latency that arises in the operation itself.",
    );
    let shown = report.suspects.len().min(MOST);
    let unfolded = shown.min(UNFOLDED);
    let trees = call_tree::Drawn::of(report);
    table(m, report, &report.suspects[..unfolded], &trees);
    if shown > unfolded {
        m.open("details", &[("class", "fold")]);
        m.element("summary", &[], &format!("{} further suspects", numbers::count((shown - unfolded) as u64)));
        table(m, report, &report.suspects[unfolded..shown], &trees);
        m.close("details");
    }
    if report.suspects.len() > shown {
        let left = numbers::count((report.suspects.len() - shown) as u64);
        remark(m, &format!("{left} more suspects are in the JSON output."));
    }
}

/// On a phone the rows become cards; the roles keep them a table for those who listen to it.
fn table(m: &mut Markup, report: &Report, suspects: &[Suspect], trees: &call_tree::Drawn) {
    m.open("table", &[("class", "suspects sortable"), ("role", "table")]);
    m.raw("<caption class=\"away\">Suspects</caption>\n<thead role=\"rowgroup\">");
    m.open("tr", &[("role", "row")]);
    for (title, kind) in COLUMNS {
        m.element(
            "th",
            &[("scope", "col"), ("role", "columnheader"), ("data-sort", kind), ("class", kind)],
            title,
        );
    }
    m.close("tr");
    m.close("thead");
    m.open("tbody", &[("role", "rowgroup")]);
    for suspect in suspects {
        m.open("tr", &[("role", "row")]);
        row(m, report, suspect, trees);
        m.close("tr");
    }
    m.close("tbody");
    m.close("table");
}

fn row(m: &mut Markup, report: &Report, suspect: &Suspect, trees: &call_tree::Drawn) {
    number(m, "Suspect", suspect.rank.into(), &suspect.rank.to_string());
    m.within("th", &[("scope", "row"), ("role", "rowheader")], |m| {
        operation(m, &suspect.service, &suspect.operation);
        if !suspect.kind.is_empty() {
            m.text(" ");
            m.name("kind", &suspect.kind, 16);
        }
        if let Some(between) = &suspect.between {
            let link = evidence::link(between, NAME_ROOM / 2);
            m.within("div", &[("class", "line")], |m| m.name("between", &link, NAME_ROOM + 4));
        }
    });
    m.within("td", &[("role", "cell"), ("class", "wide"), ("data-label", "Slow on")], |m| {
        replicas(m, suspect)
    });
    number(m, "Slower by", suspect.effect_ns as f64, &numbers::effect(suspect.effect_ns));
    number(m, "Factor", suspect.factor, &evidence::factor(suspect));
    let value = suspect.share.to_string();
    let attributes =
        [("role", "cell"), ("class", "number share"), ("data-label", "Explains"), ("data-value", &value)];
    m.within("td", &attributes, |m| share(m, suspect.share));
    let hit = numbers::count(suspect.requests_hit);
    let of = if report.input.requests > 0 {
        format!("{hit} of {}", numbers::count(report.input.requests))
    } else {
        hit
    };
    number(m, "Requests hit", suspect.requests_hit as f64, &of);
    m.within("td", &[("role", "cell"), ("class", "wide")], |m| {
        reasons(m, report, suspect);
        examples(m, suspect, trees);
    });
}

fn number(m: &mut Markup, label: &str, value: f64, text: &str) {
    let value = value.to_string();
    let attributes =
        [("role", "cell"), ("class", "number"), ("data-label", label), ("data-value", value.as_str())];
    m.element("td", &attributes, text);
}

fn share(m: &mut Markup, share: f64) {
    m.element("span", &[], &numbers::share(share));
    let full = if share.is_finite() { share.clamp(0.0, 1.0) } else { 0.0 };
    m.raw("<svg class=\"bar\" viewBox=\"0 0 96 8\" width=\"96\" height=\"8\" aria-hidden=\"true\">");
    m.shape("rect", "bar-all", &[("width", BAR), ("height", 8.0), ("rx", 2.0)]);
    m.shape("rect", "bar-part", &[("width", full * BAR), ("height", 8.0), ("rx", 2.0)]);
    m.close("svg");
}

fn replicas(m: &mut Markup, suspect: &Suspect) {
    m.element("span", &[("class", "place")], &facts::place(suspect));
    let names = &suspect.replicas[..suspect.replicas.len().min(IN_LIST)];
    let (shown, folded) = names.split_at(names.len().min(IN_CELL));
    if shown.is_empty() {
        return;
    }
    chips(m, shown);
    if !folded.is_empty() {
        m.open("details", &[]);
        m.element("summary", &[], &format!("{} more", suspect.replicas.len() - shown.len()));
        chips(m, folded);
        rest_elsewhere(m, suspect.replicas.len());
        m.close("details");
    }
}

fn chips(m: &mut Markup, list: &[String]) {
    m.open("div", &[("class", "chips")]);
    for name in list {
        m.name("replica", name, 28);
        m.text(" ");
    }
    m.close("div");
}

/// How it compares, since when, and what speaks against it.
fn reasons(m: &mut Markup, report: &Report, suspect: &Suspect) {
    let against = evidence::compared_with(report);
    let shift = suspect.shift.as_ref().map(|shift| evidence::brief_shift(shift, against));
    let onset = suspect.onset.as_ref();
    let onset = onset.map(|onset| format!("since {}", evidence::onset(onset, &Calendar::of(report))));
    let lines: Vec<String> =
        shift.into_iter().chain(onset).chain(evidence::words(&suspect.evidence)).collect();
    if lines.is_empty() {
        return;
    }
    m.open("ul", &[("class", "evidence reasons")]);
    lines.iter().for_each(|line| m.element("li", &[], line));
    m.close("ul");
}

fn examples(m: &mut Markup, suspect: &Suspect, trees: &call_tree::Drawn) {
    if suspect.categories.is_empty() && suspect.trace_ids.is_empty() && suspect.shift.is_none() {
        return;
    }
    m.open("details", &[]);
    let traces = numbers::counted(suspect.trace_ids.len() as u64, "trace");
    let categories = numbers::counted_categories(suspect.categories.len() as u64);
    let nothing_listed = suspect.categories.is_empty() && suspect.trace_ids.is_empty();
    let summary = if nothing_listed { "Details".to_owned() } else { format!("{categories}, {traces}") };
    m.element("summary", &[], &summary);
    m.open("ul", &[("class", "evidence")]);
    if let Some(shift) = suspect.shift.as_ref() {
        m.element("li", &[], &evidence::certainty(shift));
    }
    for id in suspect.categories.iter().take(IN_LIST) {
        m.open("li", &[]);
        m.text("category ");
        match trees.anchor(id) {
            Some(anchor) => m.element("a", &[("href", &format!("#{anchor}"))], &names::label(id, 24)),
            None => m.name("id", id, 24),
        }
        m.close("li");
    }
    for id in suspect.trace_ids.iter().take(IN_LIST) {
        m.open("li", &[]);
        m.text("trace ");
        m.name("id", id, NAME_ROOM);
        m.close("li");
    }
    m.close("ul");
    rest_elsewhere(m, suspect.categories.len().max(suspect.trace_ids.len()));
    m.close("details");
}

/// Says so when a list was cut.
fn rest_elsewhere(m: &mut Markup, all: usize) {
    if all > IN_LIST {
        remark(m, "The rest is in the JSON output.");
    }
}
