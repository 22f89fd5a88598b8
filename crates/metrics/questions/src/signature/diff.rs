//! Compares two signatures, such as those of two releases: which transactions became slower or faster at the server.
//!
//! Each transaction is tested by [`super::comparison`]; this file pairs servers and transactions, and builds the `SignatureDiff`
//! report.

use super::comparison::{ComparedValues, CpuUse, Loads, Measured, standard_errors_of_each};
use super::server_name;
use super::work_after_response::{ComparedWork, correct};
use laggard_changes::SignatureTest;
use laggard_report::{
    DiffCounts, DiffSide, DiffTest, DiffVerdict, SIGNATURE_DIFF_SCHEMA_VERSION, ServerSignature, Signature,
    SignatureDiff, TransactionDiff, TransactionOutcome, TransactionSignature, Window, diff_headline,
};
use std::collections::{BTreeMap, BTreeSet};

/// A signature and the file it was read from.
#[derive(Clone, Copy, Debug)]
pub struct NamedSignature<'a> {
    /// The file's name, for the report.
    pub file: &'a str,
    /// The signature.
    pub signature: &'a Signature,
}

/// Thresholds for a difference.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct DiffThresholds {
    /// Size and significance. The standard errors are those for one transaction: with more, each needs as many as keep the
    /// probability of a false difference.
    pub test: SignatureTest,
    /// The correction for queueing, `1 − U^c`, is of first order. Where only times are known, a difference must also exceed this
    /// share of `|ln(1 − U_old^c) − ln(1 − U_new^c)|` (0.5: on a processor-sharing CPU measured at 20, 50 and 80 % the same code
    /// differed by 0.05 to 0.4 of it).
    pub correction_share: f64,
}

impl Default for DiffThresholds {
    /// 5 % and 2.4 standard errors: equal code fails in less than one of a hundred comparisons, and a tenth is found between
    /// load tests of an hour.
    fn default() -> DiffThresholds {
        let test = SignatureTest { change_min: 0.05, standard_errors_min: 2.4, ..SignatureTest::default() };
        DiffThresholds { test, correction_share: 0.5 }
    }
}

/// Mixes that differ by more than this (half the sum of the differences of shares) cause a caution: caches and the
/// correction for queueing depend on them.
const MIX_MAX: f64 = 0.2;
/// Mean utilizations that differ by more than this cause a caution: the correction for queueing is of first order.
const UTILIZATION_MAX: f64 = 0.2;
/// A transaction that takes longer by more than this many times `change_min` …
const LARGE_CHANGES: f64 = 4.0;
/// … and this many standard errors grew by a large amount: where one of many transactions may do so by chance, it counts as not
/// judged, never as the same. Ours.
const LARGE_ERRORS: f64 = 2.0;

/// Compares two signatures.
///
/// Servers are compared by name if both signatures have the same names in a tier. Otherwise, because every run has new
/// names, all servers of the tier are pooled.
pub fn diff_signatures(
    old: NamedSignature<'_>,
    new: NamedSignature<'_>,
    test: &DiffThresholds,
) -> SignatureDiff {
    let DiffThresholds { test, correction_share } = *test;
    let units = Unit::all(old.signature, new.signature);
    let tests = units.iter().map(Unit::tests).sum();
    let standard_errors_min = standard_errors_of_each(test.standard_errors_min, tests);
    let test = &SignatureTest { standard_errors_min, ..test };
    let mut transactions: Vec<TransactionDiff> =
        units.iter().flat_map(|unit| unit.transactions(test, correction_share)).collect();
    transactions.sort_by(|a, b| {
        let size = |row: &TransactionDiff| row.difference_s.map_or(0.0, f64::abs);
        a.outcome
            .cmp(&b.outcome)
            .then(size(b).total_cmp(&size(a)))
            .then_with(|| (&a.tier, &a.server, &a.transaction).cmp(&(&b.tier, &b.server, &b.transaction)))
    });
    let counts = DiffCounts::of(&transactions);
    let mut diff = SignatureDiff {
        schema_version: SIGNATURE_DIFF_SCHEMA_VERSION,
        report: "signature-diff",
        laggard_version: env!("CARGO_PKG_VERSION").to_owned(),
        verdict: verdict(&counts, &transactions, test),
        headline: String::new(),
        old: side(old),
        new: side(new),
        test: DiffTest {
            change_min: test.change_min,
            standard_errors_min: test.standard_errors_min,
            windows_min: test.windows_min as u64,
            correction_share,
        },
        counts,
        cautions: cautions(old.signature, new.signature, &units),
        missing: vec![],
        transactions,
    };
    diff.missing = missing(&diff);
    diff.headline = diff_headline(&diff);
    diff
}

