//! Workers as processes: the report is that of threads, byte for byte, whatever happens to them.

#[cfg(feature = "s3")]
mod bucket;
mod server;
#[cfg(all(feature = "s3", feature = "sql"))]
mod sql;
mod tls;

use super::Running;
use super::store_commands::text;
use super::stored::{of_store, service_part, start};
use crate::outcome::{Outcome, command, laggard};
use laggard_params::{BaselineMode, DiagnoseParams};
use laggard_server::{ReadLimits, StoredData, WorkerStore};
use rustix::process::{Pid, Resource, Rlimit, Signal, kill_process, prlimit};
use std::fs;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Stdio};
use std::time::{Duration, Instant};

/// A killed or stopped worker gives the right answer, or an error, within this time.
const ANSWERED_WITHIN: Duration = Duration::from_secs(30);

/// A running worker; dropping it kills it.
struct WorkerProcess {
    child: Child,
    address: String,
}

impl WorkerProcess {
    fn start(store: &Path, token: &Path, further: &[&str]) -> WorkerProcess {
        WorkerProcess::start_at(
            "127.0.0.1:0",
            text(store),
            &[&["--token-file", text(token)], further].concat(),
            &[],
        )
    }

    /// A worker at an address, of a store at a path or URL, with more variables of the environment.
    fn start_at(listen: &str, store: &str, further: &[&str], variables: &[(&str, String)]) -> WorkerProcess {
        let arguments = ["worker", "--listen", listen, "--store", store];
        let mut run = command(&[&arguments, further].concat());
        run.envs(variables.iter().map(|(name, value)| (name, value)));
        let mut child = run.stderr(Stdio::piped()).spawn().unwrap();
        let mut line = String::new();
        BufReader::new(child.stderr.take().unwrap()).read_line(&mut line).unwrap();
        let address = line.strip_prefix("laggard worker: ").and_then(|rest| rest.split(' ').next());
        WorkerProcess { address: address.unwrap_or_else(|| panic!("{line}")).to_owned(), child }
    }

    fn signal(&self, signal: Signal) {
        kill_process(Pid::from_child(&self.child), signal).unwrap();
    }
}

impl Drop for WorkerProcess {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// A store with three segments, a token, and workers.
struct TestCluster {
    folder: tempfile::TempDir,
    workers: Vec<WorkerProcess>,
}

impl TestCluster {
    fn start(workers: usize) -> TestCluster {
        let folder = tempfile::tempdir().unwrap();
        start(&folder.path().join("data"), &[]).stop();
        TestCluster::of(folder, workers)
    }

    /// Workers of the store in a folder.
    fn of(folder: tempfile::TempDir, workers: usize) -> TestCluster {
        fs::write(folder.path().join("token"), "secret\n").unwrap();
        let mut cluster = TestCluster { folder, workers: Vec::new() };
        cluster.add(workers);
        cluster
    }

    /// Starts more workers.
    fn add(&mut self, workers: usize) {
        let (data, token) = (self.data(), self.token());
        self.workers.extend((0..workers).map(|_| WorkerProcess::start(&data, &token, &[])));
    }

    /// Ends a worker.
    fn kill(&mut self, worker: usize) {
        self.workers[worker].child.kill().unwrap();
        self.workers[worker].child.wait().unwrap();
    }

    /// Addresses of all workers.
    fn addresses(&self) -> Vec<&str> {
        self.workers.iter().map(|worker| &*worker.address).collect()
    }

    fn data(&self) -> PathBuf {
        self.folder.path().join("data")
    }

    fn token(&self) -> PathBuf {
        self.folder.path().join("token")
    }

    /// Asks the workers at some addresses.
    fn diagnose_at(&self, addresses: &[&str], words: &[&str]) -> Outcome {
        let (addresses, token) = (addresses.join(","), self.token());
        let workers = ["--workers", &addresses, "--worker-token-file", text(&token)];
        of_store(&self.data(), &[words, &workers].concat())
    }

    /// Asks all workers.
    fn diagnose(&self, words: &[&str]) -> Outcome {
        self.diagnose_at(&self.addresses(), words)
    }

