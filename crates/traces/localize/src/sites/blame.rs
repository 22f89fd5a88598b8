//! Which end of a slow link, caller or callee, is the cause.
//!
//! ```text
//!   front ══► cart     front ──► cart ◄── checkout      If front's other links are as slow, it is front;
//!   front ══► ads      front ══► pay  ◄══ checkout      if the callee's other links are, it is the callee.
//! ```

use laggard_model::ServiceId;
use std::collections::BTreeMap;

/// All links of one service pair.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct LinkExcess {
    /// Service of the caller.
    pub caller: ServiceId,
    /// Service of the callee.
    pub callee: ServiceId,
    /// Mean excess time of a call over the expected time, nanoseconds; 0 when it is not slower.
    pub excess_ns: f64,
}

/// The end of a link that causes its slowness.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum End {
    /// The caller.
    Caller,
    /// The callee; also when the two cannot be distinguished, since time before the callee's span starts is
    /// usually queueing at the callee.
    Callee,
}

/// Evidence for a service without other links: as if its other links were half as slow.
const NO_OTHER_LINKS: f64 = 0.5;

/// Selects one end of every link, by the excess of each end's other links relative to this one.
pub fn blame_ends(links: &[LinkExcess]) -> Vec<End> {
    let mut by_service: BTreeMap<ServiceId, Vec<usize>> = BTreeMap::new();
    for (index, link) in links.iter().enumerate() {
        by_service.entry(link.caller).or_default().push(index);
        by_service.entry(link.callee).or_default().push(index);
    }
    let alike = |service: ServiceId, link: usize| {
        let others = || by_service[&service].iter().filter(|&&other| other != link);
        let count = others().count();
        if count == 0 || links[link].excess_ns <= 0.0 {
            return NO_OTHER_LINKS;
        }
        let ratio = |&other: &usize| (links[other].excess_ns / links[link].excess_ns).clamp(0.0, 1.0);
        others().map(ratio).sum::<f64>() / count as f64
    };
    (0..links.len())
        .map(|index| {
            if alike(links[index].caller, index) > alike(links[index].callee, index) {
                End::Caller
            } else {
                End::Callee
            }
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn links(list: &[(usize, usize, f64)]) -> Vec<LinkExcess> {
        let service = ServiceId::from_index;
        list.iter()
            .map(|&(caller, callee, excess_ns)| LinkExcess {
                caller: service(caller),
                callee: service(callee),
                excess_ns,
            })
            .collect()
    }

    #[test]
    fn the_end_whose_other_links_are_slow_is_to_blame() {
        use End::{Callee, Caller};
        // 0 front, 1 cart, 2 ads, 3 checkout, 4 pay.
        let front_slow = links(&[(0, 1, 80.0), (0, 2, 90.0), (0, 3, 100.0), (3, 1, 0.0), (3, 4, 0.0)]);
        assert_eq!(blame_ends(&front_slow)[..3], [Caller, Caller, Caller]);
        let cart_slow = links(&[(0, 1, 80.0), (0, 2, 0.0), (0, 3, 0.0), (3, 1, 80.0), (3, 4, 0.0)]);
        let blamed = blame_ends(&cart_slow);
        assert_eq!((blamed[0], blamed[3]), (Callee, Callee));
        let pay_slow = links(&[(0, 1, 0.0), (0, 3, 0.0), (3, 1, 0.0), (3, 4, 500.0)]);
        assert_eq!(blame_ends(&pay_slow)[3], Callee);
        let checkout_slow = links(&[(0, 1, 0.0), (0, 3, 70.0), (3, 1, 200.0), (3, 4, 210.0)]);
        assert_eq!(blame_ends(&checkout_slow)[1..], [Callee, Caller, Caller]);
    }

    #[test]
    fn a_single_link_is_attributed_to_the_callee() {
        assert_eq!(blame_ends(&links(&[(0, 1, 10.0)])), [End::Callee]);
        assert_eq!(blame_ends(&[]), []);
    }
}
