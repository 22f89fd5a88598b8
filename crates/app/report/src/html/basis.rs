//! The end of the page: what was ruled out, what was lost, and what the answer rests on.

use super::markup::Markup;
use super::{NAME_ROOM, overview, remark, scroller};
use crate::{Report, facts, names, numbers};
use laggard_model::Losses;

/// Characters of a loss's example.
const EXAMPLE_ROOM: usize = 160;

/// Sentences the page can bear.
const SENTENCES: usize = 500;

pub(super) fn ruled_out(m: &mut Markup, report: &Report) {
    overview::sentences(m, &report.ruled_out[..report.ruled_out.len().min(SENTENCES)]);
    if report.ruled_out.len() > SENTENCES {
        remark(m, "The rest is in the JSON output.");
    }
}

pub(super) fn losses(m: &mut Markup, losses: &Losses) {
    if losses.is_empty() {
        m.element("p", &[], "Nothing: every record was read and used.");
        return;
    }
    scroller(m, "Losses", |m| {
        m.raw("<table class=\"plain\">\n<caption class=\"away\">Losses by cause</caption>\n<thead><tr>");
        m.raw("<th scope=\"col\" class=\"number\">Count</th><th scope=\"col\">What</th>");
        m.raw("<th scope=\"col\">First example</th></tr></thead>\n<tbody>\n");
        for (loss, found) in losses.iter() {
            m.open("tr", &[]);
            m.element("td", &[("class", "number")], &numbers::count(found.count));
            m.element("th", &[("scope", "row")], loss.phrase());
            m.within("td", &[], |m| {
                if !found.example.is_empty() {
                    m.name("example", &found.example, EXAMPLE_ROOM);
                }
            });
            m.close("tr");
        }
        m.raw("</tbody></table>\n");
    });
}

pub(super) fn write(m: &mut Markup, report: &Report) {
    m.element("p", &[], &facts::read(&report.input));
    if let Some(window) = facts::window(report) {
        m.element("p", &[], &format!("Requests started {window}."));
    }
    if let Some(sampling) = facts::sampling(&report.input.sampling) {
        m.element("p", &[], &sampling);
    }
    if let Some(clocks) = facts::clocks(&report.input.clocks) {
        m.element("p", &[], &clocks);
    }
    m.element("p", &[], &format!("Method: {}.", facts::method(report)));
    if report.settings.is_empty() {
        return;
    }
    m.open("details", &[("class", "fold")]);
    m.raw("<summary>Settings in force</summary>\n");
    m.raw("<dl class=\"settings\">\n");
    for setting in &report.settings {
        m.open("div", &[]);
        m.element("dt", &[], &format!("--{}", names::label(&setting.name, NAME_ROOM)));
        m.element("dd", &[], &names::label(&setting.value, 200));
        m.close("div");
    }
    m.close("dl");
    m.close("details");
}
