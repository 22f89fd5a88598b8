//! The table of replicas that stand out.

use super::markup::Markup;
use super::{NAME_ROOM, remark, scroller};
use crate::{ReplicaSuspect, Report, names, numbers};

/// Replicas the page can bear.
const MOST: usize = 1_000;

pub(super) fn write(m: &mut Markup, report: &Report) {
    remark(m, "Replicas whose calls are slower than their peers\u{2019}, over all operations.");
    scroller(m, "Replicas", |m| {
        m.raw("<table class=\"plain sortable\">\n<caption class=\"away\">Replicas that stand out</caption>\n<thead><tr>");
        m.raw("<th scope=\"col\" data-sort=\"number\" class=\"number\">#</th>");
        m.raw("<th scope=\"col\" data-sort=\"text\">Replica</th><th scope=\"col\" data-sort=\"text\">Service</th>");
        m.raw("<th scope=\"col\" data-sort=\"number\" class=\"number\">Slower by</th>");
        m.raw("<th scope=\"col\" data-sort=\"number\" class=\"number\">Slow calls</th>");
        m.raw("<th scope=\"col\" data-sort=\"number\" class=\"number\">p-value</th>");
        m.raw("<th scope=\"col\" data-sort=\"text\">Operations</th></tr></thead>\n<tbody>\n");
        for replica in report.replicas.iter().take(MOST) {
            m.within("tr", &[], |m| row(m, replica));
        }
        m.raw("</tbody></table>\n");
    });
    if report.replicas.len() > MOST {
        let left = numbers::count((report.replicas.len() - MOST) as u64);
        remark(m, &format!("{left} more replicas are in the JSON output."));
    }
}

fn row(m: &mut Markup, replica: &ReplicaSuspect) {
    number(m, replica.rank.into(), &replica.rank.to_string());
    m.within("th", &[("scope", "row")], |m| m.name("replica", &replica.replica, NAME_ROOM));
    m.within("td", &[], |m| m.name("service", &replica.service, NAME_ROOM));
    number(m, replica.effect_ns as f64, &numbers::effect(replica.effect_ns));
    let slow = format!("{} of {}", numbers::count(replica.slow_calls), numbers::count(replica.calls));
    number(m, replica.slow_calls as f64, &slow);
    number(m, replica.p_value, &numbers::p_value(replica.p_value));
    m.element("td", &[], &names::list(&replica.operations, 6, 60));
}

fn number(m: &mut Markup, value: f64, text: &str) {
    m.element("td", &[("class", "number"), ("data-value", &value.to_string())], text);
}
