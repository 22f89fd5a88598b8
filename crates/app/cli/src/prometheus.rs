//! Flags and questions for a Prometheus server.

use crate::exit::CommandError;
use crate::small_files::text_of;
use clap::Args;
use laggard_metrics_questions::SampleFacts;
use laggard_model::{Nanos, Timestamp};
use laggard_prometheus::{
    Client, ClientSettings, DEFAULT_QUERIES, Half, PROXY_QUERIES, PrometheusError, Query, RESOURCE_QUERIES,
    TimeRange, fetch, similar_names,
};
use laggard_report::NamedCount;
use laggard_samples::SampleTable;
use laggard_system::{Credentials, now};
use std::path::PathBuf;
use std::time::Duration;

/// The server, and the queries.
#[derive(Args, Debug, Default)]
pub(crate) struct PrometheusInput {
    /// Query this Prometheus server (or Thanos, Mimir, VictoriaMetrics): http://localhost:9090
    #[arg(long = "prometheus", value_name = "URL")]
    pub(crate) url: Option<String>,
    /// Query: MEASURE[:NAME=LABEL,…]=PROMQL, as in rate:transaction=route='sum by (route) (rate(x[$step]))'; repeat
    /// for more [default: CPU time and limits, and requests of servers, or else of Istio and Envoy]
    #[arg(long = "query", value_name = "QUERY", requires = "url")]
    pub(crate) queries: Vec<String>,
    /// Distance of the queried instants [default: a quarter of the window, at least 1s]
    #[arg(long, value_name = "LENGTH", value_parser = laggard_settings::parse_length, requires = "url")]
    pub(crate) step: Option<Nanos>,
    /// File with a bearer token for the server
    #[arg(long, value_name = "FILE", requires = "url")]
    pub(crate) bearer_token_file: Option<PathBuf>,
    /// File with user:password for the server
    #[arg(long, value_name = "FILE", requires = "url", conflicts_with = "bearer_token_file")]
    pub(crate) basic_auth_file: Option<PathBuf>,
    /// File with the certificates (PEM) of the authorities to trust, instead of the well-known ones
    #[arg(long, value_name = "FILE", requires = "url")]
    pub(crate) ca_file: Option<PathBuf>,
    /// Longest time to wait for one answer of the server
    #[arg(long, value_name = "LENGTH", value_parser = laggard_settings::parse_length, default_value = "60s")]
    pub(crate) prometheus_timeout: Nanos,
}

/// Length of the range when the command line names no start.
const DAY: Nanos = Nanos::from_secs(86_400);

/// The time that the flags name, and what is wanted of it; now and the day before when they name none.
pub(crate) struct QueryRange {
    pub(crate) since: Option<Timestamp>,
    pub(crate) until: Option<Timestamp>,
    pub(crate) window: Nanos,
    /// Whether memory and network links are wanted too, if no queries are given.
    pub(crate) has_resources: bool,
}

/// Names of metrics that are proposed.
const SIMILAR: usize = 6;

/// The half of the data that no query has, and metrics of the server that may be it, as sentences.
fn nothing_known(half: Half, names: &[String]) -> String {
    let what = match half {
        Half::Transactions => "completed transactions",
        Half::Cpu => "the use of the CPU",
    };
    let similar = similar_names(half, names, SIMILAR);
    let hint = match similar.first() {
        Some(first) => {
            format!(" It knows {}: give --query '{}'.", similar.join(", "), half.query(first))
        }
        None => " Give a --query for them.".to_owned(),
    };
    format!("Prometheus has no series of {what} in that time for the queries.{hint}")
}

/// Runs every query and adds the answers to the table. `is_only_input`: nothing else can give what the server lacks.
pub(crate) fn query(
    input: &PrometheusInput,
    query_range: &QueryRange,
    table: &mut SampleTable,
    facts: &mut SampleFacts,
    cautions: &mut Vec<String>,
    is_only_input: bool,
) -> Result<(), CommandError> {
    let Some(url) = &input.url else { return Ok(()) };
    let queries = queries(input)?;
    let client = client(input, url)?;
    let range = range(input, query_range)?;
    let mut answers = 0;
    let mut known = Vec::new();
    for query in &queries {
        let fetched = fetch(&client, query, &range, table).map_err(failure)?;
        answers += u64::from(fetched.series > 0);
        known.extend(Half::from_measure(query.measure).filter(|_| fetched.series > 0));
        facts.input.bytes += fetched.bytes;
        cautions.extend(
            fetched.warnings.iter().map(|text| format!("Prometheus warns about {:?}: {text}", query.promql)),
        );
        if fetched.series == 0 && !input.queries.is_empty() {
            cautions.push(format!("Prometheus knows no series for {:?} in that time.", query.promql));
        }
    }
    if input.queries.is_empty() && !known.contains(&Half::Transactions) {
        let proxies = query_proxies(&client, &range, table, facts)?;
        answers += proxies;
        known.extend((proxies > 0).then_some(Half::Transactions));
    }
    if query_range.has_resources && input.queries.is_empty() {
        answers += query_resources(&client, &range, table, facts, cautions)?;
    }
    let missing: Vec<Half> =
        [Half::Transactions, Half::Cpu].into_iter().filter(|half| !known.contains(half)).collect();
    if !missing.is_empty() {
        // The names are only a help: a server that does not list them is no failure.
        let names = client.metric_names().unwrap_or_default();
        let sentences: Vec<String> = missing.iter().map(|half| nothing_known(*half, &names)).collect();
        if table.samples() == 0 && is_only_input {
            return Err(CommandError::too_little(sentences.join(" ")));
        }
        cautions.extend(sentences);
    }
    facts.input.files += answers;
    facts.input.formats.push(NamedCount { name: "prometheus".to_owned(), count: answers });
    Ok(())
}

