//! A case with its truth, and what a method makes of it.

use crate::arm::Arm;
use crate::calls::CaseCalls;
use crate::measure::Cost;
use laggard_engine::Traces;
use laggard_simulate::DayTruth;
use std::collections::BTreeSet;
use std::sync::Arc;

/// An operation as people know it. The span kind is left out: naming either end of a call counts.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
#[expect(missing_docs, reason = "the names say it")]
pub struct OperationName {
    pub service: String,
    pub operation: String,
}

impl OperationName {
    /// From borrowed names.
    pub fn new(service: &str, operation: &str) -> OperationName {
        OperationName { service: service.to_owned(), operation: operation.to_owned() }
    }
}

impl std::fmt::Display for OperationName {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} {}", self.service, self.operation)
    }
}

/// Ground truth of a case.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Truth {
    /// Nothing is wrong: nothing may be named.
    Quiet,
    /// Some operation is slow on all replicas; any of them may be named, but no replica may be.
    SomethingEverywhere,
    /// Exactly these replicas are slow; operations do not count.
    Replicas(BTreeSet<String>),
    /// One of these operations is to be named first, with exactly these replicas (none: it is slow everywhere).
    Operations {
        /// Any of them is right at the top.
        culprits: BTreeSet<OperationName>,
        /// Replicas of the fault.
        replicas: BTreeSet<String>,
    },
    /// This replica is the culprit; operations count for the replicas they run on.
    Replica(String),
    /// The first name is to be the target of this fault: its operation, with its replica or tenant where it has one, or
    /// the two services of its edge.
    Fault(DayTruth),
}

/// One question with a known answer.
pub struct Case {
    /// Name, unique within its group: a file, a seed, a fault.
    pub name: String,
    /// The traces to explain.
    pub target: Arc<Traces>,
    /// Traces of a time to compare with.
    pub baseline: Option<Arc<Traces>>,
    /// Both as call trees under common names, for methods that are not Laggard's.
    pub calls: CaseCalls,
    /// The right answer.
    pub truth: Truth,
    /// The question that methods answer.
    pub question: Question,
}

impl Case {
    /// The same case without its baseline, which pays for the assembly of its own requests only.
    pub(crate) fn without_baseline(&self) -> Case {
        let calls = &self.calls;
        let all = calls.target.len() + calls.baseline.as_ref().map_or(0, Vec::len);
        let part = calls.target.len() as f64 / all.max(1) as f64;
        let cost = Cost { wall_s: calls.cost.wall_s * part, processor_s: calls.cost.processor_s * part };
        Case {
            name: self.name.clone(),
            target: Arc::clone(&self.target),
            baseline: None,
            calls: CaseCalls {
                names: Arc::clone(&calls.names),
                target: calls.target.clone(),
                baseline: None,
                cost,
            },
            truth: self.truth.clone(),
            question: self.question,
        }
    }
}

/// The question of a case.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Question {
    /// Something is wrong: what?
    Explain,
    /// Is anything wrong, and what?
    Detect,
}

/// The answer of a method.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Answer {
    /// Operations, the most suspicious first, each once. Empty with `replicas` empty: nothing found.
    pub operations: Vec<OperationName>,
    /// Replicas, the most suspicious first, each once.
    pub replicas: Vec<String>,
    /// Evidence for each as text; shown where nothing should have been named.
    pub reasons: Vec<String>,
    /// The method's statements about the first operation.
    pub first: FirstSuspect,
    /// The answer in one sentence, of methods that have one; shown with a wrong answer.
    pub sentence: String,
}

/// The first operation that a method names.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct FirstSuspect {
    /// Replicas on which it is slow or fails.
    pub replicas: Vec<String>,
    /// Caller's and callee's service, when calls between the two are slow.
    pub between: Option<(String, String)>,
    /// Keys and values of attributes that slow or failing calls have in common.
    pub attributes: Vec<(String, String)>,
}

impl Answer {
    /// Whether nothing is named.
    pub fn is_empty(&self) -> bool {
        self.operations.is_empty() && self.replicas.is_empty()
    }
}

/// A period in which requests took longer than in the rest of the data.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct SlowPeriod {
    /// Its start, nanoseconds since the Unix epoch.
    pub since_ns: i64,
    /// Its end.
    pub until_ns: i64,
    /// Services of what was slow in it, the most excess first, each once.
    pub services: Vec<String>,
}

/// A method that names operations and replicas.
pub trait Localizer: Arm<Case, Answer> {
    /// Whether it names only what it believes in. Others rank everything, and are scored as if the number to name were
    /// known.
    fn decides(&self) -> bool {
        false
    }

    /// Whether it compares with a baseline where there is one.
    fn uses_baseline(&self) -> bool {
        true
    }

    /// When requests were slow, in order of time, found in traces without other input; `None` from methods
    /// that do not report times.
    fn slow_periods(&self, _traces: &Traces) -> Option<Result<Vec<SlowPeriod>, String>> {
        None
    }
}
