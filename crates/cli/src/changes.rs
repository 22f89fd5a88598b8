//! `laggard changes`.

use crate::arguments::Changes;
use crate::diagnose::available_threads;
use crate::exit::{Failure, Status};
use crate::samples::{LoadedSamples, load_samples};
use crate::write::{Destination, write_changes};
use laggard_diagnose::{CHANGE_METHODS, ChangeMethod, ChangesQuestion, ToldDeployment, changes};
use laggard_report::{ChangeReport, ChangeVerdict};

pub(crate) fn run(arguments: &Changes) -> Result<Status, Failure> {
    let settings = arguments.thresholds.settings(method(&arguments.method)?);
    settings.check().map_err(Failure::usage)?;
    let threads = arguments.threads.unwrap_or_else(available_threads);
    let LoadedSamples { table, facts, deployments, cautions } = load_samples(&arguments.input, threads)?;
    let deployments: Vec<ToldDeployment> =
        deployments.into_iter().map(|one| ToldDeployment { time: one.time, name: one.name }).collect();
    let question = ChangesQuestion {
        table: &table,
        facts: &facts,
        deployments: &deployments,
        settings: &settings,
        threads,
    };
    let mut report = changes(&question).map_err(Failure::usage)?;
    report.cautions.extend(cautions);
    let destination =
        Destination { form: arguments.output, file: arguments.file.as_deref(), color: arguments.color };
    write_changes(&report, &destination)?;
    Ok(status(&report, arguments.exit_code))
}

fn method(name: &str) -> Result<ChangeMethod, Failure> {
    let known = CHANGE_METHODS.iter().find(|row| row.name.eq_ignore_ascii_case(name));
    known.map(|row| row.method).ok_or_else(|| {
        let names: Vec<&str> = CHANGE_METHODS.iter().map(|row| row.name).collect();
        Failure::usage(format!("there is no method {name:?}; there is {}", names.join(", ")))
    })
}

fn status(report: &ChangeReport, exit_code: bool) -> Status {
    match report.verdict {
        ChangeVerdict::ApplicationChange | ChangeVerdict::Anomaly if exit_code => Status::Suspects,
        ChangeVerdict::InsufficientData => Status::TooLittle,
        _ => Status::Done,
    }
}
