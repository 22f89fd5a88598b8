//! Grouping of requests into transactions.

use super::*;
use laggard_model::Collect;

fn read_with(settings: AccessLogSettings, lines: &[String]) -> Collect {
    let options = ReaderOptions::default().with(settings);
    let mut reader = open(&options);
    let mut sink = Collect::default();
    reader.push((lines.join("\n") + "\n").as_bytes(), &mut sink).unwrap();
    reader.finish(&mut sink).unwrap();
    sink
}

fn line(client: &str, second: u32, target: &str, status: u16, referrer: &str, micros: u32) -> String {
    format!(
        "{client} - - [10/Oct/2000:13:{:02}:{:02} +0000] \"{target} HTTP/1.1\" {status} 5 \"{referrer}\" \"M\" {micros}",
        second / 60,
        second % 60
    )
}

/// Count and milliseconds of each transaction, by name.
fn sums(found: &Collect) -> Vec<(String, u32, u32)> {
    let mut sums = std::collections::BTreeMap::<String, (f64, f64)>::new();
    for sample in &found.samples {
        assert_eq!(sample.measure, Measure::Completion);
        let sum = sums.entry(sample.transaction.clone()).or_default();
        *sum = (sum.0 + 1.0, sum.1 + sample.value);
    }
    sums.into_iter().map(|(name, sum)| (name, sum.0 as u32, (sum.1 * 1e3).round() as u32)).collect()
}

fn expect(lines: &[String], expected: &[(&str, u32, u32)]) {
    let found = sums(&read_with(AccessLogSettings::default(), lines));
    let expected: Vec<_> = expected.iter().map(|&(name, count, ms)| (name.to_owned(), count, ms)).collect();
    assert_eq!(found, expected);
}

#[test]
fn a_page_and_its_embedded_objects_are_one_transaction() {
    let page = "https://shop/cart/4711?x=1";
    expect(
        &[
            line("a", 0, "GET /cart/4711?x=1", 200, "-", 20_000),
            line("a", 1, "GET /style.css", 200, page, 1_000),
            line("a", 2, "GET /logo.png", 404, "-", 2_000),
            line("a", 3, "GET /api/price?id=1", 200, page, 3_000),
            line("a", 4, "POST /cart/4711/checkout", 302, page, 40_000),
        ],
        &[("/cart/{id}", 1, 20), ("POST /cart/{id}/checkout", 1, 40)],
    );
}

#[test]
fn foreign_and_late_objects_are_separate_transactions() {
    expect(
        &[
            line("a", 0, "GET /", 200, "-", 1_000),
            line("b", 1, "GET /a.js", 200, "https://shop/", 1_000),
            line("a", 5, "GET /a.js", 200, "https://shop/", 1_000),
            line("a", 7, "GET /b.js", 200, "https://shop/", 1_000),
            line("a", 8, "GET /api/poll", 200, "https://shop/", 1_000),
        ],
        &[("(objects)", 2, 2), ("/", 1, 1), ("/api/poll", 1, 1)],
    );
}

#[test]
fn data_requests_belong_to_their_referring_page() {
    expect(
        &[
            line("a", 0, "GET /one", 200, "-", 1_000),
            line("a", 1, "GET /two", 200, "-", 1_000),
            line("a", 2, "GET /api/x", 200, "https://shop/one", 10_000),
            line("a", 3, "GET /api/x", 200, "https://shop/three", 10_000),
            line("a", 3, "GET /x.js", 200, "https://shop/three", 10_000),
        ],
        &[("/api/x", 1, 10), ("/one", 1, 1), ("/two", 1, 1)],
    );
}

#[test]
fn errors_are_transactions_of_their_own() {
    expect(
        &[
            line("a", 0, "GET /wp-login.php", 404, "-", 1_000),
            line("a", 1, "GET /cart", 503, "-", 2_000),
            line("a", 2, "GET /cart", 304, "-", 4_000),
        ],
        &[("(4xx)", 1, 1), ("(5xx)", 1, 2), ("/cart", 1, 4)],
    );
}

#[test]
fn a_slow_page_retains_its_objects() {
    let lines = [line("a", 0, "GET /slow", 200, "-", 9_000_000), line("a", 12, "GET /a.js", 200, "-", 1_000)];
    expect(&lines, &[("/slow", 1, 9_000)]);
    let settings = AccessLogSettings { page_gap: Nanos::from_secs(1), ..AccessLogSettings::default() };
    assert_eq!(sums(&read_with(settings, &lines)).len(), 2);
}

#[test]
fn names_are_bounded() {
    let lines: Vec<_> = (0..names::NAMES_MAX + 7)
        .map(|index| line("a", 0, &format!("GET /p{index:x}z"), 200, "-", 1))
        .collect();
    let found = read_with(AccessLogSettings::default(), &lines);
    assert_eq!(found.losses.count(Loss::NameLimit), 7);
    let other = found.samples.iter().filter(|it| it.transaction == "(other)").count();
    assert_eq!(other, 7);
}

#[test]
fn clients_are_bounded_and_idle_ones_are_forgotten() {
    let pages = |second| (0..20).map(move |index| line(&format!("c{index}"), second, "GET /", 200, "-", 1));
    let lines: Vec<_> = pages(0).chain(pages(60)).collect();
    let found = read_with(AccessLogSettings::default(), &lines);
    assert_eq!(found.losses.count(Loss::NameLimit), 8, "four of twenty, twice");
    assert_eq!(sums(&found)[0].1, 40, "none is lost");
}
