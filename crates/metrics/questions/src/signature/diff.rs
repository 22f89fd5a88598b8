//! Compares two signatures, such as those of two releases: which transactions became slower or faster at the server.
//!
//! Each transaction is tested by `laggard_changes::SignatureTest`; this file pairs servers and transactions, allows for different
//! loads and mixes, and builds the `SignatureDiff` report.

use super::server_name;
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
    /// Size and significance.
    pub test: SignatureTest,
    /// The correction for queueing, `1 − U^c`, is of first order. If it differs between the signatures because of the
    /// load, a difference must also exceed this share of `|ln(1 − U_old^c) − ln(1 − U_new^c)|` (0.5: on a
    /// processor-sharing CPU measured at 20, 50 and 80 % the same code differed by 0.05 to 0.4 of it).
    pub correction_share: f64,
}

impl Default for DiffThresholds {
    fn default() -> DiffThresholds {
        DiffThresholds { test: SignatureTest::default(), correction_share: 0.5 }
    }
}

/// Mixes that differ by more than this (half the sum of the differences of shares) cause a caution: caches and the
/// correction for queueing depend on them.
const MIX_MAX: f64 = 0.2;
/// Mean utilizations that differ by more than this cause a caution: the correction for queueing is of first order.
const UTILIZATION_MAX: f64 = 0.2;

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
    let test = &test;
    let units = Unit::all(old.signature, new.signature);
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

/// Whether a transaction that could not be judged takes longer by as much as a change would have to.
fn may_be_slower(row: &TransactionDiff, test: &SignatureTest) -> bool {
    let (Some(before), Some(difference)) = (row.before_s, row.difference_s) else { return false };
    let errors = row.standard_error_s.unwrap_or(0.0);
    row.outcome == TransactionOutcome::Inconclusive
        && difference > test.change_min * before
        && difference > test.standard_errors_min * errors
}

