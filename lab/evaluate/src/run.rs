//! Every method on every case.

use crate::case::{BaselineUse, Case, Localizer, Question, SlowPeriod};
use crate::changes::{
    ChangeCase, ChangeFinder, ChangeScore, DemandCase, DemandEstimator, DemandScore, change_finders,
    demand_estimators, score_changes, score_demands,
};
use crate::executions::{
    ExecutionCase, ExecutionFinder, ExecutionScore, execution_finders, score_executions,
};
use crate::judge::{Judgment, Miss, judge};
use crate::measure::{Cost, measured};
use crate::methods::localizers;
use crate::patterns::{PatternFinder, PatternScore, RequestMatrix, pattern_finders, score_patterns};
use crate::sets::{Group, SetKind, visit};
use laggard_engine::Traces;
use std::num::NonZeroUsize;
use std::path::PathBuf;

/// What is evaluated.
#[derive(Clone, Debug)]
pub struct Options {
    /// Folder of the measured data; without it only the simulator is run.
    pub data: Option<PathBuf>,
    /// Only groups whose `set/name` contains this.
    pub only: Option<String>,
    /// Only the method of this name.
    pub method: Option<String>,
    /// First seed of simulated incidents.
    pub first_seed: u64,
    /// Seeds of each simulated incident.
    pub seeds: u64,
    /// Simulated requests of each of the three services.
    pub requests: u32,
}

impl Default for Options {
    fn default() -> Options {
        Options { data: None, only: None, method: None, first_seed: 1, seeds: 5, requests: 2_700 }
    }
}

/// One method on one case.
#[derive(Clone, Debug)]
pub struct Outcome {
    /// Where the case belongs.
    pub group: Group,
    /// The case's name.
    pub case: String,
    /// Index into [`Results::methods`].
    pub method: usize,
    /// Length of a quiet window in hours; 0 where false findings are not counted by the hour.
    pub hours: f64,
    /// In a scan: whether the fault raised an alarm in time.
    pub detected: Option<bool>,
    /// Alarms raised where nothing is wrong: at most one for a case, any number for a run over much data.
    pub false_alarms: usize,
    /// The verdict.
    pub judgment: Judgment,
    /// Run time, assembly included.
    pub cost: Cost,
}

/// One pattern finder on one matrix.
#[derive(Clone, Debug)]
pub struct PatternOutcome {
    /// Where the matrix belongs.
    pub group: Group,
    /// The matrix's name.
    pub case: String,
    /// Index into [`Results::finders`].
    pub finder: usize,
    /// The verdict; `None` where nothing was hit, so that every group named is a false finding.
    pub score: Option<PatternScore>,
    /// Groups named.
    pub found: usize,
    /// Why there is no answer.
    pub error: Option<String>,
    /// Run time.
    pub cost: Cost,
}

/// One change finder on one case.
#[derive(Clone, Debug)]
pub struct ChangeOutcome {
    /// Where the case belongs.
    pub group: Group,
    /// The case's name.
    pub case: String,
    /// Index into [`Results::change_finders`].
    pub finder: usize,
    /// The verdict.
    pub score: ChangeScore,
    /// The answer in words, where it is not right.
    pub got: String,
    /// Run time.
    pub cost: Cost,
}

/// One estimator on one case.
#[derive(Clone, Debug)]
pub struct DemandOutcome {
    /// Where the case belongs.
    pub group: Group,
    /// The case's name.
    pub case: String,
    /// Index into [`Results::estimators`].
    pub estimator: usize,
    /// The score.
    pub score: DemandScore,
    /// Why there is no answer.
    pub error: Option<String>,
    /// Run time.
    pub cost: Cost,
}

/// One method on two sets of executions.
#[derive(Clone, Debug)]
pub struct ExecutionOutcome {
    /// Where the case belongs.
    pub group: Group,
    /// The case's name.
    pub case: String,
    /// Index into [`Results::execution_finders`].
    pub finder: usize,
    /// The score.
    pub score: ExecutionScore,
    /// Run time.
    pub cost: Cost,
}

/// A method as the table shows it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct MethodRow {
    /// Its name.
    pub name: String,
    /// Whether it is Laggard's.
    pub is_laggard: bool,
    /// Whether it compares with a baseline where there is one.
    pub uses_baseline: bool,
}