fn side(named: NamedSignature<'_>) -> DiffSide {
    let NamedSignature { file, signature } = named;
    DiffSide {
        file: file.to_owned(),
        label: signature.label.clone(),
        laggard_version: signature.laggard_version.clone(),
        time: signature.time,
        window_s: signature.window_s,
    }
}

fn verdict(counts: &DiffCounts, transactions: &[TransactionDiff], test: &SignatureTest) -> DiffVerdict {
    match counts {
        _ if counts.tested() == 0 => DiffVerdict::InsufficientData,
        DiffCounts { slower: 1.., .. } => DiffVerdict::Slower,
        _ if transactions.iter().any(|row| may_be_slower(row, test)) => DiffVerdict::InsufficientData,
        DiffCounts { faster: 1.., .. } => DiffVerdict::Faster,
        _ => DiffVerdict::Same,
    }
}

/// Whether a transaction that could not be judged takes longer by as much as a change would have to, or by a large amount, which
/// need not be significant.
fn may_be_slower(row: &TransactionDiff, test: &SignatureTest) -> bool {
    let (Some(before_s), Some(growth_s)) = (row.before_s, growth_s(row)) else { return false };
    let error_s = row.standard_error_s.unwrap_or(0.0);
    let is_significant =
        growth_s > test.change_min * before_s && growth_s > test.standard_errors_min * error_s;
    row.outcome == TransactionOutcome::Inconclusive
        && (is_significant || is_large(growth_s, before_s, error_s, test))
}

/// Whether a growth is large, and for one transaction alone no chance.
fn is_large(growth_s: f64, before_s: f64, error_s: f64, test: &SignatureTest) -> bool {
    before_s > 0.0
        && growth_s > LARGE_CHANGES * test.change_min * before_s
        && growth_s > LARGE_ERRORS * error_s
}

/// By how many seconds a transaction takes longer; `None` if one of its times is unknown.
fn growth_s(row: &TransactionDiff) -> Option<f64> {
    row.difference_s.or_else(|| Some(row.after_s? - row.before_s?))
}

fn missing(diff: &SignatureDiff) -> Vec<String> {
    if diff.verdict != DiffVerdict::InsufficientData {
        return vec![];
    }
    if diff.counts.tested() > 0 {
        let rows = diff.transactions.iter().filter(|row| row.outcome == TransactionOutcome::Inconclusive);
        let largest = rows.max_by(|a, b| {
            let size = |row: &TransactionDiff| growth_s(row).unwrap_or(0.0);
            size(a).total_cmp(&size(b))
        });
        return largest.map_or_else(Vec::new, |row| {
            let reason = row.reason.clone().unwrap_or_default();
            vec![format!(
                "`{}` takes {:+.0} %, but that could not be judged: {reason}.",
                row.transaction.replace('`', "'"),
                100.0 * growth_s(row).unwrap_or(0.0) / row.before_s.unwrap_or(f64::NAN)
            )]
        });
    }
    let known = |row: &TransactionDiff| row.windows_before.min(row.windows_after) >= diff.test.windows_min;
    vec![match diff.counts.inconclusive {
        0 => "The signatures have no transaction in common.".to_owned(),
        _ if diff.transactions.iter().any(known) => {
            "The load differs too much for a verdict: measure both at a similar load.".to_owned()
        }
        _ => format!(
            "No transaction has service times in at least {} windows of both signatures.",
            diff.test.windows_min
        ),
    }]
}

/// A unit of comparison: one server, or all servers of a tier.
struct Unit {
    server: String,
    tier: String,
    old: Vec<ServerSignature>,
    new: Vec<ServerSignature>,
}

