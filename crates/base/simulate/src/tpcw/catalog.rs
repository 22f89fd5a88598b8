//! Transaction types, their mixes and what they cost.

use crate::random::{Random, Stream};

/// Number of session mixes.
pub(crate) const MIXES: usize = 3;
/// Names of the session mixes, in the order of [`TransactionType::mix_percent`].
pub(crate) const MIX_NAMES: [&str; MIXES] = ["browsing", "shopping", "ordering"];
/// Mean time of an outbound call at the database, idle, in seconds: the paper gives none; small enough that
/// the front tier stays the bottleneck.
const CALL_S: f64 = 0.0015;

/// A type of client transaction.
#[derive(Clone, PartialEq, Debug)]
pub struct TransactionType {
    /// Its name.
    pub name: String,
    /// Its share in the browsing, shopping and ordering mix, in percent, ≥ 0; relative to the mix's sum.
    pub mix_percent: [f64; MIXES],
    /// CPU seconds it takes at the front tier, its embedded objects included, > 0.
    pub demand_s: f64,
    /// Share of the demand that its main page takes, 0..1, > 0: only that part is in the response time.
    pub main_share: f64,
    /// Outbound calls to the database.
    pub calls: u32,
    /// Mean time a call takes at the idle database, in seconds, > 0.
    pub call_s: f64,
}

/// The fourteen transaction types of TPC-W, by name: Table II of the paper, mixes of clause 5.2.2 of TPC-W 1.8,
/// demands and calls of our reference workload.
pub(crate) fn tpc_w() -> Vec<TransactionType> {
    let row = |name: &str, mix_percent, demand_ms: f64, main_share, calls| TransactionType {
        name: name.to_owned(),
        mix_percent,
        demand_s: demand_ms / 1_000.0,
        main_share,
        calls,
        call_s: CALL_S,
    };
    vec![
        row("Admin Confirm", [0.09, 0.09, 0.11], 6.5, 0.75, 3),
        row("Admin Request", [0.10, 0.10, 0.12], 3.0, 0.80, 1),
        row("Best Sellers", [11.00, 5.00, 0.46], 7.5, 0.70, 2),
        row("Buy Confirm", [0.69, 1.20, 10.18], 8.0, 0.85, 6),
        row("Buy Request", [0.75, 2.60, 12.73], 6.0, 0.80, 3),
        row("Customer Registration", [0.82, 3.00, 12.86], 3.0, 0.75, 1),
        row("Execute Search", [11.00, 17.00, 13.08], 5.5, 0.70, 1),
        row("Home", [29.00, 16.00, 9.12], 4.0, 0.65, 1),
        row("New Products", [11.00, 5.00, 0.46], 6.0, 0.70, 1),
        row("Order Display", [0.25, 0.66, 0.22], 5.0, 0.80, 3),
        row("Order Inquiry", [0.30, 0.75, 0.25], 2.0, 0.85, 1),
        row("Product Detail", [21.00, 17.00, 12.35], 3.5, 0.70, 1),
        row("Search Request", [12.00, 20.00, 14.53], 3.2, 0.70, 1),
        row("Shopping Cart", [2.00, 11.60, 13.53], 5.5, 0.75, 3),
    ]
}

/// Mean demand of a transaction in the costliest mix of an invented application, in seconds: that of TPC-W.
const MEAN_DEMAND_S: f64 = 0.0048;

/// Another application: `count` types with demands that spread over a factor of 15, mixes by Zipf's law in a
/// different order each, and no to four calls.
pub(crate) fn invented(seed: u64, count: usize) -> Vec<TransactionType> {
    let mut random = Random::new(seed, Stream::Catalog, &[]);
    let mut orders: [Vec<usize>; MIXES] = std::array::from_fn(|_| (0..count).collect());
    for order in &mut orders {
        for index in 0..count {
            let other = index + random.index(count - index);
            order.swap(index, other);
        }
    }
    let make = |index: usize| {
        let weight = |mix: usize| 100.0 / (1.0 + orders[mix][index] as f64);
        TransactionType {
            name: format!("Transaction {:02}", index + 1),
            mix_percent: std::array::from_fn(weight),
            demand_s: libm::exp(random.ln_log_uniform(0.001, 0.015)),
            main_share: random.between(0.6, 1.0),
            calls: random.below(5) as u32,
            call_s: CALL_S,
        }
    };
    let mut all: Vec<TransactionType> = (0..count).map(make).collect();
    let costliest = (0..MIXES).map(|mix| mean_demand_s(&all, mix)).fold(0.0, f64::max);
    for transaction in &mut all {
        transaction.demand_s *= MEAN_DEMAND_S / costliest;
    }
    all.sort_by(|a, b| a.name.cmp(&b.name));
    all
}

/// CPU seconds of a mean transaction of a mix.
pub(crate) fn mean_demand_s(transactions: &[TransactionType], mix: usize) -> f64 {
    let total: f64 = transactions.iter().map(|transaction| transaction.mix_percent[mix]).sum();
    let weighted = transactions.iter().map(|transaction| transaction.mix_percent[mix] * transaction.demand_s);
    weighted.sum::<f64>() / total
}
