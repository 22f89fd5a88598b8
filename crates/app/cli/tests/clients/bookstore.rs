//! The bookstore of `examples/bookstore`, real processes in two languages with an injected fault, and its diagnosis.

use crate::install::{command, folder};
use crate::server::Server;
use laggard_testkit::{Missing, skip};
use serde_json::Value;
use std::fs::{self, Permissions};
use std::net::TcpListener;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

/// The program of the bookstore.
pub(crate) const PROGRAM: &str =
    concat!(env!("CARGO_MANIFEST_DIR"), "/../../../examples/bookstore/bookstore");

/// Number of consecutive ports that a bookstore uses, including two for a server.
const PORTS: u16 = 16;

/// Responses of the shop with the fault: 17 % are for the slow page, a third of these from the slow replica.
const ANSWERS: usize = 700;

/// Responses before the fault and after it, so that all processes have exported their spans, which they do each second.
const WARM_UP: usize = 150;

/// Maximum time to wait for responses.
const PATIENCE: Duration = Duration::from_secs(180);

/// A bookstore that is stopped when the test ends.
struct Shop {
    data: PathBuf,
    first_port: u16,
}

impl Shop {
    fn command(&self) -> Command {
        let mut bookstore = command(PROGRAM);
        bookstore.env("BOOKSTORE_INSTALLED", folder("bookstore"));
        bookstore.arg("--data").arg(&self.data).args(["--port", &self.first_port.to_string()]);
        bookstore
    }

    #[track_caller]
    fn run(&self, arguments: &[&str]) -> String {
        let output = self.command().args(arguments).output().unwrap();
        let stderr = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "bookstore {arguments:?}: {stderr}");
        String::from_utf8(output.stdout).unwrap()
    }

    /// Waits until the driver has received this many further responses.
    fn serve(&self, answers: usize) {
        let file = self.data.join("answers.csv");
        let known = || fs::read_to_string(&file).unwrap_or_default().lines().count();
        let (before, started) = (known(), Instant::now());
        while known() < before + answers {
            assert!(started.elapsed() < PATIENCE, "{} of {answers} answers", known() - before);
            std::thread::sleep(Duration::from_millis(200));
        }
    }
}

impl Drop for Shop {
    fn drop(&mut self) {
        let ended = self.command().arg("down").status();
        assert!(
            ended.is_ok_and(|status| status.success()) || std::thread::panicking(),
            "the bookstore can be stopped"
        );
    }
}

/// Packages of the bookstore that are not installed.
pub(crate) fn missing() -> Option<&'static str> {
    let temporary = tempfile::tempdir().unwrap();
    let shop = command(PROGRAM).arg("--data").arg(temporary.path()).arg("missing").output().unwrap();
    let listed = String::from_utf8(shop.stdout).unwrap();
    assert!(shop.status.success(), "{}", String::from_utf8_lossy(&shop.stderr));
    (!listed.trim().is_empty()).then(|| &*listed.trim().to_owned().leak())
}

/// The first of [`PORTS`] consecutive free ports.
pub(crate) fn free_ports() -> u16 {
    let free = |port| TcpListener::bind(("127.0.0.1", port)).is_ok();
    let first = || TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let mut candidates = std::iter::repeat_with(first).take(100);
    let usable = |first: &u16| *first < u16::MAX - PORTS && (*first..*first + PORTS).all(free);
    candidates.find(usable).expect("there are enough consecutive free ports")
}

#[test]
fn the_slow_replica_of_the_bookstore_is_named() {
    let temporary = tempfile::tempdir().unwrap();
    // PostgreSQL, which does not run as root, must be able to enter it.
    fs::set_permissions(temporary.path(), Permissions::from_mode(0o755)).unwrap();
    if let Some(packages) = missing() {
        return skip(Missing::Packages(packages), "not all programs of the bookstore are installed");
    }
    let shop = Shop { data: temporary.path().join("data"), first_port: free_ports() };
    let server = Server::start(&temporary.path().join("laggard"));
    shop.run(&["up", "--otlp", &server.url("otlp_http"), "--record"]);
    shop.run(&["drive", "--detach", "--clients", "25", "--think", "0.5"]);
    shop.serve(WARM_UP);
    shop.run(&["break", "slow-replica-sleep"]);
    shop.serve(ANSWERS);
    shop.run(&["mend", "slow-replica-sleep"]);
    let truth = truth(&shop.data);
    shop.serve(WARM_UP);
    let report = diagnose(&server, &truth);
    let suspect = &report["suspects"][0];
    let names = ["service", "operation", "replicas"];
    assert_eq!(names.map(|name| &suspect[name]), names.map(|name| &truth[name]), "{report}");
    let recorded = fs::read(shop.data.join("recording/traces.binpb")).unwrap();
    let mut services = ["store", "recommendations", "worker"].into_iter();
    assert_eq!(services.find(|name| !recorded.windows(name.len()).any(|part| part == name.as_bytes())), None);
}

/// The ground truth of the only fault.
fn truth(data: &Path) -> Value {
    let mut files = fs::read_dir(data.join("truth")).unwrap().map(|entry| entry.unwrap().path());
    let truth = fs::read(files.next().expect("there was a fault")).unwrap();
    serde_json::from_slice(&truth).unwrap()
}

/// The diagnosis of the fault's window without a baseline, since the shop was cold before it: replicas are compared with each
/// other.
fn diagnose(server: &Server, truth: &Value) -> Value {
    server.flush();
    let [since, until] = ["onset_unix_ns", "end_unix_ns"].map(|field| truth[field].to_string());
    let mut laggard = Command::new(env!("CARGO_BIN_EXE_laggard"));
    laggard.args(["diagnose", "--server", &server.url("http"), "--since", &since, "--until", &until]);
    let output = laggard.args(["--baseline", "none", "--output", "json"]).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    serde_json::from_slice(&output.stdout).unwrap()
}
