//! TraceRCA: abnormal invocations by feature selection, itemset mining, suspicion inside a set.
//!
//! Li et al.: Practical Root Cause Localization for Microservice Systems via Trace Analysis. IEEE/ACM IWQoS 2021,
//! doi:10.1109/IWQOS52092.2021.9521340. Implemented from the paper; constants that the paper leaves open are those
//! of the authors' published program.

use super::figures::Spread;
use super::itemsets::{jaccard, mine};
use super::ranked;
use crate::arm::Arm;
use crate::calls::{CaseCalls, RequestCalls};
use crate::case::{Answer, Case, Localizer};
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;

/// Of the paper's features an invocation's latency is the one that traces hold. Invocations are distinguished by the
/// calling service and the operation called. The whole is run twice: with services as items, as in the paper, which
/// ranks operations (those of one service by their abnormal invocations); and with a service's replicas as items.
#[derive(Clone, Copy, Debug)]
pub struct TraceRca;

/// A feature is useful when its mean severity exceeds that of the history by more than this share.
const SEVERITY_GAIN: f64 = 0.1;
/// Standard deviations beyond which an invocation is abnormal, for features selected against a history.
const DEVIATIONS: f64 = 1.0;
/// Without history nothing can be selected, and one deviation would make every third invocation abnormal.
const DEVIATIONS_ALONE: f64 = 3.0;
/// Least share of the abnormal requests that a set of services must be in.
const SUPPORT_MIN: f64 = 0.1;
/// The same for replicas: one of a hundred is in 1 % of the requests.
const REPLICA_SUPPORT_MIN: f64 = 0.01;
/// Sets that count, the highest index first.
const SETS_KEPT: usize = 100;

impl Localizer for TraceRca {}

impl Arm<Case, Answer> for TraceRca {
    fn name(&self) -> &str {
        "TraceRCA"
    }

    fn answer(&self, case: &Case) -> Result<Answer, String> {
        let calls = &case.calls;
        let detector = Detector::learn(calls);
        let flagged: Vec<Flagged<'_>> = calls.target.iter().map(|request| detector.flag(request)).collect();
        if !flagged.iter().any(Flagged::is_abnormal) {
            return Ok(Answer::default());
        }
        Ok(Answer {
            operations: rank_operations(calls, &flagged),
            replicas: rank_replicas(calls, &flagged),
            ..Answer::default()
        })
    }
}

/// An invocation: calling service (`None` from outside), operation.
type Invocation = (Option<u32>, u32);

/// Usual latency of every invocation for which latency is a useful feature; others have no entry.
struct Detector<'a> {
    service_of: &'a [u32],
    usual: HashMap<Invocation, Spread>,
    deviations: f64,
}

impl Detector<'_> {
    fn learn(calls: &CaseCalls) -> Detector<'_> {
        let service_of = &calls.names.service_of;
        let Some(history) = &calls.baseline else {
            let usual = spreads(&calls.target, service_of);
            return Detector { service_of, usual, deviations: DEVIATIONS_ALONE };
        };
        let mut usual = spreads(history, service_of);
        let before = severities(history, service_of, &usual);
        let now = severities(&calls.target, service_of, &usual);
        usual.retain(|invocation, _| {
            let [before, now] = [&before, &now].map(|all| all.get(invocation).map_or(0.0, |all| all.mean));
            now - before > SEVERITY_GAIN * before
        });
        Detector { service_of, usual, deviations: DEVIATIONS }
    }

    fn flag<'r>(&self, request: &'r RequestCalls) -> Flagged<'r> {
        let abnormal =
            invocations(request, self.service_of).enumerate().filter_map(|(position, (invocation, ns))| {
                let usual = self.usual.get(&invocation)?;
                (severity(ns, usual) > self.deviations).then_some(position)
            });
        Flagged { request, abnormal: abnormal.collect() }
    }
}

/// A request and the positions of its abnormal calls.
struct Flagged<'a> {
    request: &'a RequestCalls,
    abnormal: Vec<usize>,
}

impl Flagged<'_> {
    fn is_abnormal(&self) -> bool {
        !self.abnormal.is_empty()
    }
}

/// Every call with its inclusive nanoseconds.
fn invocations<'a>(
    request: &'a RequestCalls,
    service_of: &'a [u32],
) -> impl Iterator<Item = (Invocation, f64)> + 'a {
    request.calls.iter().map(|call| {
        let caller = call.parent.map(|parent| request.calls[parent as usize].operation);
        ((caller.map(|caller| service_of[caller as usize]), call.operation), call.inclusive_ns as f64)
    })
}

