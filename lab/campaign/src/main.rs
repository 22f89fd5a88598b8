//! `cargo xtask campaign`: breaks the bookstore in known ways under a live `laggard serve`, and compares what it says with the
//! truth.
//!
//! ```text
//! live:   bookstore + serve + agents ─► recording (a folder for each run) ─┐
//! replay: recording ─► times moved to now ─► serve ─► incidents ───────────┤
//!                                                                          ▼
//!         truth, incidents, answers, spans ─► judge, peers ─► results.jsonl, remarks.md ─► docs/campaign.md
//! ```
//!
//! Everything that is judged is in the recording, so that it can be judged again without the shop.

mod bookstore;
mod clauses;
mod history;
mod incidents;
mod judge;
mod live;
mod options;
mod page;
mod peers;
mod process;
mod recording;
mod replay;
mod results;
mod rules;
mod server;
mod shift;
mod truth;

use options::{Options, Work};
use recording::Recording;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// An error in words.
type CampaignError = String;

fn main() -> ExitCode {
    match Options::parse(std::env::args().skip(1)).and_then(|options| run(&options)) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            say(&error);
            ExitCode::FAILURE
        }
    }
}

fn run(options: &Options) -> Result<(), CampaignError> {
    match &options.work {
        Work::Live(faults) => live::run(options, faults, &mut |recording| judged(options, recording))?,
        Work::Replay(folders) => {
            for folder in folders {
                judged(options, &replay::run(options, &Recording::open(folder)?)?)?;
            }
        }
        Work::Judge(folders) => {
            for folder in folders {
                judged(options, &Recording::open(folder)?)?;
            }
        }
        Work::Note(run, text) => results::note(&options.results, run, text)?,
        Work::Page => {}
    }
    let remarks = std::fs::read_to_string(options.results.with_file_name("remarks.md")).unwrap_or_default();
    let text = page::page(&results::read(&options.results)?, &remarks);
    std::fs::write(&options.page, text).map_err(|error| in_file(&options.page, &error))
}

/// Judges a recording and keeps the result.
fn judged(options: &Options, recording: &Recording) -> Result<(), CampaignError> {
    let result = judge::judge(recording)?;
    say(&format!("{}: {}", recording.name(), result.in_short()));
    results::add(&options.results, result)
}

/// An error of a file.
fn in_file(path: &Path, error: &dyn std::fmt::Display) -> CampaignError {
    format!("{}: {error}", path.display())
}

/// A path in the repository.
fn repository(path: &str) -> PathBuf {
    Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../..")).join(path)
}

/// Progress and errors; a reader that went away is no reason to stop.
fn say(line: &str) {
    let _ = writeln!(std::io::stderr().lock(), "{line}");
}