/// Everything that was measured.
#[derive(Clone, Debug, Default)]
pub struct Results {
    /// Methods, Laggard's default first.
    pub methods: Vec<MethodRow>,
    /// Pattern finders.
    pub finders: Vec<MethodRow>,
    /// Finders of changes.
    pub change_finders: Vec<MethodRow>,
    /// Estimators of demands.
    pub estimators: Vec<MethodRow>,
    /// Finders of anomalous executions.
    pub execution_finders: Vec<MethodRow>,
    /// In the order of the sets.
    pub outcomes: Vec<Outcome>,
    /// Of the matrices.
    pub patterns: Vec<PatternOutcome>,
    /// Of windows with changes, or without.
    pub changes: Vec<ChangeOutcome>,
    /// Of windows with known demands.
    pub demands: Vec<DemandOutcome>,
    /// Of sets of executions.
    pub executions: Vec<ExecutionOutcome>,
    /// What a reader must know: sets that are absent, faults without data.
    pub notes: Vec<String>,
    /// Processor cores of the machine.
    pub cores: usize,
}

/// Runs what the options ask for; `progress` hears one line a case.
///
/// # Errors
/// When no method or group has the requested name, or data cannot be read.
pub fn run(options: &Options, progress: &mut dyn FnMut(&str)) -> Result<Results, String> {
    let wants = |name: &str| options.method.as_deref().is_none_or(|wanted| wanted == name);
    let mut runner = Runner {
        options,
        localizers: localizers().into_iter().filter(|method| wants(method.name())).collect(),
        finders: pattern_finders().into_iter().filter(|finder| wants(finder.name())).collect(),
        change_finders: change_finders().into_iter().filter(|finder| wants(finder.name())).collect(),
        estimators: demand_estimators().into_iter().filter(|one| wants(one.name())).collect(),
        execution_finders: execution_finders().into_iter().filter(|one| wants(one.name())).collect(),
        results: Results { cores: cores().get(), ..Results::default() },
        progress,
    };
    if runner.is_empty() {
        let known: Vec<String> = localizers().iter().map(|method| method.name().to_owned()).collect();
        return Err(format!("no such method; there is {}", known.join(", ")));
    }
    let rows = runner.localizers.iter().map(|method| MethodRow {
        name: method.name().to_owned(),
        is_laggard: method.is_laggard(),
        uses_baseline: method.baseline_use() == BaselineUse::Used,
    });
    runner.results.methods = rows.collect();
    let rows = runner.finders.iter().map(|finder| MethodRow {
        name: finder.name().to_owned(),
        is_laggard: finder.is_laggard(),
        uses_baseline: false,
    });
    runner.results.finders = rows.collect();
    let row = |name: &str, is_laggard| MethodRow { name: name.to_owned(), is_laggard, uses_baseline: false };
    let rows = runner.change_finders.iter().map(|finder| row(finder.name(), finder.is_laggard()));
    runner.results.change_finders = rows.collect();
    let rows = runner.estimators.iter().map(|one| row(one.name(), one.is_laggard()));
    runner.results.estimators = rows.collect();
    let rows = runner.execution_finders.iter().map(|one| row(one.name(), one.is_laggard()));
    runner.results.execution_finders = rows.collect();
    visit(options.data.as_deref(), &mut runner)?;
    if runner.results.is_empty() {
        let sets = SetKind::ALL.map(SetKind::name).join(", ");
        return Err(format!("nothing was evaluated; the sets are {sets}"));
    }
    Ok(runner.results)
}

fn cores() -> NonZeroUsize {
    std::thread::available_parallelism().unwrap_or(NonZeroUsize::MIN)
}

/// What sets use to have their cases run.
pub(crate) struct Runner<'a> {
    options: &'a Options,
    localizers: Vec<Box<dyn Localizer>>,
    finders: Vec<Box<dyn PatternFinder>>,
    change_finders: Vec<Box<dyn ChangeFinder>>,
    estimators: Vec<Box<dyn DemandEstimator>>,
    execution_finders: Vec<Box<dyn ExecutionFinder>>,
    results: Results,
    progress: &'a mut dyn FnMut(&str),
}

/// One method's scored answer to a case.
pub(crate) struct Answered {
    pub(crate) method: usize,
    pub(crate) is_empty: bool,
    pub(crate) judgment: Judgment,
    pub(crate) cost: Cost,
}

