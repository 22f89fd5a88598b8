//! Pages are well formed, self-contained, accessible, and safe against hostile names.

use crate::markup_reader::{Element, read};
use crate::{PLAIN, fixtures, rendered};
use laggard_report::{Output, Report};
use sha2::{Digest, Sha256};
use std::collections::HashSet;

/// Checks a report's page; returns the reason it fails.
pub(crate) fn check(report: &Report) -> Result<(), String> {
    check_page(&rendered(Output::Html, report, &PLAIN), 1)
}

/// Checks a page with this number of scripts.
pub(crate) fn check_page(html: &str, scripts: usize) -> Result<(), String> {
    let page = read(html)?;
    for element in page.all() {
        loads_nothing(element)?;
        accessible(element)?;
    }
    references_resolve(&page)?;
    headings_in_order(&page)?;
    for landmark in ["header", "main", "nav", "footer", "h1", "script", "style", "title"] {
        let found = page.with_tag(landmark).filter(|element| landmark != "title" || !element.text.is_empty());
        let expected = match landmark {
            "title" => found.count() >= 1,
            "script" => found.count() == scripts,
            _ => found.count() == 1,
        };
        if !expected {
            return Err(format!("not one {landmark}"));
        }
    }
    let root = page.child("html").ok_or("no html element")?;
    if root.attribute("lang") != Some("en") { Err("no language".to_owned()) } else { Ok(()) }
}

const TAGS: [&str; 52] = [
    "",
    "html",
    "head",
    "body",
    "meta",
    "title",
    "style",
    "script",
    "header",
    "main",
    "nav",
    "footer",
    "section",
    "aside",
    "h1",
    "h2",
    "h3",
    "p",
    "a",
    "ul",
    "li",
    "dl",
    "dt",
    "dd",
    "div",
    "span",
    "strong",
    "code",
    "bdi",
    "details",
    "summary",
    "table",
    "caption",
    "thead",
    "tbody",
    "tr",
    "th",
    "td",
    "svg",
    "rect",
    "path",
    "circle",
    "line",
    "text",
    "figure",
    "figcaption",
    "output",
    "input",
    "label",
    "br",
    "g",
    "small",
];

fn loads_nothing(element: &Element) -> Result<(), String> {
    if !TAGS.contains(&element.tag.as_str()) {
        return Err(format!("a <{}>", element.tag));
    }
    for (name, value) in &element.attributes {
        let loads =
            matches!(name.as_str(), "src" | "srcset" | "action" | "formaction" | "poster" | "style" | "data");
        let leaves = name == "href" && !value.starts_with('#');
        if loads || leaves || name.starts_with("on") {
            return Err(format!("{name}={value:?} on <{}>", element.tag));
        }
    }
    Ok(())
}

fn accessible(element: &Element) -> Result<(), String> {
    let has = |name| element.attribute(name).is_some();
    let fine = match element.tag.as_str() {
        "th" => has("scope"),
        "table" => element.child("caption").is_some_and(|caption| !caption.text.is_empty()),
        "svg" => {
            has("aria-hidden")
                || (element.attribute("role") == Some("img") && element.child("title").is_some())
        }
        "section" => has("aria-labelledby"),
        "nav" => has("aria-label"),
        "input" => has("id"),
        "details" => element.child("summary").is_some_and(|summary| !summary.all().is_empty()),
        _ => element.attribute("role") != Some("region") || (has("aria-label") && has("tabindex")),
    };
    if fine { Ok(()) } else { Err(format!("<{}> {:?} is not accessible", element.tag, element.attributes)) }
}

fn references_resolve(page: &Element) -> Result<(), String> {
    let mut ids = HashSet::new();
    for id in page.all().into_iter().filter_map(|element| element.attribute("id")) {
        if !ids.insert(id) {
            return Err(format!("two elements called {id}"));
        }
    }
    for element in page.all() {
        let href = element.attribute("href").map(|href| &href[1..]);
        let references = [href, element.attribute("aria-labelledby"), element.attribute("for")];
        if let Some(missing) = references.into_iter().flatten().find(|id| !ids.contains(id)) {
            return Err(format!("nothing is called {missing}"));
        }
    }
    let labeled: HashSet<_> = page.with_tag("label").filter_map(|label| label.attribute("for")).collect();
    match page.with_tag("input").find(|input| !input.attribute("id").is_some_and(|id| labeled.contains(id))) {
        Some(input) => Err(format!("{input:?} has no label")),
        None => Ok(()),
    }
}

fn headings_in_order(page: &Element) -> Result<(), String> {
    let levels = page.all().into_iter().filter_map(|element| match element.tag.as_str() {
        "h1" => Some(1),
        "h2" => Some(2),
        "h3" => Some(3),
        _ => None,
    });
    let mut before = 0;
    for level in levels {
        if level > before + 1 {
            return Err(format!("h{level} after h{before}"));
        }
        before = level;
    }
    Ok(())
}

