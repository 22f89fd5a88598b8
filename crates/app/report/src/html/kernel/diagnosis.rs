//! A diagnosis of executions as a page.

use super::super::markup::Markup;
use super::super::overview::VerdictCard;
use super::super::{NAME_ROOM, basis, remark};
use super::{
    Column, ROWS, Section, Top, alignment, durations, number, path, projection, rest, sentences, share_cell,
    table, timeline, write_page,
};
use crate::kernel::{
    ExecutionSet, ExecutionVerdict, KernelDiagnosis, KernelVerdict, StepGroup, instant, judged_thread,
    kernel_verdict_word, row_name, set_words, step_clause, step_word,
};
use crate::{names, numbers};
use std::io;

/// The page from top to bottom, below the answer.
const SECTIONS: [Section<KernelDiagnosis>; 12] = [
    Section { id: "waits", title: "What they wait for", has: |r| !r.waits.is_empty(), write: waits },
    Section { id: "steps", title: "At which step", has: |r| !r.steps.is_empty(), write: steps },
    Section {
        id: "executions",
        title: "Executions that stand out",
        has: |r| !r.anomalous.is_empty(),
        write: executions,
    },
    Section {
        id: "paths",
        title: "Paths, piece by piece",
        has: |r| !r.timelines.is_empty(),
        write: timelines,
    },
    Section { id: "aligned", title: "Step by step", has: alignment::any, write: alignment::write },
    Section {
        id: "durations",
        title: "Time by state, normal and sample",
        has: durations::drawable,
        write: durations::write,
    },
    Section { id: "coarse", title: "The first look", has: |r| !r.coarse.is_empty(), write: coarse },
    Section { id: "kinds", title: "Kinds of executions", has: |r| !r.clusters.is_empty(), write: clusters },
    Section {
        id: "projection",
        title: "Executions as points",
        has: projection::drawable,
        write: projection::write,
    },
    Section {
        id: "ruled-out",
        title: "Looked at and found fine",
        has: |r| !r.ruled_out.is_empty(),
        write: |m, r| sentences(m, &r.ruled_out),
    },
    Section {
        id: "losses",
        title: "Lost, repaired or mistrusted",
        has: |_| true,
        write: |m, r| basis::losses(m, &r.input.losses),
    },
    Section { id: "basis", title: "What this rests on", has: |_| true, write: rests_on },
];

/// Writes a diagnosis as one HTML page without any reference to the outside. Text from the input is escaped.
///
/// # Errors
/// Those of `out`.
pub(crate) fn kernel_diagnosis(report: &KernelDiagnosis, out: &mut dyn io::Write) -> io::Result<()> {
    let class = match report.verdict {
        KernelVerdict::Slower => "verdict bad",
        KernelVerdict::SlowerOverall => "verdict unsure",
        KernelVerdict::NothingFound => "verdict good",
        KernelVerdict::InsufficientData => "verdict unsure",
    };
    let card = VerdictCard {
        class,
        word: kernel_verdict_word(report.verdict),
        headline: &report.headline,
        figures: figures(report),
    };
    let top = Top { card, input: &report.input, missing: &report.missing, cautions: &report.cautions };
    write_page(report, top, &SECTIONS, out)
}

fn figures(report: &KernelDiagnosis) -> Vec<(&'static str, String, String)> {
    let mut figures = Vec::new();
    if report.verdict == KernelVerdict::Slower {
        let of = format!("of {}", numbers::count(report.sample.executions));
        figures.push(("Slower executions", numbers::count(report.anomalous.len() as u64), of));
    }
    if let Some(wait) = report.waits.first() {
        figures.push(("Explained by it", numbers::share(wait.share), "of the excess".to_owned()));
    }
    let sets = [("Normal median", &report.normal), ("Sample median", &report.sample)];
    for (name, set) in sets {
        let of = numbers::counted(set.executions, "execution");
        figures.push((name, numbers::time(set.elapsed_p50_ns), of));
    }
    figures
}

