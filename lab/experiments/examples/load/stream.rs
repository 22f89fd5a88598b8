//! One lane of calls: a message, its answer, the next message.

use crate::Counts;
use crate::spans::{SPANS_A_MESSAGE, Template};
use bytes::Bytes;
use h2::client::SendRequest;
use http::{Method, Request};
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};
use tokio::net::TcpStream;

/// Calls on one connection, one after the other.
pub(crate) struct Lane {
    pub(crate) sender: SendRequest<Bytes>,
    pub(crate) templates: Arc<[Template]>,
    pub(crate) counts: Arc<Counts>,
    /// Messages that are still to be sent, of all lanes.
    pub(crate) budget: Arc<AtomicU64>,
    pub(crate) until: Instant,
    /// Number of the first message.
    pub(crate) number: u64,
}

/// How long a lane waits before it retries.
const PAUSE: Duration = Duration::from_millis(100);

/// Opens a connection; it is served until the process ends.
pub(crate) async fn connect(address: SocketAddr) -> Result<SendRequest<Bytes>, String> {
    let stream = TcpStream::connect(address).await.map_err(|error| format!("{address}: {error}"))?;
    stream.set_nodelay(true).map_err(|error| error.to_string())?;
    let (sender, connection) = h2::client::Builder::new()
        .initial_window_size(1 << 20)
        .max_send_buffer_size(1 << 20)
        .handshake(stream)
        .await
        .map_err(|error| error.to_string())?;
    tokio::spawn(async move {
        let _ = connection.await;
    });
    Ok(sender)
}

impl Lane {
    pub(crate) async fn run(mut self) -> Result<(), String> {
        while Instant::now() < self.until && self.take_from_budget() {
            let template = &self.templates[self.number as usize % self.templates.len()];
            let message = frame(&template.message(self.number));
            self.number += 1;
            loop {
                let bytes = message.len() as u64;
                match self.call(message.clone()).await? {
                    0 => {
                        self.counts.acknowledged.fetch_add(SPANS_A_MESSAGE as u64, Ordering::Relaxed);
                        self.counts.messages.fetch_add(1, Ordering::Relaxed);
                        self.counts.bytes.fetch_add(bytes, Ordering::Relaxed);
                        break;
                    }
                    8 | 14 => {
                        self.counts.deferred.fetch_add(1, Ordering::Relaxed);
                        tokio::time::sleep(PAUSE).await;
                    }
                    _ => {
                        self.counts.failed.fetch_add(1, Ordering::Relaxed);
                        break;
                    }
                }
                if Instant::now() >= self.until {
                    break;
                }
            }
        }
        Ok(())
    }

    fn take_from_budget(&self) -> bool {
        self.budget.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |budget| budget.checked_sub(1)).is_ok()
    }

    /// One call; returns its status.
    async fn call(&mut self, message: Bytes) -> Result<u32, String> {
        let text = |error: h2::Error| error.to_string();
        let request = Request::builder()
            .method(Method::POST)
            .uri("http://load/opentelemetry.proto.collector.trace.v1.TraceService/Export")
            .header("content-type", "application/grpc")
            .header("te", "trailers")
            .body(())
            .map_err(|error| error.to_string())?;
        let mut sender = self.sender.clone().ready().await.map_err(text)?;
        let (response, mut body) = sender.send_request(request, false).map_err(text)?;
        body.send_data(message, true).map_err(text)?;
        let response = response.await.map_err(text)?;
        if let Some(status) = response.headers().get("grpc-status") {
            return Ok(status.to_str().ok().and_then(|text| text.parse().ok()).unwrap_or(2));
        }
        let mut body = response.into_body();
        while let Some(chunk) = body.data().await {
            let length = chunk.map_err(text)?.len();
            let _ = body.flow_control().release_capacity(length);
        }
        let trailers = body.trailers().await.map_err(text)?.unwrap_or_default();
        Ok(trailers
            .get("grpc-status")
            .and_then(|s| s.to_str().ok())
            .and_then(|s| s.parse().ok())
            .unwrap_or(2))
    }
}

/// gRPC's prefix and the message.
fn frame(message: &[u8]) -> Bytes {
    let mut framed = Vec::with_capacity(5 + message.len());
    framed.push(0);
    framed.extend_from_slice(&(message.len() as u32).to_be_bytes());
    framed.extend_from_slice(message);
    framed.into()
}
