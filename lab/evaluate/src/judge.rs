//! An answer against the truth.

use crate::case::{Answer, Case, Localizer, OperationName, Truth};
use laggard_simulate::DayTruth;
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;

/// How many shown names a miss lists.
const NAMES_SHOWN: usize = 6;

/// The named operations compared with those that should be named.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Retrieval {
    /// Names in the answer.
    pub named: usize,
    /// Of these, the right ones.
    pub right: usize,
    /// Names in the truth.
    pub expected: usize,
}

impl Retrieval {
    /// Share of the named that is right; 1 when nothing is named and nothing should be, else 0 for nothing named.
    pub fn precision(&self) -> f64 {
        match (self.named, self.expected) {
            (0, 0) => 1.0,
            (0, _) => 0.0,
            _ => self.right as f64 / self.named as f64,
        }
    }

    /// Share of the expected that is named; 1 when nothing is expected.
    pub fn recall(&self) -> f64 {
        if self.expected == 0 { 1.0 } else { self.right as f64 / self.expected as f64 }
    }

    /// All and only.
    pub fn is_exact(&self) -> bool {
        self.named == self.expected && self.right == self.expected
    }
}

/// The verdict on one answer.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
pub struct Judgment {
    /// For rankings: the rank of the first right name, from 1; `Some(None)` when no name is right.
    #[serde(with = "rank_number")]
    pub rank: Option<Option<usize>>,
    /// For replicas besides operations: the rank of the first right replica.
    #[serde(with = "rank_number")]
    pub replica_rank: Option<Option<usize>>,
    /// For sets of replicas.
    pub replicas: Option<Retrieval>,
    /// Where nothing is wrong: how many things were named all the same.
    pub false_findings: Option<usize>,
    /// Whether the answer is completely right.
    pub right: bool,
    /// When it is not: what was expected, and what came.
    pub miss: Option<Miss>,
}

/// Ranks as numbers, because JSON cannot distinguish `Some(None)` from `None`: 0 when no name is right.
mod rank_number {
    use serde::{Deserialize, Deserializer, Serialize, Serializer};

