//! Laggard's own methods, by their rows in the registry.

use crate::case::{Answer, BaselineUse, Case, Decision, Localizer, OperationName};
use laggard_diagnose::{InputFacts, METHODS, SlowMethod, SlowSettings, diagnose};
use laggard_engine::LocalEngine;
use laggard_report::Report;
use std::num::NonZeroUsize;

/// More than anybody reads, so that precision sees everything that is named.
const SUSPECTS_MAX: usize = 1_000;

/// A method of the registry.
pub(super) struct Laggard {
    /// The word for `--method`.
    pub(super) name: &'static str,
}

/// The report of one of Laggard's methods on a case, with its default settings. This is the one place where the
/// case's baseline and the method's name are handed to the product.
///
/// # Errors
/// When the settings are refused.
pub fn laggard_report(case: &Case, method: &str) -> Result<Report, String> {
    let row = METHODS.iter().find(|row| row.name == method).ok_or("no such method")?;
    let settings = SlowSettings { method: row.method, suspects_max: SUSPECTS_MAX, ..SlowSettings::default() };
    let baseline = case.baseline.as_deref().filter(|_| row.method == SlowMethod::Combined);
    let threads = std::thread::available_parallelism().unwrap_or(NonZeroUsize::MIN);
    diagnose(&case.target, baseline, &InputFacts::default(), &settings, LocalEngine::new(threads))
        .map_err(|error| error.to_string())
}

impl Localizer for Laggard {
    fn name(&self) -> &str {
        self.name
    }

    fn is_ours(&self) -> bool {
        true
    }

    fn decision(&self) -> Decision {
        Decision::Decides
    }

    fn baseline_use(&self) -> BaselineUse {
        if self.name == SlowMethod::Combined.name() { BaselineUse::Used } else { BaselineUse::Ignored }
    }

    fn localize(&self, case: &Case) -> Result<Answer, String> {
        let report = laggard_report(case, self.name)?;
        let mut answer = Answer::default();
        for suspect in &report.suspects {
            let name = OperationName::new(&suspect.service, &suspect.operation);
            if !answer.operations.contains(&name) {
                answer.operations.push(name);
            }
        }
        for suspect in &report.replicas {
            if !answer.replicas.contains(&suspect.replica) {
                answer.replicas.push(suspect.replica.clone());
            }
        }
        Ok(answer)
    }
}