    /// Asks all workers; the answer must be that of threads, in time. Returns how long it took.
    #[track_caller]
    fn answers_right(&self, words: &[&str]) -> Duration {
        let expected = of_store(&self.data(), words);
        let begun = Instant::now();
        let found = self.diagnose(words);
        let took = begun.elapsed();
        assert_eq!((found.status, found.stderr), (expected.status, expected.stderr), "{words:?}");
        assert_eq!(found.stdout, expected.stdout, "{words:?}");
        assert!(took < ANSWERED_WITHIN, "{took:?}");
        took
    }
}

const JSON: &[&str] = &["diagnose", "--output", "json"];

#[test]
fn one_and_three_workers_answer_as_threads_do() {
    for workers in [1, 3] {
        let cluster = TestCluster::start(workers);
        for question in [
            JSON,
            &["diagnose", "--baseline", "none", "--output", "text"],
            &["diagnose", "--since", "2026-01-12T09:06:00Z", "--output", "json"],
            &["diagnose", "--output", "json", "--calls-max", "150"],
            &["compare", "--since", "2026-01-12T09:05:00Z", "--output", "json"],
        ] {
            cluster.answers_right(question);
        }
    }
}

/// Two services have the same calls, and all but the first have arrived late.
#[test]
fn late_spans_and_services_that_tie_are_answered_as_threads_do() {
    let folder = tempfile::tempdir().unwrap();
    let settings = ["--set", "store.keep_for=off", "--set", "store.upkeep=1h"];
    let server = Running::start(&folder.path().join("data"), &settings);
    let (web, db) = (service_part(0), service_part(1));
    let span = |number: u8| format!("\"spanId\":\"{number:016x}\"");
    let twin = db.replace("\"db\"", "\"aa\"").replace("db-1", "aa-1").replace(&span(3), &span(4));
    for imported in [web, db, twin] {
        assert_eq!(server.request("http", "POST", "/api/v1/import", &[], &imported).status, 200);
        assert_eq!(server.post("/api/v1/flush").status, 204);
    }
    server.stop();
    let cluster = TestCluster::of(folder, 2);
    let report = of_store(&cluster.data(), JSON).stdout;
    assert!(report.contains("\"aa\"") && report.contains("\"db\""), "{report}");
    let (since, until) = ("2026-01-12T09:06:00Z", "2026-01-12T09:05:00Z");
    for question in [
        JSON,
        &["diagnose", "--since", since, "--baseline", "none", "--output", "json"],
        &["diagnose", "--until", until, "--baseline-rest", "--service", "web", "--output", "json"],
    ] {
        cluster.answers_right(question);
        cluster.answers_right(&[question, &["--calls-max", "150"]].concat());
    }
}

#[test]
fn a_killed_worker_is_replaced_by_the_others() {
    let mut cluster = TestCluster::start(3);
    cluster.answers_right(JSON);
    for killed in 0..2 {
        cluster.kill(killed);
        cluster.answers_right(JSON);
    }
    cluster.kill(2);
    let failed = cluster.diagnose(JSON);
    failed.fails(3, &["3 of 3 units did not arrive in 3 attempts", &cluster.workers[2].address]);
}

#[test]
fn a_stopped_worker_is_replaced_by_the_others() {
    let cluster = TestCluster::start(3);
    for stopped in 0..2 {
        cluster.workers[stopped].signal(Signal::STOP);
        cluster.answers_right(JSON);
    }
    cluster.workers[2].signal(Signal::STOP);
    let begun = Instant::now();
    cluster.diagnose(JSON).fails(3, &["units did not arrive", &cluster.workers[2].address]);
    assert!(begun.elapsed() < ANSWERED_WITHIN, "{:?}", begun.elapsed());
    cluster.workers.iter().for_each(|worker| worker.signal(Signal::CONT));
    cluster.answers_right(JSON);
}

#[test]
fn a_worker_whose_files_do_not_answer_is_replaced_by_the_others() {
    let mut cluster = TestCluster::start(2);
    // It opens them without end, as those of a file server that is gone, and its connections live.
    let stuck = cluster.folder.path().join("stuck");
    copy(&cluster.data(), &stuck);
    for file in super::store_commands::files(&stuck, ".parquet") {
        fs::remove_file(&file).unwrap();
        let made = std::process::Command::new("mkfifo").arg(&file).status().unwrap();
        assert!(made.success(), "{}", file.display());
    }
    cluster.workers.push(WorkerProcess::start(&stuck, &cluster.token(), &[]));
    cluster.answers_right(JSON);
    let alone = cluster.diagnose_at(&[&cluster.workers[2].address], JSON);
    alone.fails(3, &["3 of 3 units did not arrive", &cluster.workers[2].address, "did not advance for 8 s"]);
}

/// As on a full disk; a write to a file would end it.
#[test]
fn a_worker_that_can_write_no_file_computes_all_units() {
    let cluster = TestCluster::start(1);
    let nothing = Rlimit { current: Some(0), maximum: Some(0) };
    prlimit(Some(Pid::from_child(&cluster.workers[0].child)), Resource::Fsize, nothing).unwrap();
    cluster.answers_right(JSON);
    cluster.answers_right(&[JSON, &["--calls-max", "150"]].concat());
}

/// No other test of this process reads a store in it.
#[test]
fn the_steps_of_a_worker_are_those_of_reading_its_store() {
    let data = TestCluster::start(0);
    let folder = data.data();
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let worker = runtime.block_on(WorkerStore::open(text(&folder), 1 << 30)).unwrap();
    let before = worker.steps();
    let limits =
        ReadLimits { memory_bytes: 1 << 30, calls_max: 1 << 20, threads: std::num::NonZeroUsize::MIN };
    let all = DiagnoseParams { baseline: BaselineMode::None, ..DiagnoseParams::default() };
    StoredData::open(text(&folder), None, limits).unwrap().diagnose(&all).unwrap();
    let steps = worker.steps() - before;
    assert!(steps >= 3 * 4, "{steps}: rows of three files and a job, of each segment");
}

/// Copies a folder.
fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap() {
        let path = entry.unwrap().path();
        let target = to.join(path.file_name().unwrap());
        match path.is_dir() {
            true => copy(&path, &target),
            false => drop(fs::copy(&path, &target).unwrap()),
        }
    }
}

