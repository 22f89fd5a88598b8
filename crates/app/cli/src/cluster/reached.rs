//! The workers that `--workers` and `cluster.workers` name.

use super::{begin_build, build, token_in};
use crate::exit::CommandError;
use crate::small_files::text_of;
use async_trait::async_trait;
use clap::Args;
use laggard_cluster::{Cluster, ClusterSettings, ClusterTls, UnitWorkers};
use laggard_engine::UnitId;
use laggard_server::WorkersSettings;
use std::path::PathBuf;
use std::sync::{Arc, Mutex};

/// The workers that read the data folder instead of this process.
#[derive(Args, Debug, Default)]
pub(crate) struct WorkersOfStore {
    /// Let these workers (`laggard worker`) read the store: HOST:PORT, separated by commas
    #[arg(long, value_name = "ADDRESS", value_delimiter = ',', requires_all = ["store", "worker_token_file"])]
    workers: Vec<String>,
    /// File with the bearer token of the workers
    #[arg(long, value_name = "FILE", requires = "workers")]
    worker_token_file: Option<PathBuf>,
    /// Root certificates of the workers (PEM), for encrypted connections
    #[arg(long, value_name = "FILE", requires = "workers")]
    worker_roots: Option<PathBuf>,
    /// Certificate chain of this process (PEM), for workers with --tls-client-roots
    #[arg(long, value_name = "FILE", requires_all = ["worker_roots", "worker_client_key"])]
    worker_client_certificate: Option<PathBuf>,
    /// Its private key (PEM)
    #[arg(long, value_name = "FILE", requires = "worker_client_certificate")]
    worker_client_key: Option<PathBuf>,
}

impl WorkersOfStore {
    /// Begins what [`cluster`](WorkersOfStore::cluster) needs, if workers are named.
    pub(crate) fn begin(&self) {
        if !self.workers.is_empty() {
            begin_build();
        }
    }

    /// The workers, if some are named.
    pub(crate) fn cluster(&self) -> Result<Option<Arc<Cluster>>, CommandError> {
        let Some(token) = self.worker_token_file.clone() else { return Ok(None) };
        let reached = ReachedWorkers {
            workers: self.workers.clone(),
            token,
            roots: self.worker_roots.clone(),
            client: self.worker_client_certificate.clone().zip(self.worker_client_key.clone()),
        };
        let credentials = reached.credentials()?;
        reached.cluster(&credentials).map(Some)
    }
}

/// The workers that a server's settings name, if there are some.
///
/// # Errors
/// When a file cannot be read, or there is no token, certificate, or key in it.
pub(crate) fn workers_of_server(
    settings: &WorkersSettings,
) -> Result<Option<Arc<dyn UnitWorkers>>, CommandError> {
    let WorkersSettings { workers, token_file, roots, client_certificate, client_key, .. } = settings;
    let Some(token) = token_file.clone() else { return Ok(None) };
    let reached = ReachedWorkers {
        workers: workers.clone(),
        token,
        roots: roots.clone(),
        client: client_certificate.clone().zip(client_key.clone()),
    };
    let credentials = reached.credentials()?;
    let cluster = reached.cluster(&credentials)?;
    Ok(Some(Arc::new(FollowedWorkers(Arc::new(Followed {
        reached,
        last: Mutex::new((credentials, cluster)),
    })))))
}

/// Addresses of workers, and the files with what they require.
struct ReachedWorkers {
    workers: Vec<String>,
    token: PathBuf,
    /// For encrypted connections.
    roots: Option<PathBuf>,
    /// A certificate chain and its key.
    client: Option<(PathBuf, PathBuf)>,
}

/// What is in these files.
#[derive(Clone, PartialEq, Eq)]
struct Credentials {
    token: String,
    tls: Option<ClusterTls>,
}

impl ReachedWorkers {
    fn credentials(&self) -> Result<Credentials, CommandError> {
        let client = || match &self.client {
            Some((certificate, key)) => Ok(Some((text_of(certificate)?, text_of(key)?))),
            None => Ok(None),
        };
        let tls = match &self.roots {
            Some(roots) => Some(ClusterTls { roots: text_of(roots)?, client: client()? }),
            None => None,
        };
        Ok(Credentials { token: token_in(&self.token)?, tls })
    }

    fn cluster(&self, credentials: &Credentials) -> Result<Arc<Cluster>, CommandError> {
        let Credentials { token, tls } = credentials.clone();
        let settings = ClusterSettings { workers: self.workers.clone(), token, build: build()?, tls };
        Cluster::new(&settings).map(Arc::new).map_err(CommandError::usage)
    }
}

/// Workers of a process that runs for long: the files are read before each round, and connections are made anew when they have changed.
struct FollowedWorkers(Arc<Followed>);

struct Followed {
    reached: ReachedWorkers,
    /// With what was in the files when it was made.
    last: Mutex<(Credentials, Arc<Cluster>)>,
}

impl Followed {
    fn cluster(&self) -> Result<Arc<Cluster>, CommandError> {
        let credentials = self.reached.credentials()?;
        let mut last = self.last.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
        if last.0 != credentials {
            let cluster = self.reached.cluster(&credentials)?;
            *last = (credentials, cluster);
        }
        Ok(Arc::clone(&last.1))
    }
}

#[async_trait]
impl UnitWorkers for FollowedWorkers {
    async fn compute(
        &self,
        round: Arc<[u8]>,
        units: &[UnitId],
        deliver: &mut (dyn FnMut(Vec<u8>) -> Result<(), String> + Send),
    ) -> Result<Vec<(UnitId, String)>, String> {
        let followed = Arc::clone(&self.0);
        // Files may be on a slow disk.
        let cluster = tokio::task::spawn_blocking(move || followed.cluster()).await;
        let cluster = cluster.map_err(|error| error.to_string())?;
        let cluster = cluster.map_err(|error| error.message().to_owned())?;
        cluster.compute(round, units, deliver).await
    }
}