    pub(super) fn serialize<S: Serializer>(
        rank: &Option<Option<usize>>,
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        rank.map(Option::unwrap_or_default).serialize(serializer)
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(
        deserializer: D,
    ) -> Result<Option<Option<usize>>, D::Error> {
        let number = Option::<usize>::deserialize(deserializer)?;
        Ok(number.map(|number| (number > 0).then_some(number)))
    }
}

/// A wrong answer.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug, Serialize, Deserialize)]
#[expect(missing_docs, reason = "the names say it")]
pub struct Miss {
    pub expected: String,
    pub got: String,
}

/// Scores an answer.
pub fn judge(case: &Case, method: &dyn Localizer, answer: &Answer) -> Judgment {
    // For a ranking, the number of right names is assumed to be known, as to a person who reads it.
    let counted = |expected: usize| {
        if method.decides() { answer.replicas.len() } else { expected.min(answer.replicas.len()) }
    };
    let replicas_against = |truth: &BTreeSet<String>| {
        let named = &answer.replicas[..counted(truth.len())];
        let right = named.iter().filter(|name| truth.contains(*name)).count();
        Retrieval { named: named.len(), right, expected: truth.len() }
    };
    let mut out = Judgment::default();
    match &case.truth {
        Truth::Quiet => {
            let named = answer.operations.len() + answer.replicas.len();
            // A ranking has no end: that anything is named counts as one false finding.
            let count = if method.decides() { named } else { named.min(1) };
            out.false_findings = Some(count);
            out.right = count == 0;
        }
        Truth::SomethingEverywhere => {
            let none = replicas_against(&BTreeSet::new());
            out.rank = Some((!answer.operations.is_empty()).then_some(1));
            out.replicas = Some(none);
            out.right = none.is_exact() && !answer.operations.is_empty();
        }
        Truth::Replicas(truth) => {
            let found = replicas_against(truth);
            out.rank = Some(rank_of(&answer.replicas, |name| truth.contains(name)));
            out.right = found.is_exact();
            out.replicas = Some(found);
        }
        Truth::Operations { culprits, replicas } => {
            let found = replicas_against(replicas);
            let rank = rank_of(&answer.operations, |name| culprits.contains(name));
            out.rank = Some(rank);
            if !replicas.is_empty() {
                out.replica_rank = Some(rank_of(&answer.replicas, |name| replicas.contains(name)));
            }
            out.right = rank == Some(1) && found.is_exact();
            out.replicas = Some(found);
        }
        Truth::Replica(truth) => {
            let ranked = ranked_replicas(case, answer);
            let rank = rank_of(&ranked, |name| name == truth);
            out.rank = Some(rank);
            out.right = rank == Some(1);
        }
        Truth::Fault(truth) => {
            out.rank = Some(rank_of(&answer.operations, |name| is_target(name, truth)));
            out.right = is_first_right(method.decides(), answer, truth);
        }
    }
    out.miss = (!out.right).then(|| Miss { expected: expected(&case.truth), got: got(case, answer) });
    out
}

fn rank_of<T>(ranked: &[T], is_right: impl Fn(&T) -> bool) -> Option<usize> {
    ranked.iter().position(is_right).map(|index| index + 1)
}

/// Whether an operation is that of a fault; for an edge, of one of its two services.
fn is_target(name: &OperationName, truth: &DayTruth) -> bool {
    match &truth.caller {
        None => (&name.service, &name.operation) == (&truth.operation.0, &truth.operation.1),
        Some(caller) => name.service == caller.0 || name.service == truth.operation.0,
    }
}

/// Whether the first name is the target of a fault, with its replica or tenant. A ranking has no edges, so that either
/// end of an edge is right; its first replica belongs to its first operation.
pub(crate) fn is_first_right(decides: bool, answer: &Answer, truth: &DayTruth) -> bool {
    let Some(first) = answer.operations.first() else { return false };
    let operation = match (&truth.caller, &answer.first.between) {
        (Some(caller), Some((from, to))) => (from, to) == (&caller.0, &truth.operation.0),
        // Without spans of clients, the time of a call between services is time of the caller.
        (Some(caller), None) if decides => first.service == caller.0,
        _ => is_target(first, truth),
    };
    let replicas =
        if decides { &answer.first.replicas[..] } else { &answer.replicas[..answer.replicas.len().min(1)] };
    let replica = truth.replicas.is_empty() || replicas.iter().any(|name| truth.replicas.contains(name));
    let has_tenant = |tenant: &String| {
        answer.first.attributes.iter().any(|(key, value)| key == "tenant" && value == tenant)
    };
    operation && replica && truth.tenant.as_ref().is_none_or(has_tenant)
}

/// One ranking of replicas: an operation counts for the replicas that ran it, most calls first; replicas that are
/// named themselves follow.
pub(crate) fn ranked_replicas(case: &Case, answer: &Answer) -> Vec<String> {
    let mut ranked: Vec<String> = Vec::new();
    let mut push = |name: &str| {
        if !ranked.iter().any(|known| known == name) {
            ranked.push(name.to_owned());
        }
    };
    for operation in &answer.operations {
        replicas_of(case, operation).iter().for_each(|name| push(name));
    }
    answer.replicas.iter().for_each(|name| push(name));
    ranked
}

fn replicas_of<'a>(case: &'a Case, operation: &OperationName) -> Vec<&'a str> {
    let names = &case.calls.names;
    let mut counts = vec![0_u64; names.replicas.len()];
    for call in case.calls.target.iter().flat_map(|request| &request.calls) {
        let called = &names.operations[call.operation as usize];
        counts[call.replica as usize] += u64::from(called == operation);
    }
    let mut found: Vec<usize> = (0..counts.len()).filter(|&index| counts[index] > 0).collect();
    found.sort_by(|&a, &b| counts[b].cmp(&counts[a]).then(names.replicas[a].cmp(&names.replicas[b])));
    found.into_iter().map(|index| names.replicas[index].as_str()).collect()
}

fn expected(truth: &Truth) -> String {
    match truth {
        Truth::Quiet => "nothing".to_owned(),
        Truth::SomethingEverywhere => "an operation, no replica".to_owned(),
        Truth::Replicas(replicas) => shown(replicas.iter()),
        Truth::Operations { culprits, replicas } => {
            format!("{} on {}", shown(culprits.iter()), or(shown(replicas.iter()), "all replicas"))
        }
        Truth::Replica(name) => name.clone(),
        Truth::Fault(truth) => target(truth),
    }
}

/// A fault's target in words.
fn target(truth: &DayTruth) -> String {
    let (service, operation) = &truth.operation;
    let mut out = match &truth.caller {
        None => format!("{service} {operation}"),
        Some((caller, _)) => format!("calls from {caller} to {service}"),
    };
    if !truth.replicas.is_empty() {
        out += &format!(" on {}", shown(truth.replicas.iter()));
    }
    if let Some(tenant) = &truth.tenant {
        out += &format!(" for tenant={tenant}");
    }
    out
}

