//! `laggard collect`: files of hosts, fetched in rounds into a folder or to a server.

use crate::exit::{CommandError, Status};
use crate::round_log::{Further, log_round};
use crate::small_files::text_of;
use clap::Args;
use laggard_collect::{
    ClientSettings, CollectError, CollectSettings, Collector, Destination, Folder, Source, Upload,
    UploadSettings, parse_source,
};
use laggard_formats::{FORMATS, find_format};
use laggard_model::Nanos;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

const EXAMPLES: &str = "Examples:
  laggard collect --into logs http://web-01/calls.log http://web-02/calls.log     once
  laggard collect --into logs --every 30s --hosts hosts.txt                       every 30 s, until stopped
  laggard collect --server http://localhost:4316 --format call-log --every 30s web-01=http://10.0.0.7/calls.log
  laggard diagnose logs                                                           diagnose the collected files

It may be stopped and restarted at any time: docs/manual/collect.md.

Exit status: 0 every host was read in the last round, 2 invalid usage, 3 a host could not be read, or data not written.";

#[derive(Args, Debug)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Collect {
    /// Files to collect: http://HOST/FILE, or NAME=http://HOST/FILE for another name than the host's
    #[arg(value_name = "SOURCE")]
    sources: Vec<String>,
    /// File with further sources, one per line; lines that begin with # are ignored
    #[arg(long, value_name = "FILE")]
    hosts: Option<PathBuf>,
    /// Folder for the collected data, one file per host
    #[arg(long, value_name = "DIR", required_unless_present = "server", conflicts_with = "server")]
    into: Option<PathBuf>,
    /// Send the data to this server (`laggard serve`) instead: http://localhost:4316
    #[arg(long, value_name = "URL")]
    server: Option<String>,
    /// Format of the files, for the server (`laggard formats`) [default: recognized for each chunk]
    #[arg(long, value_name = "FORMAT", requires = "server", conflicts_with = "into", value_parser = format)]
    format: Option<String>,
    /// Header line with the column names, for the server, where the files have none
    #[arg(long, value_name = "LINE", requires = "server", conflicts_with = "into", value_parser = header)]
    header: Option<String>,
    /// Time between rounds [default: one round]
    #[arg(long, value_name = "LENGTH", value_parser = laggard_settings::parse_length)]
    every: Option<Nanos>,
    /// Number of rounds [default: 1; unlimited with --every]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    rounds: Option<u64>,
    /// File that records what was collected [default: .laggard-collect.json in the folder; laggard-collect.json for a server]
    #[arg(long, value_name = "FILE")]
    state: Option<PathBuf>,
    #[command(flatten)]
    limits: Limits,
    #[command(flatten)]
    access: Access,
}

/// Limits of one round.
#[derive(Args, Debug)]
struct Limits {
    /// Hosts read at a time
    #[arg(long, value_name = "N", default_value = "8", value_parser = clap::value_parser!(u16).range(1..=256))]
    parallel: u16,
    /// Longest time for one response of a host
    #[arg(long, value_name = "LENGTH", default_value = "30s", value_parser = laggard_settings::parse_length)]
    timeout: Nanos,
    /// Most bytes per request and per line; memory is this times --parallel
    #[arg(long, value_name = "SIZE", default_value = "8MiB", value_parser = crate::load::parse_size)]
    chunk: usize,
    /// Most bytes of one file in one round
    #[arg(long, value_name = "SIZE", default_value = "256MiB", value_parser = crate::load::parse_size)]
    per_round: usize,
    /// Suffix of a rotated log, as in .1: the rest of a rotated log is read there
    #[arg(long, value_name = "SUFFIX", value_parser = suffix)]
    rotated: Option<String>,
    /// Read files completely, again when they change; always so for compressed files
    #[arg(long)]
    whole: bool,
}

/// Tokens and certificates.
#[derive(Args, Debug)]
struct Access {
    /// File with a bearer token for the hosts
    #[arg(long, value_name = "FILE")]
    host_token_file: Option<PathBuf>,
    /// File with the certificates (PEM) of the authorities to trust for hosts, instead of the well-known ones
    #[arg(long, value_name = "FILE")]
    host_ca_file: Option<PathBuf>,
    /// File with a bearer token for the server
    #[arg(long, value_name = "FILE", requires = "server", conflicts_with = "into")]
    token_file: Option<PathBuf>,
    /// Tenant of the data, where the server has several
    #[arg(long, value_name = "NAME", requires = "server", conflicts_with = "into")]
    tenant: Option<String>,
    /// File with the certificates (PEM) of the authorities to trust for the server, instead of the well-known ones
    #[arg(long, value_name = "FILE", requires = "server", conflicts_with = "into")]
    server_ca_file: Option<PathBuf>,
}

/// Longest time for a server to import a chunk.
const IMPORT_TIMEOUT: Duration = Duration::from_secs(300);

/// Most bytes of a file that is read completely, or again from its start.
const WHOLE_BYTES_MAX: u64 = 256 << 20;

