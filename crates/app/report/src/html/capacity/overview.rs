//! The top and the end of the page: the answer, what if, what it rests on.

use super::super::markup::Markup;
use super::super::overview::{VerdictCard, sentences, verdict_card};
use crate::capacity::{
    CapacityReport, CapacityVerdict, accuracy_sentence, amount, binding_sentence, capacity_verdict_word,
    gain, latency, left, limit, most, most_amount, trust_word,
};
use crate::{names, numbers};

pub(super) fn header(m: &mut Markup, report: &CapacityReport) {
    m.open("header", &[]);
    m.raw("<p class=\"brand\">Laggard</p>\n");
    if let Some(window) = &report.input.window {
        let text = format!("{} to {}", names::label(&window.since, 40), names::label(&window.until, 40));
        m.element("p", &[("class", "window")], &text);
    }
    m.close("header");
}

pub(super) fn verdict(m: &mut Markup, report: &CapacityReport) {
    let class = match report.verdict {
        CapacityVerdict::Exceeded => "verdict bad",
        CapacityVerdict::Enough => "verdict good",
        CapacityVerdict::NearLimit | CapacityVerdict::InsufficientData => "verdict unsure",
    };
    let card = VerdictCard {
        class,
        word: capacity_verdict_word(report.verdict),
        headline: &report.headline,
        figures: figures(report),
    };
    verdict_card(m, card);
}

/// The figures under the sentence: name, value, remark.
fn figures(report: &CapacityReport) -> Vec<(&'static str, String, String)> {
    let mut figures = Vec::new();
    if let Some(answer) = &report.answer {
        let word = if answer.clients.is_some() { "clients" } else { "requests/s" };
        let within = format!("{word} within {}", limit(report.latency_max_s));
        figures.push(("Capacity", amount(most_amount(answer)), within));
    }
    if let Some(load) = report.load {
        let now = load.clients.map_or_else(|| amount(load.throughput), amount);
        figures.push(("Now", now, report.used().map_or_else(String::new, left)));
    }
    if let Some(what_if) = &report.what_if {
        let before = report.answer.as_ref().map_or(f64::NAN, most_amount);
        let after = most_amount(&what_if.answer);
        figures.push(("After the changes", amount(after), gain(before, after)));
    }
    if let Some(answer) = &report.answer {
        figures.push(("Saturates first", names::label(&answer.bottleneck, 24), String::new()));
    }
    let response = report.accuracy.as_ref().and_then(|accuracy| accuracy.response);
    if let Some(error) = response {
        figures.push(("Model's error", numbers::share(error), "of the response time".to_owned()));
    }
    figures
}

pub(super) fn what_if(m: &mut Markup, report: &CapacityReport) {
    let Some(what_if) = &report.what_if else { return };
    sentences(m, &what_if.changes);
    let answer = &what_if.answer;
    let before = report.answer.as_ref().map_or(f64::NAN, most_amount);
    let gain = match gain(before, most_amount(answer)) {
        gain if gain.is_empty() => String::new(),
        gain => format!(", {gain}"),
    };
    m.element("p", &[("class", "tone")], &format!("Up to {}{gain}.", most(answer)));
    m.within("p", &[], |m| m.sentence(&binding_sentence(report, answer)));
    if !answer.bottleneck.is_empty() {
        m.open("p", &[]);
        m.name("operation", &answer.bottleneck, 48);
        m.text(" saturates first.");
        m.close("p");
    }
    if let Some(load) = &what_if.load {
        let clients =
            load.clients.map_or_else(String::new, |clients| format!("{} clients, ", amount(clients)));
        let words = format!(
            "At {} times the present load ({clients}{} requests/s) the mean response time is {}, {} the target.",
            load.factor,
            amount(load.throughput),
            latency(load.response_s),
            if load.within { "within" } else { "beyond" }
        );
        m.element("p", &[("class", if load.within { "tone good" } else { "tone bad" })], &words);
    }
}

pub(super) fn basis(m: &mut Markup, report: &CapacityReport) {
    m.element("p", &[], &report.input.sentence());
    if let Some(answer) = &report.answer {
        m.element("p", &[], &format!("Solved by {}.", answer.algorithm));
    }
    if let Some(think) = report.model.as_ref().and_then(|model| model.think.as_ref()) {
        m.within("p", &[], |m| {
            m.sentence(&format!("Think time {}. {}", latency(think.seconds), think.source))
        });
    }
    if let Some(accuracy) = &report.accuracy {
        let words = format!("{} Trust: {}.", accuracy_sentence(accuracy), trust_word(accuracy.trust));
        m.within("p", &[], |m| m.sentence(&words));
    }
    m.open("details", &[("class", "fold")]);
    m.raw("<summary>Settings in force</summary>\n<dl class=\"settings\">\n");
    for setting in &report.settings {
        m.open("div", &[]);
        m.element("dt", &[], &format!("--{}", names::label(&setting.name, 64)));
        m.element("dd", &[], &names::label(&setting.value, 200));
        m.close("div");
    }
    m.close("dl");
    m.close("details");
}
