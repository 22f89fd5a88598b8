//! `laggard sql`: queries on stored rows.

#[cfg(feature = "cluster")]
use crate::cluster::WorkersOfStore;
use crate::exit::{CommandError, Status};
use crate::load::parse_size;
use crate::output::print;
use clap::{Args, ValueEnum};
use laggard_model::{Losses, Timestamp};
use laggard_report::{clauses_text, counted};
use laggard_server::alerts::IncidentRecord;
use laggard_server::{ReadLimits, StoredData};
use laggard_sql::{Answered, IncidentRow, SqlError, SqlLimits, SqlOutput, StoredTables, table_texts};
use laggard_system::available_threads;
use std::fs::File;
use std::io::{self, BufWriter, Read, Write};
use std::num::NonZeroUsize;
use std::path::PathBuf;

const EXAMPLES: &str = "Examples:
  laggard sql --tables
  laggard sql --store /var/lib/laggard \"select service, operation, count(*) as calls, avg(self_ns) / 1e6 as self_ms from calls
    where request_start_time >= now() - interval '1 hour' group by 1, 2 order by self_ms desc limit 20\"
  laggard sql --store s3://bucket/laggard --output csv -o slow.csv \"select * from requests where latency_ns > 1e9\"
  laggard sql --store data - < query.sql

Exit status: 0 answered, 2 invalid query or usage, 3 the store cannot be read, part of it is damaged, memory does not suffice, or the answer
cannot be written.";