impl Unit {
    fn all(old: &Signature, new: &Signature) -> Vec<Unit> {
        let tiers: BTreeSet<&str> =
            old.servers.iter().chain(&new.servers).map(|server| server.tier.as_str()).collect();
        tiers.into_iter().flat_map(|tier| Unit::from_tier(tier, old, new)).collect()
    }

    fn from_tier(tier: &str, old: &Signature, new: &Signature) -> Vec<Unit> {
        let servers_of = |signature: &Signature| -> Vec<ServerSignature> {
            signature.servers.iter().filter(|server| server.tier == tier).cloned().collect()
        };
        let names = |servers: &[ServerSignature]| -> BTreeSet<String> {
            servers.iter().map(|server| server.server.clone()).collect()
        };
        let (old, new) = (servers_of(old), servers_of(new));
        let tier = tier.to_owned();
        if names(&old) != names(&new) {
            let server = match (old.as_slice(), new.as_slice()) {
                // A single server keeps its new name.
                ([_], [server]) if tier.is_empty() => server.server.clone(),
                _ => String::new(),
            };
            return vec![Unit { server, tier, old, new }];
        }
        let pairs = std::iter::zip(old, new);
        let unit = |(old, new): (ServerSignature, ServerSignature)| Unit {
            server: old.server.clone(),
            tier: tier.clone(),
            old: vec![old],
            new: vec![new],
        };
        pairs.map(unit).collect()
    }

    /// Transactions of both sides.
    fn tests(&self) -> usize {
        let (old, new) = (pooled(&self.old), pooled(&self.new));
        old.keys().filter(|name| new.contains_key(*name)).count()
    }

    fn transactions(&self, test: &SignatureTest, correction_share: f64) -> Vec<TransactionDiff> {
        let both = CpuUse::of(&self.old).zip(CpuUse::of(&self.new)).map(<[CpuUse; 2]>::from);
        let (old, new) = (pooled(&self.old), pooled(&self.new));
        let work =
            |transaction: &TransactionSignature| transaction.count * transaction.work_share_s.unwrap_or(0.0);
        let loads = Loads { both, mix_distance: mix_distance([&old, &new], work), trust: correction_share };
        let names: BTreeSet<&String> = old.keys().chain(new.keys()).collect();
        let works = works([&old, &new], test, loads);
        names
            .into_iter()
            .map(|name| {
                let sides = [old.get(name), new.get(name)];
                let compared = loads.compare(works.get(name.as_str()).copied(), sides, test);
                self.transaction(name, sides, compared, test, loads)
            })
            .collect()
    }

    fn transaction(
        &self,
        name: &str,
        [old, new]: [Option<&TransactionSignature>; 2],
        compared: Option<ComparedValues>,
        test: &SignatureTest,
        loads: Loads,
    ) -> TransactionDiff {
        let windows = |side: Option<&TransactionSignature>| side.map_or(0, |transaction| transaction.windows);
        let figures = TestFigures { compared, windows: [windows(old), windows(new)] };
        let (outcome, reason) = match (old, new) {
            (None, _) => (TransactionOutcome::New, None),
            (_, None) => (TransactionOutcome::Removed, None),
            _ => figures.outcome(test, loads),
        };
        let value = |of: fn(&ComparedValues) -> f64| compared.as_ref().map(of);
        TransactionDiff {
            server: self.server.clone(),
            tier: self.tier.clone(),
            transaction: name.to_owned(),
            outcome,
            reason,
            quantity: compared.as_ref().map(|compared| compared.quantity),
            before_s: value(|compared| compared.before_s).or(old.and_then(|old| old.service_time_s)),
            after_s: value(|compared| compared.after_s).or(new.and_then(|new| new.service_time_s)),
            difference_s: value(ComparedValues::difference_s),
            standard_error_s: value(|compared| compared.standard_error_s),
            detectable_s: value(|compared| compared.detectable_s + compared.doubt_s),
            windows_before: windows(old),
            windows_after: windows(new),
            share_before: old.map(|old| old.share),
            share_after: new.map(|new| new.share),
        }
    }
}

