//! Operations before and after, as a table that can be sorted.

use super::super::markup::Markup;
use super::super::{operation, remark, scroller};
use super::number;
use crate::comparison::{
    Change, Comparison, MeasuredShift, OperationChange, calls, change_word, shift_interval, signed_time,
};
use crate::numbers;

/// Operations the page can bear; unchanged ones are folded.
const ROWS: usize = 1_000;

pub(super) fn write(m: &mut Markup, comparison: &Comparison) {
    remark(
        m,
        "Requests of the same kind are compared: the shift is the median difference of the self time per call (or \
         of the calls per request) of two requests with the same call tree, or the same entry where too few trees \
         are in both sets. \u{201c}In a request\u{201d} is the change of the mean self time over all requests, \u{201c}Calls\u{201d} are those of a request that calls it.",
    );
    let changed = comparison.operations.iter().filter(|row| row.change != Change::None).count();
    let (first, rest) = comparison.operations.split_at(changed.min(comparison.operations.len()));
    if first.is_empty() {
        m.element("p", &[], "No operation differs beyond chance.");
    } else {
        table(m, "Operations that changed", first);
    }
    if !rest.is_empty() {
        m.open("details", &[("class", "fold tall")]);
        let count = numbers::counted(rest.len() as u64, "operation");
        m.element("summary", &[], &format!("{count} without a difference beyond chance"));
        table(m, "Operations that did not change", rest);
        m.close("details");
    }
}

const COLUMNS: [&str; 7] = ["Shift [95 %]", "Ratio", "p", "Median before", "After", "Calls", "In a request"];

fn table(m: &mut Markup, caption: &str, rows: &[OperationChange]) {
    scroller(m, caption, |m| {
        m.raw("<table class=\"plain sortable\">\n");
        m.element("caption", &[("class", "away")], caption);
        m.raw("<thead><tr><th scope=\"col\" data-sort=\"text\">Operation</th>");
        m.raw("<th scope=\"col\" data-sort=\"text\">Change</th>");
        for title in COLUMNS {
            m.element("th", &[("scope", "col"), ("class", "number"), ("data-sort", "number")], title);
        }
        m.raw("</tr></thead>\n<tbody>\n");
        rows.iter().take(ROWS).for_each(|found| row(m, found));
        m.raw("</tbody></table>\n");
    });
    if rows.len() > ROWS {
        let left = numbers::count((rows.len() - ROWS) as u64);
        remark(m, &format!("{left} more operations are in the JSON output."));
    }
}

fn row(m: &mut Markup, found: &OperationChange) {
    m.open("tr", &[]);
    m.within("th", &[("scope", "row")], |m| {
        operation(m, &found.service, &found.operation);
        if !found.kind.is_empty() {
            m.text(" ");
            m.name("kind", &found.kind, 12);
        }
    });
    m.within("td", &[], |m| mark(m, found.change));
    let by_calls = matches!(found.change, Change::MoreCalls | Change::FewerCalls);
    let shift = if by_calls { found.calls.as_ref() } else { found.time.as_ref() };
    match shift {
        Some(shift) => shift_cells(m, shift, by_calls),
        None => (0..5).for_each(|_| number(m, "–", f64::NAN)),
    }
    let (before, after) = (found.before.calls_per_request, found.after.calls_per_request);
    let text = if (before - after).abs() < 0.005 {
        calls(after)
    } else {
        format!("{} → {}", calls(before), calls(after))
    };
    number(m, &text, after);
    number(m, &signed_time(found.change_per_request_ns), found.change_per_request_ns);
    m.close("tr");
}

fn shift_cells(m: &mut Markup, shift: &MeasuredShift, by_calls: bool) {
    let (value, signed, interval) = if by_calls {
        (calls as fn(f64) -> String, format!("{:+.1} calls", shift.shift), calls_interval(shift))
    } else {
        (numbers::time_float as fn(f64) -> String, signed_time(shift.shift), shift_interval(shift))
    };
    m.open("td", &[("class", "number"), ("data-value", &format!("{}", shift.shift))]);
    m.text(&signed);
    m.element("span", &[("class", "interval")], &interval);
    m.close("td");
    let ratio = shift.ratio.unwrap_or(f64::NAN);
    number(m, &numbers::factor(ratio), ratio);
    number(m, &numbers::p_value(shift.p_value), shift.p_value);
    number(m, &value(shift.median_before), shift.median_before);
    number(m, &value(shift.median_after), shift.median_after);
}

fn calls_interval(shift: &MeasuredShift) -> String {
    match (shift.low, shift.high) {
        (Some(low), Some(high)) => format!("[{low:+.1}, {high:+.1}]"),
        _ => String::new(),
    }
}

/// The word of a change, told by more than color.
pub(super) fn mark(m: &mut Markup, change: Change) {
    let class = match change {
        Change::Slower => "tone bad",
        Change::Faster => "tone good",
        Change::None => "tone",
        _ => "tone unsure",
    };
    m.element("span", &[("class", class)], change_word(change));
}
