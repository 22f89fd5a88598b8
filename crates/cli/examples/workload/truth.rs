//! The truth about executions, as JSON.

use crate::kinds::{Kind, Pace};
use std::path::Path;

/// One execution.
pub(crate) struct Execution {
    pub(crate) set: &'static str,
    pub(crate) kind: Kind,
    pub(crate) pace: Pace,
}

/// Writes `{"executions": [{"set": "v1", "type": "poll", "anomalous": false}, …]}` in the order of time.
pub(crate) fn write(path: &Path, executions: &[Execution]) {
    let mut lines = Vec::new();
    for execution in executions {
        let (set, kind, slow) = (execution.set, execution.kind.name(), execution.pace == Pace::Slow);
        lines.push(format!("{{\"set\": \"{set}\", \"type\": \"{kind}\", \"anomalous\": {slow}}}"));
    }
    let text = format!("{{\"executions\": [\n{}\n]}}\n", lines.join(",\n"));
    std::fs::write(path, text).expect("the truth can be written");
}
