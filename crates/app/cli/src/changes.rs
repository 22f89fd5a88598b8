//! `laggard changes`.

use crate::arguments::Changes;
use crate::exit::{CommandError, Status};
use crate::samples::{LoadedSamples, load_samples};
use crate::write::write_changes;
use laggard_metrics_questions::{ChangesQuestion, changes};
use laggard_report::{ChangeReport, ChangeVerdict};

pub(crate) fn run(arguments: &Changes) -> Result<Status, CommandError> {
    let settings = arguments.question.settings().map_err(CommandError::usage)?;
    let threads = arguments.run.threads();
    let LoadedSamples { table, facts, deployments, cautions } = load_samples(&arguments.input, threads)?;
    let question = ChangesQuestion {
        table: &table,
        facts: &facts,
        deployments: &deployments,
        settings: &settings,
        threads,
    };
    let mut report = changes(&question).map_err(CommandError::usage)?;
    report.cautions.extend(cautions);
    write_changes(&report, &arguments.run.destination())?;
    Ok(status(&report, arguments.exit_code))
}

fn status(report: &ChangeReport, exit_code: bool) -> Status {
    match report.verdict {
        ChangeVerdict::ApplicationChange | ChangeVerdict::Anomaly if exit_code => Status::Suspects,
        ChangeVerdict::InsufficientData => Status::TooLittle,
        _ => Status::Done,
    }
}
