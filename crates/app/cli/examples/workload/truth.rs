//! The truth about executions, as JSON.

use crate::kinds::{Kind, Pace};
use std::path::Path;
use std::time::Duration;

pub(crate) struct Execution {
    pub(crate) set: &'static str,
    pub(crate) kind: Kind,
    pub(crate) pace: Pace,
    /// By our own clock, for the size that it had.
    pub(crate) time_for_size: Duration,
}

/// A normal execution that took this many times as long as its kind was disturbed by other load of the machine.
const DISTURBED: f64 = 1.25;

/// Writes `{"executions": [{"set": "v1", "type": "poll", "anomalous": false, "disturbed": false}, …]}` in the order of time.
pub(crate) fn write(path: &Path, executions: &[Execution]) {
    let mut lines = Vec::new();
    for execution in executions {
        let (set, kind, slow) = (execution.set, execution.kind.name(), execution.pace == Pace::Slow);
        let disturbed =
            !slow && execution.time_for_size > usual(executions, execution.kind).mul_f64(DISTURBED);
        lines.push(format!(
            "{{\"set\": \"{set}\", \"type\": \"{kind}\", \"anomalous\": {slow}, \"disturbed\": {disturbed}}}"
        ));
    }
    let text = format!("{{\"executions\": [\n{}\n]}}\n", lines.join(",\n"));
    std::fs::write(path, text).expect("the truth can be written");
}

/// The median time of a kind.
fn usual(executions: &[Execution], kind: Kind) -> Duration {
    let usual = executions.iter().filter(|execution| execution.kind == kind && execution.pace == Pace::Usual);
    let mut times: Vec<Duration> = usual.map(|execution| execution.time_for_size).collect();
    times.sort_unstable();
    times[times.len() / 2]
}
