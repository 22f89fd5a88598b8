//! Which end of a slow link, caller or callee, is the cause.
//!
//! ```text
//!   front ══► cart     front ──► cart ◄── checkout      If front's other calls are as slow, it is front;
//!   front ══► ads      front ══► pay  ◄══ checkout      if the callee's other calls are, it is the callee.
//! ```
//!
//! Everything that both ends do is evidence: the links to the caller's other callees, those from the callee's other callers,
//! and the own time of their operations. Each counts with its calls, whether it is significantly slower by itself or not: that
//! depends on the length of the baseline.

use crate::sites::culprits::Culprit;
use crate::sites::table::{Observation, Site, SiteTable};
use laggard_model::ServiceId;
use laggard_numeric::median_of;
use std::collections::BTreeMap;

/// All links of one service pair.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct LinkExcess {
    /// Service of the caller.
    pub caller: ServiceId,
    /// Service of the callee.
    pub callee: ServiceId,
    /// The additional time of their calls.
    pub excess: MeanExcess,
}

/// Additional time of some calls over the expected time.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub struct MeanExcess {
    /// Number of calls.
    pub calls: f64,
    /// Mean excess time of a call over the expected time, nanoseconds; 0 when they are not slower.
    pub mean_ns: f64,
}

impl MeanExcess {
    /// Adds calls with a mean excess.
    pub fn add(&mut self, other: MeanExcess) {
        let calls = self.calls + other.calls;
        if calls > 0.0 {
            self.mean_ns = (self.calls * self.mean_ns + other.calls * other.mean_ns) / calls;
        }
        self.calls = calls;
    }
}

/// The end of a link that causes its slowness.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum End {
    /// The caller.
    Caller,
    /// The callee.
    Callee,
    /// Either end, or what is between them.
    Undecided,
}

/// Evidence for a service that does nothing else: as if half of its other calls were as slow.
const NOTHING_ELSE: f64 = 0.5;
/// Difference of the evidence for both ends from which on one is selected.
const DIFFERENCE_MIN: f64 = 0.1;

/// Selects one end of every link, by what else each end does, relative to this link. `own` holds the excess of the own time of
/// every service's operations.
pub fn blame_ends(links: &[LinkExcess], own: &BTreeMap<ServiceId, MeanExcess>) -> Vec<End> {
    let mut by_service: BTreeMap<ServiceId, Vec<usize>> = BTreeMap::new();
    for (index, link) in links.iter().enumerate() {
        by_service.entry(link.caller).or_default().push(index);
        by_service.entry(link.callee).or_default().push(index);
    }
    let similarity = |service: ServiceId, link: usize| {
        let excess_ns = links[link].excess.mean_ns;
        let others = by_service[&service].iter().filter(|&&other| other != link);
        let others = others.map(|&other| links[other].excess).chain(own.get(&service).copied());
        let (calls, like_this) = others.fold((0.0, 0.0), |(calls, like_this), other| {
            let ratio = (other.mean_ns / excess_ns.max(1.0)).clamp(0.0, 1.0);
            (calls + other.calls, like_this + other.calls * ratio)
        });
        if calls == 0.0 || excess_ns <= 0.0 { NOTHING_ELSE } else { like_this / calls }
    };
    let end = |(index, link): (usize, &LinkExcess)| {
        let difference = similarity(link.caller, index) - similarity(link.callee, index);
        match difference {
            difference if difference >= DIFFERENCE_MIN => End::Caller,
            difference if difference <= -DIFFERENCE_MIN => End::Callee,
            _ => End::Undecided,
        }
    };
    links.iter().enumerate().map(end).collect()
}

/// Fewest observations from which the usual time of a category is known, and fewest by which an end is judged.
const OBSERVATIONS_MIN: usize = 5;

