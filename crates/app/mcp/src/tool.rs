//! A tool as it is listed.

use crate::answer::output_schema;
use serde_json::{Value, json};

/// Something that an assistant can ask.
#[derive(Clone, PartialEq, Debug)]
pub struct Tool {
    /// Its name: letters, digits, `_`.
    pub name: String,
    /// Its name for people.
    pub title: String,
    /// What it answers, for the assistant.
    pub description: String,
    /// The JSON Schema of its arguments.
    pub input_schema: Value,
}

impl Tool {
    /// A tool for a question: `kernel/path` is called `kernel_path`.
    pub fn for_question(question: &str, title: &str, description: &str, input_schema: Value) -> Tool {
        Tool {
            name: question.replace(['/', '-'], "_"),
            title: title.to_owned(),
            description: description.to_owned(),
            input_schema,
        }
    }

    /// It as `tools/list` returns it. No tool changes anything, or reaches anything but the data it is about.
    pub fn to_value(&self) -> Value {
        json!({
            "name": self.name,
            "title": self.title,
            "description": self.description,
            "inputSchema": self.input_schema,
            "outputSchema": output_schema(),
            "annotations": {"readOnlyHint": true, "idempotentHint": true, "openWorldHint": false}
        })
    }
}
