//! Service demands of a mix of transactions, and where their latency goes (Cherkasova et al. 2009, figure 16 and
//! equation 6).

/// Calls of one transaction type to one type of callee.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct CalleeVisits {
    /// Mean number of calls in a transaction, ≥ 0.
    pub visits: f64,
    /// CPU seconds, or mean seconds, a call takes.
    pub demand_s: f64,
}

/// Demand of a mix at the tier that transactions enter, `Σ p(i)·C(i)`, in seconds. `shares` need not sum to 1.
/// NaN when no transaction has a share.
///
/// # Panics
/// If the lengths differ.
pub fn front_demand(shares: &[f64], demands_s: &[f64]) -> f64 {
    assert_eq!(shares.len(), demands_s.len(), "a demand for each transaction");
    let all: f64 = shares.iter().sum();
    shares.iter().zip(demands_s).map(|(share, demand_s)| share * demand_s).sum::<f64>() / all
}

/// Demand of a mix at a callee, `Σ p(i) Σ v(i,j)·C(i,j)`, in seconds a transaction; `calls` has the calls of each
/// transaction. NaN when no transaction has a share.
///
/// The paper prints this without the numbers of calls; with them the visit ratio is 1.
///
/// # Panics
/// If the lengths differ.
pub fn mean_visits_demand(shares: &[f64], calls: &[Vec<CalleeVisits>]) -> f64 {
    let per_transaction: Vec<f64> =
        calls.iter().map(|calls| calls.iter().map(|call| call.visits * call.demand_s).sum()).collect();
    front_demand(shares, &per_transaction)
}

/// Demand by the utilization law, `D = U·c/X`: seconds of busy cores over completed transactions. NaN without any.
pub fn busy_demand(busy_s: f64, transactions: f64) -> f64 {
    if transactions > 0.0 { busy_s / transactions } else { f64::NAN }
}

/// Outbound calls of a transaction type to one callee in one time interval.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct OutboundTime {
    /// Calls.
    pub calls: f64,
    /// Mean time of a call in seconds.
    pub time_s: f64,
}

/// Latency at the tier itself (equation 6), in seconds: `R − Σ calls·time / transactions`. `None` when it is
/// negative, which outbound calls in parallel make it, or not a number.
pub fn own_latency(response_s: f64, transactions: f64, outbound: &[OutboundTime]) -> Option<f64> {
    let away_s: f64 =
        outbound.iter().filter(|call| call.calls > 0.0).map(|call| call.calls * call.time_s).sum();
    let own_s = response_s - away_s / transactions;
    (own_s >= 0.0).then_some(own_s)
}

/// Where the mean latency of a transaction type goes. The parts sum to the response time.
#[derive(Clone, PartialEq, Debug)]
pub struct LatencyParts {
    /// Mean response time in seconds.
    pub response_s: f64,
    /// CPU time at the tier it enters.
    pub service_s: f64,
    /// Everything else there: queueing, other waits. Never negative: where the demand exceeds the latency, the
    /// latency is all service.
    pub queueing_s: f64,
    /// By callee: seconds a transaction in its calls.
    pub callees_s: Vec<f64>,
}

/// Splits a mean response time by equation 6; `None` as for [`own_latency`].
pub fn latency_parts(
    response_s: f64,
    transactions: f64,
    demand_s: f64,
    outbound: &[OutboundTime],
) -> Option<LatencyParts> {
    let own_s = own_latency(response_s, transactions, outbound)?;
    let service_s = demand_s.min(own_s);
    let callees_s = outbound
        .iter()
        .map(|call| if call.calls > 0.0 { call.calls * call.time_s / transactions } else { 0.0 })
        .collect();
    Some(LatencyParts { response_s, service_s, queueing_s: own_s - service_s, callees_s })
}
