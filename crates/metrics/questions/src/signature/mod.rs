//! The time of transactions at every server without queueing.
//!
//! ```text
//! WindowTable ── ObservedServer (one a server) ── laggard_changes::signature, fit_model ──► Signature
//! two Signatures ── comparison (each transaction), work_after_response (all of a server) ── diff ──► SignatureDiff
//! ```

mod comparison;
mod diff;
mod work_after_response;

pub use diff::{DiffThresholds, NamedSignature, diff_signatures};
pub use laggard_changes::SignatureTest;

use crate::changes::{ObservedServer, POOLED};
use crate::sample_summary::{SampleFacts, sample_summary, window_start};
use laggard_changes::{
    Analysis, COUNT_MIN, ChangeKind, ChangeSettings, LoadSlope, ModelSettings, Observations, Segment,
    SegmentKind, ServiceTime, TransactionModel, UTILIZATION_MAX, changes, fit_model, load_slope,
    service_time_at, signature as service_times, work_shares,
};
use laggard_numeric::quantile_nearest_rank;
use laggard_report::{
    SIGNATURE_SCHEMA_VERSION, ServerSignature, Signature, SignatureVerdict, TransactionSignature, rfc3339,
    signature_headline,
};
use laggard_samples::{ServerWindows, WindowTable};
use std::num::NonZeroUsize;
use std::ops::Range;

/// The parameters of a signature.
#[derive(Clone, Copy, Debug)]
pub struct SignatureQuestion<'a> {
    /// Windows of all servers.
    pub table: &'a WindowTable,
    /// Facts on the input.
    pub facts: &'a SampleFacts,
    /// Label of the signature, such as a version or a commit; may be empty.
    pub label: &'a str,
    /// Maximum number of transaction types; the rarest are pooled.
    pub types_max: usize,
}

/// Steps of the distribution of a service time: 5 % each.
const QUANTILES: usize = 20;

/// Minimum effect of load on a service time for a caution, as a share of it over the observed range of utilization: the same
/// share is a change of times in the comparison of two signatures.
const SLOPE_SHARE_MAX: f64 = 0.10;

/// Builds the signature over all windows.
pub fn build_signature(question: &SignatureQuestion<'_>) -> Signature {
    let SignatureQuestion { table, facts, label, types_max } = *question;
    let input = sample_summary(table, facts);
    let mut signature = Signature {
        schema_version: SIGNATURE_SCHEMA_VERSION,
        report: "signature".to_owned(),
        laggard_version: env!("CARGO_PKG_VERSION").to_owned(),
        label: label.to_owned(),
        time: input.window,
        window_s: input.window_s,
        count_min: COUNT_MIN,
        utilization_max: UTILIZATION_MAX,
        cautions: table.cautions.clone(),
        input,
        ..Signature::default()
    };
    for server in &table.servers {
        let measured = MeasuredServer::of(table, server, types_max);
        signature.cautions.extend(measured.cautions());
        signature.cautions.extend(measured.mixture_caution(table));
        signature.servers.push(measured.signature());
    }
    signature.verdict = verdict(&signature);
    signature.missing = missing(&signature);
    signature.headline = signature_headline(&signature);
    signature
}

fn verdict(signature: &Signature) -> SignatureVerdict {
    let windows_min = SignatureTest::default().windows_min as u64;
    let mut all = signature.servers.iter().flat_map(|server| &server.transactions);
    match all.any(|transaction| transaction.windows >= windows_min) {
        true => SignatureVerdict::Usable,
        false => SignatureVerdict::InsufficientData,
    }
}

fn missing(signature: &Signature) -> Vec<String> {
    if signature.verdict == SignatureVerdict::Usable {
        return vec![];
    }
    let all = || signature.servers.iter().flat_map(|server| &server.transactions);
    let windows_min = SignatureTest::default().windows_min;
    let most = all().map(|transaction| transaction.windows).max().unwrap_or(0);
    let text = if signature.servers.is_empty() {
        "No CPU utilization of any server was found: a signature needs it in addition to response times."
            .to_owned()
    } else if signature.servers.iter().all(|server| server.windows == 0) {
        "No window has both transactions and CPU utilization.".to_owned()
    } else if most == 0 {
        format!(
            "No response times were found in windows with at least {COUNT_MIN} transactions of a type and a \
             utilization below {} %.",
            UTILIZATION_MAX * 100.0
        )
    } else {
        format!(
            "The transaction with the most usable windows has {most} windows; a comparison needs {windows_min}."
        )
    };
    vec![text]
}

