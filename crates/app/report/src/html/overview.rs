//! The top of the page: the verdict, its figures, and what limits trust in it.

use super::markup::Markup;
use crate::numbers;

/// Cautions shown unfolded.
const CAUTIONS: usize = 8;

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
