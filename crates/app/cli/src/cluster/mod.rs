//! `laggard worker`, and `--workers`: questions about a store that other processes read.

mod reached;

use crate::exit::{CommandError, Status};
use crate::small_files::text_of;
use clap::Args;
use laggard_cluster::{RoundSource, RoundUnits, TlsOfConnections, WorkerRound, WorkerSettings, serve};
#[cfg(feature = "sql")]
use laggard_engine::UnitId;
use laggard_server::{FollowedCertificates, TlsSettings, WorkerStore};
#[cfg(feature = "sql")]
use laggard_sql::WorkerRows;
use laggard_system::available_threads;
use std::fs::File;
use std::io::{self, Read, Write};
use std::net::SocketAddr;
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};
use std::sync::{Arc, LazyLock};
use tokio::net::TcpListener;

pub(crate) use reached::{WorkersOfStore, workers_of_server};

const EXAMPLES: &str = "Examples:
  laggard worker --listen 0.0.0.0:4320 --store s3://bucket/laggard --token-file /etc/laggard/worker-token
  laggard diagnose --store s3://bucket/laggard --workers w1:4320,w2:4320 --worker-token-file /etc/laggard/worker-token

Without --tls-certificate and --worker-roots, connections are not encrypted: workers then belong in a private network. All processes must be the
same build.

Exit status: 0 after SIGTERM or SIGINT, 2 invalid usage, 3 the store cannot be read or the address is not free.";

/// Compute parts of questions about a store for `laggard diagnose --workers` and `laggard serve`
#[derive(Args, Debug)]
#[command(after_help = EXAMPLES)]
pub(crate) struct WorkerArguments {
    /// Address to accept requests at; port 0 for any that is free, which is printed
    #[arg(long, value_name = "ADDRESS")]
    listen: SocketAddr,
    /// The only store that is read, as in `laggard diagnose --store`
    #[arg(long, value_name = "FOLDER|URL")]
    store: String,
    /// File with the bearer token that requests must have
    #[arg(long, value_name = "FILE")]
    token_file: PathBuf,
    /// Its certificate chain (PEM), for encrypted connections
    #[arg(long, value_name = "FILE", requires = "tls_key")]
    tls_certificate: Option<PathBuf>,
    /// Its private key (PEM)
    #[arg(long, value_name = "FILE", requires = "tls_certificate")]
    tls_key: Option<PathBuf>,
    /// Root certificates for clients (PEM); with it, every client needs a certificate
    #[arg(long, value_name = "FILE", requires = "tls_certificate")]
    tls_client_roots: Option<PathBuf>,
    /// Threads, and units that are read at the same time [default: one per processor]
    #[arg(long, value_name = "N")]
    threads: Option<NonZeroUsize>,
}

impl WorkerArguments {
    fn certificates(&self) -> Result<Option<FollowedCertificates>, CommandError> {
        let settings = TlsSettings {
            certificate: self.tls_certificate.clone(),
            key: self.tls_key.clone(),
            client_roots: self.tls_client_roots.clone(),
        };
        FollowedCertificates::load(&settings).map_err(CommandError::unreadable)
    }
}

/// Follows the files of certificates, and states on standard error when they were read again.
fn encrypted_with(certificates: FollowedCertificates) -> TlsOfConnections {
    tokio::spawn(certificates.clone().follow(|read| {
        // A closed standard error does not matter.
        let _ = match read {
            Ok(()) => writeln!(io::stderr(), "laggard worker: certificates were read again"),
            Err(problem) => writeln!(
                io::stderr(),
                "laggard worker: certificates changed and cannot be used; the old ones stay: {problem}"
            ),
        };
    }));
    Arc::new(move || certificates.config())
}

/// The token in a file. An empty one would admit everybody.
fn token_in(file: &Path) -> Result<String, CommandError> {
    let token = text_of(file)?.trim().to_owned();
    match token.is_empty() {
        true => Err(CommandError::usage(format!("{}: there is no token in it", file.display()))),
        false => Ok(token),
    }
}

/// Which build this program is: its version, and a checksum of its file, which is as large as the program and read once.
static BUILD: LazyLock<Result<String, String>> = LazyLock::new(|| {
    let checksum = || -> io::Result<u32> {
        let mut file = File::open(std::env::current_exe()?)?;
        let (mut buffer, mut checksum) = (vec![0; 1 << 20], 0);
        loop {
            match file.read(&mut buffer)? {
                0 => return Ok(checksum),
                bytes => checksum = crc32c::crc32c_append(checksum, &buffer[..bytes]),
            }
        }
    };
    let checksum = checksum().map_err(|error| format!("this program's own file cannot be read: {error}"))?;
    Ok(format!("{}-{checksum:08x}", env!("CARGO_PKG_VERSION")))
});

