//! The change against the baseline: from the mean before to the mean now, part by part.

use super::markup::Markup;
use super::remark;
use crate::comparison::signed_time;
use crate::{Baseline, Report, evidence, numbers};

/// The narrowest bar, in percent of the widest.
const NARROWEST: f64 = 0.4;

/// A line of the block: a mean, or what changes it.
struct Row {
    name: String,
    value: String,
    class: &'static str,
    from_ns: f64,
    to_ns: f64,
}

pub(super) fn write(m: &mut Markup, report: &Report) {
    let Some(baseline) = &report.baseline else { return };
    remark(m, "Mean latency of requests before and now, and how much of the difference each cause makes.");
    let rows = rows(baseline, report.input.requests);
    let ends = rows.iter().flat_map(|row| [row.from_ns, row.to_ns]);
    let most = ends.clone().fold(0.0, f64::max);
    let drawable = most > 0.0 && ends.into_iter().all(|end| end.is_finite() && end >= -1e-6 * most);
    m.raw("<table class=\"change-parts\">\n<caption class=\"away\">Mean latency before and now</caption>\n<tbody>\n");
    for row in &rows {
        m.open("tr", &[]);
        m.element("th", &[("scope", "row")], &row.name);
        m.element("td", &[("class", "number")], &row.value);
        m.open("td", &[("class", "bars")]);
        if drawable {
            bar(m, row, most);
        }
        m.close("td");
        m.close("tr");
    }
    m.raw("</tbody></table>\n");
    if let Some(window) = evidence::baseline_window(baseline) {
        remark(m, &format!("Requests of the baseline started {window}."));
    }
}

fn rows(baseline: &Baseline, requests: u64) -> Vec<Row> {
    let mean = |name: &str, requests: u64, ns: f64, class| Row {
        name: format!("{name} ({})", numbers::counted(requests, "request")),
        value: numbers::time_float(ns),
        class,
        from_ns: 0.0,
        to_ns: ns,
    };
    let mut rows = vec![mean("Baseline", baseline.requests, baseline.mean_ns, "unhit")];
    let mut level = baseline.mean_ns;
    for part in evidence::parts(baseline) {
        let next = level + part.ns;
        rows.push(Row {
            name: part.name.to_owned(),
            value: signed_time(part.ns),
            class: if part.ns > 0.0 { "hit" } else { "gain" },
            from_ns: level.min(next),
            to_ns: level.max(next),
        });
        level = next;
    }
    rows.push(mean("Now", requests, baseline.window_mean_ns, "unhit"));
    rows
}

fn bar(m: &mut Markup, row: &Row, most: f64) {
    let from = (row.from_ns.max(0.0) / most * 100.0).min(100.0 - NARROWEST);
    let wide = (row.to_ns / most * 100.0 - from).max(NARROWEST);
    let (x, width) = (format!("{from:.2}%"), format!("{wide:.2}%"));
    m.raw("<svg width=\"100%\" height=\"14\" aria-hidden=\"true\">");
    m.element("rect", &[("class", row.class), ("x", &x), ("width", &width), ("height", "14")], "");
    m.close("svg");
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_part_starts_where_the_one_before_ends() {
        let baseline = Baseline {
            requests: 7,
            window: None,
            mean_ns: 600.0,
            window_mean_ns: 410.0,
            slower_ns: -200.0,
            mix_ns: 10.0,
        };
        let rows = rows(&baseline, 3);
        let spans: Vec<[f64; 2]> = rows.iter().map(|row| [row.from_ns, row.to_ns]).collect();
        assert_eq!(spans, [[0.0, 600.0], [400.0, 600.0], [400.0, 410.0], [0.0, 410.0]]);
        assert_eq!(rows.iter().map(|row| row.class).collect::<Vec<_>>(), ["unhit", "gain", "hit", "unhit"]);
        assert_eq!((&*rows[1].name, &*rows[1].value), ("same requests faster", "−200 ns"));
    }
}
