//! Incidents as the API of the server lists them.

use crate::live::now_ns;
use crate::recording::Recording;
use crate::server::Server;
use crate::{CampaignError, in_file, say};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::io::Write;
use std::path::Path;
use std::thread::sleep;
use std::time::{Duration, Instant};

const POLL: Duration = Duration::from_secs(5);

/// A statement of a verdict.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub(crate) struct StatedClause {
    pub(crate) kind: String,
    pub(crate) certainty: String,
    pub(crate) text: String,
}

/// An incident at some instant.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
pub(crate) struct ListedIncident {
    pub(crate) id: String,
    pub(crate) since_ns: i64,
    pub(crate) opened_ns: i64,
    pub(crate) closed_ns: Option<i64>,
    pub(crate) headline: String,
    pub(crate) class: Option<String>,
    pub(crate) clauses: Vec<StatedClause>,
    pub(crate) verdict_ns: Option<i64>,
}

impl ListedIncident {
    /// The text of a clause.
    pub(crate) fn clause(&self, kind: &str) -> Option<&str> {
        self.clauses.iter().find(|clause| clause.kind == kind).map(|clause| clause.text.as_str())
    }
}

/// The list at some instant.
#[derive(Clone, PartialEq, Debug, Deserialize)]
pub(crate) struct Snapshot {
    pub(crate) at_ns: i64,
    pub(crate) incidents: Vec<ListedIncident>,
}

/// The list of a run, whenever it changed.
///
/// # Errors
/// When it is missing or damaged.
pub(crate) fn read(recording: &Recording) -> Result<Vec<Snapshot>, CampaignError> {
    let name = "incidents.jsonl";
    let parse =
        |line: &String| serde_json::from_str(line).map_err(|error| in_file(&recording.path(name), &error));
    recording.lines(name)?.iter().map(parse).collect()
}

/// Waits for an incident.
pub(crate) struct Watch<'a> {
    pub(crate) server: &'a Server,
    /// Since when an incident counts as that of the fault.
    pub(crate) began_ns: i64,
    /// Longest time.
    pub(crate) limit: Duration,
    /// Time after the incident opened, in which its verdict gets better.
    pub(crate) after: Duration,
}

impl Watch<'_> {
    /// Writes the list whenever it changes, until some time after an incident opened.
    ///
    /// # Errors
    /// When the file cannot be written. A busy server is polled again.
    pub(crate) fn save(&self, path: &Path) -> Result<(), CampaignError> {
        let mut file = std::fs::File::create(path).map_err(|error| in_file(path, &error))?;
        let started = Instant::now();
        let mut opened: Option<Instant> = None;
        let mut last = Value::Null;
        while started.elapsed() < self.limit && opened.is_none_or(|opened| opened.elapsed() < self.after) {
            match self.server.get("/api/v1/incidents") {
                Ok(mut listed) if listed["incidents"] != last => {
                    last = listed["incidents"].clone();
                    listed["at_ns"] = now_ns().into();
                    writeln!(file, "{listed}").map_err(|error| in_file(path, &error))?;
                    let is_new = |incident: &Value| incident["opened_ns"].as_i64() > Some(self.began_ns);
                    if opened.is_none() && last.as_array().is_some_and(|all| all.iter().any(is_new)) {
                        opened = Some(Instant::now());
                        say("an incident opened");
                    }
                }
                Ok(_) => {}
                Err(error) => say(&error),
            }
            sleep(POLL);
        }
        Ok(())
    }
}