/// The compared shares of the work of all transactions of a server that have them on both sides, by name.
fn works<'a>(
    [old, new]: [&'a BTreeMap<String, TransactionSignature>; 2],
    test: &SignatureTest,
    loads: Loads,
) -> BTreeMap<&'a str, ComparedValues> {
    let compare = |(name, old): (&'a String, &'a TransactionSignature)| {
        let new = new.get(name)?;
        let work = loads.work([Some(old), Some(new)], test)?;
        Some((name.as_str(), ComparedWork { sides: [old, new], work }))
    };
    let (names, mut compared): (Vec<&str>, Vec<ComparedWork<'_>>) = old.iter().filter_map(compare).unzip();
    correct(&mut compared, loads);
    std::iter::zip(names, compared.into_iter().map(|one| one.work)).collect()
}

/// The input of the test.
struct TestFigures {
    compared: Option<ComparedValues>,
    windows: [u64; 2],
}

impl TestFigures {
    fn outcome(&self, test: &SignatureTest, loads: Loads) -> (TransactionOutcome, Option<String>) {
        let unknown = |reason: String| (TransactionOutcome::Inconclusive, Some(reason));
        let side = |side_index: usize| if side_index == 0 { "before" } else { "after" };
        if let Some(side_index) = self.windows.iter().position(|&windows| windows == 0) {
            return unknown(format!("no window with response times is usable {}", side(side_index)));
        }
        let Some(compared) = self.compared else {
            return unknown("the signature has no standard error".to_owned());
        };
        let few = self.windows.iter().position(|&windows| windows < test.windows_min as u64);
        if let Some(side_index) = few {
            let (windows, needed) = (self.windows[side_index], test.windows_min);
            return unknown(format!("{windows} windows {}, {needed} are needed", side(side_index)));
        }
        let ComparedValues { before_s, standard_error_s, detectable_s, .. } = compared;
        match compared.difference_s() {
            difference
                if difference <= detectable_s && is_large(difference, before_s, standard_error_s, test) =>
            {
                unknown(format!(
                    "one of so many may by chance take up to {:.0} % longer",
                    100.0 * detectable_s / before_s
                ))
            }
            difference if difference.abs() <= compared.detectable_s => (TransactionOutcome::Same, None),
            difference if difference.abs() <= compared.detectable_s + compared.doubt_s => {
                let used = |index: usize| loads.both.map_or(0.0, |both| both[index].utilization * 100.0);
                unknown(format!("another load ({:.0} % and {:.0} % CPU) may explain it", used(0), used(1)))
            }
            difference if difference > 0.0 => (TransactionOutcome::Slower, None),
            _ => (TransactionOutcome::Faster, None),
        }
    }
}

/// Pools the transactions of several servers: service times are means weighted by windows.
fn pooled(servers: &[ServerSignature]) -> BTreeMap<String, TransactionSignature> {
    let mut all: BTreeMap<String, Vec<&TransactionSignature>> = BTreeMap::new();
    for transaction in servers.iter().flat_map(|server| &server.transactions) {
        all.entry(transaction.transaction.clone()).or_default().push(transaction);
    }
    let total: f64 = servers.iter().flat_map(|server| &server.transactions).map(|part| part.count).sum();
    all.into_iter().map(|(name, parts)| (name, pool(&parts, total))).collect()
}

fn pool(parts: &[&TransactionSignature], total: f64) -> TransactionSignature {
    if let [only] = parts {
        let share = if total > 0.0 { only.count / total } else { only.share };
        return TransactionSignature { share, ..(*only).clone() };
    }
    let count: f64 = parts.iter().map(|part| part.count).sum();
    let known: Vec<(f64, f64, f64)> = parts
        .iter()
        .filter_map(|part| Some((part.windows as f64, part.service_time_s?, part.standard_error_s?)))
        .collect();
    let windows: f64 = known.iter().map(|known| known.0).sum();
    let is_known = windows > 0.0;
    let mean = known.iter().map(|(windows, time, _)| windows * time).sum::<f64>() / windows;
    let variance = known.iter().map(|(windows, _, error)| (windows * error).powi(2)).sum::<f64>();
    let shares = pooled_shares(parts, count);
    TransactionSignature {
        transaction: parts[0].transaction.clone(),
        count,
        share: if total > 0.0 { count / total } else { 0.0 },
        service_time_s: is_known.then_some(mean),
        standard_error_s: is_known.then(|| variance.sqrt() / windows),
        windows: windows as u64,
        work_share_s: shares.map(|(share, _)| share),
        work_share_error_s: shares.map(|(_, error)| error),
        ..TransactionSignature::default()
    }
}

