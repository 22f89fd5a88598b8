//! The truth about executions, as JSON.

use crate::kinds::{Kind, Pace};
use std::fmt::Write;
use std::path::Path;

/// One execution.
pub(crate) struct Execution {
    pub(crate) id: usize,
    pub(crate) kind: Kind,
    pub(crate) pace: Pace,
}

/// Writes `{"executions": [{"id": 0, "type": "poll", "anomalous": false}, …]}`.
pub(crate) fn write(path: &Path, executions: &[Execution]) {
    let mut text = String::from("{\"executions\": [");
    for execution in executions {
        let comma = if execution.id == 0 { "" } else { "," };
        let (id, kind, slow) = (execution.id, execution.kind.name(), execution.pace == Pace::Slow);
        let _ = write!(text, "{comma}\n{{\"id\": {id}, \"type\": \"{kind}\", \"anomalous\": {slow}}}");
    }
    text.push_str("\n]}\n");
    std::fs::write(path, text).expect("the truth can be written");
}
