//! Runs the selected methods on the selected cases and scores the answers. `sets` supply cases, one list per family of
//! methods has its `Arms`, and the result is `Results`, from which `scorecard` writes its page.

use crate::arm::{ArmCase, Arms, MethodRow, Outcome};
use crate::case::{Case, Localizer, Question, SlowPeriod, Truth};
use crate::changes::{
    ChangeAnswer, ChangeCase, ChangeScore, DemandCase, DemandScore, EstimatedDemand, change_finders,
    demand_estimators, score_changes, score_demands,
};
use crate::executions::{
    ExecutionAnswer, ExecutionCase, ExecutionScore, execution_finders, score_executions,
};
use crate::hits::{HitCase, HitScore, HitSuspect, hit_finders, score_hits};
use crate::judge::{Judgment, Miss, judge};
use crate::measure::{Cost, measured};
use crate::methods::localizers;
use crate::patterns::{RequestMatrix, pattern_finders, score_patterns};
use crate::results::{GroupScore, LocalizerScore, Results};
use crate::sets::{Group, SetKind, visit};
use laggard_changes::Observations;
use laggard_diagnose::DiagnoseMethod;
use laggard_engine::Traces;
use std::num::NonZeroUsize;
use std::ops::Range;
use std::path::PathBuf;

/// Selection of what to evaluate, and how.
#[derive(Clone, Debug)]
pub struct Options {
    /// Folder of the measured data; without it only the simulator is run.
    pub data: Option<PathBuf>,
    /// Only groups whose `set/name` contains this.
    pub only: Option<String>,
    /// Only the methods of these names; all when there is none.
    pub methods: Vec<String>,
    /// First seed of simulated incidents.
    pub first_seed: u64,
    /// Seeds of each simulated incident.
    pub seeds: u64,
    /// Simulated requests of each of the three services.
    pub requests: u32,
    /// Only simulated days of the kind of system of this name.
    pub profile: Option<String>,
    /// Most calls of a case that Laggard's methods diagnose; all if absent.
    pub calls_max: Option<u64>,
}

impl Default for Options {
    fn default() -> Options {
        Options {
            data: None,
            only: None,
            methods: vec![],
            first_seed: 1,
            seeds: 5,
            requests: 2_700,
            profile: None,
            calls_max: None,
        }
    }
}

impl Options {
    fn seeds(&self) -> Range<u64> {
        self.first_seed..self.first_seed + self.seeds
    }

    /// Whether a method of this name is to be run.
    fn selects(&self, name: &str) -> bool {
        self.methods.is_empty() || self.methods.iter().any(|requested| requested == name)
    }
}

/// Runs what the options select; `progress` gets one line for each case.
///
/// # Errors
/// When no method or group has the requested name, or data cannot be read.
pub fn run(options: &Options, progress: &mut dyn FnMut(&str)) -> Result<Results, String> {
    let mut runner = Runner::new(options, progress);
    if runner.is_empty() {
        let known: Vec<String> = localizers(None).iter().map(|method| method.name().to_owned()).collect();
        return Err(format!("no such method; there is {}", known.join(", ")));
    }
    visit(options.data.as_deref(), &mut runner)?;
    let mut results = runner.results;
    if results.is_empty() {
        let sets = SetKind::ALL.map(SetKind::name).join(", ");
        return Err(format!("nothing was evaluated; the sets are {sets}"));
    }
    for set in results.sets().into_iter().filter(|set| set.is_simulated()) {
        let methods = results.methods_in(set).into_iter();
        results.seeds.insert(set, methods.map(|method| (method, options.seeds().collect())).collect());
    }
    Ok(results)
}

fn cores() -> NonZeroUsize {
    std::thread::available_parallelism().unwrap_or(NonZeroUsize::MIN)
}