/// Which end of a link is slow on the culprit replicas: the calls that have only this end there are slow. Undecided if both ends
/// are slow, or if a host runs both ends under one name and calls only itself.
pub(crate) fn culprits_end(table: &SiteTable, link: Site, culprits: &[Culprit]) -> End {
    const NEITHER: usize = 0;
    const CALLER: usize = 1;
    const CALLEE: usize = 2;
    let Some(factor) = culprits.iter().map(|culprit| culprit.factor).reduce(f64::min) else {
        return End::Undecided;
    };
    let is_culprit = |replica| culprits.iter().any(|culprit| culprit.replica == replica);
    let time = |row: &Observation| (f64::from(row.time_ns) / f64::from(row.calls)).max(1.0).ln();
    // Logarithms of times, by category and by which ends are on culprits.
    let mut times: BTreeMap<u32, [Vec<f64>; 3]> = BTreeMap::new();
    for row in table.rows_of(link) {
        let [caller, callee] = table.sets[row.set as usize][..] else { continue };
        let group = match (is_culprit(caller), is_culprit(callee)) {
            (true, true) => continue,
            (true, false) => CALLER,
            (false, true) => CALLEE,
            (false, false) => NEITHER,
        };
        let category = table.requests[row.request as usize].category;
        times.entry(category).or_default()[group].push(time(row));
    }
    let slow_share = |group: usize| {
        let usual = times.values().filter(|groups| groups[NEITHER].len() >= OBSERVATIONS_MIN);
        let is_slow = usual.flat_map(|groups| {
            let slow = median_of(&groups[NEITHER]) + 0.5 * factor.ln();
            groups[group].iter().map(move |&time| time >= slow)
        });
        let is_slow: Vec<bool> = is_slow.collect();
        let slow = is_slow.iter().filter(|slow| **slow).count();
        (is_slow.len() >= OBSERVATIONS_MIN).then(|| slow as f64 / is_slow.len() as f64)
    };
    let is_slow = |group| slow_share(group).map(|share| share >= 0.5);
    let is_seen = |group: usize| times.values().any(|groups| !groups[group].is_empty());
    match (is_slow(CALLER), is_slow(CALLEE)) {
        (Some(true), Some(false) | None) => End::Caller,
        (Some(false) | None, Some(true)) => End::Callee,
        (None, None) if is_seen(CALLER) && !is_seen(CALLEE) => End::Caller,
        (None, None) if is_seen(CALLEE) && !is_seen(CALLER) => End::Callee,
        _ => End::Undecided,
    }
}

#[cfg(test)]
mod tests {
    use super::End::{Callee, Caller, Undecided};
    use super::*;
    use crate::sites::table::SiteRequest;
    use crate::sites::table_builder::{SiteTableBuilder, Spent};
    use laggard_model::{AttributeSetId, Fingerprint, OperationId, ReplicaId, Timestamp, TraceId};
    use std::num::NonZeroUsize;

    const FRONT: usize = 0;
    const CART: usize = 1;
    const ADS: usize = 2;
    const CHECKOUT: usize = 3;
    const PAY: usize = 4;

    /// Caller, callee, calls, mean excess.
    fn links(list: &[(usize, usize, f64, f64)]) -> Vec<LinkExcess> {
        let service = ServiceId::from_index;
        list.iter()
            .map(|&(caller, callee, calls, mean_ns)| LinkExcess {
                caller: service(caller),
                callee: service(callee),
                excess: MeanExcess { calls, mean_ns },
            })
            .collect()
    }

    fn own(list: &[(usize, f64)]) -> BTreeMap<ServiceId, MeanExcess> {
        let excess = |mean_ns| MeanExcess { calls: 100.0, mean_ns };
        list.iter().map(|&(service, mean_ns)| (ServiceId::from_index(service), excess(mean_ns))).collect()
    }

    #[test]
    fn the_end_whose_other_calls_are_slow_is_to_blame() {
        let none = BTreeMap::new();
        let calls = 100.0;
        let front_slow = links(&[
            (FRONT, CART, calls, 80.0),
            (FRONT, ADS, calls, 90.0),
            (FRONT, CHECKOUT, calls, 100.0),
            (CHECKOUT, CART, calls, 0.0),
            (CHECKOUT, PAY, calls, 0.0),
        ]);
        assert_eq!(blame_ends(&front_slow, &none)[..3], [Caller, Caller, Caller]);
        let cart_slow = links(&[
            (FRONT, CART, calls, 80.0),
            (FRONT, ADS, calls, 0.0),
            (FRONT, CHECKOUT, calls, 0.0),
            (CHECKOUT, CART, calls, 80.0),
            (CHECKOUT, PAY, calls, 0.0),
        ]);
        let blamed = blame_ends(&cart_slow, &none);
        assert_eq!((blamed[0], blamed[3]), (Callee, Callee));
    }