fn waits(m: &mut Markup, report: &KernelDiagnosis) {
    remark(m, "Deviations for one cause at whatever step, together; the largest excess first.");
    let columns = [
        Column::Number("excess"),
        Column::Number("share"),
        Column::Text("thread"),
        Column::Text("what"),
        Column::Number("executions"),
        Column::Number("steps"),
    ];
    table(m, "Abnormal waits", &columns, |m| {
        for wait in report.waits.iter().take(ROWS) {
            m.open("tr", &[]);
            number(m, &numbers::effect(wait.excess_ns), wait.excess_ns as f64);
            share_cell(m, wait.share);
            m.within("th", &[("scope", "row")], |m| m.name("operation", &wait.thread, 32));
            m.within("td", &[("class", "words")], |m| m.sentence(&wait.words));
            number(m, &numbers::count(wait.executions), wait.executions as f64);
            number(m, &numbers::count(wait.steps.len() as u64), wait.steps.len() as f64);
            m.close("tr");
        }
    });
    rest(m, report.waits.len(), ROWS, "waits");
}

/// Findings that are not folded.
const UNFOLDED: usize = 12;

fn steps(m: &mut Markup, report: &KernelDiagnosis) {
    remark(m, "Findings that are alike, together; the largest excess first.");
    let all = &report.steps[..report.steps.len().min(ROWS)];
    let (shown, folded) = all.split_at(all.len().min(UNFOLDED));
    step_table(m, "Findings by step", shown);
    if !folded.is_empty() {
        m.open("details", &[("class", "fold")]);
        m.element("summary", &[], &format!("{} more", numbers::count(folded.len() as u64)));
        step_table(m, "Further findings by step", folded);
        m.close("details");
    }
    rest(m, report.steps.len(), ROWS, "findings");
}

fn step_table(m: &mut Markup, caption: &'static str, steps: &[StepGroup]) {
    let columns = [
        Column::Number("excess"),
        Column::Number("share"),
        Column::Text("thread"),
        Column::Text("what"),
        Column::Text("where"),
        Column::Number("executions"),
        Column::Text("look at execution"),
    ];
    table(m, caption, &columns, |m| steps.iter().for_each(|step| step_row(m, step)));
}

fn step_row(m: &mut Markup, step: &StepGroup) {
    m.open("tr", &[]);
    number(m, &numbers::effect(step.excess_ns), step.excess_ns as f64);
    share_cell(m, step.share);
    m.within("th", &[("scope", "row")], |m| m.name("operation", &step.thread, 32));
    m.within("td", &[("class", "words")], |m| m.sentence(&step.words));
    let place = format!("{}, {}", step_word(step.kind), step_clause(step));
    m.within("td", &[("class", "where")], |m| m.sentence(&place));
    number(m, &format!("{} of {}", step.executions, step.of_executions), step.executions as f64);
    m.within("td", &[("class", "examples")], |m| {
        for one in step.examples.iter().take(3) {
            let at = instant(None, one.since_ns);
            let text = format!("{}: {} at {at}", one.execution, numbers::time(one.elapsed_ns));
            m.element("span", &[("class", "line")], &text);
        }
    });
    m.close("tr");
}

fn executions(m: &mut Markup, report: &KernelDiagnosis) {
    let columns = [
        Column::Number("#"),
        Column::Number("takes"),
        Column::Number("usual"),
        Column::Text("label"),
        Column::Text("thread"),
        Column::Text("at"),
        Column::Text("largest deviation"),
    ];
    m.open("div", &[("class", "tall")]);
    table(m, "Executions that stand out", &columns, |m| {
        for one in report.anomalous.iter().take(ROWS) {
            m.open("tr", &[]);
            number(m, &one.number.to_string(), one.number as f64);
            number(m, &numbers::time(one.elapsed_ns), one.elapsed_ns as f64);
            number(m, &numbers::time(one.expected_ns), one.expected_ns as f64);
            m.within("th", &[("scope", "row")], |m| {
                if !one.label.is_empty() {
                    m.name("operation", &one.label, NAME_ROOM);
                }
            });
            m.within("td", &[], |m| m.sentence(&judged_thread(one)));
            m.element("td", &[("class", "number")], &instant(one.since.as_deref(), one.since_ns));
            m.within("td", &[("class", "words")], |m| {
                if one.verdict == ExecutionVerdict::NewKind {
                    m.text("of a kind that the normal set does not have; ");
                }
                m.sentence(&one.words);
            });
            m.close("tr");
        }
    });
    m.close("div");
    rest(m, report.anomalous.len(), ROWS, "executions");
}

