//! The transactions of the whole system: what clients asked for.

use crate::groups::Place;
use crate::told::Told;
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

/// The transactions of the system: those of samples without server and tier; else of the tier that clients call: the
/// only one that counts any, the one the user names, or one with a telling name.
pub(crate) fn system(
    told: &BTreeMap<Place<'_>, Told>,
    front: Option<&str>,
    cautions: &mut Vec<String>,
) -> Option<Told> {
    if let (Some(system), None) = (told.get(&Place::SYSTEM), front) {
        return Some(system.clone());
    }
    let mut tiers: Vec<&str> =
        told.keys().filter(|&place| *place != Place::SYSTEM).map(|place| place.tier).collect();
    tiers.dedup();
    let tier = match (front, tiers.as_slice()) {
        (_, []) => return told.get(&Place::SYSTEM).cloned(),
        (Some(front), tiers) if tiers.contains(&front) => front,
        (_, [only]) => only,
        (_, tiers) => guess(tiers, cautions),
    };
    let of_tier: Vec<(&Place<'_>, &Told)> =
        told.iter().filter(|(place, _)| place.tier == tier && **place != Place::SYSTEM).collect();
    // A sum over the tier, where samples tell one, is better than the sum of what single servers tell.
    match of_tier.iter().find(|(place, _)| place.server.is_empty()) {
        Some((_, whole)) => Some((*whole).clone()),
        None => sum(of_tier.iter().map(|(_, told)| *told)),
    }
}

fn guess<'s>(tiers: &[&'s str], cautions: &mut Vec<String>) -> &'s str {
    let named = FRONTS.iter().find_map(|name| tiers.iter().find(|tier| tier.eq_ignore_ascii_case(name)));
    let tier = named.unwrap_or(&tiers[0]);
    let shown: Vec<&str> = tiers.iter().take(5).copied().collect();
    cautions.push(format!(
        "Transactions are counted in {} tiers ({}); those of {} were taken as what clients asked for. Say which with \
         --front.",
        tiers.len(),
        shown.join(", "),
        if tier.is_empty() { "servers without a tier" } else { tier }
    ));
    tier
}

/// The sum over servers. A window is unknown while a server is silent that told something before and after.
fn sum<'t>(all: impl Iterator<Item = &'t Told>) -> Option<Told> {
    let all: Vec<&Told> = all.collect();
    let mut sum = (*all.first()?).clone();
    for calls in all.iter().skip(1).flat_map(|told| &told.calls) {
        let empty = || crate::tally::Tally::unknown(calls.1.counts.rows(), calls.1.counts.cols());
        sum.calls.entry(calls.0.clone()).or_insert_with(empty);
    }
    let lives: Vec<_> = all.iter().map(|told| told.life()).collect();
    for row in 0..sum.transactions.counts.rows() {
        let silent = all
            .iter()
            .zip(&lives)
            .any(|(told, life)| life.contains(&row) && !told.transactions.is_known(row));
        let tallies: Vec<_> = all.iter().map(|told| &told.transactions).collect();
        sum.transactions.sum_row(row, &tallies, silent);
        for (callee, tally) in &mut sum.calls {
            let tallies: Vec<_> = all.iter().filter_map(|told| told.calls.get(callee)).collect();
            tally.sum_row(row, &tallies, silent);
        }
    }
    Some(sum)
}

impl crate::tally::Tally {
    /// Nothing known.
    fn unknown(rows: usize, types: usize) -> Self {
        use laggard_numeric::Matrix;
        let mut tally = crate::tally::Tally {
            counts: Matrix::zeros(rows, types),
            seconds: Matrix::zeros(rows, types),
            timed: Matrix::zeros(rows, types),
        };
        tally.counts.data_mut().fill(f64::NAN);
        tally
    }

    /// Makes one row the sum of the known rows of others; unknown when told so, or when none is known.
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