/// The interface through which sets have their cases run.
pub(crate) struct Runner<'a> {
    options: &'a Options,
    localizers: Vec<Box<dyn Localizer>>,
    patterns: Arms<RequestMatrix, Vec<Vec<usize>>>,
    changes: Arms<Observations, ChangeAnswer>,
    demands: Arms<Observations, Vec<EstimatedDemand>>,
    executions: Arms<ExecutionCase, ExecutionAnswer>,
    hits: Arms<HitCase, Vec<HitSuspect>>,
    results: Results,
    progress: &'a mut dyn FnMut(&str),
}

/// One method's scored answer to a case.
pub(crate) struct Answered {
    pub(crate) method: usize,
    pub(crate) is_empty: bool,
    /// Where a fault is to be detected: whether anything is named.
    pub(crate) detected: Option<bool>,
    pub(crate) judgment: Judgment,
    pub(crate) cost: Cost,
}

/// The slow periods of one method.
pub(crate) struct ReportedPeriods {
    pub(crate) method: usize,
    pub(crate) periods: Result<Vec<SlowPeriod>, String>,
    pub(crate) cost: Cost,
}

/// The selected methods of a family, and their rows.
fn selected<I: ?Sized, O>(options: &Options, arms: Arms<I, O>) -> (Arms<I, O>, Vec<MethodRow>) {
    let arms: Arms<I, O> = arms.into_iter().filter(|arm| options.selects(arm.name())).collect();
    let rows = arms.iter().map(|arm| MethodRow::new(arm.as_ref())).collect();
    (arms, rows)
}

