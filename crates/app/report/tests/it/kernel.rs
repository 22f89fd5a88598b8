//! Outputs of reports about kernel traces: golden text, size limits, accessibility, and schemas.

use crate::fixtures::{kernel as fixtures, kernel_diagnosis as diagnoses};
use crate::html::check_page;
use crate::{PLAIN, golden};
use laggard_report::*;

const HOSTILE: &str = "a\u{1b}[31m<script>`|*\"'\u{202e}";

/// Any of the three reports.
enum Any {
    Path(Box<KernelPathReport>),
    Diagnosis(Box<KernelDiagnosis>),
    Stats(Box<KernelStatsReport>),
}

fn written(output: Output, report: &Any, style: &TextStyle) -> String {
    let mut bytes = Vec::new();
    match report {
        Any::Path(report) => render(output, report, style, &mut bytes),
        Any::Diagnosis(report) => render(output, report, style, &mut bytes),
        Any::Stats(report) => render(output, report, style, &mut bytes),
    }
    .unwrap();
    String::from_utf8(bytes).unwrap()
}

fn named() -> Vec<(&'static str, Any)> {
    let path = |report| Any::Path(Box::new(report));
    let diagnosis = |report| Any::Diagnosis(Box::new(report));
    vec![
        ("kernel-path", path(fixtures::path())),
        ("kernel-executions", path(fixtures::executions())),
        ("kernel-no-path", path(fixtures::no_path())),
        ("kernel-slower", diagnosis(diagnoses::slower())),
        ("kernel-nothing", diagnosis(diagnoses::nothing())),
        ("kernel-overall", diagnosis(diagnoses::overall())),
        ("kernel-too-few", diagnosis(diagnoses::too_few())),
        ("kernel-stats", Any::Stats(Box::new(fixtures::stats()))),
    ]
}

fn all() -> Vec<(&'static str, Any)> {
    let mut all = named();
    all.push(("hostile path", Any::Path(Box::new(fixtures::hostile_path(HOSTILE)))));
    all.push(("hostile diagnosis", Any::Diagnosis(Box::new(diagnoses::hostile_diagnosis(HOSTILE)))));
    all.push(("thousands", Any::Path(Box::new(fixtures::thousands()))));
    all.push(("wide", Any::Diagnosis(Box::new(diagnoses::wide()))));
    all
}

#[test]
fn expected_outputs() {
    for (name, report) in named() {
        golden::compare(&format!("{name}.txt"), &written(Output::Text, &report, &PLAIN));
        golden::compare(&format!("{name}.md"), &written(Output::Markdown, &report, &PLAIN));
    }
    let narrow = TextStyle { color: ColorChoice::Off, width: 60 };
    let slower = Any::Diagnosis(Box::new(diagnoses::slower()));
    golden::compare("kernel-slower-60.txt", &written(Output::Text, &slower, &narrow));
    golden::compare("kernel-slower.html", &golden::without_assets(&written(Output::Html, &slower, &PLAIN)));
    let path = Any::Path(Box::new(fixtures::path()));
    golden::compare("kernel-path.html", &golden::without_assets(&written(Output::Html, &path, &PLAIN)));
}

/// The page without the style sheet and the script, which are separate files.
#[test]
fn pages_are_well_formed_accessible_and_bounded_in_size() {
    for (name, report) in all() {
        let html = written(Output::Html, &report, &PLAIN);
        check_page(&html, 1).unwrap_or_else(|reason| panic!("{name}: {reason}"));
        assert!(html.len() < 2_000_000, "{name}: {} bytes", html.len());
        if let Some(folder) = std::env::var_os("LAGGARD_PAGES_DIR") {
            let file = std::path::Path::new(&folder).join(format!("{name}.html"));
            std::fs::write(file, html).unwrap();
        }
    }
}

#[test]
fn lines_fit_the_width_and_contain_no_control_characters() {
    for (name, report) in all() {
        for width in [20, 60, 80, 100, 300] {
            let style = TextStyle { color: ColorChoice::Off, width };
            let limit = usize::from(width.clamp(60, 100));
            for line in written(Output::Text, &report, &style).lines() {
                let columns = unicode_width::UnicodeWidthStr::width(line);
                assert!(columns <= limit, "{name}: {columns} columns of {limit}: {line:?}");
                assert!(!line.contains(['\u{1b}', '\u{202e}']), "{name}: {line:?}");
            }
        }
        let markdown = written(Output::Markdown, &report, &PLAIN);
        assert!(markdown.lines().count() <= 40, "{name}: {} lines", markdown.lines().count());
        assert!(!markdown.contains(['\u{1b}', '\u{202e}']) && !markdown.contains("\n<script>"), "{name}");
    }
}

