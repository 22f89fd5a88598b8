//! The table of request categories.

use super::markup::Markup;
use super::{call_tree, operation, remark, scroller};
use crate::{Category, Report, facts, numbers};
use std::collections::HashSet;

/// Categories the page can bear.
const MOST: usize = 2_000;

/// Longer tables scroll on their own.
const TALL: usize = 24;

pub(super) fn write(m: &mut Markup, report: &Report) {
    remark(
        m,
        "A category holds the requests with the same call tree. It is called anomalous when its latencies are \
         widely dispersed (CV, standard deviation over mean) or have a heavy tail.",
    );
    let trees = call_tree::Drawn::of(report);
    let paying: HashSet<&str> = match report.suspects.is_empty() {
        true => HashSet::new(),
        false => facts::paying(report).into_iter().map(|category| category.id.as_str()).collect(),
    };
    let class = if report.categories.len() > TALL { "tall" } else { "short" };
    m.open("div", &[("class", class)]);
    scroller(m, "Request categories", |m| {
        m.raw("<table class=\"plain sortable\">\n<caption class=\"away\">Request categories</caption>\n<thead><tr>");
        m.raw("<th scope=\"col\" data-sort=\"text\">Entry</th><th scope=\"col\" data-sort=\"text\">Category</th>");
        m.raw("<th scope=\"col\" data-sort=\"number\" class=\"number\">Requests</th>");
        m.raw("<th scope=\"col\" data-sort=\"number\" class=\"number\">p50</th>");
        m.raw("<th scope=\"col\" data-sort=\"number\" class=\"number\">p99</th>");
        m.raw("<th scope=\"col\" data-sort=\"number\" class=\"number\">CV</th>");
        m.raw("<th scope=\"col\" data-sort=\"number\" class=\"number\">In the tail</th>");
        m.raw("<th scope=\"col\" data-sort=\"text\">Verdict</th></tr></thead>\n<tbody>\n");
        for category in report.categories.iter().take(MOST) {
            let verdict = verdict(category, paying.contains(category.id.as_str()));
            m.within("tr", &[], |m| row(m, category, &trees, verdict));
        }
        m.raw("</tbody></table>\n");
    });
    m.close("div");
    if report.categories.len() > MOST {
        let left = numbers::count((report.categories.len() - MOST) as u64);
        remark(m, &format!("{left} more categories are in the JSON output."));
    }
}

/// What became of a category, in a few words.
const fn verdict(category: &Category, pays: bool) -> &'static str {
    match (category.analyzed, category.anomalous, pays) {
        (false, _, _) => "too few to judge",
        (true, _, true) => "pays for a suspect",
        (true, true, false) => "anomalous, no culprit",
        (true, false, false) => "fine",
    }
}

fn row(m: &mut Markup, category: &Category, trees: &call_tree::Drawn<'_>, verdict: &'static str) {
    m.within("th", &[("scope", "row")], |m| operation(m, &category.service, &category.operation));
    m.within("td", &[], |m| match trees.anchor(&category.id) {
        Some(anchor) => m.within("a", &[("href", &format!("#{anchor}"))], |m| m.name("id", &category.id, 24)),
        None => m.name("id", &category.id, 24),
    });
    number(m, category.requests as f64, &numbers::count(category.requests));
    number(m, category.latency_p50_ns as f64, &numbers::time(category.latency_p50_ns));
    number(m, category.latency_p99_ns as f64, &numbers::time(category.latency_p99_ns));
    number(m, category.cv, &numbers::ratio(category.cv));
    number(m, category.tail_requests as f64, &numbers::count(category.tail_requests));
    m.element("td", &[], verdict);
}

fn number(m: &mut Markup, value: f64, text: &str) {
    m.element("td", &[("class", "number"), ("data-value", &value.to_string())], text);
}
