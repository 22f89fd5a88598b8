//! The real server, where `prometheus` is on the path: it scrapes itself, and the test queries those metrics.

use crate::get;
use laggard_model::{Measure, Nanos, Timestamp};
use laggard_prometheus::{ClientSettings, RESOURCE_QUERIES, TimeRange};
use laggard_testkit::{Missing, skip};
use std::io::{Read, Write};
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

/// Starts Prometheus on a free port, which reads its own metrics and those of other jobs at their ports; `None` without the
/// program.
fn start(jobs: &[(&str, u16)]) -> Option<Server> {
    let folder = tempfile::tempdir().unwrap();
    let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let mut settings = "global: {scrape_interval: 100ms, scrape_timeout: 90ms}\nscrape_configs:\n".to_owned();
    for (job, port) in [("self", port)].iter().chain(jobs) {
        settings +=
            &format!("  - job_name: {job}\n    static_configs: [{{targets: ['127.0.0.1:{port}']}}]\n");
    }
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

/// The last ten seconds.
fn recent() -> TimeRange {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_nanos() as i64;
    TimeRange {
        since: Timestamp::from_unix_ns(now - 10_000_000_000),
        until: Timestamp::from_unix_ns(now),
        step: Nanos::from_ms(50),
    }
}

/// Time until the server must have read a few values.
const PATIENCE: Duration = Duration::from_secs(20);

#[test]
fn the_real_server_answers() {
    let Some(server) = start(&[]) else {
        return skip(Missing::Packages("prometheus"), "there is no program `prometheus` on the path");
    };
    assert!(server.folder.path().exists());
    let settings = || ClientSettings::new(format!("http://127.0.0.1:{}", server.port));
    let began = Instant::now();
    // Waits until it has scraped itself a few times; a machine that is too slow for that skips the test.
    while began.elapsed() < PATIENCE {
        let range = recent();
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

/// A server of metrics in the text format; `text` is of the seconds since its start. Its thread ends with the process.
fn exposed(text: impl Fn(f64) -> String + Send + 'static) -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let began = Instant::now();
    std::thread::spawn(move || {
        for connection in listener.incoming() {
            let Ok(mut connection) = connection else { continue };
            // The request fits into one read, and nothing of it matters.
            let _ = connection.read(&mut [0; 4096]);
            let body = text(began.elapsed().as_secs_f64());
            let headers = format!("Content-Type: text/plain\r\nContent-Length: {}\r\n", body.len());
            let _ = write!(connection, "HTTP/1.1 200 OK\r\nConnection: close\r\n{headers}\r\n{body}");
        }
    });
    port
}

/// A machine with a quarter of its memory free, whose link of 1 MB/s receives 0.2 and sends 0.1 MB/s, and a virtual link
/// without a speed.
fn node_exporter(seconds: f64) -> String {
    let (sent, received) = (1e5 * seconds, 2e5 * seconds);
    format!(
        "node_memory_MemAvailable_bytes 250\nnode_memory_MemTotal_bytes 1000\n\
         node_network_speed_bytes{{device=\"eth0\"}} 1000000\nnode_network_speed_bytes{{device=\"veth0\"}} -125000\n\
         node_network_transmit_bytes_total{{device=\"eth0\"}} {sent}\n\
         node_network_transmit_bytes_total{{device=\"veth0\"}} {sent}\n\
         node_network_receive_bytes_total{{device=\"eth0\"}} {received}\n"
    )
}

/// Two containers of a pod: of one kube-state-metrics knows the limit, of the other only cAdvisor. A pod without a limit.
const CONTAINERS: &str = "\
container_memory_working_set_bytes{namespace=\"n\",pod=\"cart-1\",container=\"app\"} 30
container_memory_working_set_bytes{namespace=\"n\",pod=\"cart-1\",container=\"proxy\"} 45
container_memory_working_set_bytes{namespace=\"n\",pod=\"cart-1\",container=\"\"} 75
container_memory_working_set_bytes{namespace=\"n\",pod=\"free-1\",container=\"app\"} 99
kube_pod_container_resource_limits{namespace=\"n\",pod=\"cart-1\",container=\"app\",resource=\"memory\"} 100
kube_pod_container_resource_limits{namespace=\"n\",pod=\"cart-1\",container=\"app\",resource=\"cpu\"} 2
container_spec_memory_limit_bytes{namespace=\"n\",pod=\"cart-1\",container=\"proxy\"} 50
container_spec_memory_limit_bytes{namespace=\"n\",pod=\"free-1\",container=\"app\"} 0
";

#[test]
fn memory_and_links_are_those_of_the_container_or_of_the_machine() {
    let app = exposed(|seconds| format!("process_cpu_seconds_total {seconds}\n"));
    let jobs = [("app", app), ("node", exposed(node_exporter)), ("kube", exposed(|_| CONTAINERS.to_owned()))];
    let Some(server) = start(&jobs) else {
        return skip(Missing::Packages("prometheus"), "there is no program `prometheus` on the path");
    };
    let settings = || ClientSettings::new(format!("http://127.0.0.1:{}", server.port));
    let of_app = format!("127.0.0.1:{app}");
    let began = Instant::now();
    while began.elapsed() < PATIENCE {
        let got = RESOURCE_QUERIES.map(|query| get(settings(), query, recent()).unwrap().collected.samples);
        let last_of = |query: usize, server: &str| got[query].iter().rfind(|sample| sample.server == server);
        if let (Some(container), Some(memory), Some(link)) =
            (last_of(0, "cart-1"), last_of(1, &of_app), last_of(2, &of_app))
        {
            assert_eq!((container.tier.as_str(), container.value), ("", 0.9), "that of the fuller container");
            assert!(last_of(0, "free-1").is_none(), "no limit");
            assert_eq!((memory.tier.as_str(), memory.value), ("app", 0.75));
            assert_eq!(memory.measure, Measure::MemoryUtilization);
            // Reads are not equally spaced.
            assert!((0.1..0.4).contains(&link.value), "{link:?}");
            assert_eq!((link.tier.as_str(), link.measure), ("app", Measure::NetworkUtilization));
            assert!(
                last_of(1, &format!("127.0.0.1:{}", server.port)).is_some(),
                "of another process there, too"
            );
            return;
        }
        std::thread::sleep(Duration::from_millis(100));
    }
    skip(Missing::Machine, "the server did not read all in time");
}