impl<'r> Runner<'r> {
    fn new(options: &'r Options, progress: &'r mut dyn FnMut(&str)) -> Runner<'r> {
        let mut results =
            Results { cores: cores().get(), requests: [options.requests].into(), ..Results::default() };
        let mut localizers = localizers(options.calls_max);
        localizers.retain(|method| options.selects(method.name()));
        let row = |method: &dyn Localizer| MethodRow {
            uses_baseline: method.uses_baseline(),
            ..MethodRow::new(method)
        };
        results.localizers.methods = localizers.iter().map(|method| row(method.as_ref())).collect();
        let (patterns, changes, demands, executions, hits);
        (patterns, results.patterns.methods) = selected(options, pattern_finders());
        (changes, results.changes.methods) = selected(options, change_finders());
        (demands, results.demands.methods) = selected(options, demand_estimators());
        (executions, results.executions.methods) = selected(options, execution_finders());
        (hits, results.hits.methods) = selected(options, hit_finders());
        Runner { options, localizers, patterns, changes, demands, executions, hits, results, progress }
    }

    fn is_empty(&self) -> bool {
        self.localizers.is_empty()
            && self.patterns.is_empty()
            && self.changes.is_empty()
            && self.demands.is_empty()
            && self.executions.is_empty()
            && self.hits.is_empty()
    }

    /// Whether any finder of requests that were hit is selected.
    pub(crate) fn has_hit_finders(&self) -> bool {
        !self.hits.is_empty()
    }

    /// Every finder of requests that were hit on a case, if its group is wanted.
    pub(crate) fn find_hits(&mut self, group: &Group, case: &HitCase) {
        if !self.wants(group) {
            return;
        }
        let input = ArmCase { group, name: &case.name, input: case, is_hit: true };
        self.results.hits.run(&self.hits, &input, |suspects| {
            suspects.map_or_else(HitScore::default, |suspects| score_hits(&case.truth, suspects))
        });
        self.report_progress(group, &case.name);
    }

    /// Whether any finder of changes is selected.
    pub(crate) fn has_change_finders(&self) -> bool {
        !self.changes.is_empty()
    }

    /// Whether any finder of anomalous executions is selected.
    pub(crate) fn has_execution_finders(&self) -> bool {
        !self.executions.is_empty()
    }

    fn report_progress(&mut self, group: &Group, case: &str) {
        (self.progress)(&format!("{}: {case}", group.path()));
    }

    /// Every finder of changes on a case, if its group is wanted.
    pub(crate) fn find_changes(&mut self, group: &Group, case: &ChangeCase) {
        if !self.wants(group) {
            return;
        }
        let input = ArmCase { group, name: &case.name, input: &case.observations, is_hit: true };
        self.results.changes.run(&self.changes, &input, |answer| {
            let words = answer.map(|answer| answer.words(&case.transactions)).unwrap_or_default();
            ChangeScore { words, ..score_changes(&case.truth, answer, case.observations.window_s) }
        });
        self.report_progress(group, &case.name);
    }

    /// Every estimator on a case, if its group is wanted.
    pub(crate) fn estimate_demands(&mut self, group: &Group, case: &DemandCase) {
        if !self.wants(group) {
            return;
        }
        let input = ArmCase { group, name: &case.name, input: &case.observations, is_hit: true };
        self.results.demands.run(&self.demands, &input, |estimates| {
            estimates.map_or_else(DemandScore::default, |estimates| score_demands(&case.demand_s, estimates))
        });
        self.report_progress(group, &case.name);
    }

    /// Every finder of anomalous executions on a case, if its group is wanted.
    pub(crate) fn find_executions(&mut self, group: &Group, case: &ExecutionCase) {
        if !self.wants(group) {
            return;
        }
        let input = ArmCase { group, name: &case.name, input: case, is_hit: true };
        self.results.executions.run(&self.executions, &input, |answer| {
            answer.map_or_else(ExecutionScore::default, |answer| score_executions(&case.truth, answer))
        });
        self.report_progress(group, &case.name);
    }

    /// Every pattern finder on a matrix, if its group is wanted. Those that always find something are not run
    /// where nothing was hit.
    pub(crate) fn find_patterns(&mut self, group: &Group, matrix: &RequestMatrix) {
        if !self.wants(group) {
            return;
        }
        let input = ArmCase { group, name: &matrix.name, input: matrix, is_hit: matrix.is_hit() };
        self.results.patterns.run(&self.patterns, &input, |groups| {
            let groups = groups.map(Vec::as_slice).unwrap_or_default();
            GroupScore { score: input.is_hit.then(|| score_patterns(matrix, groups)), groups: groups.len() }
        });
        self.report_progress(group, &matrix.name);
    }

    pub(crate) fn threads(&self) -> NonZeroUsize {
        cores()
    }

    pub(crate) fn seeds(&self) -> Range<u64> {
        self.options.seeds()
    }

    pub(crate) fn requests(&self) -> u32 {
        self.options.requests
    }

    pub(crate) fn wants(&self, group: &Group) -> bool {
        self.options.only.as_deref().is_none_or(|only| group.path().contains(only))
    }

    /// Whether days of a kind of system are wanted.
    pub(crate) fn wants_profile(&self, name: &str) -> bool {
        self.options.profile.as_deref().is_none_or(|requested| requested == name)
    }

    /// Whether any method reads assembled calls; Laggard's own assemble by themselves.
    pub(crate) fn needs_calls(&self) -> bool {
        self.localizers.iter().any(|method| !method.is_laggard())
    }

    /// Whether any group of a set could be wanted.
    pub(crate) fn wants_set(&self, set: SetKind) -> bool {
        let only = self.options.only.as_deref().unwrap_or_default();
        let of_other = SetKind::ALL.iter().any(|other| *other != set && only.starts_with(other.name()));
        !of_other
    }

    pub(crate) fn add_note(&mut self, note: String) {
        self.results.notes.push(note);
    }

    /// Every method on a case, if its group is wanted.
    pub(crate) fn run(&mut self, group: &Group, hours: f64, case: Case) {
        if !self.wants(group) {
            return;
        }
        let answered = self.answers(&case);
        self.add_outcomes(group, hours, &case.name, answered);
    }

    fn add_outcomes(&mut self, group: &Group, hours: f64, case: &str, answered: Vec<Answered>) {
        for answered in answered {
            self.results.localizers.outcomes.push(Outcome {
                group: group.clone(),
                case: case.to_owned(),
                method: answered.method,
                score: LocalizerScore {
                    hours,
                    detected: answered.detected,
                    false_alarms: usize::from(
                        answered.judgment.false_findings.is_some_and(|count| count > 0),
                    ),
                    judgment: answered.judgment,
                },
                error: None,
                cost: answered.cost,
            });
        }
        self.report_progress(group, case);
    }

    /// Every method on a case with a baseline that was also put without one, as a case of the same name in another
    /// group. Methods that ignore baselines would give the same answer; they are not run twice.
    pub(crate) fn run_compared(&mut self, alone: &Group, group: &Group, hours: f64, case: Case) {
        if !self.wants(group) {
            return;
        }
        let known = |scored: &&Outcome<LocalizerScore>| {
            scored.group == *alone
                && scored.case == case.name
                && !self.localizers[scored.method].uses_baseline()
        };
        let again: Vec<Outcome<LocalizerScore>> =
            self.results.localizers.outcomes.iter().filter(known).cloned().collect();
        let is_new = |method_index: usize| !again.iter().any(|scored| scored.method == method_index);
        let answered = self.answers_if(&case, is_new);
        self.results
            .localizers
            .outcomes
            .extend(again.into_iter().map(|scored| Outcome { group: group.clone(), ..scored }));
        self.add_outcomes(group, hours, &case.name, answered);
    }

    /// Every method's scored answer.
    pub(crate) fn answers(&self, case: &Case) -> Vec<Answered> {
        self.answers_if(case, |_| true)
    }

    fn answers_if(&self, case: &Case, is_wanted: impl Fn(usize) -> bool) -> Vec<Answered> {
        let can = |method: &dyn Localizer| method.detects() || case.question == Question::Explain;
        let methods = self.localizers.iter().enumerate();
        let methods =
            methods.filter(|(method_index, method)| is_wanted(*method_index) && can(method.as_ref()));
        methods.map(|(method_index, method)| answer(method_index, method.as_ref(), case)).collect()
    }

    /// The slow periods of every method that reports any.
    pub(crate) fn slow_periods(&self, traces: &Traces) -> Vec<ReportedPeriods> {
        let reported = self.localizers.iter().enumerate().filter_map(|(method, localizer)| {
            let (periods, cost) = measured(|| localizer.slow_periods(traces));
            Some(ReportedPeriods { method, periods: periods?, cost })
        });
        reported.collect()
    }

    /// The outcomes of Laggard's default method for the cases of a group.
    pub(crate) fn default_outcomes<'a>(
        &'a self,
        group: &'a Group,
    ) -> impl Iterator<Item = &'a Outcome<LocalizerScore>> {
        let name = DiagnoseMethod::default().name();
        let default = self.localizers.iter().position(|method| method.name() == name);
        self.results
            .localizers
            .outcomes
            .iter()
            .filter(move |scored| scored.group == *group && Some(scored.method) == default)
    }

    pub(crate) fn push(&mut self, outcome: Outcome<LocalizerScore>) {
        if self.wants(&outcome.group) {
            self.results.localizers.outcomes.push(outcome);
        }
    }
}

fn answer(method_index: usize, method: &dyn Localizer, case: &Case) -> Answered {
    let (answer, cost) = measured(|| method.answer(case));
    // Laggard assembles by itself; for the others it was done beforehand.
    let cost = if method.is_laggard() { cost } else { cost.plus(case.calls.cost) };
    let (is_empty, judgment) = match answer {
        Ok(answer) => (answer.is_empty(), judge(case, method, &answer)),
        Err(error) => {
            let miss = Miss { expected: "an answer".to_owned(), got: error };
            (true, Judgment { miss: Some(miss), ..Judgment::default() })
        }
    };
    let detected = matches!(case.truth, Truth::Fault(_)).then_some(!is_empty);
    Answered { method: method_index, is_empty, detected, judgment, cost }
}
