//! Signatures and their differences as self-contained pages.

use super::basis::losses;
use super::markup::Markup;
use super::overview::{VerdictCard, cautions, missing, verdict_card};
use super::{NAME_ROOM, POLICY, SCRIPT, STYLE, head, remark, scroller};
use crate::present::changes::phrases::{heading_of, length, plus_minus, signed_length};
use crate::signature::{
    DiffVerdict, ServerSignature, Signature, SignatureDiff, SignatureVerdict, TransactionDiff,
    TransactionFate, TransactionSignature, basis, verdict_word,
};
use crate::{names, numbers};
use std::io;

/// Rows of a table, and servers, that the page can bear.
const ROWS: usize = 500;
const SERVERS: usize = 50;

/// The frame of a page: everything above and below its sections.
fn document(
    title: &str,
    window: &str,
    card: VerdictCard<'_>,
    body: impl FnOnce(&mut Markup),
    out: &mut dyn io::Write,
) -> io::Result<()> {
    let mut m = Markup::default();
    m.raw("<!doctype html>\n<html lang=\"en\">\n");
    head(&mut m, title, POLICY, &[STYLE]);
    m.raw("<body>\n<a class=\"skip\" href=\"#main\">Skip to the answer</a>\n");
    m.open("header", &[]);
    m.raw("<p class=\"brand\">Laggard</p>\n");
    if !window.is_empty() {
        m.element("p", &[("class", "window")], window);
    }
    m.close("header");
    m.open("main", &[("id", "main")]);
    verdict_card(&mut m, card);
    body(&mut m);
    m.close("main");
    m.raw(
        "<footer><p>Written by Laggard. The same report as data: <code>--output json</code>.</p></footer>\n",
    );
    m.raw("<script>");
    m.raw(SCRIPT);
    m.raw("</script>\n</body>\n</html>\n");
    out.write_all(m.finish().as_bytes())
}

/// Title of each section, by its id.
const SECTIONS: [(&str, &str); 3] = [
    ("transactions", "Transactions"),
    ("losses", "Lost, repaired or mistrusted"),
    ("basis", "What this rests on"),
];

fn navigation(m: &mut Markup, ids: &[&str]) {
    m.open("nav", &[("aria-label", "Sections")]);
    m.open("ul", &[]);
    for (id, title) in SECTIONS.iter().filter(|(id, _)| ids.contains(id)) {
        m.open("li", &[]);
        m.element("a", &[("href", &format!("#{id}"))], title);
        m.close("li");
    }
    m.close("ul");
    m.close("nav");
}

fn section(m: &mut Markup, id: &'static str, content: impl FnOnce(&mut Markup)) {
    let title_id = format!("{id}-title");
    let title = SECTIONS.iter().find(|(known, _)| *known == id).map_or("", |(_, title)| title);
    m.open("section", &[("id", id), ("aria-labelledby", &title_id)]);
    m.element("h2", &[("id", &title_id)], title);
    m.raw("\n");
    content(m);
    m.close("section");
}

fn period(since: &str, until: &str) -> String {
    match since {
        "" => String::new(),
        since => format!("{} to {}", names::label(since, 40), names::label(until, 40)),
    }
}

/// A cell with a number; its exact value is what sorting uses.
fn number(m: &mut Markup, text: &str, value: Option<f64>) {
    match value {
        Some(value) => {
            m.element("td", &[("class", "number"), ("data-value", &format!("{value}"))], text);
        }
        None => m.element("td", &[("class", "number")], "–"),
    }
}

fn time(m: &mut Markup, seconds: Option<f64>) {
    number(m, &seconds.map_or_else(String::new, length), seconds);
}

fn titles(m: &mut Markup, numbers: &[&str]) {
    for title in numbers {
        m.element("th", &[("scope", "col"), ("class", "number"), ("data-sort", "number")], title);
    }
}

fn rest(m: &mut Markup, all: usize, shown: usize, what: &str) {
    if all > shown {
        let left = numbers::count((all - shown) as u64);
        remark(m, &format!("{left} more {what} are in the JSON output."));
    }
}

/// Writes a signature as one HTML page without any reference to the outside. Text from the input is escaped.
pub(crate) fn signature(signature: &Signature, out: &mut dyn io::Write) -> io::Result<()> {
    let usable = signature.verdict == SignatureVerdict::Usable;
    let transactions: usize = signature.servers.iter().map(|server| server.transactions.len()).sum();
    let card = VerdictCard {
        class: if usable { "verdict good" } else { "verdict unsure" },
        word: if usable { "Signature" } else { "Not enough data" },
        headline: &signature.headline,
        figures: vec![
            ("Servers", numbers::count(signature.servers.len() as u64), String::new()),
            ("Rows", numbers::count(transactions as u64), "servers and transactions".to_owned()),
            ("Windows", numbers::count(signature.input.windows), String::new()),
        ],
    };
    let title = format!("Signature of {}", names::label(&signature.name(), 80));
    document(&title, &period(&signature.since, &signature.until), card, |m| of_signature(m, signature), out)
}

