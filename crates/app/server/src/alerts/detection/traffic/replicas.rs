//! Replicas of a service that get more of its requests than before, or are without any again and again.
//!
//! A balancer that sends most requests to one replica, and a replica that is restarted again and again, need not make a request
//! slow as long as the others have capacity left. Calls are counted by replica in short intervals. Services whose replicas are
//! others than before are left out: that is a deployment, or a change of their number.

use super::super::super::evaluate::{Finding, Recovery};
use super::super::{Compared, before};
use super::{ChangeShown, TrafficChange, finding};
use laggard_engine::{Requests, TreeStructure};
use laggard_model::{Nanos, ReplicaId, ServiceId, SpanKind, Timestamp};
use laggard_numeric::binomial_upper_tail;
use laggard_params::Window;
use std::collections::BTreeMap;

/// Length of an interval in which calls are counted.
const INTERVAL: Nanos = Nanos::from_secs(5);
/// Intervals of the latest part that is compared with every part of the baseline that is as long: 2, 5, and 15 minutes.
const LENGTHS: [usize; 3] = [24, 60, 180];
/// Calls of a part that tell how they are distributed, and such parts of the baseline.
const CALLS_MIN: u64 = 20;
const PARTS_MIN: usize = 5;
/// A replica gets at least this multiple of its largest share in any part of the baseline, …
const SHARE_FACTOR: f64 = 1.6;
/// … and by chance only with this probability.
const LEVEL: f64 = 1e-6;
/// Every replica must be called in the last third of the part: one that is removed leaves its requests to the others.
const LAST_PART: usize = 3;

/// Latest part in which a replica is without requests at least so often.
const ABSENCE_LENGTH: usize = 60;
const ABSENCES_MIN: usize = 2;
/// Fewest intervals before it, in which none was: five minutes of a new system.
const ABSENCE_USUAL: usize = 60;
/// Probability that a running replica gets none of the requests in an interval.
const ABSENCE_LEVEL: f64 = 1e-6;

/// Calls of the replicas of a service by interval, the latest interval first.
struct ReplicaCalls {
    by_replica: BTreeMap<ReplicaId, Vec<u32>>,
    all: Vec<u32>,
}

impl ReplicaCalls {
    fn new(intervals: usize) -> ReplicaCalls {
        ReplicaCalls { by_replica: BTreeMap::new(), all: vec![0; intervals] }
    }

    fn add(&mut self, replica: ReplicaId, interval: usize) {
        let intervals = self.all.len();
        self.by_replica.entry(replica).or_insert_with(|| vec![0; intervals])[interval] += 1;
        self.all[interval] += 1;
    }
}

fn sum(calls: &[u32]) -> u64 {
    calls.iter().copied().map(u64::from).sum()
}

/// Calls by service, of those that other services or users make.
fn count(requests: &Requests, window: Window) -> BTreeMap<ServiceId, ReplicaCalls> {
    let Some(length) = window.until.since(window.since).non_negative() else { return BTreeMap::new() };
    let intervals = (length.ns() / INTERVAL.ns()) as usize + 1;
    let entries: Vec<Vec<(usize, ServiceId)>> =
        requests.structures().iter().map(|tree| entries(requests, tree)).collect();
    let mut out: BTreeMap<ServiceId, ReplicaCalls> = BTreeMap::new();
    for request in requests.within(window.since, window.until).iter() {
        let age = window.until.since(request.start()).non_negative().map_or(0, Nanos::ns);
        for &(node, service) in &entries[request.structure()] {
            let calls = out.entry(service).or_insert_with(|| ReplicaCalls::new(intervals));
            calls.add(request.replica(node), (age / INTERVAL.ns()) as usize);
        }
    }
    out
}

/// Calls of a tree that enter a service. Those of a consumer are as uneven as the partitions that it was assigned.
fn entries(requests: &Requests, tree: &TreeStructure) -> Vec<(usize, ServiceId)> {
    let names = requests.names();
    let service = |node: usize| names.service_of(tree.operation[node]);
    let is_entry = |node: &usize| {
        let from_outside = tree.parent[*node].is_none_or(|parent| service(parent as usize) != service(*node));
        from_outside && names.operation_key(tree.operation[*node]).kind != SpanKind::Consumer
    };
    (0..tree.len()).filter(is_entry).map(|node| (node, service(node))).collect()
}