/// One server with its service times and model.
struct MeasuredServer<'a> {
    server: &'a ServerWindows,
    observed: ObservedServer,
    /// `None` where there is too little data.
    analysis: Option<Analysis>,
    /// The rows that are used.
    rows: Vec<Range<usize>>,
    times: Vec<Option<ServiceTime>>,
    shares: Vec<Option<ServiceTime>>,
    model: Option<TransactionModel>,
}

impl<'a> MeasuredServer<'a> {
    fn of(table: &WindowTable, server: &'a ServerWindows, types_max: usize) -> MeasuredServer<'a> {
        let observed = ObservedServer::of(table, server, types_max);
        let observations = &observed.observations;
        let analysis = changes(observations, &ChangeSettings::default(), NonZeroUsize::MIN).ok();
        let rows = explained_rows(observations, analysis.as_ref());
        let times = service_times(observations, &rows);
        let model = fit_model(observations, &rows, &ModelSettings::default());
        let model = model.ok().map(|fitted| fitted.model);
        let constant = model.as_ref().map_or(0.0, |model| model.constant_percent);
        let shares = work_shares(observations, &rows, constant);
        MeasuredServer { server, times, shares, model, analysis, rows, observed }
    }

    fn rows(&self) -> impl Iterator<Item = usize> + '_ {
        self.rows.iter().cloned().flatten()
    }

    fn signature(&self) -> ServerSignature {
        let observations = &self.observed.observations;
        let windows = self.rows().count();
        let mean = self.rows().map(|row| observations.utilization[row]).sum::<f64>() / windows as f64;
        let finite = |value: f64| Some(value).filter(|value| value.is_finite());
        let mut transactions: Vec<TransactionSignature> =
            (0..self.observed.transactions.len()).map(|column| self.transaction(column)).collect();
        transactions.sort_by(|a, b| a.transaction.cmp(&b.transaction));
        ServerSignature {
            server: self.server.server.clone(),
            tier: self.server.tier.clone(),
            cores: observations.cores,
            cores_known: self.observed.cores_known,
            windows: windows as u64,
            utilization_mean: finite(mean),
            constant_percent: self.model.as_ref().and_then(|model| finite(model.constant_percent)),
            model_error: self.model.as_ref().and_then(|model| finite(model.error)),
            transactions,
        }
    }

    fn transaction(&self, column: usize) -> TransactionSignature {
        let counts = &self.observed.observations.counts;
        let total = |column: usize| self.rows().map(|row| counts.get(row, column)).sum::<f64>();
        let all: f64 = (0..counts.cols()).map(total).sum();
        let known = self.times[column];
        let model_value = |values: fn(&TransactionModel) -> &Vec<f64>| {
            let value = values(self.model.as_ref()?).get(column).copied()?;
            Some(value).filter(|value| value.is_finite())
        };
        TransactionSignature {
            transaction: self.observed.transactions[column].clone(),
            count: total(column),
            share: if all > 0.0 { total(column) / all } else { 0.0 },
            service_time_s: known.map(|time| time.seconds),
            standard_error_s: known.map(|time| time.standard_error_s),
            distribution_s: self.distribution(column),
            windows: known.map_or(0, |time| time.windows as u64),
            work_share_s: self.shares[column].map(|share| share.seconds),
            work_share_error_s: self.shares[column].map(|share| share.standard_error_s),
            demand_s: model_value(|model| &model.demand_s),
            demand_standard_error_s: model_value(|model| &model.standard_error_s),
        }
    }

    /// Quantiles of the service times of the windows, as [`TransactionSignature::distribution_s`].
    fn distribution(&self, column: usize) -> Vec<f64> {
        let observations = &self.observed.observations;
        let mut times: Vec<f64> =
            self.rows().filter_map(|row| service_time_at(observations, row, column)).collect();
        times.sort_by(f64::total_cmp);
        if times.is_empty() {
            return Vec::new();
        }
        let quantile = |step: usize| quantile_nearest_rank(&times, step as f64 / QUANTILES as f64);
        (0..=QUANTILES).map(quantile).collect()
    }

