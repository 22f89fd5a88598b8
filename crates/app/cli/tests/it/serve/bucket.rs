//! `--store s3://…`: a copy of a data folder in a bucket, on a server with the API of S3 (moto).

use super::store_commands::text;
use super::stored::{everything, of_store, start};
use crate::outcome::{Outcome, command, finish};
use laggard_testkit::python_with;
use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};

/// A server of buckets; dropping it kills it.
pub(super) struct Buckets {
    process: Child,
    address: String,
    /// Of the same buckets, where each request to read is refused once before it is answered.
    #[cfg_attr(not(feature = "cluster"), expect(dead_code))]
    throttled: String,
}

/// Whether a server refuses to create an object that is there.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum ConditionalPuts {
    Honored,
    Ignored,
}

impl Drop for Buckets {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// Prints its two ports, the second of which throttles, then serves until it is killed.
const SERVE: &str = "
from moto import server as moto_server
from moto.server import ThreadedMotoServer
import sys, time
answer = moto_server.DomainDispatcherApplication.__call__
refused, ports = set(), []
def dispatch(self, environ, start_response):
    if sys.argv[1:] == ['ignore-conditions']:
        environ.pop('HTTP_IF_NONE_MATCH', None)
    read = tuple(environ.get(name) for name in ('PATH_INFO', 'QUERY_STRING', 'HTTP_RANGE'))
    throttles = environ['SERVER_PORT'] == ports[1] and environ['REQUEST_METHOD'] == 'GET'
    if throttles and read not in refused:
        refused.add(read)
        start_response('503 Slow Down', [('Content-Type', 'application/xml')])
        return [b'<Error><Code>SlowDown</Code><Message>Reduce your request rate.</Message></Error>']
    return answer(self, environ, start_response)
moto_server.DomainDispatcherApplication.__call__ = dispatch
servers = [ThreadedMotoServer('127.0.0.1', 0, verbose=False) for _ in range(2)]
for server in servers:
    server.start()
ports += [str(server.get_host_and_port()[1]) for server in servers]
print(*ports, flush=True)
sys.stdin.read()
";

/// The variable with the address of the server.
const ENDPOINT: &str = "AWS_ENDPOINT_URL";

impl Buckets {
    /// `None` where Python is missing.
    pub(super) fn start(conditional_puts: ConditionalPuts) -> Option<Buckets> {
        // Installed once, by the test that comes first.
        static PYTHON: OnceLock<Option<PathBuf>> = OnceLock::new();
        let requirements = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/it/serve/requirements.txt");
        let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("s3-python");
        let python = PYTHON.get_or_init(|| python_with(&folder, &requirements)).as_ref()?;
        let mut process = Command::new(python)
            .args(["-c", SERVE])
            .args((conditional_puts == ConditionalPuts::Ignored).then_some("ignore-conditions"))
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let mut ports = String::new();
        BufReader::new(process.stdout.take().unwrap()).read_line(&mut ports).unwrap();
        let mut ports = ports.split_whitespace().map(|port| format!("127.0.0.1:{port}"));
        Some(Buckets { process, address: ports.next().unwrap(), throttled: ports.next().unwrap() })
    }

    /// The variables of the environment with which a program uses it.
    pub(super) fn variables(&self) -> Vec<(&'static str, String)> {
        let constants = [
            ("AWS_ALLOW_HTTP", "true"),
            ("AWS_REGION", "us-east-1"),
            ("AWS_ACCESS_KEY_ID", "test"),
            ("AWS_SECRET_ACCESS_KEY", "test"),
        ];
        let address = (ENDPOINT, format!("http://{}", self.address));
        constants.map(|(name, value)| (name, value.to_owned())).into_iter().chain([address]).collect()
    }

    /// The same, where each request to read is refused once before it is answered.
    #[cfg(feature = "cluster")]
    pub(super) fn throttled_variables(&self) -> Vec<(&'static str, String)> {
        self.variables_at(&self.throttled)
    }

    fn variables_at(&self, address: &str) -> Vec<(&'static str, String)> {
        let mut all = self.variables();
        all.retain(|(name, _)| *name != ENDPOINT);
        all.push((ENDPOINT, format!("http://{address}")));
        all
    }

