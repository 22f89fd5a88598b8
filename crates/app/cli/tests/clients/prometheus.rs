//! Prometheus scrapes the server's own metrics and remote-writes them back to it.

use crate::install::{command, prometheus};
use crate::server::Server;
use std::process::{Child, Stdio};
use std::time::{Duration, Instant};

/// Scrapes twice a second and remote-writes immediately.
fn configuration(server: &Server) -> String {
    let address = server.url("http");
    let target = address.trim_start_matches("http://");
    format!(
        "global: {{scrape_interval: 500ms, scrape_timeout: 500ms}}
scrape_configs:
  - job_name: laggard
    static_configs: [{{targets: ['{target}']}}]
remote_write:
  - url: {address}/api/v1/write
    queue_config: {{batch_send_deadline: 500ms}}
"
    )
}

/// A process that is killed when the test ends.
struct KillOnDrop(Child);

impl Drop for KillOnDrop {
    fn drop(&mut self) {
        // It may have exited already.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Maximum time until samples are received.
const PATIENCE: Duration = Duration::from_secs(60);

#[test]
fn prometheus_remote_writes_its_scraped_samples() {
    let Some(prometheus) = prometheus() else { return };
    let folder = tempfile::tempdir().unwrap();
    let server = Server::start(&folder.path().join("data"));
    let file = folder.path().join("prometheus.yml");
    std::fs::write(&file, configuration(&server)).unwrap();
    let log = std::fs::File::create(folder.path().join("log")).unwrap();
    let mut running = command(prometheus);
    running.arg(format!("--config.file={}", file.display()));
    running.arg(format!("--storage.tsdb.path={}", folder.path().join("tsdb").display()));
    running.arg("--web.listen-address=127.0.0.1:0").stdout(Stdio::null()).stderr(log);
    let mut running = KillOnDrop(running.spawn().unwrap());
    let started = Instant::now();
    // Of its own metrics the server recognizes CPU time, a counter, whose first point yields no sample.
    let received = loop {
        let received = server.received("remote_write");
        if received["samples"].as_u64().unwrap() >= 4 {
            break received;
        }
        let log = || std::fs::read_to_string(folder.path().join("log")).unwrap();
        assert_eq!(running.0.try_wait().unwrap(), None, "it ended: {}", log());
        assert!(started.elapsed() < PATIENCE, "{received} {}", log());
        std::thread::sleep(Duration::from_millis(100));
    };
    let refused = ["refused", "deferred", "rejected"].map(|field| received[field].as_u64().unwrap());
    assert_eq!(refused, [0; 3], "{received}");
    drop(running);
    server.stop();
}
