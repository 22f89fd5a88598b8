//! The transactions of the whole system, as requested by clients.

use crate::groups::ServerKey;
use crate::transactions::TransactionSums;
use std::collections::BTreeMap;

/// Names of tiers that clients call first, most likely; in order of preference.
const FRONTS: [&str; 12] = [
    "front",
    "frontend",
    "front-end",
    "edge",
    "gateway",
    "ingress",
    "proxy",
    "lb",
    "web",
    "nginx",
    "api",
    "app",
];

/// Whose transactions are the system's: those of samples without server and tier; else of the tier that clients call: the
/// only one that counts any, the one the user names, or one with a typical name. `counted` are all servers with counts,
/// in order.
pub(crate) fn system_servers<'s>(
    counted: &[ServerKey<'s>],
    front: Option<&str>,
    cautions: &mut Vec<String>,
) -> Vec<ServerKey<'s>> {
    let has_system = counted.contains(&ServerKey::SYSTEM);
    let servers = || counted.iter().filter(|server_key| **server_key != ServerKey::SYSTEM);
    let mut tiers: Vec<&str> = servers().map(|server_key| server_key.tier).collect();
    tiers.dedup();
    let tier = match (front, tiers.as_slice()) {
        (None, _) if has_system => return vec![ServerKey::SYSTEM],
        (_, []) => return counted.to_vec(),
        (Some(front), tiers) if tiers.contains(&front) => front,
        (_, [only]) => only,
        (_, tiers) => guess(tiers, cautions),
    };
    let of_tier: Vec<ServerKey<'_>> =
        servers().filter(|server_key| server_key.tier == tier).cloned().collect();
    // A sum recorded for the tier is better than the sum over single servers.
    match of_tier.iter().find(|server_key| server_key.server.is_empty()) {
        Some(of_all) => vec![of_all.clone()],
        None => of_tier,
    }
}

/// The sum over some servers; `None` without any.
pub(crate) fn system(
    reported: &BTreeMap<ServerKey<'_>, TransactionSums>,
    servers: &[ServerKey<'_>],
) -> Option<TransactionSums> {
    sum(servers.iter().filter_map(|server_key| reported.get(server_key)))
}

fn guess<'s>(tiers: &[&'s str], cautions: &mut Vec<String>) -> &'s str {
    let named = FRONTS.iter().find_map(|name| tiers.iter().find(|tier| tier.eq_ignore_ascii_case(name)));
    let tier = named.unwrap_or(&tiers[0]);
    let shown: Vec<&str> = tiers.iter().take(5).copied().collect();
    cautions.push(format!(
        "Transactions are counted in {} tiers ({}); those of {} were used as the system's. Select the tier with \
         --front.",
        tiers.len(),
        shown.join(", "),
        if tier.is_empty() { "servers without a tier" } else { tier }
    ));
    tier
}

/// The sum over servers. A window is unknown if a server with data before and after has none in it.
fn sum<'t>(all: impl Iterator<Item = &'t TransactionSums>) -> Option<TransactionSums> {
    let all: Vec<&TransactionSums> = all.collect();
    let mut sum = (*all.first()?).clone();
    for calls in all.iter().skip(1).flat_map(|reported| &reported.calls) {
        let empty = || crate::window_sums::WindowSums::unknown(calls.1.counts.rows(), calls.1.counts.cols());
        sum.calls.entry(calls.0.clone()).or_insert_with(empty);
    }
    let known_rows: Vec<_> = all.iter().map(|reported| reported.known_rows()).collect();
    for row in 0..sum.transactions.counts.rows() {
        let silent = all
            .iter()
            .zip(&known_rows)
            .any(|(reported, known_rows)| known_rows.contains(&row) && !reported.transactions.is_known(row));
        let summands: Vec<_> = all.iter().map(|reported| &reported.transactions).collect();
        sum.transactions.sum_row(row, &summands, silent);
        for (callee, sums) in &mut sum.calls {
            let summands: Vec<_> = all.iter().filter_map(|reported| reported.calls.get(callee)).collect();
            sums.sum_row(row, &summands, silent);
        }
    }
    Some(sum)
}

impl crate::window_sums::WindowSums {
    /// Nothing known.
    fn unknown(rows: usize, types: usize) -> Self {
        use laggard_numeric::Matrix;
        let mut sums = crate::window_sums::WindowSums {
            counts: Matrix::zeros(rows, types),
            seconds: Matrix::zeros(rows, types),
            timed: Matrix::zeros(rows, types),
        };
        sums.counts.data_mut().fill(f64::NAN);
        sums
    }

    /// Makes one row the sum of the known rows of others; unknown when `is_unknown` is set or none is known.
    fn sum_row(&mut self, row: usize, others: &[&Self], is_unknown: bool) {
        let known = || others.iter().filter(|other| other.is_known(row));
        let counts = self.counts.row_mut(row);
        if is_unknown || known().next().is_none() {
            counts.fill(f64::NAN);
            self.timed.row_mut(row).fill(0.0);
            return;
        }
        for column in 0..self.counts.cols() {
            self.counts.set(row, column, known().map(|other| other.counts.get(row, column)).sum());
            self.seconds.set(row, column, known().map(|other| other.seconds.get(row, column)).sum());
            self.timed.set(row, column, known().map(|other| other.timed.get(row, column)).sum());
        }
    }
}
