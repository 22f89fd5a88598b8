//! Incidents that tests share, generated once, and files that tests make of them.

use crate::outcome::laggard;
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

/// A scenario in which the answer is unambiguous, and the flags that make it so in few spans.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Recipe {
    pub(crate) scenario: &'static str,
    pub(crate) flags: &'static [&'static str],
}

/// Replicas to blame: 4 of 10 front ends.
pub(crate) const RANDOM_DEVICE: Recipe =
    Recipe { scenario: "random-device", flags: &["--seed", "1", "--requests", "250", "--categories", "4"] };
/// The same, too few to blame them all.
pub(crate) const FEW: Recipe =
    Recipe { scenario: "random-device", flags: &["--seed", "1", "--requests", "60", "--categories", "2"] };
/// No replica to blame.
pub(crate) const THREAD_POOL: Recipe =
    Recipe { scenario: "thread-pool", flags: &["--seed", "1", "--requests", "80", "--categories", "4"] };
/// Replicas to blame, for a rare delay.
pub(crate) const BURSTS: Recipe =
    Recipe { scenario: "bursts", flags: &["--seed", "4", "--requests", "800", "--categories", "2"] };
/// Many operations of one host to blame.
pub(crate) const SLOW_HOST: Recipe =
    Recipe { scenario: "slow-host", flags: &["--seed", "1", "--requests", "400", "--categories", "4"] };
/// Nothing to find.
pub(crate) const QUIET: Recipe =
    Recipe { scenario: "quiet", flags: &["--seed", "1", "--requests", "80", "--categories", "2"] };
/// Enough to be judged, and quickly.
pub(crate) const SMALL: Recipe =
    Recipe { scenario: "thread-pool", flags: &["--seed", "3", "--requests", "60", "--categories", "2"] };

/// A generated incident.
#[derive(Debug)]
pub(crate) struct Incident {
    folder: PathBuf,
}

impl Incident {
    /// One that a test made itself.
    pub(crate) const fn at(folder: PathBuf) -> Incident {
        Incident { folder }
    }

    pub(crate) fn traces(&self) -> PathBuf {
        self.folder.join("traces")
    }

    /// The trace files, sorted.
    pub(crate) fn files(&self) -> Vec<PathBuf> {
        let entries = std::fs::read_dir(self.traces()).unwrap();
        let mut files: Vec<PathBuf> = entries.map(|entry| entry.unwrap().path()).collect();
        files.sort();
        files
    }

    /// The only trace file.
    #[track_caller]
    pub(crate) fn file(&self) -> PathBuf {
        let files = self.files();
        assert_eq!(files.len(), 1, "{files:?}");
        files.into_iter().next().unwrap()
    }

    pub(crate) fn truth(&self) -> Value {
        serde_json::from_str(&std::fs::read_to_string(self.folder.join("truth.json")).unwrap()).unwrap()
    }
}

/// A folder for this test run; what an earlier run left is removed.
fn folder() -> &'static Path {
    static FOLDER: OnceLock<PathBuf> = OnceLock::new();
    FOLDER.get_or_init(|| {
        let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("incidents");
        if folder.exists() {
            std::fs::remove_dir_all(&folder).unwrap();
        }
        std::fs::create_dir_all(&folder).unwrap();
        folder
    })
}

/// The incident of a recipe with further flags of `laggard simulate`, made by whichever test asks first.
pub(crate) fn incident(recipe: Recipe, further: &[&str]) -> Arc<Incident> {
    /// The number keeps the folders of recipes apart.
    type Made = (usize, Arc<OnceLock<Arc<Incident>>>);
    static MADE: Mutex<BTreeMap<String, Made>> = Mutex::new(BTreeMap::new());
    let flags = [recipe.flags, further].concat();
    let key = format!("{} {}", recipe.scenario, flags.join(" "));
    let (number, made) = {
        let mut table = MADE.lock().unwrap_or_else(PoisonError::into_inner);
        let number = table.len();
        table.entry(key).or_insert_with(|| (number, Arc::default())).clone()
    };
    Arc::clone(made.get_or_init(|| Arc::new(make(number, recipe.scenario, &flags))))
}

fn make(number: usize, scenario: &str, flags: &[&str]) -> Incident {
    let folder = folder().join(format!("{number}-{scenario}"));
    let mut arguments = vec!["simulate", "--scenario", scenario, "-o", folder.to_str().unwrap()];
    arguments.extend(flags);
    let said = laggard(&arguments).text();
    assert!(said.contains("the truth is in"), "{said}");
    Incident { folder }
}

/// What a diagnosis says, or should say, without numbers.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Answer {
    pub(crate) verdict: String,
    pub(crate) operations: BTreeSet<String>,
    /// `none` without suspects; `mixed` when they disagree.
    pub(crate) scope: String,
    /// Over all suspects.
    pub(crate) replicas: BTreeSet<String>,
}

fn texts(list: &Value) -> impl Iterator<Item = String> {
    list.as_array().unwrap().iter().map(|text| text.as_str().unwrap().to_owned())
}

fn operation(named: &Value) -> String {
    format!("{} {}", named["service"].as_str().unwrap(), named["operation"].as_str().unwrap())
}

impl Answer {
    /// What a report says.
    pub(crate) fn from_report(report: &Value) -> Answer {
        let suspects = report["suspects"].as_array().unwrap();
        let scopes: BTreeSet<&str> = suspects.iter().map(|s| s["scope"].as_str().unwrap()).collect();
        let scope = match scopes.len() {
            0 => "none",
            1 => scopes.first().unwrap(),
            _ => "mixed",
        };
        Answer {
            verdict: report["verdict"].as_str().unwrap().to_owned(),
            operations: suspects.iter().map(operation).collect(),
            scope: scope.to_owned(),
            replicas: suspects.iter().flat_map(|s| texts(&s["replicas"])).collect(),
        }
    }

    /// What `truth.json` says it should be.
    pub(crate) fn true_one(incident: &Incident) -> Answer {
        let expected = &incident.truth()["expected"];
        // What is slow on all replicas alike, throughout the window, may be usual: there is no baseline.
        let verdict = match expected["scope"].as_str().unwrap() {
            "all" => "tail",
            _ => expected["verdict"].as_str().unwrap(),
        };
        Answer {
            verdict: verdict.to_owned(),
            operations: expected["operations"].as_array().unwrap().iter().map(operation).collect(),
            scope: expected["scope"].as_str().unwrap().to_owned(),
            replicas: texts(&expected["replicas"]).collect(),
        }
    }
}