/// The mean share of the work over servers, by their transactions; `None` unless all servers have it.
fn pooled_shares(parts: &[&TransactionSignature], count: f64) -> Option<Measured> {
    let (mut sum, mut variance) = (0.0, 0.0);
    for part in parts {
        sum += part.count * part.work_share_s?;
        variance += (part.count * part.work_share_error_s?).powi(2);
    }
    (count > 0.0).then(|| (sum / count, variance.sqrt() / count))
}

fn cautions(old: &Signature, new: &Signature, units: &[Unit]) -> Vec<String> {
    let mut cautions = Vec::new();
    if old.window_s != new.window_s {
        cautions.push(format!(
            "The windows have different lengths: {} s before, {} s after.",
            old.window_s, new.window_s
        ));
    }
    let is_overlapping = |(old, new): (Window, Window)| old.since < new.until && new.since < old.until;
    if old.time.zip(new.time).is_some_and(is_overlapping) {
        cautions
            .push("The times of the two signatures are overlapping: are they from the same data?".to_owned());
    }
    if (old.count_min, old.utilization_max) != (new.count_min, new.utilization_max) {
        cautions.push("The two signatures were built with different rules for usable windows.".to_owned());
    }
    cautions.extend(units.iter().flat_map(Unit::cautions));
    for (signature, word) in [(old, "old"), (new, "new")] {
        let depends = signature.cautions.iter().find(|text| text.contains("depend on the load"));
        cautions.extend(depends.map(|text| format!("Of the {word} signature: {text}")));
    }
    cautions
}

impl Unit {
    fn cautions(&self) -> Vec<String> {
        let mut cautions = Vec::new();
        let name = server_name(&self.server, &self.tier);
        let [old, new] = [&self.old, &self.new];
        if old.len() > 1 || new.len() > 1 {
            cautions.push(format!(
                "The servers of {name} have different names: {} and {} servers are pooled for the comparison.",
                old.len(),
                new.len()
            ));
        }
        let cores = |servers: &[ServerSignature]| servers.first().map(|server| server.cores);
        if let (Some(before), Some(after)) = (cores(old), cores(new))
            && before != after
        {
            cautions.push(format!("{name} has {after} cores instead of {before}."));
        }
        let used = |servers: &[ServerSignature]| CpuUse::of(servers).map(|used| used.utilization);
        if let (Some(before), Some(after)) = (used(old), used(new))
            && (after - before).abs() > UTILIZATION_MAX
        {
            cautions.push(format!(
                "{name} was used {:.0} % before and {:.0} % after: the correction for queueing is of first order, so \
                 compare signatures of similar load.",
                before * 100.0,
                after * 100.0
            ));
        }
        let moved = mix_distance([&pooled(old), &pooled(new)], |transaction| transaction.count);
        if moved > MIX_MAX {
            cautions.push(format!(
                "The mix of transactions at {name} changed by {:.0} %: caches may change the times of the same code.",
                moved * 100.0
            ));
        }
        cautions
    }
}

/// Half the sum of the differences of the shares of the sum of `weight`, 0..1; 0 when one side has none.
fn mix_distance(
    [old, new]: [&BTreeMap<String, TransactionSignature>; 2],
    weight: impl Fn(&TransactionSignature) -> f64,
) -> f64 {
    let total = |side: &BTreeMap<String, TransactionSignature>| side.values().map(&weight).sum::<f64>();
    let totals = [total(old), total(new)];
    if totals.iter().any(|&total| total <= 0.0) {
        return 0.0;
    }
    let names: BTreeSet<&String> = old.keys().chain(new.keys()).collect();
    let share = |side: &BTreeMap<String, TransactionSignature>, name, total| {
        side.get(name).map_or(0.0, |transaction| weight(transaction) / total)
    };
    let difference = |name| (share(old, name, totals[0]) - share(new, name, totals[1])).abs();
    0.5 * names.into_iter().map(difference).sum::<f64>()
}
