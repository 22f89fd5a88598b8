//! Shapes that are not as frequent as before, and what distinguishes them.

use super::super::markup::Markup;
use super::super::{operation, remark, scroller};
use super::number;
use crate::comparison::{Comparison, ShapeChange, difference, fate_word};
use crate::{names, numbers};

/// Shapes the page can bear.
const ROWS: usize = 200;

/// Differences shown of one shape.
const DIFFERENCES: usize = 6;

pub(super) fn write(m: &mut Markup, comparison: &Comparison) {
    remark(
        m,
        "Call trees that only one of the sets has, or whose share of the requests changed. A new or vanished one is \
         held against the most similar tree of the other set.",
    );
    let significant = comparison.shapes.iter().filter(|shape| shape.significant).count();
    let (first, rest) = comparison.shapes.split_at(significant.min(comparison.shapes.len()));
    if first.is_empty() {
        m.element("p", &[], "None beyond chance.");
    } else {
        table(m, "Shapes that changed", first);
    }
    if !rest.is_empty() {
        m.open("details", &[("class", "fold tall")]);
        let count = numbers::counted(rest.len() as u64, "shape");
        m.element("summary", &[], &format!("{count} in one set only, so rare that this can be chance"));
        table(m, "Shapes in one set by chance", rest);
        m.close("details");
    }
}

fn table(m: &mut Markup, caption: &str, rows: &[ShapeChange]) {
    scroller(m, caption, |m| {
        m.raw("<table class=\"plain sortable\">\n");
        m.element("caption", &[("class", "away")], caption);
        m.raw("<thead><tr><th scope=\"col\" data-sort=\"text\">Call tree</th>");
        m.raw("<th scope=\"col\" data-sort=\"text\">Change</th>");
        for title in ["Requests before", "After", "Mean before", "Mean after", "p"] {
            m.element("th", &[("scope", "col"), ("class", "number"), ("data-sort", "number")], title);
        }
        m.raw("<th scope=\"col\">Against the nearest</th></tr></thead>\n<tbody>\n");
        rows.iter().take(ROWS).for_each(|shape| row(m, shape));
        m.raw("</tbody></table>\n");
    });
    if rows.len() > ROWS {
        let left = numbers::count((rows.len() - ROWS) as u64);
        remark(m, &format!("{left} more shapes are in the JSON output."));
    }
}

fn row(m: &mut Markup, shape: &ShapeChange) {
    m.open("tr", &[]);
    m.within("th", &[("scope", "row")], |m| {
        operation(m, &shape.service, &shape.operation);
        m.text(" ");
        m.name("id", &shape.id, 24);
    });
    m.element("td", &[], fate_word(shape.fate));
    number(m, &numbers::count(shape.requests_before), shape.requests_before as f64);
    number(m, &numbers::count(shape.requests_after), shape.requests_after as f64);
    for latency in [shape.latency_before_ns, shape.latency_after_ns] {
        let value = latency.unwrap_or(f64::NAN);
        number(m, &numbers::time_float(value), value);
    }
    number(m, &numbers::p_value(shape.p_value), shape.p_value);
    m.within("td", &[("class", "against")], |m| against(m, shape));
    m.close("tr");
}

fn against(m: &mut Markup, shape: &ShapeChange) {
    if shape.nearest.is_some() && shape.differences.is_empty() {
        m.text("the same calls in another order or grouping");
    }
    if !shape.differences.is_empty() {
        m.open("ul", &[("class", "sentences")]);
        for each in shape.differences.iter().take(DIFFERENCES) {
            m.within("li", &[], |m| m.sentence(&difference(each)));
        }
        if shape.differences.len() > DIFFERENCES {
            m.element("li", &[], "…");
        }
        m.close("ul");
    }
    if !shape.trace_ids.is_empty() {
        m.element("span", &[("class", "remark")], &format!("e.g. {}", names::list(&shape.trace_ids, 2, 40)));
    }
}
