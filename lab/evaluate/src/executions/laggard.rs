//! Laggard's own modes.

use super::{ExecutionAnswer, ExecutionCase, ReportedSteps};
use crate::arm::{Arm, Arms};
use laggard_align::{AlignMode, AlignSettings, ExecutionVerdict, Verdict, diagnose};

struct Mode {
    mode: AlignMode,
    name: String,
}

/// All modes, the default first.
pub(super) fn finders() -> Arms<ExecutionCase, ExecutionAnswer> {
    let row = |mode: AlignMode| Box::new(Mode { mode, name: format!("laggard {}", mode.name()) });
    AlignMode::ALL.into_iter().map(|mode| row(mode) as Box<_>).collect()
}

impl Arm<ExecutionCase, ExecutionAnswer> for Mode {
    fn name(&self) -> &str {
        &self.name
    }

    fn is_laggard(&self) -> bool {
        true
    }

    fn answer(&self, case: &ExecutionCase) -> Result<ExecutionAnswer, String> {
        let settings = AlignSettings { mode: self.mode, ..AlignSettings::default() };
        let diagnosis = diagnose(&case.normal, &case.sample, case.alphabet_len, &settings);
        let is_flagged = |&index: &usize| {
            matches!(diagnosis.sample[index].verdict, ExecutionVerdict::Anomalous | ExecutionVerdict::NewKind)
        };
        let occurrences = diagnosis.findings.iter().flat_map(|finding| &finding.occurrences);
        let steps = occurrences.map(|occurrence| ReportedSteps {
            execution: occurrence.execution,
            steps: occurrence.steps.clone(),
            excess_us: occurrence.excess_us,
        });
        Ok(ExecutionAnswer {
            is_alarm: !matches!(diagnosis.verdict, Verdict::NothingFound | Verdict::FewStandOut),
            normal_labels: diagnosis.normal.iter().map(|place| place.kind).collect(),
            sample_labels: diagnosis.sample.iter().map(|execution| execution.normal_kind).collect(),
            flagged: (0..case.sample.len()).filter(is_flagged).collect(),
            steps: Some(steps.collect()),
        })
    }
}