/// Runs the queries of proxies, of one kind after the other until one has series; returns how many had.
fn query_proxies(
    client: &Client,
    range: &TimeRange,
    table: &mut SampleTable,
    facts: &mut SampleFacts,
) -> Result<u64, CommandError> {
    for texts in PROXY_QUERIES {
        let mut answers = 0;
        for text in texts {
            let query = Query::parse(text).map_err(failure)?;
            let fetched = fetch(client, &query, range, table).map_err(failure)?;
            answers += u64::from(fetched.series > 0);
            facts.input.bytes += fetched.bytes;
        }
        if answers > 0 {
            return Ok(answers);
        }
    }
    Ok(0)
}

/// Runs the queries of memory and network links; returns how many had series. One that the server rejects is a caution: metrics
/// that have the names of these queries and other labels must not hide what is known of the CPU.
fn query_resources(
    client: &Client,
    range: &TimeRange,
    table: &mut SampleTable,
    facts: &mut SampleFacts,
    cautions: &mut Vec<String>,
) -> Result<u64, CommandError> {
    let mut answers = 0;
    for text in RESOURCE_QUERIES {
        let query = Query::parse(text).map_err(failure)?;
        match fetch(client, &query, range, table) {
            Ok(fetched) => {
                answers += u64::from(fetched.series > 0);
                facts.input.bytes += fetched.bytes;
            }
            Err(error) => cautions.push(format!(
                "Prometheus does not answer the query of memory or network links, so that these limits are not known: {error}"
            )),
        }
    }
    Ok(answers)
}

/// Wrong settings are invalid usage; anything else is an input that cannot be read.
fn failure(error: PrometheusError) -> CommandError {
    match error {
        PrometheusError::Settings(reason) => CommandError::usage(reason),
        error => CommandError::unreadable(error),
    }
}

fn queries(input: &PrometheusInput) -> Result<Vec<Query>, CommandError> {
    let texts: Vec<&str> = match input.queries.as_slice() {
        [] => DEFAULT_QUERIES.to_vec(),
        texts => texts.iter().map(String::as_str).collect(),
    };
    texts.into_iter().map(|text| Query::parse(text).map_err(failure)).collect()
}

fn client(input: &PrometheusInput, url: &str) -> Result<Client, CommandError> {
    let credentials = match (&input.bearer_token_file, &input.basic_auth_file) {
        (Some(file), _) => Some(Credentials::bearer(&text_of(file)?).map_err(CommandError::usage)?),
        (None, Some(file)) => Some(Credentials::basic(&text_of(file)?).map_err(CommandError::usage)?),
        (None, None) => None,
    };
    let authorities_pem = match &input.ca_file {
        Some(file) => Some(text_of(file)?.into_bytes()),
        None => None,
    };
    let timeout = Duration::from_nanos(input.prometheus_timeout.ns());
    Client::new(ClientSettings { credentials, authorities_pem, timeout, ..ClientSettings::new(url) })
        .map_err(failure)
}

fn range(input: &PrometheusInput, requested: &QueryRange) -> Result<TimeRange, CommandError> {
    let until = requested.until.unwrap_or_else(now);
    let since = requested.since.unwrap_or_else(|| until.minus(DAY));
    if since >= until {
        return Err(CommandError::usage("--since is not before --until (or now)"));
    }
    let quarter = Nanos::from_ns((requested.window.ns() / 4).max(1_000_000_000));
    let step = input.step.unwrap_or(quarter);
    if step < Nanos::from_ms(1) || step > requested.window.max(Nanos::from_secs(1)) {
        return Err(CommandError::usage("--step must be between 1 ms and the length of a window"));
    }
    // Counters are read once before the first window, so that it is whole.
    Ok(TimeRange { since: since.minus(step), until, step })
}