/// The slow periods of one method.
pub(crate) struct ReportedPeriods {
    pub(crate) method: usize,
    pub(crate) periods: Result<Vec<SlowPeriod>, String>,
    pub(crate) cost: Cost,
}

impl Results {
    fn is_empty(&self) -> bool {
        self.outcomes.is_empty()
            && self.patterns.is_empty()
            && self.changes.is_empty()
            && self.demands.is_empty()
            && self.executions.is_empty()
    }
}

impl Runner<'_> {
    fn is_empty(&self) -> bool {
        self.localizers.is_empty()
            && self.finders.is_empty()
            && self.change_finders.is_empty()
            && self.estimators.is_empty()
            && self.execution_finders.is_empty()
    }

    /// Whether any finder of changes is selected.
    pub(crate) fn has_change_finders(&self) -> bool {
        !self.change_finders.is_empty()
    }

    /// Every finder of changes on a case, if its group is wanted.
    pub(crate) fn find_changes(&mut self, group: &Group, case: &ChangeCase) {
        if !self.wants(group) {
            return;
        }
        for (at, finder) in self.change_finders.iter().enumerate() {
            let (answer, cost) = measured(|| finder.find(&case.observations));
            let score = score_changes(&case.truth, answer.as_ref().ok(), case.observations.window_s);
            self.results.changes.push(ChangeOutcome {
                group: group.clone(),
                case: case.name.clone(),
                finder: at,
                got: answer.map_or_else(|error| error, |answer| answer.words(&case.transactions)),
                score,
                cost,
            });
        }
        (self.progress)(&format!("{}: {}", group.path(), case.name));
    }

    /// Every estimator on a case, if its group is wanted.
    pub(crate) fn estimate_demands(&mut self, group: &Group, case: &DemandCase) {
        if !self.wants(group) {
            return;
        }
        for (at, estimator) in self.estimators.iter().enumerate() {
            let (answer, cost) = measured(|| estimator.estimate(&case.observations));
            let (score, error) = match answer {
                Ok(estimates) => (score_demands(&case.demand_s, &estimates), None),
                Err(error) => (DemandScore::default(), Some(error)),
            };
            let (group, case) = (group.clone(), case.name.clone());
            self.results.demands.push(DemandOutcome { group, case, estimator: at, score, error, cost });
        }
        (self.progress)(&format!("{}: {}", group.path(), case.name));
    }

    /// Whether any finder of anomalous executions is selected.
    pub(crate) fn has_execution_finders(&self) -> bool {
        !self.execution_finders.is_empty()
    }

    /// Every finder of anomalous executions on a case, if its group is wanted.
    pub(crate) fn find_executions(&mut self, group: &Group, case: &ExecutionCase) {
        if !self.wants(group) {
            return;
        }
        for (at, finder) in self.execution_finders.iter().enumerate() {
            let (answer, cost) = measured(|| finder.find(case));
            let score = score_executions(&case.truth, &answer);
            let (group, case) = (group.clone(), case.name.clone());
            self.results.executions.push(ExecutionOutcome { group, case, finder: at, score, cost });
        }
        (self.progress)(&format!("{}: {}", group.path(), case.name));
    }

    pub(crate) fn threads(&self) -> NonZeroUsize {
        cores()
    }

    pub(crate) fn seeds(&self) -> std::ops::Range<u64> {
        self.options.first_seed..self.options.first_seed + self.options.seeds
    }

    pub(crate) fn requests(&self) -> u32 {
        self.options.requests
    }

    pub(crate) fn wants(&self, group: &Group) -> bool {
        self.options.only.as_deref().is_none_or(|only| group.path().contains(only))
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

    pub(crate) fn add_note(&mut self, add_note: String) {
        self.results.notes.push(add_note);
    }

    /// Every method on a case, if its group is wanted.
    pub(crate) fn run(&mut self, group: &Group, hours: f64, case: Case) {
        if !self.wants(group) {
            return;
        }
        let answered = self.answers(&case);
        self.keep(group, hours, &case.name, answered);
    }

    fn keep(&mut self, group: &Group, hours: f64, case: &str, answered: Vec<Answered>) {
        for answered in answered {
            self.results.outcomes.push(Outcome {
                group: group.clone(),
                case: case.to_owned(),
                method: answered.method,
                hours,
                detected: None,
                false_alarms: usize::from(answered.judgment.false_findings.is_some_and(|count| count > 0)),
                judgment: answered.judgment,
                cost: answered.cost,
            });
        }
        (self.progress)(&format!("{}: {case}", group.path()));
    }

    /// Every method on a case with a baseline that was also put without one, as a case of the same name in another
    /// group. Methods that ignore baselines would give the same answer; they are not run twice.
    pub(crate) fn run_compared(&mut self, alone: &Group, group: &Group, hours: f64, case: Case) {
        if !self.wants(group) {
            return;
        }
        let known = |one: &&Outcome| {
            one.group == *alone
                && one.case == case.name
                && self.localizers[one.method].baseline_use() == BaselineUse::Ignored
        };
        let again: Vec<Outcome> = self.results.outcomes.iter().filter(known).cloned().collect();
        let asked = |at: usize| !again.iter().any(|one| one.method == at);
        let answered = self.answers_of(&case, asked);
        self.results.outcomes.extend(again.into_iter().map(|one| Outcome { group: group.clone(), ..one }));
        self.keep(group, hours, &case.name, answered);
    }

    /// Every method's scored answer.
    pub(crate) fn answers(&self, case: &Case) -> Vec<Answered> {
        self.answers_of(case, |_| true)
    }

    fn answers_of(&self, case: &Case, asked: impl Fn(usize) -> bool) -> Vec<Answered> {
        let can = |method: &dyn Localizer| method.detects() || case.question == Question::Explain;
        let methods = self.localizers.iter().enumerate();
        let asked = methods.filter(|(at, method)| asked(*at) && can(method.as_ref()));
        asked.map(|(at, method)| answer(at, method.as_ref(), case)).collect()
    }

    /// The slow periods of every method that reports any.
    pub(crate) fn slow_periods(&self, traces: &Traces) -> Vec<ReportedPeriods> {
        let asked = self.localizers.iter().enumerate().filter_map(|(method, localizer)| {
            let (told, cost) = measured(|| localizer.slow_periods(traces));
            Some(ReportedPeriods { method, periods: told?, cost })
        });
        asked.collect()
    }

    /// The outcomes of Laggard's default method for the cases of a group.
    pub(crate) fn default_outcomes<'a>(&'a self, group: &'a Group) -> impl Iterator<Item = &'a Outcome> {
        let default = self.localizers.iter().position(|method| method.is_laggard());
        self.results.outcomes.iter().filter(move |one| one.group == *group && Some(one.method) == default)
    }

    pub(crate) fn push(&mut self, outcome: Outcome) {
        if self.wants(&outcome.group) {
            self.results.outcomes.push(outcome);
        }
    }

    /// Every pattern finder on a matrix, if its group is wanted. Those that always find something are not run
    /// where nothing was hit.
    pub(crate) fn find_patterns(&mut self, group: &Group, matrix: &RequestMatrix) {
        if !self.wants(group) {
            return;
        }
        let is_hit = matrix.is_hit();
        let asked = self.finders.iter().enumerate().filter(|(_, finder)| is_hit || finder.detects());
        for (at, finder) in asked {
            let (answer, cost) = measured(|| finder.find(matrix));
            let (found, error) = match answer {
                Ok(found) => (found, None),
                Err(error) => (Vec::new(), Some(error)),
            };
            self.results.patterns.push(PatternOutcome {
                group: group.clone(),
                case: matrix.name.clone(),
                finder: at,
                score: is_hit.then(|| score_patterns(matrix, &found)),
                found: found.len(),
                error,
                cost,
            });
        }
        (self.progress)(&format!("{}: {}", group.path(), matrix.name));
    }
}

fn answer(at: usize, method: &dyn Localizer, case: &Case) -> Answered {
    let (answer, cost) = measured(|| method.localize(case));
    // Laggard assembles by itself; for the others it was done beforehand.
    let cost = if method.is_laggard() { cost } else { cost.plus(case.calls.cost) };
    match answer {
        Ok(answer) => {
            let judgment = judge(case, method, &answer);
            Answered { method: at, is_empty: answer.is_empty(), judgment, cost }
        }
        Err(error) => {
            let miss = Miss { expected: "an answer".to_owned(), got: error };
            let judgment = Judgment { miss: Some(miss), ..Judgment::default() };
            Answered { method: at, is_empty: true, judgment, cost }
        }
    }
}