/// Begins to read this program's file, so that [`build`] need not wait for it after the store was opened.
fn begin_build() {
    std::thread::spawn(|| LazyLock::force(&BUILD).is_ok());
}

fn build() -> Result<String, CommandError> {
    BUILD.clone().map_err(CommandError::unreadable)
}

/// The store of a worker.
struct StoreRounds(WorkerStore);

#[async_trait::async_trait]
impl RoundSource for StoreRounds {
    async fn round(&self, sent: &[u8]) -> Result<Arc<dyn RoundUnits>, String> {
        match self.0.round(sent).await.map_err(|error| error.to_string())? {
            WorkerRound::Fold(round) => Ok(Arc::new(round)),
            #[cfg(feature = "sql")]
            WorkerRound::Rows(view, job) => {
                Ok(Arc::new(QueryRows(WorkerRows::new(view, &job, QUERY_MEMORY_BYTES).await?)))
            }
            #[cfg(not(feature = "sql"))]
            WorkerRound::Rows(..) => Err("this worker was built without the feature sql".to_owned()),
        }
    }

    fn steps(&self) -> u64 {
        self.0.steps()
    }
}

/// A part of a query.
#[cfg(feature = "sql")]
struct QueryRows(WorkerRows);

#[cfg(feature = "sql")]
#[async_trait::async_trait]
impl RoundUnits for QueryRows {
    async fn part(&self, unit: UnitId) -> Result<Vec<u8>, String> {
        self.0.part(unit).await
    }
}

/// Memory for the groups and rows of a query at a worker, bytes.
#[cfg(feature = "sql")]
const QUERY_MEMORY_BYTES: usize = 1 << 30;

/// Memory for decoded data and indexes of a worker, bytes.
const MEMORY_BYTES: u64 = 2 << 30;

pub(crate) fn run(arguments: &WorkerArguments) -> Result<Status, CommandError> {
    let threads = arguments.threads.unwrap_or_else(available_threads);
    let (token, certificates) = (token_in(&arguments.token_file)?, arguments.certificates()?);
    begin_build();
    let mut builder = tokio::runtime::Builder::new_multi_thread();
    let builder = builder.worker_threads(2).max_blocking_threads(threads.get() + 2).enable_all();
    let runtime =
        builder.build().map_err(|error| CommandError::unreadable(format!("no threads: {error}")))?;
    runtime.block_on(async {
        let store =
            WorkerStore::open(&arguments.store, MEMORY_BYTES).await.map_err(CommandError::unreadable)?;
        let listening = async {
            let listener = TcpListener::bind(arguments.listen).await?;
            Ok::<_, io::Error>((listener.local_addr()?, listener))
        };
        let (address, listener) = listening
            .await
            .map_err(|error| CommandError::unreadable(format!("{}: {error}", arguments.listen)))?;
        let tls = certificates.map(encrypted_with);
        let settings = WorkerSettings { token, build: build()?, at_once: threads.get(), tls };
        let stop = stopped().map_err(|error| CommandError::unreadable(format!("no signals: {error}")))?;
        // A closed standard error does not matter.
        let _ = writeln!(io::stderr(), "laggard worker: {address} reads {}", arguments.store);
        let served = serve(listener, settings, Arc::new(StoreRounds(store)), stop).await;
        served.map_err(CommandError::unreadable)
    })?;
    // A unit that is being computed is not waited for.
    runtime.shutdown_background();
    Ok(Status::Done)
}

/// Ends when the process is asked to.
#[cfg(unix)]
fn stopped() -> io::Result<impl Future<Output = ()>> {
    use tokio::signal::unix::{SignalKind, signal};
    let (mut term, mut interrupt) = (signal(SignalKind::terminate())?, signal(SignalKind::interrupt())?);
    Ok(async move {
        tokio::select! {
            _ = term.recv() => {}
            _ = interrupt.recv() => {}
        }
    })
}

/// The same where there are no signals.
#[cfg(not(unix))]
fn stopped() -> io::Result<impl Future<Output = ()>> {
    Ok(async {
        let _ = tokio::signal::ctrl_c().await;
    })
}
