//! A trace in text: its spans as a tree.

use super::data_tools::text;
use laggard_model::Nanos;
use serde_json::Value;
use std::fmt::Write;

/// Events of a span in text.
const EVENTS_MAX: usize = 3;

/// The text of a trace whose spans were selected.
pub(super) fn trace_text(trace: &Value) -> String {
    let rows = |name: &str| trace[name].as_array().map_or(&[][..], Vec::as_slice).iter();
    let mut out = format!("### Trace {}\n\n", text(&trace["trace"]));
    for request in rows("requests") {
        let complete = if request["complete"] == true { "complete" } else { "incomplete" };
        let _ = writeln!(
            out,
            "- A {complete} request of {}, category {}",
            nanos(&request["latency_ns"]),
            text(&request["category"])
        );
    }
    let (shown, omitted) = (rows("spans").len(), trace["omitted"].as_u64().unwrap_or_default());
    let _ = write!(out, "\nSpans, of {}", shown as u64 + omitted);
    out.push_str(match omitted {
        0 => " all:\n",
        _ => " those that requests waited for longest; the others are left out:\n",
    });
    for span in rows("spans") {
        let indent = "  ".repeat(span["depth"].as_u64().unwrap_or_default().min(20) as usize);
        let _ = writeln!(
            out,
            "{indent}- `{}` `{}` on `{}`: {}, itself {}, waited for {}{} (span {})",
            text(&span["service"]),
            text(&span["operation"]),
            text(&span["replica"]),
            nanos(&span["inclusive_ns"]),
            nanos(&span["self_ns"]),
            nanos(&span["path_ns"]),
            if span["status"] == "error" { ", error" } else { "" },
            text(&span["span"])
        );
        let events = span["events"].as_array().map_or(&[][..], Vec::as_slice);
        for event in events.iter().take(EVENTS_MAX) {
            let severity = text(&event["severity"]);
            let _ = writeln!(out, "{indent}  - {severity} {} {}", text(&event["name"]), text(&event["body"]));
        }
        if events.len() > EVENTS_MAX {
            let _ = writeln!(out, "{indent}  - … and {} more events", events.len() - EVENTS_MAX);
        }
    }
    for (name, loss) in trace["losses"].as_object().into_iter().flatten() {
        let _ = writeln!(out, "- Lost, repaired, or doubtful: {} {name}", loss["count"]);
    }
    out
}

fn nanos(value: &Value) -> Nanos {
    Nanos::from_ns(value.as_u64().unwrap_or_default())
}
