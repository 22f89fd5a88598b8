//! The top and the end of the page: the answer, why the mean changed, what it rests on.

use super::super::markup::Markup;
use super::super::overview::{VerdictCard, sentences, verdict_card};
use super::super::{operation, remark, scroller};
use super::number;
use crate::comparison::{
    Change, Comparison, ComparisonVerdict, EntryChange, LatencyChange, Part, interval, latency_parts,
    relative, set_sentence, signed_share, signed_time, verdict_word,
};
use crate::{names, numbers};

/// Entries and sentences the page can bear.
const ROWS: usize = 200;

/// Width of a bar chart, in pixels.
const CHART: f64 = 320.0;

pub(super) fn verdict(m: &mut Markup, comparison: &Comparison) {
    let class = match comparison.verdict {
        ComparisonVerdict::Slower => "verdict bad",
        ComparisonVerdict::Faster | ComparisonVerdict::Unchanged => "verdict good",
        ComparisonVerdict::Changed | ComparisonVerdict::InsufficientData => "verdict unsure",
    };
    let card = VerdictCard {
        class,
        word: verdict_word(comparison.verdict),
        headline: &comparison.headline,
        figures: figures(comparison),
    };
    verdict_card(m, card);
}

/// The figures under the sentence: name, value, remark.
fn figures(comparison: &Comparison) -> Vec<(&'static str, String, String)> {
    let requests = [&comparison.before, &comparison.after].map(|set| numbers::count(set.input.requests));
    let changed = comparison.operations.iter().filter(|operation| operation.change != Change::None).count();
    let shapes = comparison.shapes.iter().filter(|shape| shape.significant).count();
    let mut figures = vec![("Requests", format!("{} → {}", requests[0], requests[1]), String::new())];
    if let Some(latency) = &comparison.latency {
        let [before, after] = [latency.before_ns, latency.after_ns].map(numbers::time_float);
        let change = relative(latency.before_ns, latency.after_ns).map_or_else(String::new, signed_share);
        figures.push(("Mean latency", format!("{before} → {after}"), change));
    }
    let of = |all: u64| format!("of {}", numbers::count(all));
    figures.push(("Operations changed", changed.to_string(), of(comparison.operations.len() as u64)));
    figures.push(("Call trees changed", shapes.to_string(), of(comparison.shapes_seen)));
    figures
}

pub(super) fn cautions(m: &mut Markup, comparison: &Comparison) {
    if comparison.cautions.is_empty() {
        return;
    }
    m.raw("<aside class=\"cautions\" aria-labelledby=\"cautions-title\">\n");
    m.raw("<h2 id=\"cautions-title\">Before you act on it</h2>\n");
    sentences(m, &comparison.cautions[..comparison.cautions.len().min(ROWS)]);
    m.close("aside");
}

pub(super) fn latency(m: &mut Markup, comparison: &Comparison) {
    let Some(latency) = &comparison.latency else { return };
    remark(
        m,
        "The parts sum to the change. Bars show the change of the mean latency, lines its 95 % interval; a part \
         whose line crosses the middle is within chance.",
    );
    scroller(m, "Parts of the change of the mean latency", |m| {
        m.raw("<table class=\"plain parts\">\n<caption class=\"away\">Parts of the change of the mean latency</caption>\n");
        m.raw("<thead><tr><th scope=\"col\">Part</th><th scope=\"col\" class=\"number\">Change</th>");
        m.raw("<th scope=\"col\"><span class=\"away\">Chart</span></th><th scope=\"col\">95 % interval</th>");
        m.raw("<th scope=\"col\" class=\"number\">p</th></tr></thead>\n<tbody>\n");
        let scale = scale(latency);
        part_row(m, "All requests", &latency.total, scale);
        for (name, part) in latency_parts(latency) {
            part_row(m, name, part, scale);
        }
        m.raw("</tbody></table>\n");
    });
}

/// The largest end of an interval; never 0.
fn scale(latency: &LatencyChange) -> f64 {
    let parts = latency_parts(latency).map(|(_, part)| part);
    let ends = parts.into_iter().chain([&latency.total]).flat_map(|part| [part.low_ns, part.high_ns]);
    ends.filter(|end| end.is_finite()).map(f64::abs).fold(1.0, f64::max)
}

fn part_row(m: &mut Markup, name: &str, part: &Part, scale: f64) {
    m.open("tr", &[]);
    m.element("th", &[("scope", "row")], name);
    number(m, &signed_time(part.change_ns), part.change_ns);
    m.within("td", &[], |m| chart(m, part, scale));
    m.element("td", &[], &interval(part));
    number(m, &numbers::p_value(part.p_value), part.p_value);
    m.close("tr");
}

