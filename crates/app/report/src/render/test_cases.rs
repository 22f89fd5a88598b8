//! A difference as a gate of continuous integration reads it: named cases, of which each passed, failed, or has no result.

use serde_json::Value;

/// A report that decides whether a change passes.
pub trait HasTestCases {
    /// The report as cases.
    fn test_cases(&self) -> TestCases<'_>;
}

/// The cases of a report.
#[derive(Clone, PartialEq, Debug)]
pub struct TestCases<'a> {
    /// The last word of `laggard …`, for names of suites and runs.
    pub(crate) name: &'static str,
    /// Version of the program that compared.
    pub(crate) version: &'a str,
    /// The file, or the set, whose results these are.
    pub(crate) file: &'a str,
    /// What can fail.
    pub(crate) rules: &'static [Rule],
    /// Every case, in the order of the report.
    pub(crate) cases: Vec<TestCase>,
    /// Facts about the report as a whole.
    pub(crate) properties: Value,
}

/// A kind of failure.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Rule {
    /// `transaction-slower`
    pub(crate) id: &'static str,
    /// The same as one word.
    pub(crate) name: &'static str,
    /// A phrase.
    pub(crate) title: &'static str,
    /// When it fails; a sentence.
    pub(crate) description: &'static str,
    /// What to do; a sentence or two.
    pub(crate) help: &'static str,
    /// One word for it.
    pub(crate) word: &'static str,
}

/// One transaction or operation.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct TestCase {
    /// Where it is: a server, a service.
    pub(crate) location: String,
    /// Its name there.
    pub(crate) name: String,
    /// How long it takes, if known.
    pub(crate) seconds: Option<f64>,
    pub(crate) outcome: TestOutcome,
    /// What is different: the predicate of a sentence, or why there is no result.
    pub(crate) clause: String,
    /// What makes it the same case in the next run: name of the scheme, and the value.
    pub(crate) fingerprint: (&'static str, String),
    /// Its figures.
    pub(crate) properties: Value,
}

/// Whether a case lets a change pass.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum TestOutcome {
    Passed,
    /// By the rule at this position.
    Failed(usize),
    /// Neither: there is nothing to compare it with, or too little.
    Skipped,
}
