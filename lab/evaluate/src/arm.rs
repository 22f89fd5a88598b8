//! Common parts of all families of methods: a method under test, its outcome on a case, and the run of a family's
//! methods on one case.

use crate::group::{Group, SetKind};
use crate::measure::{Cost, measured};
use serde::{Deserialize, Serialize};

/// A method under test: from a case without its truth to an answer.
pub trait Arm<Input: ?Sized, Output>: Sync {
    /// Its name in the table.
    fn name(&self) -> &str;

    /// Whether it is one of Laggard's own.
    fn is_laggard(&self) -> bool {
        false
    }

    /// Whether it can report that nothing is wrong; others run only where something is.
    fn detects(&self) -> bool {
        true
    }

    /// Its answer.
    ///
    /// # Errors
    /// Why there is no answer; counts as nothing found.
    fn answer(&self, input: &Input) -> Result<Output, String>;
}

/// The methods of one family.
pub type Arms<Input, Output> = Vec<Box<dyn Arm<Input, Output>>>;

/// A method as the tables show it.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[expect(missing_docs, reason = "the names say it")]
pub struct MethodRow {
    pub name: String,
    pub is_laggard: bool,
    /// Whether it compares with a baseline where there is one.
    pub uses_baseline: bool,
}

impl MethodRow {
    /// The row of a method that knows no baseline.
    pub(crate) fn new<I: ?Sized, O>(arm: &(impl Arm<I, O> + ?Sized)) -> MethodRow {
        MethodRow { name: arm.name().to_owned(), is_laggard: arm.is_laggard(), uses_baseline: false }
    }
}

/// One method on one case.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Outcome<Score> {
    /// The group of cases.
    pub group: Group,
    /// The case's name.
    pub case: String,
    /// Index into [`Family::methods`].
    pub method: usize,
    /// How right the answer is.
    pub score: Score,
    /// Why there is no answer.
    pub error: Option<String>,
    /// Run time.
    pub cost: Cost,
}

/// The methods that answer one kind of question, and what they answered.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Family<Score> {
    /// Laggard's default first.
    pub methods: Vec<MethodRow>,
    /// In the order of the sets.
    pub outcomes: Vec<Outcome<Score>>,
}

impl<Score> Default for Family<Score> {
    fn default() -> Family<Score> {
        Family { methods: Vec::new(), outcomes: Vec::new() }
    }
}

impl<Score> Family<Score> {
    /// The outcomes of a set.
    pub(crate) fn in_set(&self, set: SetKind) -> Vec<&Outcome<Score>> {
        self.outcomes.iter().filter(|outcome| outcome.group.set == set).collect()
    }

    /// The index of the method of this name.
    pub fn position(&self, name: &str) -> Option<usize> {
        self.methods.iter().position(|row| row.name == name)
    }

    /// The index of Laggard's default.
    pub(crate) fn default_method(&self) -> Option<usize> {
        self.methods.iter().position(|row| row.is_laggard)
    }

    /// Runs every method on a case; `score` judges an answer, or that there is none.
    pub(crate) fn run<Input: ?Sized, Output>(
        &mut self,
        arms: &[Box<dyn Arm<Input, Output>>],
        case: &ArmCase<'_, Input>,
        score: impl Fn(Option<&Output>) -> Score,
    ) {
        for (method, arm) in arms.iter().enumerate().filter(|(_, arm)| case.is_hit || arm.detects()) {
            let (answer, cost) = measured(|| arm.answer(case.input));
            self.outcomes.push(Outcome {
                group: case.group.clone(),
                case: case.name.to_owned(),
                method,
                score: score(answer.as_ref().ok()),
                error: answer.err(),
                cost,
            });
        }
    }
}

/// A case as a family runs it.
pub(crate) struct ArmCase<'a, Input: ?Sized> {
    pub(crate) group: &'a Group,
    pub(crate) name: &'a str,
    pub(crate) input: &'a Input,
    /// Whether something is wrong in it.
    pub(crate) is_hit: bool,
}
