//! How well the clocks of replicas agree.

use super::context::Context;
use laggard_report::Clocks;

/// Agreement and skew of the clocks of replicas that called each other.
pub(crate) fn clocks(context: &Context<'_>) -> Clocks {
    let names = context.requests.names();
    let pairs = context.requests.clocks().pairs();
    let agreeing = || pairs.iter().filter(|(_, bounds)| bounds.agree());
    let worst = pairs
        .iter()
        .filter(|(_, bounds)| !bounds.agree())
        .max_by_key(|(pair, bounds)| (bounds.proven_skew(), std::cmp::Reverse(*pair)));
    Clocks {
        pairs: pairs.len() as u64,
        agreeing_pairs: agreeing().count() as u64,
        max_proven_skew_ns: worst.map_or(0, |(_, bounds)| bounds.proven_skew().ns()),
        worst_pair: worst.map(|((caller, callee), _)| {
            [names.replica_name(*caller).to_owned(), names.replica_name(*callee).to_owned()]
        }),
        max_possible_skew_ns: agreeing().map(|(_, bounds)| bounds.possible_skew().ns()).max().unwrap_or(0),
    }
}