fn of_signature(m: &mut Markup, signature: &Signature) {
    navigation(m, &["transactions", "losses", "basis"]);
    missing(m, &signature.missing);
    cautions(m, &signature.cautions);
    section(m, "transactions", |m| {
        signature.servers.iter().take(SERVERS).for_each(|one| server(m, one));
        rest(m, signature.servers.len(), SERVERS, "servers");
    });
    section(m, "losses", |m| losses(m, &signature.input.losses));
    section(m, "basis", |m| m.element("p", &[], &signature.input.sentence()));
}

fn server(m: &mut Markup, server: &ServerSignature) {
    let name = names::label(&heading_of(&server.server, &server.tier), 80);
    m.element("h3", &[], &name);
    let used =
        server.utilization_mean.map_or_else(String::new, |used| format!(", {} used", numbers::share(used)));
    remark(m, &format!("Cores: {}, {}{used}.", server.cores, numbers::counted(server.windows, "window")));
    scroller(m, &name, |m| {
        m.raw("<table class=\"plain sortable\">\n");
        m.element("caption", &[("class", "away")], &name);
        m.raw("<thead><tr><th scope=\"col\" data-sort=\"text\">Transaction</th>");
        titles(m, &["Without queueing", "95 %", "Windows", "CPU by the model", "Share"]);
        m.raw("</tr></thead>\n<tbody>\n");
        server.by_share().into_iter().take(ROWS).for_each(|one| row(m, one));
        m.raw("</tbody></table>\n");
    });
    rest(m, server.transactions.len(), ROWS, "transactions");
}

fn row(m: &mut Markup, one: &TransactionSignature) {
    m.open("tr", &[]);
    m.within("th", &[("scope", "row")], |m| m.name("operation", &one.transaction, NAME_ROOM));
    time(m, one.service_time_s);
    number(m, &one.standard_error_s.map_or_else(String::new, plus_minus), one.standard_error_s);
    number(m, &numbers::count(one.windows), Some(one.windows as f64));
    time(m, one.demand_s);
    number(m, &numbers::share(one.share), Some(one.share));
    m.close("tr");
}

/// Writes a difference as one HTML page without any reference to the outside. Text from the input is escaped.
pub(crate) fn signature_diff(diff: &SignatureDiff, out: &mut dyn io::Write) -> io::Result<()> {
    let class = match diff.verdict {
        DiffVerdict::Slower => "verdict bad",
        DiffVerdict::Same | DiffVerdict::Faster => "verdict good",
        DiffVerdict::InsufficientData => "verdict unsure",
    };
    let counts = [
        ("Slower", diff.counts.slower),
        ("Faster", diff.counts.faster),
        ("Same", diff.counts.same),
        ("Not judged", diff.counts.not_judged),
        ("New", diff.counts.new),
        ("Removed", diff.counts.removed),
    ];
    let card = VerdictCard {
        class,
        word: verdict_word(diff.verdict),
        headline: &diff.headline,
        figures: counts.map(|(name, count)| (name, numbers::count(count), String::new())).to_vec(),
    };
    let title = format!("Signature: {}", verdict_word(diff.verdict));
    document(&title, &period(&diff.new.since, &diff.new.until), card, |m| of_diff(m, diff), out)
}

fn of_diff(m: &mut Markup, diff: &SignatureDiff) {
    navigation(m, &["transactions", "basis"]);
    missing(m, &diff.missing);
    cautions(m, &diff.cautions);
    section(m, "transactions", |m| {
        remark(m, "Before and after: time at the server without queueing. What got slower comes first.");
        scroller(m, "Transactions before and after", |m| {
            m.raw("<table class=\"plain sortable\">\n");
            m.element("caption", &[("class", "away")], "Transactions before and after");
            m.raw("<thead><tr><th scope=\"col\" data-sort=\"text\">Transaction</th>");
            m.raw("<th scope=\"col\" data-sort=\"text\">Server</th>");
            titles(m, &["Difference", "95 %", "Before", "After"]);
            m.raw("<th scope=\"col\">Remark</th></tr></thead>\n<tbody>\n");
            diff.transactions.iter().take(ROWS).for_each(|one| diff_row(m, one));
            m.raw("</tbody></table>\n");
        });
        rest(m, diff.transactions.len(), ROWS, "transactions");
    });
    section(m, "basis", |m| m.element("p", &[], &basis(diff)));
}

fn diff_row(m: &mut Markup, one: &TransactionDiff) {
    m.open("tr", &[]);
    m.within("th", &[("scope", "row")], |m| m.name("operation", &one.transaction, NAME_ROOM));
    m.within("td", &[], |m| m.name("server", one.place(), NAME_ROOM));
    number(m, &one.difference_s.map_or_else(String::new, signed_length), one.difference_s);
    number(m, &one.standard_error_s.map_or_else(String::new, plus_minus), one.standard_error_s);
    time(m, one.before_s);
    time(m, one.after_s);
    m.within("td", &[], |m| {
        let class = if one.fate == TransactionFate::Slower { "bad" } else { "detail" };
        m.element("span", &[("class", class)], one.fate.word());
        if let Some(reason) = &one.reason {
            m.text(": ");
            m.text(&names::label(reason, 200));
        }
    });
    m.close("tr");
}