    fn cautions(&self) -> Vec<String> {
        let (observed, name) = (&self.observed, self.name());
        let observations = &observed.observations;
        let busy = observations.utilization.iter().filter(|&&used| used >= UTILIZATION_MAX).count();
        let mut cautions = Vec::new();
        if busy > 0 {
            let windows = observations.utilization.len();
            cautions.push(format!(
                "{busy} of {windows} windows of {name} are at {} % CPU and above and are not used.",
                UTILIZATION_MAX * 100.0
            ));
        }
        let foreign = observations.utilization.len() - self.rows().count();
        if foreign > 0 {
            cautions.push(format!(
                "{foreign} of {} windows of {name} are not used: something else than transactions used the CPU in them.",
                observations.utilization.len()
            ));
        }
        if observed.overlapping > 0 {
            cautions.push(format!(
                "At {name}, outbound calls took longer than the transaction itself in {} cases (calls in parallel): \
                 these are not used.",
                observed.overlapping
            ));
        }
        if observed.sharing > 1 {
            cautions.push(format!(
                "The transactions of {name} are not distinguished from those of its {} peers: each has an equal share, and \
                 response times are those of all.",
                observed.sharing
            ));
        }
        if observed.pooled > 0 {
            cautions
                .push(format!("At {name}, the {} rarest types are pooled as `{POOLED}`.", observed.pooled));
        }
        cautions.extend(self.load_caution(&name));
        cautions
    }

    /// A signature over two versions of the application describes neither.
    fn mixture_caution(&self, table: &WindowTable) -> Option<String> {
        let observations = &self.observed.observations;
        let is_other = |kind| {
            matches!(
                kind,
                ChangeKind::ApplicationChange
                    | ChangeKind::HostChange
                    | ChangeKind::WaitChange
                    | ChangeKind::Rollback { .. }
            )
        };
        let last = self.analysis.as_ref()?.changes.iter().rfind(|change| is_other(change.kind))?;
        let since = rfc3339(window_start(table, *observations.windows.get(last.onset.row)?));
        Some(format!(
            "The times of transactions at {} changed within this period, last at {since}: the signature mixes values from \
             before and after. Use `--since` or `--until`, and see `laggard changes`.",
            self.name()
        ))
    }

    /// Service times should not depend on load; if they do, the correction for queueing is wrong.
    fn load_caution(&self, name: &str) -> Option<String> {
        let observations = &self.observed.observations;
        let used =
            self.rows().map(|row| observations.utilization[row]).filter(|&used| used < UTILIZATION_MAX);
        let (low, high) = used.fold((1.0_f64, 0.0_f64), |(low, high), used| (low.min(used), high.max(used)));
        let depends = |&column: &usize| {
            let slope: Option<LoadSlope> = load_slope(observations, &self.rows, column);
            let effect =
                slope.filter(LoadSlope::is_significant).map(|slope| slope.slope_s.abs() * (high - low));
            let time = self.times[column].map(|time| time.seconds);
            effect.zip(time).is_some_and(|(effect, time)| effect > SLOPE_SHARE_MAX * time)
        };
        let count = (0..self.times.len()).filter(depends).count();
        let known = self.times.iter().flatten().count();
        (2 * count > known).then(|| {
            format!(
                "At {name}, the service times of {count} of {known} transactions depend on the load: the number of cores \
                 (`--cores`) may not be {}, or the CPU is not the bottleneck. Compare only signatures of similar load.",
                observations.cores
            )
        })
    }

    fn name(&self) -> String {
        server_name(&self.server.server, &self.server.tier)
    }
}

/// A server, or a tier of servers without names, in a sentence.
fn server_name(server: &str, tier: &str) -> String {
    match (server, tier) {
        ("", "") => "the server".to_owned(),
        ("", tier) => format!("tier `{tier}`"),
        (server, _) => format!("`{server}`"),
    }
}

/// The rows that are not in an anomalous region: what else runs there is no cost of transactions. All, if too few would be left.
fn explained_rows(observations: &Observations, analysis: Option<&Analysis>) -> Vec<Range<usize>> {
    let is_explained = |segment: &&Segment| !matches!(segment.kind, SegmentKind::Anomalous { .. });
    let segments = analysis.iter().flat_map(|analysis| &analysis.segments);
    let rows: Vec<Range<usize>> = segments.filter(is_explained).map(|segment| segment.rows.clone()).collect();
    let count: usize = rows.iter().map(ExactSizeIterator::len).sum();
    let all = 0..observations.utilization.len();
    if count >= SignatureTest::default().windows_min { rows } else { std::iter::once(all).collect() }
}

#[cfg(test)]
mod tests;
