//! `laggard serve`, as the campaign uses it.

use crate::CampaignError;
use crate::process::Process;
use laggard_system::http::ClientOptions;
use serde_json::Value;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

const START: Duration = Duration::from_secs(60);
const TIMEOUT: Duration = Duration::from_secs(120);
/// Most bytes of an answer: a recording of a kernel is up to 64 MiB.
const ANSWER_BYTES_MAX: u64 = 256 << 20;

/// A server with its own data folder. Dropping it stops it.
pub(crate) struct Server {
    process: Process,
    http: String,
    otlp: String,
}

/// Where a server listens: two ports.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Ports {
    pub(crate) http: u16,
    pub(crate) otlp: u16,
}

impl Ports {
    /// Where the shop sends its traces and metrics.
    pub(crate) fn otlp_url(self) -> String {
        format!("http://127.0.0.1:{}", self.otlp)
    }
}

impl Server {
    /// Starts one and waits until it answers. `hosts` is the rule of what agents may record.
    ///
    /// # Errors
    /// When it ends, or does not answer in time.
    pub(crate) fn start(laggard: &Path, folder: &Path, ports: Ports) -> Result<Server, CampaignError> {
        std::fs::create_dir_all(folder).map_err(|error| crate::in_file(folder, &error))?;
        let mut command = Command::new(laggard);
        command.arg("serve").arg("--data").arg(folder.join("store"));
        command.arg("--http").arg(format!("127.0.0.1:{}", ports.http));
        command.arg("--otlp-http").arg(format!("127.0.0.1:{}", ports.otlp));
        command.args(["--otlp-grpc", "off", "--zipkin", "off", "--set", "recordings.hosts=store-*"]);
        let process = Process::start(&mut command, &folder.join("serve.log"))?;
        let http = format!("http://127.0.0.1:{}", ports.http);
        let mut server = Server { process, http, otlp: ports.otlp_url() };
        let started = Instant::now();
        while server.get("/api/v1/status").is_err() {
            if server.process.has_ended() || started.elapsed() > START {
                return Err(format!("laggard serve does not answer; see {}/serve.log", folder.display()));
            }
            std::thread::sleep(Duration::from_millis(100));
        }
        Ok(server)
    }

    /// Its address, for agents.
    pub(crate) fn url(&self) -> &str {
        &self.http
    }

    /// The API's response to a path.
    ///
    /// # Errors
    /// When it does not answer, or with an error.
    pub(crate) fn get(&self, path: &str) -> Result<Value, CampaignError> {
        let bytes = self.bytes(path)?;
        serde_json::from_slice(&bytes).map_err(|error| format!("{path}: {error}"))
    }

    /// The body of an answer.
    ///
    /// # Errors
    /// When it does not answer, or with an error.
    pub(crate) fn bytes(&self, path: &str) -> Result<Vec<u8>, CampaignError> {
        let failure = |error: &dyn std::fmt::Display| format!("{path}: {error}");
        let agent = ClientOptions::new(TIMEOUT).agent().map_err(|error| failure(&error))?;
        let mut answer = agent.get(format!("{}{path}", self.http)).call().map_err(|error| failure(&error))?;
        let status = answer.status();
        let body = answer.body_mut().with_config().limit(ANSWER_BYTES_MAX).read_to_vec();
        let body = body.map_err(|error| failure(&error))?;
        if status.is_success() { Ok(body) } else { Err(failure(&String::from_utf8_lossy(&body))) }
    }

    /// Imports what would be in a file of this name.
    ///
    /// # Errors
    /// When it is refused.
    pub(crate) fn import_bytes(&self, name: &str, bytes: &[u8]) -> Result<(), CampaignError> {
        post(&format!("{}/api/v1/import?name={name}", self.http), "application/octet-stream", bytes)
    }

    /// Sends a message of OTLP to `/v1/traces` or `/v1/metrics`.
    ///
    /// # Errors
    /// When it is refused.
    pub(crate) fn send(&self, path: &str, message: &[u8]) -> Result<(), CampaignError> {
        post(&format!("{}{path}", self.otlp), "application/x-protobuf", message)
    }

    /// Saves the kernel recordings that agents sent, as `HOST.dat`.
    ///
    /// # Errors
    /// When the server does not answer, or the folder cannot be written.
    pub(crate) fn save_kernel(&self, folder: &Path) -> Result<(), CampaignError> {
        let listed = self.get("/api/v1/recordings")?;
        for recording in listed["recordings"].as_array().into_iter().flatten() {
            let [id, host, state] =
                ["id", "host", "state"].map(|name| recording[name].as_str().unwrap_or_default());
            if state == "stored" {
                std::fs::create_dir_all(folder).map_err(|error| crate::in_file(folder, &error))?;
                let path = folder.join(format!("{host}.dat"));
                let bytes = self.bytes(&format!("/api/v1/recordings/{id}"))?;
                std::fs::write(&path, bytes).map_err(|error| crate::in_file(&path, &error))?;
            }
        }
        Ok(())
    }
}

fn post(url: &str, media_type: &str, body: &[u8]) -> Result<(), CampaignError> {
    let failure = |error: &dyn std::fmt::Display| format!("{url}: {error}");
    let agent = ClientOptions::new(TIMEOUT).agent().map_err(|error| failure(&error))?;
    let request = agent.post(url).header("Content-Type", media_type);
    let mut answer = request.send(body).map_err(|error| failure(&error))?;
    if answer.status().is_success() {
        return Ok(());
    }
    Err(failure(&answer.body_mut().read_to_string().unwrap_or_else(|error| error.to_string())))
}

/// The agents of some hosts, each with the name of a replica: all record the kernel of this machine.
pub(crate) fn agents(
    laggard: &Path,
    server: &Server,
    hosts: &[&str],
    folder: &Path,
) -> Result<Vec<Process>, CampaignError> {
    let start = |host: &&str| {
        let mut command = Command::new(laggard);
        command.args(["agent", "--server", server.url(), "--host", host]).arg("--spool");
        let spool: PathBuf = folder.join(format!("spool-{host}"));
        command.arg(&spool);
        Process::start(&mut command, &folder.join(format!("agent-{host}.log")))
    };
    hosts.iter().map(start).collect()
}
