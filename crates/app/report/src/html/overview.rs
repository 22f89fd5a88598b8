//! The top of the page: the verdict, its figures, and what limits trust in it.

use super::markup::Markup;
use crate::times::Calendar;
use crate::{Report, Verdict, evidence, facts, numbers};

/// Cautions shown unfolded.
const CAUTIONS: usize = 8;

pub(super) fn header(m: &mut Markup, report: &Report) {
    m.open("header", &[]);
    m.raw("<p class=\"brand\">Laggard</p>\n");
    if let Some(window) = facts::window(report) {
        m.element("p", &[("class", "window")], &window);
    }
    m.close("header");
}

pub(super) fn verdict(m: &mut Markup, report: &Report) {
    let class = match report.verdict {
        Verdict::Suspects => "verdict bad",
        Verdict::Healthy => "verdict good",
        Verdict::InsufficientData => "verdict unsure",
    };
    let card = VerdictCard {
        class,
        word: facts::verdict(report.verdict),
        headline: &report.headline,
        figures: figures(report),
    };
    verdict_card(m, card);
}

/// What the first box of a page says.
pub(super) struct VerdictCard<'a> {
    pub(super) class: &'a str,
    pub(super) word: &'a str,
    pub(super) headline: &'a str,
    /// Name, value, remark.
    pub(super) figures: Vec<(&'static str, String, String)>,
}

pub(super) fn verdict_card(m: &mut Markup, card: VerdictCard<'_>) {
    m.open("section", &[("id", "verdict"), ("class", card.class), ("aria-labelledby", "verdict-title")]);
    m.element("p", &[("class", "chip")], card.word);
    m.within("h1", &[("id", "verdict-title")], |m| m.sentence(card.headline));
    m.raw("\n<dl class=\"figures\">\n");
    for (name, value, remark) in card.figures {
        m.open("div", &[]);
        m.element("dt", &[], name);
        m.open("dd", &[]);
        m.element("strong", &[], &value);
        if !remark.is_empty() {
            m.text(" ");
            m.element("span", &[], &remark);
        }
        m.close("dd");
        m.close("div");
    }
    m.close("dl");
    m.close("section");
}

/// The figures under the sentence: name, value, remark.
fn figures(report: &Report) -> Vec<(&'static str, String, String)> {
    let input = &report.input;
    let Some(lead) = report.suspects.first() else {
        let judged = report.categories.iter().filter(|category| category.analyzed).count();
        return vec![
            ("Complete requests", numbers::count(input.requests), String::new()),
            (
                "Categories judged",
                numbers::count(judged as u64),
                format!("of {}", numbers::count(report.categories.len() as u64)),
            ),
            ("Operations", numbers::count(input.operations), String::new()),
            ("Replicas", numbers::count(input.replicas), String::new()),
        ];
    };
    let hit = numbers::count(lead.requests_hit);
    let compared = evidence::is_the_shift(lead);
    let title = if compared { "Calls take" } else { "Slow calls take" };
    let mut figures = vec![(title, numbers::effect(lead.effect_ns), String::new())];
    if lead.factor.is_finite() {
        let usual = match compared {
            true => format!("the time in {}", evidence::compared_with(report)),
            false => "the usual".to_owned(),
        };
        figures.push(("that is", numbers::factor(lead.factor), usual));
    }
    if let Some(onset) = &lead.onset {
        figures.push(("Since", Calendar::of(report).onset(onset), "UTC".to_owned()));
    }
    if lead.share.is_finite() {
        figures.push(("Explains", numbers::share(lead.share), "of the excess latency".to_owned()));
    }
    figures.push(("Requests hit", hit, format!("of {}", numbers::count(input.requests))));
    if !report.incidents.is_empty() {
        figures.push(("Slow periods", numbers::count(report.incidents.len() as u64), String::new()));
    }
    figures.push(("Slow on", facts::place(lead), String::new()));
    figures
}

pub(super) fn missing(m: &mut Markup, missing: &[String]) {
    if missing.is_empty() {
        return;
    }
    m.raw("<aside class=\"cautions\" aria-labelledby=\"missing-title\">\n");
    m.raw("<h2 id=\"missing-title\">What is missing</h2>\n");
    sentences(m, &missing[..missing.len().min(CAUTIONS)]);
    m.close("aside");
}

pub(super) fn cautions(m: &mut Markup, cautions: &[String]) {
    if cautions.is_empty() {
        return;
    }
    m.raw("<aside class=\"cautions\" aria-labelledby=\"cautions-title\">\n");
    m.raw("<h2 id=\"cautions-title\">Before you act on it</h2>\n");
    let (shown, folded) = cautions.split_at(cautions.len().min(CAUTIONS));
    sentences(m, shown);
    if !folded.is_empty() {
        m.open("details", &[]);
        m.element("summary", &[], &format!("{} more", numbers::count(folded.len() as u64)));
        sentences(m, folded);
        m.close("details");
    }
    m.close("aside");
}

/// A list of sentences.
pub(super) fn sentences(m: &mut Markup, sentences: &[String]) {
    m.open("ul", &[("class", "sentences")]);
    for sentence in sentences {
        m.within("li", &[], |m| m.sentence(sentence));
    }
    m.close("ul");
}