fn spreads(requests: &[Arc<RequestCalls>], service_of: &[u32]) -> HashMap<Invocation, Spread> {
    let mut out: HashMap<Invocation, Spread> = HashMap::new();
    for (invocation, ns) in requests.iter().flat_map(|request| invocations(request, service_of)) {
        out.entry(invocation).or_default().add(ns);
    }
    out
}

/// Deviations from the mean; a deviation is at least 1 % of the mean.
fn severity(ns: f64, usual: &Spread) -> f64 {
    (ns - usual.mean).abs() / usual.deviation().max(0.01 * usual.mean).max(1.0)
}

fn severities(
    requests: &[Arc<RequestCalls>],
    service_of: &[u32],
    usual: &HashMap<Invocation, Spread>,
) -> HashMap<Invocation, Spread> {
    let mut out: HashMap<Invocation, Spread> = HashMap::new();
    for (invocation, ns) in requests.iter().flat_map(|request| invocations(request, service_of)) {
        if let Some(usual) = usual.get(&invocation) {
            out.entry(invocation).or_default().add(severity(ns, usual));
        }
    }
    out
}

/// Operations by the rank of their service, then by their abnormal invocations.
fn rank_operations(calls: &CaseCalls, flagged: &[Flagged<'_>]) -> Vec<crate::case::OperationName> {
    let names = &calls.names;
    let mut abnormal: BTreeMap<u32, f64> = BTreeMap::new();
    for flagged_request in flagged {
        for &position in &flagged_request.abnormal {
            *abnormal.entry(flagged_request.request.calls[position].operation).or_default() += 1.0;
        }
    }
    let services = rank_items(flagged, SUPPORT_MIN, &mut |request, position| {
        names.service_of[request.calls[position].operation as usize]
    });
    let of_service = |service: u32| {
        let own =
            abnormal.iter().filter(move |(operation, _)| names.service_of[**operation as usize] == service);
        ranked(own.map(|(&operation, &count)| (operation, count)))
    };
    let operations = services.into_iter().flat_map(of_service);
    operations.map(|operation| names.operations[operation as usize].clone()).collect()
}

fn rank_replicas(calls: &CaseCalls, flagged: &[Flagged<'_>]) -> Vec<String> {
    let mut instances: Vec<(u32, u32)> = Vec::new();
    let mut index: HashMap<(u32, u32), u32> = HashMap::new();
    let order = rank_items(flagged, REPLICA_SUPPORT_MIN, &mut |request, position| {
        let call = &request.calls[position];
        let instance = (calls.names.service_of[call.operation as usize], call.replica);
        *index.entry(instance).or_insert_with(|| {
            instances.push(instance);
            instances.len() as u32 - 1
        })
    });
    let mut seen = BTreeSet::new();
    let replicas = order
        .into_iter()
        .map(|instance| instances[instance as usize].1)
        .filter(|&replica| seen.insert(replica));
    replicas.map(|replica| calls.names.replicas[replica as usize].clone()).collect()
}

/// Per request: its items, and those that abnormal invocations enter or leave.
#[derive(Default)]
struct Items {
    all: Vec<u32>,
    entered: Vec<u32>,
    left: Vec<u32>,
}

/// Ranks items by the largest product of a set's Jaccard index and the item's suspicion inside the set: by how much
/// the requests with abnormal invocations into the item outnumber those with abnormal invocations out of it (or the
/// reverse). An abnormal invocation inside an item is one into it.
fn rank_items(
    flagged: &[Flagged<'_>],
    support_min: f64,
    item_of: &mut dyn FnMut(&RequestCalls, usize) -> u32,
) -> Vec<u32> {
    let items: Vec<Items> = flagged.iter().map(|flagged_request| items(flagged_request, item_of)).collect();
    let abnormal: Vec<bool> = flagged.iter().map(Flagged::is_abnormal).collect();
    let failing = abnormal.iter().filter(|&&abnormal| abnormal).count() as f64;
    let all: Vec<Vec<u32>> = items.iter().map(|items| items.all.clone()).collect();
    let mined = mine(&all, &abnormal, support_min);
    let index = |set: usize| {
        let with = f64::from(mined.abnormal[set]);
        jaccard(with / failing, with / f64::from(mined.all[set]))
    };
    let ranking = ranked((0..mined.items.len()).map(|set| (set as u32, index(set))));
    let mut scores: BTreeMap<u32, f64> = BTreeMap::new();
    for set in ranking.into_iter().take(SETS_KEPT).map(|set| set as usize) {
        let members = &mined.items[set];
        let with_set = items.iter().filter(|items| members.iter().all(|item| has(&items.all, *item)));
        let mut balance: Vec<i64> = vec![0; members.len()];
        for items in with_set {
            for (position, item) in members.iter().enumerate() {
                balance[position] +=
                    i64::from(has(&items.entered, *item)) - i64::from(has(&items.left, *item));
            }
        }
        for (item, balance) in members.iter().zip(balance) {
            let score = scores.entry(*item).or_default();
            *score = score.max(index(set) * balance.unsigned_abs() as f64);
        }
    }
    ranked(scores)
}

fn has(sorted: &[u32], item: u32) -> bool {
    sorted.binary_search(&item).is_ok()
}

fn items(flagged: &Flagged<'_>, item_of: &mut dyn FnMut(&RequestCalls, usize) -> u32) -> Items {
    let request = flagged.request;
    let item_by_call: Vec<u32> =
        (0..request.calls.len()).map(|position| item_of(request, position)).collect();
    let mut out = Items { all: item_by_call.clone(), ..Items::default() };
    for &position in &flagged.abnormal {
        out.entered.push(item_by_call[position]);
        let caller = request.calls[position].parent.map(|parent| item_by_call[parent as usize]);
        out.left.extend(caller.filter(|&caller| caller != item_by_call[position]));
    }
    for list in [&mut out.all, &mut out.entered, &mut out.left] {
        list.sort_unstable();
        list.dedup();
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::calls::{Call, NameTable};
    use crate::case::OperationName;

    /// Front (0) calls cart (1) and ads (2), on replicas of the same numbers; nanoseconds of cart and ads.
    fn request(cart: u64, ads: u64) -> Arc<RequestCalls> {
        let call = |number, parent, ns| Call {
            operation: number,
            replica: number,
            parent,
            self_ns: ns,
            inclusive_ns: ns,
        };
        let calls = vec![call(0, None, cart + ads), call(1, Some(0), cart), call(2, Some(0), ads)];
        Arc::new(RequestCalls { start_ns: 0, calls })
    }

    fn calls(target: Vec<Arc<RequestCalls>>, baseline: Option<Vec<Arc<RequestCalls>>>) -> CaseCalls {
        let mut names = NameTable::default();
        for service in ["front", "cart", "ads"] {
            names.operation(OperationName::new(service, "call"));
            names.replica(service);
        }
        CaseCalls { names: Arc::new(names), target, baseline, ..CaseCalls::default() }
    }

    #[test]
    fn the_service_where_abnormal_invocations_end_ranks_first() {
        let history: Vec<_> = (0..20).map(|position| request(100 + position % 2, 50)).collect();
        let target: Vec<_> =
            (0..10).map(|position| request(if position < 5 { 900 } else { 100 }, 50)).collect();
        let calls = calls(target, Some(history));
        let detector = Detector::learn(&calls);
        // The latency of ads did not change: its severity is 0 in both.
        assert!(!detector.usual.contains_key(&(Some(0), 2)));
        let flagged: Vec<_> = calls.target.iter().map(|request| detector.flag(request)).collect();
        assert_eq!(flagged.iter().filter(|flagged_request| flagged_request.is_abnormal()).count(), 5);
        assert_eq!(flagged[0].abnormal, [0, 1]);
        // Every set has index 1/2. Into the front and out of it: 5 each, balance 0. Into the cart: 5.
        let operations = rank_operations(&calls, &flagged);
        assert_eq!(operations[0], OperationName::new("cart", "call"));
        assert_eq!(rank_replicas(&calls, &flagged)[0], "cart");
    }

    #[test]
    fn without_history_only_extremes_are_abnormal() {
        let mut target: Vec<_> = (0..40).map(|position| request(100 + position % 10, 50)).collect();
        target.push(request(5_000, 50));
        let calls = calls(target, None);
        let detector = Detector::learn(&calls);
        let abnormal = calls.target.iter().filter(|request| detector.flag(request).is_abnormal()).count();
        assert_eq!(abnormal, 1);
    }
}