#[test]
fn every_fixture_is_well_formed_and_accessible() {
    for fixture in fixtures::all() {
        check(&fixture.report).unwrap_or_else(|reason| panic!("{}: {reason}", fixture.name));
    }
}

#[test]
fn the_assets_load_nothing() {
    let style = include_str!("../../assets/report.css");
    let script = include_str!("../../assets/report.js");
    for forbidden in ["url(", "@import", "@font-face", "http:", "https:", "</"] {
        assert!(!style.contains(forbidden), "{forbidden} in the style sheet");
    }
    for forbidden in
        ["fetch(", "XMLHttpRequest", "import(", "http:", "https:", "innerHTML", "eval(", "</", "<!--"]
    {
        assert!(!script.contains(forbidden), "{forbidden} in the script");
    }
}

#[test]
fn the_content_security_policy_allows_only_this_script() {
    let html = rendered(Output::Html, &fixtures::hostile(), &PLAIN);
    let page = read(&html).unwrap();
    let script = page.with_tag("script").next().unwrap();
    let policy =
        page.with_tag("meta").find_map(|meta| meta.attribute("http-equiv").and(meta.attribute("content")));
    let expected = format!("script-src 'sha256-{}';", base64(&Sha256::digest(script.text.as_bytes())));
    assert!(policy.unwrap().contains(&expected), "POLICY in src/render/html/mod.rs must say {expected}");
    assert!(policy.unwrap().starts_with("default-src 'none';"));
}

/// RFC 4648, section 4.
pub(crate) fn base64(bytes: &[u8]) -> String {
    const ALPHABET: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut text = String::new();
    for chunk in bytes.chunks(3) {
        let word =
            chunk.iter().fold(0_u32, |word, &byte| word << 8 | u32::from(byte)) << (8 * (3 - chunk.len()));
        let digits = (0..4).map(|index| ALPHABET[(word >> (18 - 6 * index)) as usize & 63] as char);
        text.extend(digits.enumerate().map(|(index, digit)| if index > chunk.len() { '=' } else { digit }));
    }
    text
}

#[test]
fn base64_is_padded_according_to_the_standard() {
    for (plain, coded) in [("", ""), ("f", "Zg=="), ("fo", "Zm8="), ("foo", "Zm9v"), ("foobar", "Zm9vYmFy")] {
        assert_eq!(base64(plain.as_bytes()), coded);
    }
}

#[test]
fn omissions_are_reported() {
    let html = rendered(Output::Html, &fixtures::thousand(), &PLAIN);
    assert!(html.contains("980 more suspects"));
    assert!(html.contains("1,800 further replicas had no room in the map."));
    assert!(html.contains("40 more trees are in the JSON output."));
    let page = read(&html).unwrap();
    let ranks = page
        .with_tag("tr")
        .filter(|row| row.child("th").is_some_and(|th| th.attribute("role") == Some("rowheader")));
    assert_eq!(ranks.count(), 1_000, "every suspect has a row");
}

#[test]
fn a_broken_chart_is_omitted_and_the_rest_is_shown() {
    let mut report = fixtures::three_replicas();
    let latency = report.latency.as_mut().unwrap();
    latency.edges_ns[3] = f64::NAN;
    report.heat_map.as_mut().unwrap().cells.pop();
    check(&report).unwrap();
    let html = rendered(Output::Html, &report, &PLAIN);
    assert!(!html.contains("id=\"latency\"") && !html.contains("id=\"heat-map\""));
}

#[test]
fn an_empty_report_is_still_a_page() {
    let mut report = fixtures::insufficient();
    report.categories.clear();
    report.cautions.clear();
    report.settings.clear();
    report.headline.clear();
    check(&report).unwrap();
}

#[test]
fn slow_periods_are_drawn_to_scale() {
    let html = rendered(Output::Html, &fixtures::slow_periods(), &PLAIN);
    let page = read(&html).unwrap();
    let section =
        page.with_tag("section").find(|section| section.attribute("id") == Some("periods")).unwrap();
    let bars: Vec<&Element> = section.with_tag("rect").collect();
    let numbers = |name| bars.iter().map(|bar| bar.attribute(name).unwrap().to_owned()).collect::<Vec<_>>();
    // The hour, to the end of the last minute that is slow: minutes 2 to 6, 21 to 22, 27 to 31, 58 to 60.
    assert_eq!(numbers("x"), ["3.33%", "35.00%", "45.00%", "96.67%"]);
    assert_eq!(numbers("width"), ["6.67%", "1.67%", "6.67%", "3.33%"]);
    assert_eq!(numbers("height")[2], "44", "the worst is the tallest");
    let words = bars[2].child("title").unwrap().text.as_str();
    assert_eq!(words, "06:27 to 06:31: up to 17× the usual latency");
}