#[test]
fn headlines_answer_the_question() {
    assert_eq!(
        fixtures::path().headline,
        "62 % of 31.0 ms of `worker` (tid 812) was waiting for the next period of a CPU quota. 2 times, \
         9.65 ms at most."
    );
    assert_eq!(
        diagnoses::slower().headline,
        "4 of 50 executions are slower: 29.0 ms instead of 12.1 ms. `worker` was kept from running 168 times for 118 ms \
         by a CPU quota (84 % of the excess), 5.00 ms into it, after `running: another thread`."
    );
    assert_eq!(
        diagnoses::overall().headline,
        "The sample as a whole is slower: `preempted` takes 9.90 ms instead of 120 µs on average. No single execution \
         stands out."
    );
    assert!(diagnoses::nothing().headline.starts_with("Nothing found: none of 50 executions waits longer"));
    assert_eq!(
        diagnoses::too_few().headline,
        "Too little data to say. `sample.dat` has 3 executions; 5 are needed."
    );
    assert_eq!(fixtures::no_path().headline, "There is no path to report. The trace has no thread `wroker`.");
}

#[test]
fn reports_fit_their_schemas() {
    for (name, report) in all() {
        let schema = match report {
            Any::Path(_) => schema::<KernelPathReport>(name),
            Any::Diagnosis(_) => schema::<KernelDiagnosis>(name),
            Any::Stats(_) => schema::<KernelStatsReport>(name),
        };
        let json = written(Output::Json, &report, &PLAIN);
        crate::schemas::check(&serde_json::from_str(&json).unwrap(), &schema);
    }
}

/// A number of slower executions of a normal kind, with their time and the usual time in milliseconds.
fn slower_by(groups: &[(u32, usize, u64, u64)]) -> String {
    let mut report = diagnoses::slower();
    let execution = report.anomalous[0].clone();
    let kind = report.clusters[0].clone();
    report.clusters = (0..3)
        .map(|cluster| ExecutionCluster { cluster, labels: vec![format!("type {cluster}")], ..kind.clone() })
        .collect();
    let rows = groups.iter().flat_map(|&(cluster, count, elapsed, expected)| {
        let ms = 1_000_000;
        let (elapsed_ns, expected_ns, cluster) = (elapsed * ms, expected * ms, Some(cluster));
        let verdict = ExecutionVerdict::Slower;
        let row = EvaluatedExecution { elapsed_ns, expected_ns, cluster, verdict, ..execution.clone() };
        std::iter::repeat_n(row, count)
    });
    report.anomalous = rows.collect();
    let headline = kernel_diagnosis_headline(&report);
    let answer = headline.split(". `worker`").next().unwrap();
    answer.split(". Of `").next().unwrap().to_owned()
}

#[test]
fn headlines_separate_far_slower_executions_and_different_kinds() {
    assert_eq!(
        slower_by(&[(0, 10, 33, 2), (0, 18, 3, 2)]),
        "28 of 50 executions are slower: 10 take 33.0 ms instead of 2.00 ms, the others 3.00 ms instead of 2.00 ms"
    );
    assert_eq!(
        slower_by(&[(0, 10, 5, 2), (0, 8, 4, 2)]),
        "18 of 50 executions are slower: 5.00 ms instead of 2.00 ms"
    );
    assert_eq!(
        slower_by(&[(1, 5, 50, 40), (0, 6, 1640, 39), (2, 5, 400, 40)]),
        "16 of 50 executions are slower: 6 of `type 0` take 1.64 s instead of 39.0 ms; 5 of `type 2` take 400 ms instead of \
         40.0 ms; 5 of other kinds"
    );
}

#[test]
fn each_kind_of_slower_executions_has_its_wait() {
    let mut report = diagnoses::slower();
    let labels = |cluster: u32| vec![if cluster == 0 { "GET /cart" } else { "GET /pay" }.to_owned()];
    let kind = report.clusters[0].clone();
    report.clusters =
        (0..2).map(|cluster| ExecutionCluster { cluster, labels: labels(cluster), ..kind.clone() }).collect();
    report.anomalous[3].cluster = Some(1);
    report.steps[1].cluster = Some(1);
    let headline = kernel_diagnosis_headline(&report);
    assert!(headline.contains(". Of `GET /cart`: `worker` was kept from running 168 times"), "{headline}");
    assert!(
        headline.contains(". Of `GET /pay`: `worker` waited 168 times for 9.00 ms for a CPU"),
        "{headline}"
    );
}

#[test]
fn executions_of_a_new_kind_are_not_compared() {
    let mut report = diagnoses::slower();
    report.anomalous.iter_mut().for_each(|execution| execution.verdict = ExecutionVerdict::NewKind);
    let headline = kernel_diagnosis_headline(&report);
    assert!(headline.starts_with("4 of 50 executions are of a kind not in the normal set. "), "{headline}");
}