/// What changed for the replicas of each service; of several, for the one that changed most.
pub(in crate::alerts::detection) fn changed_replicas(
    requests: &Requests,
    compared: Compared,
) -> Vec<Finding> {
    let names = requests.names();
    let until = compared.window.until;
    let latest = compared.window.until.since(compared.window.since).non_negative().map_or(0, Nanos::ns);
    let first_usual = (latest / INTERVAL.ns()) as usize;
    let calls = count(requests, compared.all());
    let changed =
        calls.iter().filter(|(_, calls)| calls.by_replica.len() > 1).filter_map(|(service, calls)| {
            let start_of = |interval: usize| until.minus(Nanos::from_ns(INTERVAL.ns() * interval as u64));
            let (change, replica, shown) =
                calls.interrupted(first_usual, start_of).or_else(|| calls.uneven(first_usual, start_of))?;
            let replicas = vec![names.replica_name(replica).to_owned()];
            Some(Finding { replicas, ..finding(change, names.service_name(*service), shown) })
        });
    changed.collect()
}

type Changed = (TrafficChange, ReplicaId, ChangeShown);

impl ReplicaCalls {
    /// Where the baseline of a latest part begins, which has at least this number of intervals: nearer than usual in a new system. `None`
    /// for too little data.
    fn first_usual(&self, usual: usize, latest: usize, least: usize) -> Option<usize> {
        let known = self.all.iter().rposition(|calls| *calls > 0)? + 1;
        Some(usual.min(known.checked_sub(least)?)).filter(|first| *first >= latest)
    }

    /// The replica whose share rose most.
    fn uneven(&self, first_usual: usize, start_of: impl Fn(usize) -> Timestamp) -> Option<Changed> {
        LENGTHS.into_iter().find_map(|length| {
            let first_usual = self.first_usual(first_usual, length, PARTS_MIN * length)?;
            let is_there = |calls: &Vec<u32>| sum(&calls[..length / LAST_PART]) > 0;
            if !self.by_replica.values().all(is_there) {
                return None;
            }
            let own = |(replica, calls): (&ReplicaId, &Vec<u32>)| {
                Some((*replica, self.risen_share(calls, length, first_usual)?))
            };
            let risen = self.by_replica.iter().filter_map(own);
            let (replica, mut shown) = risen.max_by(|a, b| a.1.rate.total_cmp(&b.1.rate))?;
            let middle = (shown.rate + shown.usual_rate) / 2.0;
            shown.onset = Some(start_of(self.since(&self.by_replica[&replica], middle)));
            Some((TrafficChange::UnevenRequests, replica, shown))
        })
    }

    fn risen_share(&self, calls: &[u32], length: usize, first_usual: usize) -> Option<ChangeShown> {
        let all = sum(&self.all[..length]);
        let own = sum(&calls[..length]);
        let share = |(own, all): (&[u32], &[u32])| {
            let all = sum(all);
            (all >= CALLS_MIN).then(|| sum(own) as f64 / all as f64)
        };
        let parts =
            calls[first_usual..].chunks_exact(length).zip(self.all[first_usual..].chunks_exact(length));
        let shares: Vec<f64> = parts.filter_map(share).collect();
        if all < CALLS_MIN || shares.len() < PARTS_MIN {
            return None;
        }
        let largest = shares.iter().copied().fold(0.0, f64::max);
        let rate = own as f64 / all as f64;
        let p_value = binomial_upper_tail(all, largest, own);
        let usual_rate = sum(&calls[first_usual..]) as f64 / sum(&self.all[first_usual..]) as f64;
        // A replica that was not there before has no usual share.
        (largest > 0.0 && rate >= SHARE_FACTOR * largest && p_value <= LEVEL).then_some(ChangeShown {
            rate,
            usual_rate,
            p_value,
            calls: own,
            onset: None,
        })
    }

