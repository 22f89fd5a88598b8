//! Results of runs, a line each, so that runs accumulate.

use crate::incidents::StatedClause;
use crate::peers::PeerAnswer;
use crate::rules::RuleAlarms;
use crate::{CampaignError, in_file};
use serde::{Deserialize, Serialize};
use std::path::Path;

/// End of the name of a run that is a recording, replayed.
pub(crate) const REPLAYED: &str = "-replayed";

/// Laggard's output during a fault.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
pub(crate) struct Detection {
    /// From the onset until the incident opened.
    pub(crate) minutes: f64,
    /// Incidents that opened.
    pub(crate) incidents: usize,
    /// The first sentence of the first verdict.
    pub(crate) first_verdict: String,
    /// The first clause at the end of the run.
    pub(crate) headline: String,
    /// The clause *Where*.
    pub(crate) place: String,
    pub(crate) class: Option<String>,
    pub(crate) is_target: bool,
    /// Whether the first verdict named it first.
    pub(crate) is_target_at_first: bool,
    pub(crate) is_replica: bool,
    pub(crate) is_cause: bool,
    /// The incident's start less the truth's; none if the verdict says that it is not known.
    pub(crate) onset_error_s: Option<f64>,
    /// The statement on waits from kernel recordings.
    pub(crate) kernel: Option<String>,
    pub(crate) clauses: Vec<StatedClause>,
    pub(crate) false_statements: Vec<String>,
}

/// A run.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub(crate) struct RunResult {
    /// The name of its folder.
    pub(crate) run: String,
    pub(crate) fault: String,
    pub(crate) summary: String,
    pub(crate) is_harmless: bool,
    /// The true culprit, as text.
    pub(crate) expected: String,
    /// Classes of cause that are right.
    pub(crate) causes: Vec<String>,
    pub(crate) began_ns: i64,
    /// How long the fault lasted.
    pub(crate) minutes: f64,
    pub(crate) clients: u32,
    pub(crate) machine: String,
    pub(crate) nice: i32,
    /// Runnable processes of the machine before and at the end.
    pub(crate) load: (f64, f64),
    pub(crate) is_replay: bool,
    pub(crate) agents: bool,
    /// None if no incident opened.
    pub(crate) detection: Option<Detection>,
    /// Incidents that opened in normal operation, before the fault.
    pub(crate) early: Vec<String>,
    pub(crate) rules: RuleAlarms,
    pub(crate) peers: Vec<PeerAnswer>,
    /// Why it is a miss, by a person.
    pub(crate) note: Option<String>,
}

impl RunResult {
    /// Whether every scored aspect is right: for a harmless day, that there is no incident.
    pub(crate) fn is_right(&self) -> bool {
        match &self.detection {
            None => self.is_harmless,
            Some(detection) => {
                !self.is_harmless && detection.is_target && detection.is_replica && detection.is_cause
            }
        }
    }

    /// One line for the terminal.
    pub(crate) fn in_short(&self) -> String {
        match &self.detection {
            None if self.is_harmless => "no incident, which is right".to_owned(),
            None => "no incident".to_owned(),
            Some(detection) => format!(
                "{:.1} min, target {}, replica {}, cause {}: {}",
                detection.minutes,
                right_or_wrong(detection.is_target),
                right_or_wrong(detection.is_replica),
                right_or_wrong(detection.is_cause),
                detection.headline
            ),
        }
    }
}

/// In words.
pub(crate) fn right_or_wrong(is_right: bool) -> &'static str {
    if is_right { "right" } else { "wrong" }
}

/// All results so far, by fault and time.
///
/// # Errors
/// When the file is damaged.
pub(crate) fn read(path: &Path) -> Result<Vec<RunResult>, CampaignError> {
    let text = match std::fs::read_to_string(path) {
        Ok(text) => text,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => String::new(),
        Err(error) => return Err(in_file(path, &error)),
    };
    let parse = |(number, line): (usize, &str)| {
        serde_json::from_str(line).map_err(|error| in_file(path, &format!("line {}: {error}", number + 1)))
    };
    text.lines().enumerate().map(parse).collect()
}

/// Writes down why a run is a miss.
///
/// # Errors
/// When there is no such run.
pub(crate) fn note(path: &Path, run: &str, text: &str) -> Result<(), CampaignError> {
    let result = read(path)?.into_iter().find(|result| result.run == run);
    let result = result.ok_or_else(|| format!("{} has no run {run}", path.display()))?;
    add(path, RunResult { note: Some(text.to_owned()), ..result })
}

/// Adds a result; that of the same run is replaced, except for its note.
///
/// # Errors
/// When the file cannot be read or written.
pub(crate) fn add(path: &Path, mut result: RunResult) -> Result<(), CampaignError> {
    let mut all = read(path)?;
    if let Some(known) = all.iter().find(|known| known.run == result.run) {
        result.note = result.note.or_else(|| known.note.clone());
    }
    all.retain(|known| known.run != result.run);
    all.push(result);
    all.sort_by(|a, b| {
        (a.is_harmless, &a.fault, a.began_ns, &a.run).cmp(&(b.is_harmless, &b.fault, b.began_ns, &b.run))
    });
    let lines: Result<Vec<String>, serde_json::Error> = all.iter().map(serde_json::to_string).collect();
    let lines = lines.map_err(|error| in_file(path, &error))?;
    std::fs::write(path, lines.join("\n") + "\n").map_err(|error| in_file(path, &error))
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    /// A run of a fault.
    pub(crate) fn result(fault: &str, run: &str) -> RunResult {
        RunResult {
            run: run.to_owned(),
            fault: fault.to_owned(),
            summary: "all is slow".to_owned(),
            is_harmless: false,
            expected: "`store`".to_owned(),
            causes: vec!["code".to_owned()],
            began_ns: 1,
            minutes: 8.0,
            clients: 30,
            machine: "2 processors".to_owned(),
            nice: 0,
            load: (1.0, 2.0),
            is_replay: false,
            agents: false,
            detection: None,
            early: vec![],
            rules: RuleAlarms::default(),
            peers: vec![],
            note: None,
        }
    }

    #[test]
    fn runs_accumulate_and_notes_are_preserved() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("results.jsonl");
        assert_eq!(read(&path), Ok(vec![]));
        add(&path, RunResult { note: Some("why".to_owned()), ..result("leak", "leak-1") }).unwrap();
        add(&path, result("errors", "errors-1")).unwrap();
        add(&path, RunResult { clients: 90, ..result("leak", "leak-1") }).unwrap();
        let all = read(&path).unwrap();
        assert_eq!(all.iter().map(|result| result.run.as_str()).collect::<Vec<_>>(), ["errors-1", "leak-1"]);
        assert_eq!((all[1].clients, all[1].note.as_deref()), (90, Some("why")));
        note(&path, "leak-1", "another").unwrap();
        assert_eq!(read(&path).unwrap()[1].note.as_deref(), Some("another"));
        assert!(note(&path, "leak-2", "no such run").is_err());
    }

    #[test]
    fn a_damaged_line_is_an_error() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("results.jsonl");
        std::fs::write(&path, "{}\n").unwrap();
        assert!(read(&path).unwrap_err().contains("line 1"));
    }
}
