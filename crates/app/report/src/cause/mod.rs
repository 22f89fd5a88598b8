//! The class of cause that several reports support together: every piece of evidence has a weight for or against a class, and the
//! class with the largest sum wins, never the one that is listed first.
//!
//! ```text
//! Report (traces) ──────────┐
//! ChangeReport (samples) ───┼─► evidence ─► sums by class ─► Cause
//! KernelDiagnosis ──────────┘
//! ```
//!
//! The weights and thresholds are not published ones; the manual lists them (`docs/manual/methods/combined.md`).

pub(crate) mod kernel;
pub(crate) mod samples;
mod traces;

use crate::{
    Cause, CauseClass, CauseEvidence, Certainty, ChangeReport, EvidenceSource, KernelDiagnosis, Report,
    Verdict,
};
use std::collections::BTreeMap;

/// A class needs this sum.
const ENOUGH: f64 = 2.0;
/// Of two classes that differ by no more than this, both are named.
const CLOSE: f64 = 1.0;
/// From this sum on, and so far ahead of every other class, it is likely.
const MUCH: f64 = 3.0;
const AHEAD: f64 = 2.0;
/// Evidence from different sources that is at least this strong may be a contradiction.
const STRONG: f64 = 2.0;

/// The cause of the slow-down that a diagnosis found; `None` when it found none.
pub fn conclude(
    report: &Report,
    changes: Option<&ChangeReport>,
    kernel: Option<&KernelDiagnosis>,
) -> Option<Cause> {
    if report.verdict != Verdict::Suspects {
        return None;
    }
    let mut evidence = traces::evidence(report);
    evidence.extend(changes.and_then(|changes| samples::evidence(report, changes)));
    evidence.extend(kernel.and_then(|kernel| kernel::evidence(report, kernel)));
    evidence.sort_by(|a, b| b.weight.abs().total_cmp(&a.weight.abs()).then(a.class.cmp(&b.class)));
    let mut sums: BTreeMap<CauseClass, f64> = BTreeMap::new();
    for piece in &evidence {
        *sums.entry(piece.class).or_default() += piece.weight;
    }
    let mut ranked: Vec<(CauseClass, f64)> = sums.into_iter().collect();
    ranked.sort_by(|a, b| b.1.total_cmp(&a.1).then(a.0.cmp(&b.0)));
    let best = ranked.first().copied().filter(|(_, sum)| *sum >= ENOUGH);
    let second = ranked.get(1).copied().unwrap_or((CauseClass::Unknown, 0.0));
    let mut contradictions = contradictions(&evidence);
    if let Some(elsewhere) = changes.and_then(|changes| samples::elsewhere(report, changes)) {
        contradictions.push(disagreement(
            "Traces and samples",
            &traces::slow_replicas(report),
            &elsewhere.text,
        ));
        evidence.push(elsewhere);
    }
    let Some((class, sum)) = best else {
        let (class, also) = (CauseClass::Unknown, None);
        return Some(Cause { class, also, certainty: Certainty::Possible, evidence, contradictions });
    };
    let is_close = second.1 >= ENOUGH && sum - second.1 <= CLOSE;
    let is_likely = sum >= MUCH && sum - second.1 >= AHEAD && contradictions.is_empty();
    Some(Cause {
        class,
        also: is_close.then_some(second.0),
        certainty: if is_likely { Certainty::Likely } else { Certainty::Possible },
        evidence,
        contradictions,
    })
}

/// Sources that are compared, with what they are called together.
const PAIRS: [(EvidenceSource, EvidenceSource, &str); 3] = [
    (EvidenceSource::Traces, EvidenceSource::Samples, "Traces and samples"),
    (EvidenceSource::Traces, EvidenceSource::Kernel, "Traces and the kernel"),
    (EvidenceSource::Samples, EvidenceSource::Kernel, "Samples and the kernel"),
];

/// Where strong evidence of one source does not go with strong evidence of another.
fn contradictions(evidence: &[CauseEvidence]) -> Vec<String> {
    let strong = |source| {
        let of_source = move |piece: &&CauseEvidence| piece.source == source && piece.weight >= STRONG;
        evidence.iter().filter(of_source)
    };
    let mut out = Vec::new();
    for (first, second, both) in PAIRS {
        for evidence in strong(first) {
            for other in strong(second).filter(|other| excludes(evidence, other)) {
                out.push(disagreement(both, &evidence.text, &other.text));
            }
        }
    }
    out
}

/// One server by its name, several in a list.
fn servers(names: &[String]) -> String {
    match names {
        [only] => crate::names::quoted(only),
        several => crate::names::list(several, 3, 40),
    }
}

fn disagreement(sources: &str, one: &str, other: &str) -> String {
    format!("{sources} disagree. {one} But: {other}")
}

/// Whether evidence of one source for its class cannot be true together with that of another source for its class.
const fn excludes(one: &CauseEvidence, other: &CauseEvidence) -> bool {
    use CauseClass::{
        Code, Configuration, Data, Dependency, ForeignLoad, Machine, Network, UnevenLoad, Waiting,
    };
    match one.source {
        // Another process slows down all calls of its machine, and only those.
        EvidenceSource::Traces => {
            matches!((one.class, other.class), (Data | Network, ForeignLoad) | (UnevenLoad, Code))
        }
        // Of the kernel's evidence about a machine, only waits for its disk have this weight, since they need no CPU.
        EvidenceSource::Samples if matches!((one.class, other.class), (ForeignLoad | Code, Machine)) => {
            other.weight >= kernel::DISK
        }
        // Who waits for another thread or a reply does not need the CPU that something else uses, nor computes; and who computes
        // or needs a CPU that others use does not wait without it.
        EvidenceSource::Samples => matches!(
            (one.class, other.class),
            (ForeignLoad, Waiting | Network | Dependency)
                | (Code, Waiting | Network | Dependency | ForeignLoad | Configuration)
                | (Waiting, Code | ForeignLoad)
        ),
        _ => false,
    }
}