#[test]
fn a_worker_refuses_another_token_another_store_and_another_build() {
    let cluster = TestCluster::start(1);
    let address = &*cluster.workers[0].address;
    fs::write(cluster.token(), "other").unwrap();
    cluster.diagnose(JSON).fails(3, &["requires another token", address]);
    fs::write(cluster.token(), "").unwrap();
    cluster.diagnose(JSON).fails(2, &["there is no token in it"]);
    fs::write(cluster.token(), "secret").unwrap();
    let tenant = cluster.data().join("tenants/default");
    let token = cluster.token();
    let workers = ["--workers", address, "--worker-token-file", text(&token)];
    of_store(&tenant, &[JSON, &workers].concat()).fails(3, &["there is no store \"\" in it"]);
    let program = cluster.folder.path().join("other-build");
    let mut bytes = fs::read(env!("CARGO_BIN_EXE_laggard")).unwrap();
    bytes.push(0);
    fs::write(&program, bytes).unwrap();
    let mode = fs::metadata(env!("CARGO_BIN_EXE_laggard")).unwrap().permissions();
    fs::set_permissions(&program, mode).unwrap();
    let data = cluster.data();
    let output = std::process::Command::new(&program)
        .args([JSON, &["--store", text(&data)], &workers].concat())
        .output()
        .unwrap();
    let error = String::from_utf8_lossy(&output.stderr);
    assert!(
        error.contains("the worker is build 0.1.0-") && error.contains("this program is build"),
        "{error}"
    );
    laggard(&["diagnose", "--workers", address]).fails(2, &["--store"]);
}

#[test]
fn a_damaged_segment_is_set_aside_as_without_workers() {
    let cluster = TestCluster::start(2);
    let all = super::store_commands::files(&cluster.data(), ".parquet");
    super::store_commands::damage(all.iter().find(|file| text(file).contains("/calls/")).unwrap());
    cluster.answers_right(&["diagnose", "--output", "json", "--calls-max", "350"]);
}
