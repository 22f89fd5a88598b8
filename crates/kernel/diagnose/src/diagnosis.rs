//! A sample of executions against normal ones, from runs to a report.

pub use crate::sequences::{AlphabetChoice, KernelDiagnoseSettings, KernelSet, SequenceSettings};

use crate::deviations::{Deviations, deviations};
use crate::foreign_load::ForeignLoad;
use crate::names::{label, quoted};
use crate::read::{KernelRun, input};
use crate::sequences::{Member, Sequenced, Sequencer};
use crate::timeline::{TimelineInput, timeline};
use crate::{aligned, presentation, remarks};
use laggard_align::{AlignMode, AlignSettings, Diagnosis, Verdict};
use laggard_report::{
    KERNEL_DIAGNOSIS_SCHEMA_VERSION, KernelDiagnosis, KernelVerdict, PathTimeline, SetOfExecutions, Setting,
    kernel_diagnosis_headline,
};
use laggard_settings::Settings;

/// The parameters of a diagnosis of runs.
#[derive(Clone, Debug)]
pub struct KernelDiagnosisQuestion {
    /// The normal set.
    pub normal: KernelSet,
    /// The set that is compared with it.
    pub sample: KernelSet,
    /// How executions are converted to sequences.
    pub sequences: SequenceSettings,
    /// How sequences are compared.
    pub align: AlignSettings,
    /// The settings, for the report.
    pub settings: Vec<Setting>,
}

/// Compares a sample of executions with normal ones.
///
/// # Errors
/// A window or a setting that does not fit, as a sentence.
pub fn diagnose_kernel(
    runs: &[KernelRun],
    question: &KernelDiagnosisQuestion,
) -> Result<KernelDiagnosis, String> {
    question.align.check().map_err(|error| error.to_string())?;
    let mut sequencer = Sequencer::new(runs, &question.sequences);
    let most = question.sequences.executions_max;
    let (normal, normal_left) = sequencer.executions(&question.normal, most)?;
    let (sample, sample_left) = sequencer.executions(&question.sample, most)?;
    sequencer.learn(&normal);
    sequencer.learn(&sample);
    let mut report = empty(runs, question);
    let normal = sequencer.sequences(normal, normal_left, &mut report.input.losses);
    let sample = sequencer.sequences(sample, sample_left, &mut report.input.losses);
    report.normal = presentation::set(&question.normal, &normal);
    report.sample = presentation::set(&question.sample, &sample);
    let symbols = sequencer.alphabet.len();
    let mut diagnosis =
        laggard_align::diagnose(&normal.sequences, &sample.sequences, symbols, &question.align);
    let mut caution = None;
    if question.align.mode == AlignMode::Robust {
        let load = ForeignLoad::new(&diagnosis, &normal, &sample);
        diagnosis.excuse(&load.excused, question.align.outlier_chance);
        caution = load.caution();
    }
    fill(&mut report, &diagnosis, &sequencer, &normal, &sample);
    report.cautions.extend(caution);
    report.headline = kernel_diagnosis_headline(&report);
    Ok(report)
}

fn empty(runs: &[KernelRun], question: &KernelDiagnosisQuestion) -> KernelDiagnosis {
    KernelDiagnosis {
        schema_version: KERNEL_DIAGNOSIS_SCHEMA_VERSION,
        report: "kernel-diagnosis",
        verdict: KernelVerdict::InsufficientData,
        headline: String::new(),
        input: input(runs),
        question: remarks::question(runs),
        normal: SetOfExecutions::default(),
        sample: SetOfExecutions::default(),
        alphabet: Vec::new(),
        state_averages: Vec::new(),
        clusters: Vec::new(),
        anomalous: Vec::new(),
        waits: Vec::new(),
        steps: Vec::new(),
        alignments: Vec::new(),
        durations: Vec::new(),
        projection: None,
        timelines: Vec::new(),
        cautions: Vec::new(),
        missing: Vec::new(),
        ruled_out: Vec::new(),
        method: method(question.align.mode.name()),
        settings: question.settings.clone(),
    }
}

fn method(mode: &str) -> String {
    format!("{mode}: kinds by density, executions compared within their kind, then aligned step by step")
}

fn fill(
    report: &mut KernelDiagnosis,
    diagnosis: &Diagnosis,
    sequencer: &Sequencer<'_>,
    normal: &Sequenced,
    sample: &Sequenced,
) {
    report.alphabet = sequencer.symbol_names();
    report.state_averages = presentation::state_averages(diagnosis);
    report.clusters = presentation::clusters(diagnosis, normal, sample);
    report.durations = presentation::durations(diagnosis, normal, sample);
    report.projection = presentation::projection(diagnosis);
    let Deviations { waits, steps, largest } = deviations(diagnosis, sequencer, sample, &report.alphabet);
    (report.waits, report.steps) = (waits, steps);
    report.anomalous = presentation::executions(diagnosis, sequencer, sample, &largest);
    report.alignments = aligned::alignments(diagnosis, normal, sample);
    report.timelines = timelines(report, diagnosis, sequencer, normal, sample);
    report.verdict = match diagnosis.verdict {
        Verdict::NothingFound => KernelVerdict::NothingFound,
        Verdict::ExecutionsStandOut => KernelVerdict::Slower,
        Verdict::FewStandOut => KernelVerdict::FewSlower,
        Verdict::SlowerOverall => KernelVerdict::SlowerOverall,
        Verdict::TooFew => KernelVerdict::InsufficientData,
    };
    report.cautions = remarks::diagnosis_cautions(sequencer.runs, report, diagnosis);
    report.missing = remarks::diagnosis_missing(sequencer.runs, report, diagnosis);
    report.ruled_out = remarks::ruled_out(report);
}

/// The anomalous execution with the largest excess, and the most typical normal one of its kind.
fn timelines(
    report: &KernelDiagnosis,
    diagnosis: &Diagnosis,
    sequencer: &Sequencer<'_>,
    normal: &Sequenced,
    sample: &Sequenced,
) -> Vec<PathTimeline> {
    let Some(worst) = report.anomalous.first() else { return Vec::new() };
    let index = (worst.number - 1) as usize;
    let kind = diagnosis.sample.get(index).and_then(|execution| execution.normal_kind);
    let typical = kind.and_then(|kind| diagnosis.normal_kinds.get(kind)).map(|kind| kind.medoid);
    let drawn = [
        sample.members.get(index).map(|member| (member, index, "of the sample, with the largest excess")),
        typical.and_then(|index| {
            Some((normal.members.get(index)?, index, "of the normal set, typical of its kind"))
        }),
    ];
    drawn
        .into_iter()
        .flatten()
        .filter_map(|(member, index, role)| draw(sequencer, member, index, role))
        .collect()
}

fn draw(sequencer: &Sequencer<'_>, member: &Member, index: usize, role: &str) -> Option<PathTimeline> {
    let (graph, path) = sequencer.path(member.run, &member.execution)?;
    let name = label(&member.execution, "");
    let name = if name.is_empty() { String::new() } else { format!(" ({})", quoted(&name)) };
    let title = format!("execution {}{name} {role}", index + 1);
    let run = &sequencer.runs[member.run];
    Some(timeline(TimelineInput { run, graph, path: &path, execution: index as u64 + 1, title }))
}