    /// A star of front and 1 to 5 others, with one slow link: neither end does anything else that is slow.
    #[test]
    fn a_single_slow_link_of_otherwise_normal_services_is_undecided() {
        let usual = own(&[(FRONT, 0.0), (CART, 0.0)]);
        for others in [1, 2, 5] {
            let mut star = vec![(FRONT, CART, 100.0, 500.0)];
            star.extend((0..others).map(|other| (FRONT, ADS + other, 100.0, 0.0)));
            assert_eq!(blame_ends(&links(&star), &usual)[0], Undecided, "{others} others");
        }
        assert_eq!(blame_ends(&links(&[(FRONT, CART, 100.0, 10.0)]), &BTreeMap::new()), [Undecided]);
        assert_eq!(blame_ends(&[], &usual), []);
    }

    #[test]
    fn the_own_time_of_an_end_is_evidence() {
        let link = links(&[(FRONT, CART, 100.0, 500.0)]);
        assert_eq!(blame_ends(&link, &own(&[(FRONT, 0.0), (CART, 900.0)])), [Callee]);
        assert_eq!(blame_ends(&link, &own(&[(FRONT, 400.0), (CART, 0.0)])), [Caller]);
    }

    /// The end blamed when replica 0 is the culprit. `pairs` are the replicas of callers and callees that call each other, and
    /// `is_slow` tells which of these calls are slow.
    fn end_on_shared_hosts(pairs: &[(usize, usize)], is_slow: impl Fn(usize, usize) -> bool) -> End {
        let operation = OperationId::from_index;
        let link = Site::Link { caller: operation(0), callee: operation(1) };
        let mut builder = SiteTableBuilder::default();
        for request in 0..pairs.len() * 20 {
            let (caller, callee) = pairs[request % pairs.len()];
            let row = SiteRequest {
                start: Timestamp::from_unix_ns(request as i64 * 1000),
                trace: TraceId::from_value(request as u128 + 1),
                latency_ns: 2e6,
                category: 0,
                weight: 1.0,
                number: request as u32,
                attributes: AttributeSetId::default(),
            };
            builder.request(Fingerprint::from_value(1), row);
            let time_ns = if is_slow(caller, callee) { 3e6 } else { 1e6 };
            let replicas = [caller, callee].map(ReplicaId::from_index);
            builder.spend(Spent { site: link, replicas: &replicas, time_ns, path_ns: time_ns });
        }
        let table = builder.finish(NonZeroUsize::MIN);
        let culprit = Culprit {
            replica: ReplicaId::from_index(0),
            factor: 3.0,
            factor_low: 2.9,
            factor_high: 3.1,
            observations: 20,
            p_adjusted: 1e-9,
        };
        culprits_end(&table, link, &[culprit])
    }

    #[test]
    fn the_end_that_is_slow_while_the_other_is_elsewhere_is_to_blame() {
        let every = [(0, 0), (0, 1), (1, 0), (1, 1)];
        assert_eq!(end_on_shared_hosts(&every, |caller, _| caller == 0), Caller);
        assert_eq!(end_on_shared_hosts(&every, |_, callee| callee == 0), Callee);
        assert_eq!(end_on_shared_hosts(&every, |caller, callee| caller == 0 || callee == 0), Undecided);
    }

    #[test]
    fn a_host_that_calls_only_itself_is_undecided() {
        assert_eq!(end_on_shared_hosts(&[(0, 0), (1, 1), (2, 2)], |caller, _| caller == 0), Undecided);
        // Replicas of the callee only.
        assert_eq!(end_on_shared_hosts(&[(3, 0), (3, 1), (3, 2)], |_, callee| callee == 0), Callee);
    }

    #[test]
    fn a_link_with_few_calls_is_little_evidence() {
        let usual = own(&[(FRONT, 0.0), (CART, 0.0)]);
        // The only other link of front is as slow, in two calls of a hundred.
        let rare = links(&[(FRONT, CART, 100.0, 500.0), (FRONT, ADS, 2.0, 500.0)]);
        assert_eq!(blame_ends(&rare, &usual)[0], Undecided);
        let frequent = links(&[(FRONT, CART, 100.0, 500.0), (FRONT, ADS, 100.0, 500.0)]);
        assert_eq!(blame_ends(&frequent, &usual)[0], Caller);
    }
}