    /// The number of intervals since when a share is above a level: the largest sum of what is above it.
    fn since(&self, calls: &[u32], level: f64) -> usize {
        let above = calls.iter().zip(&self.all).map(|(own, all)| f64::from(*own) - level * f64::from(*all));
        let sums = above.scan(0.0, |sum, above| {
            *sum += above;
            Some(*sum)
        });
        let largest = sums.enumerate().max_by(|a, b| a.1.total_cmp(&b.1));
        largest.map_or(0, |(interval, _)| interval + 1)
    }

    /// The replica that is without requests again and again, as none was in the baseline.
    fn interrupted(&self, first_usual: usize, start_of: impl Fn(usize) -> Timestamp) -> Option<Changed> {
        let first_usual = self.first_usual(first_usual, ABSENCE_LENGTH, ABSENCE_USUAL)?;
        let usual = sum(&self.all[first_usual..]);
        let own = |(replica, calls): (&ReplicaId, &Vec<u32>)| {
            let share = sum(&calls[first_usual..]) as f64 / usual as f64;
            let absences = self.absences(calls, share, ABSENCE_LENGTH);
            let was_absent = || !self.absences(&calls[first_usual..], share, calls.len()).is_empty();
            (absences.len() >= ABSENCES_MIN && !was_absent()).then_some((*replica, share, absences))
        };
        let (replica, share, absences) =
            self.by_replica.iter().filter_map(own).max_by_key(|(.., absences)| absences.len())?;
        let calls = &self.by_replica[&replica];
        let shown = ChangeShown {
            rate: absences.len() as f64,
            usual_rate: 0.0,
            p_value: absences.iter().map(|absence| absence.p_value).fold(0.0, f64::max),
            calls: sum(&calls[..ABSENCE_LENGTH]),
            onset: self.absences(calls, share, first_usual).last().map(|absence| start_of(absence.since)),
        };
        Some((TrafficChange::InterruptedReplica, replica, shown))
    }

    /// When a replica was without requests and got some again, the latest first.
    fn absences(&self, calls: &[u32], share: f64, length: usize) -> Vec<Absence> {
        let all = &self.all[self.all.len() - calls.len()..];
        let mut out = Vec::new();
        let mut until = 0;
        let end = length.min(calls.len());
        while until < end {
            let without = calls[until..].iter().take_while(|calls| **calls == 0).count();
            let missed = sum(&all[until..until + without]);
            let p_value = (1.0 - share).powf(missed as f64);
            let has_ends = until > 0 && until + without < calls.len();
            if without > 0 && has_ends && p_value <= ABSENCE_LEVEL {
                out.push(Absence { since: until + without, p_value });
            }
            until += without.max(1);
        }
        out
    }
}

/// A time without requests.
struct Absence {
    /// The interval after which it began.
    since: usize,
    p_value: f64,
}

