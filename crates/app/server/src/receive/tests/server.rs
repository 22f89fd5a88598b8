//! A server with one listener, and a minimal client.

use crate::api::AppState;
use crate::listen::{Listener, Serving, Transport, accept};
use crate::receive::Receiver;
use crate::settings::{ListenerKind, ServeSettings, Size};
use crate::tenants::Tenant;
use laggard_model::TraceId;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;
use tempfile::TempDir;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

/// Limits of a message of the test server, as sent and decompressed, in bytes.
pub(super) const MESSAGE_BYTES_MAX: usize = 256 << 10;
pub(super) const DECOMPRESSED_BYTES_MAX: usize = 1 << 20;

pub(super) struct Server {
    pub(super) address: SocketAddr,
    pub(super) state: AppState,
    pub(super) tenant: Arc<Tenant>,
    stopping: CancellationToken,
    _folder: TempDir,
}

impl Drop for Server {
    fn drop(&mut self) {
        self.stopping.cancel();
    }
}

impl Server {
    /// A server with one listener, small limits and short timeouts.
    pub(super) async fn start(kind: ListenerKind) -> Server {
        Server::start_with(kind, |_| {}).await
    }

    pub(super) async fn start_with(kind: ListenerKind, change: impl FnOnce(&mut ServeSettings)) -> Server {
        let folder = tempfile::tempdir().unwrap();
        let mut settings = ServeSettings { data: folder.path().to_owned(), ..ServeSettings::default() };
        settings.limits.message = Size(MESSAGE_BYTES_MAX as u64);
        settings.limits.decompressed = Size(DECOMPRESSED_BYTES_MAX as u64);
        settings.limits.header_timeout = "300ms".parse().unwrap();
        settings.limits.idle_timeout = "300ms".parse().unwrap();
        change(&mut settings);
        let settings = settings.check().unwrap();
        let limits = settings.raw.limits;
        let socket = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = socket.local_addr().unwrap();
        let listener = Arc::new(Listener { kind, address, figures: Default::default() });
        let stopping = CancellationToken::new();
        let state =
            crate::run::state(&settings, vec![listener.clone()], None, stopping.clone()).await.unwrap();
        let tenant = state.tenants.only().await.unwrap();
        let transport = Transport::load(&settings.raw.tls).unwrap();
        let router = crate::run::router(kind, true, &state, None);
        let serving = Serving { listener, router, transport, limits, stopping: stopping.clone() };
        tokio::spawn(accept(socket, serving, TaskTracker::new()));
        Server { address, state, tenant, stopping, _folder: folder }
    }

    pub(super) async fn connect(&self) -> TcpStream {
        TcpStream::connect(self.address).await.unwrap()
    }

    /// Number of stored spans of the trace in the messages of these tests.
    pub(super) async fn spans_stored(&self) -> usize {
        self.tenant.store.flush().await.unwrap();
        let view = self.tenant.store.view();
        let found = view.trace(TraceId::from_bytes([b't'; 16])).await.unwrap();
        found.map_or(0, |trace| trace.spans.len())
    }

    /// Waits until no message holds memory.
    pub(super) async fn all_memory_is_released(&self) {
        let all = self.state.receivers.settings.in_flight_bytes_max;
        for _ in 0..200 {
            if self.state.receivers.in_flight.free_bytes() >= all {
                return;
            }
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
        panic!("{} of {all} bytes are free", self.state.receivers.in_flight.free_bytes());
    }

    /// Waits until a number of messages of a receiver were rejected permanently.
    pub(super) async fn messages_are_rejected(&self, receiver: Receiver, count: u64) {
        for _ in 0..200 {
            if self.state.receivers.figures(receiver).refused >= count {
                return;
            }
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
        panic!("{:?}", self.state.receivers.figures(receiver));
    }

    /// Posts over a new connection.
    pub(super) async fn post(&self, path: &str, headers: &[(&str, &str)], body: &[u8]) -> Answer {
        let mut stream = self.connect().await;
        let mut head = format!(
            "POST {path} HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\ncontent-length: {}\r\n",
            body.len()
        );
        for (name, value) in headers {
            head.push_str(&format!("{name}: {value}\r\n"));
        }
        head.push_str("\r\n");
        // A server that refuses by the headers alone does not read the rest.
        let _ = stream.write_all(&[head.as_bytes(), body].concat()).await;
        Answer::read(&mut stream).await
    }
}

/// An HTTP/1 response.
#[derive(Debug)]
pub(super) struct Answer {
    pub(super) status: u16,
    head: String,
    pub(super) body: Vec<u8>,
}

impl Answer {
    /// Reads until the connection ends, for a few seconds at most; the status is 0 without a response.
    pub(super) async fn read(stream: &mut TcpStream) -> Answer {
        let mut all = Vec::new();
        let _ = tokio::time::timeout(Duration::from_secs(5), stream.read_to_end(&mut all)).await;
        let end = all.windows(4).position(|window| window == b"\r\n\r\n");
        let Some(end) = end else { return Answer { status: 0, head: String::new(), body: all } };
        let head = String::from_utf8_lossy(&all[..end]).to_ascii_lowercase();
        let status = head.split(' ').nth(1).and_then(|text| text.parse().ok()).unwrap_or(0);
        Answer { status, head, body: all[end + 4..].to_vec() }
    }

    /// The value of a header.
    pub(super) fn header(&self, name: &str) -> Option<&str> {
        let mut lines = self.head.lines();
        lines.find_map(|line| line.strip_prefix(name)?.strip_prefix(':')).map(str::trim)
    }

    pub(super) fn text(&self) -> String {
        String::from_utf8_lossy(&self.body).into_owned()
    }
}