/// Pause after a host's first failure, if there is one round only.
const PAUSE: Duration = Duration::from_secs(5);

pub(crate) fn run(arguments: &Collect) -> Result<Status, CommandError> {
    let sources = sources(arguments)?;
    let access = &arguments.access;
    if let Some(folder) = &arguments.into {
        let into = Folder::open(folder).map_err(failure)?;
        let settings = settings(arguments, folder.join(".laggard-collect.json"))?;
        return rounds(arguments, Collector::new(settings, sources, into).map_err(failure)?);
    }
    let upload = Upload::new(UploadSettings {
        url: arguments.server.clone().unwrap_or_default(),
        client: client(access.token_file.as_deref(), access.server_ca_file.as_deref(), IMPORT_TIMEOUT)?,
        tenant: access.tenant.clone(),
        format: arguments.format.clone(),
    });
    let settings = settings(arguments, PathBuf::from("laggard-collect.json"))?;
    rounds(arguments, Collector::new(settings, sources, upload.map_err(failure)?).map_err(failure)?)
}

fn header(text: &str) -> Result<String, String> {
    match !text.trim().is_empty() && text.len() <= 64 << 10 && !text.contains(['\n', '\r']) {
        true => Ok(text.to_owned()),
        false => Err("write one line, as in host,time_us,request_id,mid,method,flag,callee_mid".to_owned()),
    }
}

fn suffix(text: &str) -> Result<String, String> {
    let is_part_of_a_name = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '-' | '_');
    match !text.is_empty() && text.chars().all(is_part_of_a_name) {
        true => Ok(text.to_owned()),
        false => Err("write the end of a file's name, as in .1".to_owned()),
    }
}

fn format(name: &str) -> Result<String, String> {
    let known = || FORMATS.iter().map(|format| format.name).collect::<Vec<_>>().join(", ");
    find_format(name).map(|format| format.name.to_owned()).ok_or_else(|| format!("there is {}", known()))
}

fn failure(error: CollectError) -> CommandError {
    match error {
        CollectError::Settings(_) => CommandError::usage(error),
        _ => CommandError::unreadable(error),
    }
}

fn sources(arguments: &Collect) -> Result<Vec<Source>, CommandError> {
    let mut texts = arguments.sources.clone();
    if let Some(file) = &arguments.hosts {
        let listed = text_of(file)?;
        let lines = listed.lines().map(str::trim).filter(|line| !line.is_empty() && !line.starts_with('#'));
        texts.extend(lines.map(str::to_owned));
    }
    if texts.is_empty() {
        return Err(CommandError::usage("there is nothing to collect: give addresses of files, or --hosts"));
    }
    texts.iter().map(|text| parse_source(text).map_err(failure)).collect()
}

fn settings(arguments: &Collect, state: PathBuf) -> Result<CollectSettings, CommandError> {
    let (limits, access) = (&arguments.limits, &arguments.access);
    let timeout = Duration::from_nanos(limits.timeout.ns());
    Ok(CollectSettings {
        state: arguments.state.clone().unwrap_or(state),
        client: client(access.host_token_file.as_deref(), access.host_ca_file.as_deref(), timeout)?,
        parallel: limits.parallel.into(),
        chunk_bytes_max: limits.chunk,
        round_bytes_max: limits.per_round as u64,
        whole_bytes_max: WHOLE_BYTES_MAX,
        header: arguments.header.clone(),
        rotated: limits.rotated.clone(),
        whole: limits.whole,
        pause: arguments.every.map_or(PAUSE, |every| Duration::from_nanos(every.ns()).max(PAUSE)),
    })
}

fn client(
    token: Option<&Path>,
    authorities: Option<&Path>,
    timeout: Duration,
) -> Result<ClientSettings, CommandError> {
    Ok(ClientSettings {
        token: token.map(text_of).transpose()?.map(|token| token.trim().to_owned()),
        authorities_pem: authorities.map(text_of).transpose()?.map(String::into_bytes),
        timeout,
    })
}

/// Runs rounds until the last one, or until the process is stopped, and logs each.
fn rounds<D: Destination>(arguments: &Collect, mut collector: Collector<D>) -> Result<Status, CommandError> {
    let every = arguments.every.map(|every| Duration::from_nanos(every.ns()));
    let last = arguments.rounds.or(every.is_none().then_some(1));
    let mut number = 0;
    loop {
        let started = Instant::now();
        number += 1;
        let round = collector.round().map_err(failure)?;
        let is_last = last.is_some_and(|last| number >= last);
        log_round(number, &round, if is_last { Further::Nothing } else { Further::Rounds });
        if is_last {
            let failed = round.waiting > 0 || round.sources.iter().any(|status| status.failure.is_some());
            return Ok(if failed { Status::Unreadable } else { Status::Done });
        }
        std::thread::sleep(every.unwrap_or_default().saturating_sub(started.elapsed()));
    }
}
