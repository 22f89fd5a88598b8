//! The real server, where `prometheus` is on the path: it scrapes itself, and the test queries those metrics.

use crate::get;
use laggard_model::{Nanos, Timestamp};
use laggard_prometheus::{ClientSettings, TimeRange};
use laggard_testkit::{Missing, skip};
use std::net::TcpListener;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

struct Server {
    process: Child,
    port: u16,
    folder: tempfile::TempDir,
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// Starts Prometheus on a free port; `None` without the program.
fn start() -> Option<Server> {
    let folder = tempfile::tempdir().unwrap();
    let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let settings = format!(
        "global: {{scrape_interval: 100ms, scrape_timeout: 90ms}}\nscrape_configs:\n  - job_name: self\n    \
         static_configs: [{{targets: ['127.0.0.1:{port}']}}]\n"
    );
    std::fs::write(folder.path().join("p.yml"), settings).unwrap();
    let process = Command::new("prometheus")
        .arg(format!("--config.file={}", folder.path().join("p.yml").display()))
        .arg(format!("--storage.tsdb.path={}", folder.path().join("data").display()))
        .arg(format!("--web.listen-address=127.0.0.1:{port}"))
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn();
    Some(Server { process: process.ok()?, port, folder })
}

#[test]
fn the_real_server_answers() {
    let Some(server) = start() else {
        return skip(Missing::Packages("prometheus"), "there is no program `prometheus` on the path");
    };
    assert!(server.folder.path().exists());
    let settings = || ClientSettings::new(format!("http://127.0.0.1:{}", server.port));
    let began = Instant::now();
    // Waits until it has scraped itself a few times; a machine that is too slow for that skips the test.
    while began.elapsed() < Duration::from_secs(20) {
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_nanos() as i64;
        let range = TimeRange {
            since: Timestamp::from_unix_ns(now - 10_000_000_000),
            until: Timestamp::from_unix_ns(now),
            step: Nanos::from_ms(50),
        };
        let cpu = get(settings(), "cpu_seconds_total=process_cpu_seconds_total", range);
        if let Ok(got) = cpu
            && got.fetched.points >= 3
        {
            let samples = &got.collected.samples;
            assert!(
                samples.windows(2).all(|pair| pair[0].time < pair[1].time && pair[0].value <= pair[1].value)
            );
            assert_eq!((samples[0].tier.as_str(), samples[0].value), ("self", 0.0));
            assert!((samples.len() as u64) <= 10 * 20, "repeated values are no readings");
            let refused = get(settings(), "rate=sum by (", range).err().unwrap().to_string();
            assert!(refused.contains("bad_data") && refused.contains("parse error"), "{refused}");
            return;
        }
        std::thread::sleep(Duration::from_millis(100));
    }
    skip(Missing::Machine, "the server did not read itself in time");
}