/// What the latest minutes say about a replica that had more requests, or none again and again.
pub(super) fn replica_recovery(finding: &Finding, requests: &Requests, until: Timestamp) -> Recovery {
    let length = Nanos::from_ns(INTERVAL.ns() * ABSENCE_LENGTH as u64);
    let names = requests.names();
    let all = count(requests, before(length, until));
    let own = all.iter().find(|(service, _)| names.service_name(**service) == finding.service);
    let Some((_, calls)) = own.filter(|(_, calls)| sum(&calls.all) >= CALLS_MIN) else {
        return Recovery::Unknown;
    };
    let is_own =
        |replica: &ReplicaId| finding.replicas.first().is_some_and(|own| own == names.replica_name(*replica));
    let own = calls.by_replica.iter().find(|(replica, _)| is_own(replica));
    // A replica that was removed is over.
    let Some(((_, own), (change, shown))) = own.zip(finding.traffic()) else { return Recovery::Recovered };
    let share = sum(own) as f64 / sum(&calls.all) as f64;
    let goes_on = match change {
        TrafficChange::InterruptedReplica => !calls.absences(own, share, ABSENCE_LENGTH).is_empty(),
        _ => share > (shown.rate + shown.usual_rate) / 2.0,
    };
    if goes_on { Recovery::StillSlow } else { Recovery::Recovered }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LATEST: usize = 180;
    const ALL: usize = LATEST + 720;

    fn replica(number: usize) -> ReplicaId {
        ReplicaId::from_index(number)
    }

    /// Thirty calls per interval, of which each of three replicas gets the given number.
    fn calls(of: impl Fn(usize, usize) -> u32) -> ReplicaCalls {
        let mut out = ReplicaCalls::new(ALL);
        for (interval, own) in (0..ALL).flat_map(|interval| (0..3).map(move |own| (interval, own))) {
            (0..of(own, interval)).for_each(|_| out.add(replica(own), interval));
        }
        out
    }

    fn at(interval: usize) -> Timestamp {
        Timestamp::from_unix_ns(-5_000_000_000 * interval as i64)
    }

    #[test]
    fn a_replica_that_gets_most_requests_is_found_with_its_onset() {
        let uneven = calls(|own, interval| match (interval < 40, own) {
            (true, 0) => 28,
            (true, _) => 1,
            (false, _) => 10,
        });
        let (change, found, shown) = uneven.uneven(LATEST, at).unwrap();
        assert_eq!((change, found, shown.onset), (TrafficChange::UnevenRequests, replica(0), Some(at(40))));
        assert!((shown.rate - 28.0 / 30.0).abs() < 1e-9 && (shown.usual_rate - 1.0 / 3.0).abs() < 1e-9);
        // The balancer did so before.
        let as_before = calls(|own, interval| if interval % 100 < 40 && own == 0 { 28 } else { 1 });
        assert!(as_before.uneven(LATEST, at).is_none());
        // The others were removed.
        let removed = calls(|own, interval| match (interval < 12, own) {
            (true, 0) => 30,
            (true, _) => 0,
            (false, _) => 10,
        });
        assert!(removed.uneven(LATEST, at).is_none());
        assert!(calls(|_, _| 10).uneven(LATEST, at).is_none());
        assert!(calls(|own, interval| u32::from(own == 0 && interval < 40)).uneven(LATEST, at).is_none());
    }

    #[test]
    fn a_replica_that_repeatedly_gets_no_calls_is_found() {
        let absent = |interval: usize| interval % 9 > 5;
        let found = |is_absent: &dyn Fn(usize) -> bool| {
            let count = |own: usize, interval: usize| if is_absent(interval) { [15, 0, 15][own] } else { 10 };
            calls(count).interrupted(LATEST, at).map(|(_, replica, shown)| (replica, shown.rate, shown.onset))
        };
        let since = Some(at(54));
        assert_eq!(found(&|interval| interval < 60 && absent(interval)), Some((replica(1), 6.0, since)));
        assert_eq!(found(&|interval| (20..30).contains(&interval)), None, "one restart");
        assert_eq!(found(&|interval| interval < 30), None, "it was removed");
        assert_eq!(found(&absent), None, "it was so before");
        // A system that is eleven minutes old.
        let new = calls(|own, interval| match interval {
            130.. => 0,
            _ if interval < 60 && absent(interval) => [15, 0, 15][own],
            _ => 10,
        });
        assert!(new.interrupted(LATEST, at).is_some());
        // Where there are few calls, a replica is without any by chance.
        let few = calls(|own, interval| if interval < 60 && absent(interval) { [2, 0, 2][own] } else { 2 });
        assert!(few.interrupted(LATEST, at).is_none());
    }

    #[test]
    fn an_overloaded_replica_explains_slowness_everywhere_or_on_itself() {
        let about = |change, replica: &str| {
            let shown = ChangeShown { rate: 0.9, usual_rate: 0.3, p_value: 0.0, calls: 90, onset: None };
            Finding { replicas: vec![replica.to_owned()], ..finding(change, "store", shown) }
        };
        let slow = |replicas: &[&str]| Finding {
            replicas: replicas.iter().map(|replica| (*replica).to_owned()).collect(),
            behavior: Vec::new(),
            ..about(TrafficChange::UnevenRequests, "")
        };
        let busy = about(TrafficChange::UnevenRequests, "store-1");
        assert!(busy.explains_slowness(&slow(&[])) && busy.explains_slowness(&slow(&["store-1"])));
        assert!(!busy.explains_slowness(&slow(&["store-2"])), "it is avoided since it is slow");
        let restarted = about(TrafficChange::InterruptedReplica, "store-1");
        assert!(!restarted.explains_slowness(&slow(&[])));
    }
}
