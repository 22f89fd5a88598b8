//! The end of the page: what was ruled out, what was lost, and what the answer rests on.

use super::markup::Markup;
use super::scroller;
use crate::numbers;
use laggard_model::Losses;

/// Characters of a loss's example.
const EXAMPLE_ROOM: usize = 160;

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