    pub(super) fn put(&self, path: &str, body: &[u8]) {
        let mut stream = TcpStream::connect(&self.address).unwrap();
        let head = format!(
            "PUT /{path} HTTP/1.1\r\nHost: {}\r\nContent-Length: {}\r\nConnection: close\r\n\r\n",
            self.address,
            body.len()
        );
        stream.write_all(head.as_bytes()).unwrap();
        stream.write_all(body).unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        assert!(answer.starts_with("HTTP/1.1 200"), "{answer}");
    }

    /// Copies a folder under a prefix of a bucket.
    fn copy(&self, folder: &Path, prefix: &str) {
        for path in everything(folder).keys().filter(|path| path.is_file()) {
            let below = path.strip_prefix(folder).unwrap();
            self.put(&format!("{prefix}/{}", text(below)), &fs::read(path).unwrap());
        }
    }

    fn query(&self, location: &str, words: &[&str]) -> Outcome {
        let mut run = command(&[words, &["--store", location]].concat());
        finish(run.envs(self.variables()))
    }
}

/// A connection to a server of buckets that can be interrupted.
pub(super) struct Interruptible {
    address: SocketAddr,
    is_interrupted: Arc<AtomicBool>,
}

impl Interruptible {
    pub(super) fn to(buckets: &Buckets) -> Interruptible {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let (is_interrupted, server) = (Arc::new(AtomicBool::new(false)), buckets.address.clone());
        let interrupted = Arc::clone(&is_interrupted);
        // It ends with the process.
        std::thread::spawn(move || {
            for client in listener.incoming().map_while(Result::ok) {
                let Ok(server) = TcpStream::connect(&server) else { return };
                for (mut from, mut to) in
                    [(client.try_clone().unwrap(), server.try_clone().unwrap()), (server, client)]
                {
                    let interrupted = Arc::clone(&interrupted);
                    std::thread::spawn(move || {
                        let mut bytes = [0; 1 << 16];
                        while let Ok(length @ 1..) = from.read(&mut bytes) {
                            if interrupted.load(Ordering::Relaxed) || to.write_all(&bytes[..length]).is_err()
                            {
                                break;
                            }
                        }
                        // One that is closed already cannot be shut down.
                        let _ = (from.shutdown(Shutdown::Both), to.shutdown(Shutdown::Both));
                    });
                }
            }
        });
        Interruptible { address, is_interrupted }
    }

    /// Cuts off what is sent from now on, or lets it through again.
    pub(super) fn interrupt(&self, is_interrupted: bool) {
        self.is_interrupted.store(is_interrupted, Ordering::Relaxed);
    }

    /// As of [`Buckets::variables`].
    pub(super) fn variables(&self, buckets: &Buckets) -> Vec<(&'static str, String)> {
        buckets.variables_at(&self.address.to_string())
    }
}

#[test]
fn a_bucket_gives_the_answers_of_the_folder_that_was_copied_to_it() {
    let Some(buckets) = Buckets::start(ConditionalPuts::Honored) else { return };
    let folder = tempfile::tempdir().unwrap();
    let data: PathBuf = folder.path().join("data");
    start(&data, &[]).stop();
    // The log has nothing that is not in segments.
    fs::remove_dir_all(data.join("tenants/default/log")).unwrap();
    buckets.put("traces", b"");
    buckets.copy(&data, "traces/copies/monday");
    let location = "s3://traces/copies/monday";
    for words in [&["diagnose", "--output", "json"][..], &["compare", "--since", "2026-01-12T09:05:00Z"]] {
        for limit in ["1000000", "150"] {
            let words = [words, &["--calls-max", limit]].concat();
            let of_bucket = buckets.query(location, &words);
            assert_eq!(of_bucket.stdout, of_store(&data, &words).stdout, "{}", of_bucket.stderr);
            assert_eq!(of_bucket.status, 0);
        }
    }
    buckets.put("traces/copies/monday/tenants/default/log/000000000001.log", b"");
    let report = buckets.query(location, &["diagnose", "--output", "json"]).json();
    let caution = report["cautions"].as_array().unwrap().last().unwrap().as_str().unwrap();
    assert!(caution.starts_with("The log is not read from a bucket"), "{caution}");
    buckets.query("s3://traces/copies", &["diagnose"]).fails(3, &["s3://traces/copies", "no data folder"]);
    buckets.query("s3://nothing/copies", &["diagnose"]).fails(3, &["s3://nothing/copies"]);
    buckets.query("gcs://traces/copies", &["diagnose"]).fails(3, &["gcs:// is not read"]);
}