fn got(case: &Case, answer: &Answer) -> String {
    if answer.is_empty() {
        return or(answer.sentence.clone(), "nothing");
    }
    if let Truth::Fault(_) = case.truth
        && !answer.sentence.is_empty()
    {
        return answer.sentence.clone();
    }
    if let Truth::Replica(_) = case.truth {
        return shown(ranked_replicas(case, answer).iter());
    }
    if case.truth == Truth::Quiet && !answer.reasons.is_empty() {
        return shown(answer.reasons.iter());
    }
    let operations = or(shown(answer.operations.iter().take(3)), "no operation");
    format!("{operations} on {}", or(shown(answer.replicas.iter()), "all replicas"))
}

fn or(text: String, instead: &str) -> String {
    if text.is_empty() { instead.to_owned() } else { text }
}

/// The first few names, and how many more.
fn shown(names: impl ExactSizeIterator<Item = impl std::fmt::Display>) -> String {
    let count = names.len();
    let text: Vec<String> = names.take(NAMES_SHOWN).map(|name| name.to_string()).collect();
    match count.saturating_sub(NAMES_SHOWN) {
        0 => text.join(", "),
        more => format!("{} and {more} more", text.join(", ")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::case::FirstSuspect;

    fn truth() -> DayTruth {
        let operation = ("cart".to_owned(), "Get".to_owned());
        DayTruth { operation, caller: None, replicas: vec![], tenant: None }
    }

    /// An answer that names one operation.
    fn named(service: &str, operation: &str, first: FirstSuspect) -> Answer {
        Answer { operations: vec![OperationName::new(service, operation)], first, ..Answer::default() }
    }

    #[test]
    fn the_first_name_is_the_operation_with_its_replica_and_tenant() {
        let plain = named("cart", "Get", FirstSuspect::default());
        assert!(is_first_right(true, &plain, &truth()));
        assert!(!is_first_right(true, &named("cart", "List", FirstSuspect::default()), &truth()));
        assert!(!is_first_right(true, &Answer::default(), &truth()));
        let one_replica = DayTruth { replicas: vec!["cart-1".to_owned()], ..truth() };
        let on =
            |replica: &str| FirstSuspect { replicas: vec![replica.to_owned()], ..FirstSuspect::default() };
        assert!(is_first_right(true, &named("cart", "Get", on("cart-1")), &one_replica));
        assert!(!is_first_right(true, &named("cart", "Get", on("cart-2")), &one_replica));
        assert!(!is_first_right(true, &plain, &one_replica));
        // Of a ranking, the first of its replicas counts.
        let ranked = Answer { replicas: vec!["cart-1".to_owned(), "cart-2".to_owned()], ..plain.clone() };
        assert!(is_first_right(false, &ranked, &one_replica));
        let one_tenant = DayTruth { tenant: Some("acme".to_owned()), ..truth() };
        let attributes = vec![("tenant".to_owned(), "acme".to_owned())];
        let with_tenant = FirstSuspect { attributes, ..FirstSuspect::default() };
        assert!(is_first_right(true, &named("cart", "Get", with_tenant), &one_tenant));
        assert!(!is_first_right(true, &plain, &one_tenant) && !is_first_right(false, &ranked, &one_tenant));
    }

    #[test]
    fn ranks_survive_as_json() {
        for rank in [None, Some(None), Some(Some(3))] {
            let judgment = Judgment { rank, ..Judgment::default() };
            let text = serde_json::to_string(&judgment).unwrap();
            assert_eq!(serde_json::from_str::<Judgment>(&text).unwrap(), judgment, "{text}");
        }
    }

    #[test]
    fn an_edge_is_named_by_its_two_services() {
        let edge = DayTruth { caller: Some(("front".to_owned(), "View".to_owned())), ..truth() };
        let between = |from: &str, to: &str| FirstSuspect {
            between: Some((from.to_owned(), to.to_owned())),
            ..FirstSuspect::default()
        };
        assert!(is_first_right(true, &named("cart", "Get", between("front", "cart")), &edge));
        assert!(!is_first_right(true, &named("cart", "Get", between("front", "ads")), &edge));
        // Without spans of clients it is time of the caller; a ranking may name either end.
        assert!(is_first_right(true, &named("front", "View", FirstSuspect::default()), &edge));
        assert!(!is_first_right(true, &named("cart", "Get", FirstSuspect::default()), &edge));
        assert!(is_first_right(false, &named("cart", "Get", FirstSuspect::default()), &edge));
        assert_eq!(expected(&Truth::Fault(edge)), "calls from front to cart");
    }
}