fn timelines(m: &mut Markup, report: &KernelDiagnosis) {
    for (at, one) in report.timelines.iter().enumerate().take(4) {
        timeline::write(m, one, &format!("path-{at}"));
    }
}

fn coarse(m: &mut Markup, report: &KernelDiagnosis) {
    remark(m, "Each state on average: whether executions of the sample have more of it than normal ones.");
    let columns = [
        Column::Text("state"),
        Column::Text("measure"),
        Column::Number("normal"),
        Column::Number("± deviation"),
        Column::Number("sample"),
        Column::Number("normal above mean"),
        Column::Number("sample above it"),
        Column::Number("p"),
        Column::Text("more?"),
    ];
    let optional = |m: &mut Markup, value: Option<f64>, text: fn(f64) -> String| match value {
        Some(value) => number(m, &text(value), value),
        None => number(m, "–", -1.0),
    };
    table(m, "Coarse comparison by state", &columns, |m| {
        for row in report.coarse.iter().take(ROWS) {
            let text = if row.measure == "time" { numbers::time_float } else { numbers::ratio };
            m.open("tr", &[]);
            m.element("th", &[("scope", "row")], &row_name(report, row.letter));
            m.element("td", &[], row.measure);
            for value in [row.normal_mean, row.normal_deviation, row.sample_mean] {
                number(m, &text(value), value);
            }
            optional(m, row.normal_share_above, numbers::share);
            optional(m, row.sample_share_above, numbers::share);
            optional(m, row.p_value, numbers::p_value);
            m.element(
                "td",
                &[("class", if row.fired { "busy" } else { "" })],
                if row.fired { "more" } else { "" },
            );
            m.close("tr");
        }
    });
}

fn clusters(m: &mut Markup, report: &KernelDiagnosis) {
    let columns = [
        Column::Text("set"),
        Column::Number("kind"),
        Column::Number("executions"),
        Column::Number("median"),
        Column::Text("compared with"),
        Column::Number("fit"),
        Column::Number("slower"),
        Column::Text("labels"),
        Column::Text("remark"),
    ];
    table(m, "Kinds of executions", &columns, |m| {
        for one in report.clusters.iter().take(ROWS) {
            let sample = one.set == ExecutionSet::Sample;
            m.open("tr", &[]);
            m.element("th", &[("scope", "row")], if sample { "sample" } else { "normal" });
            number(m, &one.cluster.to_string(), f64::from(one.cluster));
            number(m, &numbers::count(one.executions), one.executions as f64);
            number(m, &numbers::time(one.elapsed_p50_ns), one.elapsed_p50_ns as f64);
            let pair = one.paired_with.map_or_else(String::new, |pair| format!("normal {pair}"));
            m.element("td", &[], &pair);
            match one.silhouette {
                Some(value) => number(m, &numbers::ratio(value), value),
                None => number(m, "", -2.0),
            }
            number(
                m,
                &if sample { numbers::count(one.anomalous) } else { String::new() },
                one.anomalous as f64,
            );
            m.element("td", &[], &names::list(&one.labels, 4, 30));
            m.within("td", &[], |m| m.sentence(&one.remark));
            m.close("tr");
        }
    });
    rest(m, report.clusters.len(), ROWS, "kinds");
}

fn rests_on(m: &mut Markup, report: &KernelDiagnosis) {
    m.element("p", &[], &report.input.sentence());
    for (name, set) in [("Normal", &report.normal), ("Sample", &report.sample)] {
        m.within("p", &[], |m| m.sentence(&format!("{name}: {}.", set_words(set))));
    }
    m.within("p", &[], |m| m.sentence(&report.question));
    m.element("p", &[], &format!("Method: {}.", names::label(&report.method, 200)));
    path::traces(m, &report.input);
    super::settings(m, &report.settings);
}