fn missing(diff: &SignatureDiff) -> Vec<String> {
    if diff.verdict != DiffVerdict::InsufficientData {
        return vec![];
    }
    if diff.counts.tested() > 0 {
        let rows = diff.transactions.iter().filter(|row| row.outcome == TransactionOutcome::Inconclusive);
        let largest = rows.max_by(|a, b| {
            let size = |row: &TransactionDiff| row.difference_s.unwrap_or(0.0);
            size(a).total_cmp(&size(b))
        });
        return largest.map_or_else(Vec::new, |row| {
            let reason = row.reason.clone().unwrap_or_default();
            vec![format!(
                "`{}` takes {:+.0} %, but that could not be judged: {reason}.",
                row.transaction.replace('`', "'"),
                100.0 * row.difference_s.unwrap_or(0.0) / row.before_s.unwrap_or(f64::NAN)
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

    fn transactions(&self, test: &SignatureTest, correction_share: f64) -> Vec<TransactionDiff> {
        let load = Load { used: [used(&self.old), used(&self.new)], trust: correction_share };
        let (old, new) = (pooled(&self.old), pooled(&self.new));
        let names: BTreeSet<&String> = old.keys().chain(new.keys()).collect();
        names
            .into_iter()
            .map(|name| self.transaction(name, [old.get(name), new.get(name)], test, load))
            .collect()
    }

    fn transaction(
        &self,
        name: &str,
        [old, new]: [Option<&TransactionSignature>; 2],
        test: &SignatureTest,
        load: Load,
    ) -> TransactionDiff {
        let compared = load.compared([old, new]);
        let times = compared.map(|[(old, _), (new, _)]| (old, new));
        let error = compared.map(|[(old_s, old), (_, new)]| load.error(old_s, old.hypot(new)));
        let difference = times.map(|(old, new)| new - old);
        let detectable = times
            .zip(error)
            .map(|((old, _), error)| (test.change_min * old.abs()).max(test.standard_errors_min * error));
        let windows = |side: Option<&TransactionSignature>| side.map_or(0, |transaction| transaction.windows);
        let doubt = match load.is_by_work([old, new]) {
            true => 0.0,
            false => times.map_or(0.0, |(old, _)| load.doubt() * old.abs()),
        };
        let figures = TestFigures { difference, detectable, doubt, windows: [windows(old), windows(new)] };
        let (outcome, reason) = match (old, new) {
            (None, _) => (TransactionOutcome::New, None),
            (_, None) => (TransactionOutcome::Removed, None),
            _ => figures.outcome(test, load),
        };
        TransactionDiff {
            server: self.server.clone(),
            tier: self.tier.clone(),
            transaction: name.to_owned(),
            outcome,
            reason,
            before_s: times.map(|(old, _)| old).or(old.and_then(|old| old.service_time_s)),
            after_s: times.map(|(_, new)| new).or(new.and_then(|new| new.service_time_s)),
            difference_s: difference,
            standard_error_s: error,
            detectable_s: detectable.map(|detectable| detectable + doubt),
            windows_before: windows(old),
            windows_after: windows(new),
            share_before: old.map(|old| old.share),
            share_after: new.map(|new| new.share),
        }
    }
}

/// The input of the test.
struct TestFigures {
    difference: Option<f64>,
    detectable: Option<f64>,
    /// Difference that a different load may explain, in seconds.
    doubt: f64,
    windows: [u64; 2],
}

/// The load of both sides.
#[derive(Clone, Copy)]
struct Load {
    /// Mean utilization and cores.
    used: [Option<(f64, f64)>; 2],
    /// See [`DiffThresholds::correction_share`].
    trust: f64,
}

impl Load {
    /// Share of a service time that a different load may explain.
    fn doubt(self) -> f64 {
        let [Some(old), Some(new)] = self.used.map(|used| used.map(log_correction)) else { return 0.0 };
        self.trust * (old - new).abs()
    }
}

/// The relative error of the division of the work by times that more windows do not reduce, and its growth with each
/// doubling of the load.
const DEPARTURE: f64 = 0.01;
/// See [`DEPARTURE`].
const DEPARTURE_BY_LOAD: f64 = 0.01;
/// Loads are different if the correction for queueing differs by more than this share.
const DIFFERENT_LOAD: f64 = 0.1;

/// Seconds and their standard error.
type Measured = (f64, f64);

impl Load {
    /// Whether shares of the work are compared: at different loads, where both signatures have them.
    fn is_by_work(self, sides: [Option<&TransactionSignature>; 2]) -> bool {
        let is_different = self.used.iter().all(Option::is_some) && {
            let [old, new] = self.used.map(|used| used.map_or(0.0, log_correction));
            (old - new).abs() > DIFFERENT_LOAD
        };
        is_different && sides.iter().all(|side| side.is_some_and(|side| side.work_share_s.is_some()))
    }

    /// The quantity to compare: times without queueing at one load, shares of the work at different loads.
    fn compared(self, sides: [Option<&TransactionSignature>; 2]) -> Option<[Measured; 2]> {
        let is_by_work = self.is_by_work(sides);
        let [old, new] = sides.map(|side| {
            let side = side?;
            match is_by_work {
                true => side.work_share_s.zip(side.work_share_error_s),
                false => side.service_time_s.zip(side.standard_error_s),
            }
        });
        Some([old?, new?])
    }

    /// The standard error of a difference, with that of the comparison of loads.
    fn error(self, before_s: f64, sampling_s: f64) -> f64 {
        let [Some((old, _)), Some((new, _))] = self.used else { return sampling_s };
        let [old_log, new_log] = self.used.map(|used| used.map_or(0.0, log_correction));
        if (old_log - new_log).abs() <= DIFFERENT_LOAD {
            return sampling_s;
        }
        let doublings = (new.max(1e-3) / old.max(1e-3)).log2().abs();
        sampling_s.hypot(before_s * (DEPARTURE + DEPARTURE_BY_LOAD * doublings))
    }
}

/// `ln(1 − U^c)`, with the utilization limited to that of usable windows.
fn log_correction((used, cores): (f64, f64)) -> f64 {
    (1.0 - used.clamp(0.0, laggard_changes::UTILIZATION_MAX).powf(cores.max(f64::MIN_POSITIVE))).ln()
}

/// Mean utilization of servers, and the cores of the first.
fn used(servers: &[ServerSignature]) -> Option<(f64, f64)> {
    let known: Vec<f64> = servers.iter().filter_map(|server| server.utilization_mean).collect();
    let cores = servers.first()?.cores;
    (!known.is_empty()).then(|| (known.iter().sum::<f64>() / known.len() as f64, cores))
}

impl TestFigures {
    fn outcome(&self, test: &SignatureTest, load: Load) -> (TransactionOutcome, Option<String>) {
        let unknown = |reason: String| (TransactionOutcome::Inconclusive, Some(reason));
        let side = |side_index: usize| if side_index == 0 { "before" } else { "after" };
        if let Some(side_index) = self.windows.iter().position(|&windows| windows == 0) {
            return unknown(format!("no window with response times is usable {}", side(side_index)));
        }
        let Some((difference, detectable)) = self.difference.zip(self.detectable) else {
            return unknown("the signature has no standard error".to_owned());
        };
        let few = self.windows.iter().position(|&windows| windows < test.windows_min as u64);
        if let Some(side_index) = few {
            let (windows, needed) = (self.windows[side_index], test.windows_min);
            return unknown(format!("{windows} windows {}, {needed} are needed", side(side_index)));
        }
        match difference {
            _ if difference.abs() <= detectable => (TransactionOutcome::Same, None),
            _ if difference.abs() <= detectable + self.doubt => {
                let [old, new] = load.used.map(|used| used.map_or(0.0, |(used, _)| used * 100.0));
                unknown(format!("another load ({old:.0} % and {new:.0} % CPU) may explain it"))
            }
            d if d > 0.0 => (TransactionOutcome::Slower, None),
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
        if let (Some((before, _)), Some((after, _))) = (used(old), used(new))
            && (after - before).abs() > UTILIZATION_MAX
        {
            cautions.push(format!(
                "{name} was used {:.0} % before and {:.0} % after: the correction for queueing is of first order, so \
                 compare signatures of similar load.",
                before * 100.0,
                after * 100.0
            ));
        }
        let moved = mix_distance(old, new);
        if moved > MIX_MAX {
            cautions.push(format!(
                "The mix of transactions at {name} changed by {:.0} %: caches may change the times of the same code.",
                moved * 100.0
            ));
        }
        cautions
    }
}

/// Half the sum of the differences of shares, 0..1; 0 when one side has no transactions.
fn mix_distance(old: &[ServerSignature], new: &[ServerSignature]) -> f64 {
    let (old, new) = (pooled(old), pooled(new));
    if old.is_empty() || new.is_empty() {
        return 0.0;
    }
    let names: BTreeSet<&String> = old.keys().chain(new.keys()).collect();
    let share = |side: &BTreeMap<String, TransactionSignature>, name| {
        side.get(name).map_or(0.0, |transaction| transaction.share)
    };
    0.5 * names.into_iter().map(|name| (share(&old, name) - share(&new, name)).abs()).sum::<f64>()
}