/// Query the stored spans, requests, calls, samples, events, and incidents of a server with SQL
#[derive(Args, Debug)]
#[command(after_help = EXAMPLES)]
pub(crate) struct SqlArguments {
    /// The query, in PostgreSQL's syntax; - reads it from standard input
    #[arg(required_unless_present = "tables")]
    query: Option<String>,
    /// Data folder of `laggard serve`, or s3://BUCKET/PREFIX, gs://BUCKET/PREFIX, az://CONTAINER/PREFIX, as in `laggard diagnose --store`
    #[arg(long, value_name = "FOLDER|URL", required_unless_present = "tables")]
    store: Option<String>,
    /// Tenant whose data is queried [default: the only one]
    #[arg(long, value_name = "NAME")]
    tenant: Option<String>,
    /// List the tables and their columns
    #[arg(long, conflicts_with_all = ["query", "store", "tenant"])]
    tables: bool,
    /// Format of the answer: text has at most 1000 rows
    #[arg(long, value_enum, value_name = "FORMAT", default_value_t = AnswerFormat::Text)]
    output: AnswerFormat,
    /// Write the answer to a file instead of standard output
    #[arg(short = 'o', value_name = "FILE")]
    file: Option<PathBuf>,
    /// Memory for the query; groups and sorted rows beyond it are written to temporary files
    #[arg(long, value_name = "SIZE", default_value = "2GiB", value_parser = parse_size)]
    memory: usize,
    /// Folder for temporary files [default: TMPDIR, or /tmp]
    #[arg(long, value_name = "FOLDER")]
    spill_folder: Option<PathBuf>,
    /// Number of threads [default: all cores]
    #[arg(long, value_name = "N")]
    threads: Option<NonZeroUsize>,
    #[cfg(feature = "cluster")]
    #[command(flatten)]
    workers: WorkersOfStore,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
enum AnswerFormat {
    /// A table for people
    Text,
    /// Comma-separated values with a header
    Csv,
    /// A JSON object on a line for each row
    Json,
}

pub(crate) fn run(arguments: &SqlArguments) -> Result<Status, CommandError> {
    let (Some(query), Some(store)) = (&arguments.query, &arguments.store) else {
        return print_tables();
    };
    let query = match query.as_str() {
        "-" => {
            let mut text = String::new();
            let read = io::stdin().read_to_string(&mut text);
            read.map_err(|error| CommandError::unreadable(format!("standard input: {error}")))?;
            text
        }
        query => query.to_owned(),
    };
    let threads = arguments.threads.unwrap_or_else(available_threads);
    let memory_bytes = arguments.memory as u64;
    let limits = ReadLimits { memory_bytes, calls_max: u64::MAX, threads };
    #[cfg(feature = "cluster")]
    arguments.workers.begin();
    let data =
        StoredData::open(store, arguments.tenant.as_deref(), limits).map_err(CommandError::unreadable)?;
    #[cfg(feature = "cluster")]
    let data = match arguments.workers.cluster()? {
        Some(workers) => data.with_workers(workers),
        None => data,
    };
    let answered = answer(arguments, &query, &data, threads)?;
    notes(&answered, &data, &query)
}

fn print_tables() -> Result<Status, CommandError> {
    for table in table_texts() {
        print(&format!("{}\n  {}\n", table.name, table.about))?;
        for (name, data, optional, about) in table.columns {
            let may_be_null = if optional { ", or null" } else { "" };
            print(&format!("  {name:<20} {data}{may_be_null}: {about}\n"))?;
        }
        print("\n")?;
    }
    Ok(Status::Done)
}

/// A query is repeated this many times when a server has replaced what it read meanwhile.
const ATTEMPTS_MAX: usize = 6;

/// Answers; again if a server has replaced what was read, unless part of the answer was written already.
fn answer(
    arguments: &SqlArguments,
    query: &str,
    data: &StoredData,
    threads: NonZeroUsize,
) -> Result<Answered, CommandError> {
    let incidents = data.incidents().map_err(CommandError::unreadable)?.unwrap_or_default();
    let incidents: Vec<IncidentRow> = incidents.iter().map(incident_row).collect();
    let limits = SqlLimits {
        // The other half is for what the store decodes at once.
        memory_bytes: arguments.memory / 2,
        threads,
        spill_folder: arguments.spill_folder.clone(),
    };
    let output = match arguments.output {
        AnswerFormat::Text => SqlOutput::Text,
        AnswerFormat::Csv => SqlOutput::Csv,
        AnswerFormat::Json => SqlOutput::Json,
    };
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(threads.get())
        .max_blocking_threads(threads.get() + 2)
        .enable_all()
        .build()
        .map_err(|error| CommandError::unreadable(format!("no threads: {error}")))?;
    let mut out = open(arguments)?;
    let mut attempt = 1;
    loop {
        let tables = StoredTables::new(data.views().newest(), incidents.clone());
        let tables = match data.workers() {
            Some(workers) => tables.with_workers(workers.clone()),
            None => tables,
        };
        let failed = match runtime.block_on(laggard_sql::run(tables, query, &limits, output, &mut *out)) {
            Ok(answered) => return Ok(answered),
            Err(failed) => failed,
        };
        match failed {
            SqlError::Storage(_)
                if attempt < ATTEMPTS_MAX && data.refresh().map_err(CommandError::unreadable)? =>
            {
                attempt += 1;
            }
            SqlError::Query(text) => return Err(CommandError::usage(text)),
            // A reader that has seen enough (`| head`) is no failure.
            SqlError::Output(error) if error.kind() == io::ErrorKind::BrokenPipe => {
                return Ok(Answered::default());
            }
            other => return Err(CommandError::unreadable(other)),
        }
    }
}

fn open(arguments: &SqlArguments) -> Result<Box<dyn Write + Send>, CommandError> {
    Ok(match &arguments.file {
        None => Box::new(BufWriter::new(io::stdout())),
        Some(file) => {
            let created = File::create(file);
            let unwritable = |error| CommandError::unreadable(format!("{}: {error}", file.display()));
            Box::new(BufWriter::new(created.map_err(unwritable)?))
        }
    })
}

/// Prints what the answer lacks to standard error.
fn notes(answered: &Answered, data: &StoredData, query: &str) -> Result<Status, CommandError> {
    let mut sentences: Vec<String> = data.cautions().to_vec();
    if answered.omitted > 0 {
        sentences.push(format!(
            "{} more: --output csv and --output json write all of them.",
            counted(answered.omitted, "row")
        ));
    }
    if query.contains("incidents") && data.incidents().map_err(CommandError::unreadable)?.is_none() {
        sentences
            .push("Incidents are in the data folder of the server that detected them, not here.".to_owned());
    }
    sentences.extend(lost(&answered.losses));
    for sentence in sentences {
        // A closed standard error does not matter.
        let _ = writeln!(io::stderr(), "laggard: {sentence}");
    }
    let is_damaged = answered.losses.count(laggard_model::Loss::CorruptSegment) > 0;
    Ok(if is_damaged { Status::Unreadable } else { Status::Done })
}

fn lost(losses: &Losses) -> impl Iterator<Item = String> + '_ {
    losses.iter().map(|(loss, found)| {
        let example =
            if found.example.is_empty() { String::new() } else { format!(" (e.g. {})", found.example) };
        format!("{} {}{example}.", found.count, loss.phrase())
    })
}

fn incident_row(incident: &IncidentRecord) -> IncidentRow {
    /// The name that a value has in JSON.
    fn name(value: impl serde::Serialize) -> String {
        let json = serde_json::to_value(value).ok();
        json.as_ref().and_then(serde_json::Value::as_str).unwrap_or_default().to_owned()
    }
    let verdict = incident.verdict.as_ref();
    IncidentRow {
        id: incident.id.clone(),
        state: name(incident.state),
        opened: Timestamp::from_unix_ns(incident.opened_ns),
        closed: incident.closed_ns.map(Timestamp::from_unix_ns),
        since: Timestamp::from_unix_ns(incident.since_ns),
        cause: verdict.and_then(|verdict| verdict.class).map(name),
        alerts: incident.alerts.len() as u64,
        verdict: verdict.map(|verdict| clauses_text(&verdict.clauses, usize::MAX)),
    }
}