fn chart(m: &mut Markup, part: &Part, scale: f64) {
    let at = |ns: f64| CHART / 2.0 * (1.0 + (ns / scale).clamp(-1.0, 1.0));
    m.raw("<svg class=\"change\" viewBox=\"0 0 320 16\" width=\"320\" height=\"16\" aria-hidden=\"true\">");
    let (from, to) = (at(part.change_ns.min(0.0)), at(part.change_ns.max(0.0)));
    let class = if part.change_ns > 0.0 { "up" } else { "down" };
    m.shape("rect", class, &[("x", from), ("y", 3.0), ("width", to - from), ("height", 10.0)]);
    m.shape("line", "axis", &[("x1", CHART / 2.0), ("x2", CHART / 2.0), ("y1", 0.0), ("y2", 16.0)]);
    let ends = [("x1", at(part.low_ns)), ("x2", at(part.high_ns)), ("y1", 8.0), ("y2", 8.0)];
    m.shape("line", "whisker", &ends);
    m.close("svg");
}

pub(super) fn entries(m: &mut Markup, comparison: &Comparison) {
    remark(
        m,
        "Mean latency of the requests that enter at each operation, and how much of the change is the same requests taking longer.",
    );
    scroller(m, "Entries", |m| {
        m.raw("<table class=\"plain sortable\">\n<caption class=\"away\">Entries before and after</caption>\n<thead><tr>");
        m.raw("<th scope=\"col\" data-sort=\"text\">Entry</th>");
        for title in ["Requests before", "After", "Mean before", "Mean after", "Change", "Same requests", "p"]
        {
            m.element("th", &[("scope", "col"), ("class", "number"), ("data-sort", "number")], title);
        }
        m.raw("</tr></thead>\n<tbody>\n");
        comparison.entries.iter().take(ROWS).for_each(|entry| entry_row(m, entry));
        m.raw("</tbody></table>\n");
    });
    rest(m, comparison.entries.len());
}

fn entry_row(m: &mut Markup, entry: &EntryChange) {
    m.open("tr", &[]);
    m.within("th", &[("scope", "row")], |m| operation(m, &entry.service, &entry.operation));
    for requests in [entry.requests_before, entry.requests_after] {
        number(m, &numbers::count(requests), requests as f64);
    }
    match &entry.latency {
        Some(latency) => {
            number(m, &numbers::time_float(latency.before_ns), latency.before_ns);
            number(m, &numbers::time_float(latency.after_ns), latency.after_ns);
            let change = relative(latency.before_ns, latency.after_ns).unwrap_or(f64::NAN);
            number(m, &signed_share(change), change);
            let same = &latency.same_requests;
            number(m, &signed_time(same.change_ns), same.change_ns);
            number(m, &numbers::p_value(same.p_value), same.p_value);
        }
        None => (0..5).for_each(|_| number(m, "–", f64::NAN)),
    }
    m.close("tr");
}

fn rest(m: &mut Markup, all: usize) {
    if all > ROWS {
        remark(m, &format!("{} more are in the JSON output.", numbers::count((all - ROWS) as u64)));
    }
}

pub(super) fn ruled_out(m: &mut Markup, comparison: &Comparison) {
    sentences(m, &comparison.ruled_out[..comparison.ruled_out.len().min(ROWS)]);
}

pub(super) fn basis(m: &mut Markup, comparison: &Comparison) {
    for (name, set) in [("Before", &comparison.before), ("After", &comparison.after)] {
        m.within("p", &[], |m| m.sentence(&set_sentence(name, set)));
        if set.input.losses.is_empty() {
            continue;
        }
        m.open("ul", &[("class", "sentences remark")]);
        for (loss, found) in set.input.losses.iter() {
            m.element("li", &[], &format!("{} {}", numbers::count(found.count), loss.phrase()));
        }
        m.close("ul");
    }
    m.open("details", &[("class", "fold")]);
    m.raw("<summary>Settings in force</summary>\n<dl class=\"settings\">\n");
    for setting in &comparison.settings {
        m.open("div", &[]);
        m.element("dt", &[], &format!("--{}", names::label(&setting.name, 64)));
        m.element("dd", &[], &names::label(&setting.value, 200));
        m.close("div");
    }
    m.close("dl");
    m.close("details");
}
