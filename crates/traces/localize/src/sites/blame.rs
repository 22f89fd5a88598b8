//! A slow link has two ends. Which of the two services is to blame?
//!
//! ```text
//!   front ══► cart     front ──► cart ◄── checkout      If front's other links are as slow, it is front;
//!   front ══► ads      front ══► pay  ◄══ checkout      if the callee's other links are, it is the callee.
//! ```

use laggard_model::ServiceId;
use std::collections::BTreeMap;

/// The links of one service pair, taken together.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct LinkExcess {
    /// Service of the caller.
    pub caller: ServiceId,
    /// Service of the callee.
    pub callee: ServiceId,
    /// Mean time of a call beyond the expected, nanoseconds; 0 when it is not slower.
    pub excess_ns: f64,
}

/// Which end of a link is to blame.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum End {
    /// The caller.
    Caller,
    /// The callee; also when nothing tells them apart, since time before the callee's span starts is queueing
    /// there more often than not.
    Callee,
}

/// A service without other links is as likely to blame as one whose other links are half as slow.
const NO_OTHER_LINKS: f64 = 0.5;

/// Blames one end of every link, by how slow the other links of each end are against this one.
pub fn blame_ends(links: &[LinkExcess]) -> Vec<End> {
    let mut by_service: BTreeMap<ServiceId, Vec<usize>> = BTreeMap::new();
    for (at, link) in links.iter().enumerate() {
        by_service.entry(link.caller).or_default().push(at);
        by_service.entry(link.callee).or_default().push(at);
    }
    let alike = |service: ServiceId, of: usize| {
        let others = || by_service[&service].iter().filter(|&&other| other != of);
        let count = others().count();
        if count == 0 || links[of].excess_ns <= 0.0 {
            return NO_OTHER_LINKS;
        }
        let ratio = |&other: &usize| (links[other].excess_ns / links[of].excess_ns).clamp(0.0, 1.0);
        others().map(ratio).sum::<f64>() / count as f64
    };
    (0..links.len())
        .map(|at| {
            if alike(links[at].caller, at) > alike(links[at].callee, at) { End::Caller } else { End::Callee }
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
    fn a_single_link_is_its_callees() {
        assert_eq!(blame_ends(&links(&[(0, 1, 10.0)])), [End::Callee]);
        assert_eq!(blame_ends(&[]), []);
    }
}
