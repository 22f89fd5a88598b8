//! Alerts about how many requests services and their replicas get, which says nothing about how long they take.

mod missing;
mod replicas;

pub(super) use missing::missing_requests;
pub(super) use replicas::changed_replicas;

use super::super::evaluate::{Finding, Recovery};
use laggard_engine::Requests;
use laggard_model::Timestamp;
use laggard_params::Window;
use laggard_report::BehaviorChange;

/// How the requests that a service gets changed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum TrafficChange {
    /// They no longer reach it.
    MissingRequests,
    /// One replica gets far more of them than before.
    UnevenRequests,
    /// A replica is without any again and again, while others get them.
    InterruptedReplica,
}

impl TrafficChange {
    const ALL: [TrafficChange; 3] =
        [TrafficChange::MissingRequests, TrafficChange::UnevenRequests, TrafficChange::InterruptedReplica];

    /// The kind of [`BehaviorChange`] in findings.
    const fn name(self) -> &'static str {
        match self {
            TrafficChange::MissingRequests => "missing-requests",
            TrafficChange::UnevenRequests => "uneven-requests",
            TrafficChange::InterruptedReplica => "interrupted-replica",
        }
    }

    /// Why its alert is over.
    pub(in crate::alerts) const fn end_reason(self) -> &'static str {
        match self {
            TrafficChange::MissingRequests => "requests reach it again",
            TrafficChange::UnevenRequests => "requests are distributed as before",
            TrafficChange::InterruptedReplica => "the replica gets requests all the time again",
        }
    }

    /// The text in the log and in the record of an evaluation.
    pub(in crate::alerts) const fn log_text(self) -> &'static str {
        match self {
            TrafficChange::MissingRequests => "a service gets far fewer requests than before",
            TrafficChange::UnevenRequests => "a replica gets far more requests than before",
            TrafficChange::InterruptedReplica => "a replica is without requests again and again",
        }
    }
}

impl Finding {
    /// What is about the requests that a service gets; `None` for what requests take, or how they fail.
    pub fn traffic(&self) -> Option<(TrafficChange, &BehaviorChange)> {
        let kind =
            |change: &&BehaviorChange| TrafficChange::ALL.into_iter().find(|kind| kind.name() == change.kind);
        self.behavior.iter().find_map(|change| Some((kind(&change)?, change)))
    }

    /// Whether it is about a replica that gets more requests than before, and what is slow may be so for that: not what fails, nor
    /// other replicas, which may get fewer since they are slow.
    pub(super) fn explains_slowness(&self, slow: &Finding) -> bool {
        let is_of_others = !slow.replicas.is_empty() && !slow.replicas.contains(&self.replicas[0]);
        self.traffic().is_some_and(|(change, _)| change == TrafficChange::UnevenRequests)
            && !slow.has_errors()
            && !is_of_others
    }

    /// Whether it is about a service that requests no longer reach.
    pub fn lacks_requests(&self) -> bool {
        self.traffic().is_some_and(|(change, _)| change == TrafficChange::MissingRequests)
    }
}

/// What the latest minutes say about an alert of this kind.
pub(super) fn recovery(
    finding: &Finding,
    requests: &Requests,
    usual: Window,
    until: Timestamp,
) -> Option<Recovery> {
    let (change, _) = finding.traffic()?;
    Some(match change {
        TrafficChange::MissingRequests => missing::missing_recovery(finding, requests, usual, until),
        TrafficChange::UnevenRequests | TrafficChange::InterruptedReplica => {
            replicas::replica_recovery(finding, requests, until)
        }
    })
}

/// The size of a change and what shows it.
struct ChangeShown {
    rate: f64,
    usual_rate: f64,
    p_value: f64,
    calls: u64,
    onset: Option<Timestamp>,
}

/// A finding about all of a service.
fn finding(change: TrafficChange, service: &str, shown: ChangeShown) -> Finding {
    let ChangeShown { rate, usual_rate, p_value, calls, onset } = shown;
    let kind = change.name().to_owned();
    Finding {
        service: service.to_owned(),
        operation: String::new(),
        caller: None,
        other_operations: Vec::new(),
        replicas: Vec::new(),
        categories: Vec::new(),
        factor: None,
        is_against_peers: false,
        effect_ns: 0,
        slower: 0.0,
        p_value: Some(p_value),
        requests_hit: 0,
        requests_seen: calls,
        traces: Vec::new(),
        behavior: vec![BehaviorChange {
            kind,
            callees: Vec::new(),
            rate,
            usual_rate,
            is_against_peers: false,
            p_value,
            calls,
        }],
        onset_ns: onset.map(Timestamp::unix_ns),
    }
}
