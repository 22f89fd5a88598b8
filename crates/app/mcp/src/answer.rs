//! Answers of tools: text for the assistant, the same as data, both bounded in size.

use crate::bounds::{Bounded, LeftOut, bounded, bounded_text};
use serde_json::{Value, json};
use std::fmt::Write;

// Limit: bytes of text in an answer to an assistant (`laggard mcp`) | the rest is counted, and left out
const TEXT_BYTES_MAX: usize = 16 << 10;

// Limit: bytes of JSON in an answer to an assistant (`laggard mcp`) | the longest lists are shortened, and what is left out is counted
const STRUCTURED_BYTES_MAX: usize = 32 << 10;

/// Bytes of an error's message.
const ERROR_BYTES_MAX: usize = 4 << 10;

/// An answer of a tool.
#[derive(Clone, PartialEq, Debug)]
pub struct ToolAnswer {
    text: String,
    /// `None` if there is no answer, and the text says why.
    structured: Option<Value>,
}

/// What the structured content of every tool is. The report inside has its own schema (`laggard schema NAME`), which is too long
/// for a list of tools.
pub(crate) fn output_schema() -> Value {
    json!({
        "type": "object",
        "properties": {
            "verdict": {"type": "string", "description": "The verdict in one word"},
            "report": {
                "type": "object",
                "description": "The report; its JSON Schema is printed by `laggard schema`. Lists may be shortened"
            },
            "left_out": {
                "type": "array",
                "description": "What the report was shortened by: lists (a path with * for any index), and how many of their values are left out",
                "items": {
                    "type": "object",
                    "properties": {"path": {"type": "string"}, "count": {"type": "integer"}},
                    "required": ["path", "count"]
                }
            }
        },
        "required": ["report", "left_out"]
    })
}

impl ToolAnswer {
    /// A report, as text and as data.
    pub fn from_report(verdict: Option<&str>, text: &str, report: Value) -> ToolAnswer {
        let Bounded { value, left_out } = bounded(report, STRUCTURED_BYTES_MAX);
        let mut text = bounded_text(text.trim_end(), TEXT_BYTES_MAX);
        if !left_out.is_empty() {
            let _ = write!(text, "\n\n{}", left_out_note(&left_out));
        }
        let rows: Vec<Value> =
            left_out.iter().map(|LeftOut { path, count }| json!({"path": path, "count": count})).collect();
        let mut structured = json!({"report": value, "left_out": rows});
        if let Some(verdict) = verdict {
            structured["verdict"] = json!(verdict);
        }
        ToolAnswer { text, structured: Some(structured) }
    }

    /// Why there is no answer, and what to do.
    pub fn failed(reason: impl std::fmt::Display) -> ToolAnswer {
        ToolAnswer { text: bounded_text(&reason.to_string(), ERROR_BYTES_MAX), structured: None }
    }

    /// It as the result of `tools/call`.
    pub(crate) fn to_value(&self) -> Value {
        let mut result = json!({
            "content": [{"type": "text", "text": self.text}],
            "isError": self.structured.is_none()
        });
        if let Some(structured) = &self.structured {
            result["structuredContent"] = structured.clone();
        }
        result
    }
}

/// Lists that the note names.
const NAMED_MAX: usize = 8;

/// A sentence on what the data lack.
fn left_out_note(left_out: &[LeftOut]) -> String {
    let named = left_out.iter().take(NAMED_MAX).map(|LeftOut { path, count }| format!("{count} of {path}"));
    let mut note = format!("Left out of the structured content: {}", named.collect::<Vec<_>>().join(", "));
    if left_out.len() > NAMED_MAX {
        let _ = write!(note, ", and values of {} more lists", left_out.len() - NAMED_MAX);
    }
    note + "."
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn answers_are_bounded_and_state_what_is_left_out() {
        let report = json!({"headline": "h", "rows": vec!["0123456789"; 100_000]});
        let answer = ToolAnswer::from_report(Some("suspects"), &"line\n".repeat(100_000), report).to_value();
        assert_eq!(answer["isError"], false);
        assert!(answer.to_string().len() < TEXT_BYTES_MAX + STRUCTURED_BYTES_MAX + 4096);
        let structured = &answer["structuredContent"];
        assert_eq!(
            (&structured["verdict"], &structured["report"]["headline"]),
            (&json!("suspects"), &json!("h"))
        );
        let retained = structured["report"]["rows"].as_array().unwrap().len() as u64;
        assert!(retained > 100, "{retained}");
        assert_eq!(structured["left_out"], json!([{"path": "rows", "count": 100_000 - retained}]));
        let text = answer["content"][0]["text"].as_str().unwrap();
        assert!(text.contains(" lines were left out"), "{}", &text[text.len() - 200..]);
        assert!(
            text.ends_with(&format!("Left out of the structured content: {} of rows.", 100_000 - retained))
        );
    }

    #[test]
    fn what_fits_is_complete() {
        let answer = ToolAnswer::from_report(None, "fine\n", json!({"a": [1, 2]})).to_value();
        assert_eq!(answer["content"][0]["text"], "fine");
        assert_eq!(answer["structuredContent"], json!({"report": {"a": [1, 2]}, "left_out": []}));
    }

    #[test]
    fn a_failure_has_no_data() {
        let answer = ToolAnswer::failed("write a time").to_value();
        assert_eq!(answer, json!({"content": [{"type": "text", "text": "write a time"}], "isError": true}));
    }
}
