//! gRPC's framing of the one message of a request and of a response.

use crate::grpc;
use crate::receive::body::{BodyBuffer, Chunks, ReceivedBody};
use crate::receive::error::{ErrorKind, ReceiveError};
use crate::receive::in_flight::InFlightLimit;
use crate::receive::settings::ReceiveSettings;
use axum::body::{Body, Bytes};
use http::{HeaderMap, HeaderValue};
use hyper::body::{Body as HttpBody, Frame as BodyFrame, SizeHint};
use std::convert::Infallible;
use std::pin::Pin;
use std::task::{Context, Poll};

/// A flag for compression, and a length.
const PREFIX_BYTES: usize = 5;

/// The only message of a request.
#[derive(Debug)]
pub(super) struct Frame {
    pub(super) is_compressed: bool,
    pub(super) body: ReceivedBody,
}

/// Reads the only message of a body.
pub(super) async fn read_one(
    body: Body,
    in_flight: &InFlightLimit,
    settings: &ReceiveSettings,
) -> Result<Frame, ReceiveError> {
    let mut chunks = Chunks::new(body);
    let mut prefix = Vec::with_capacity(PREFIX_BYTES);
    let mut partial: Option<(Prefix, BodyBuffer)> = None;
    while let Some(mut chunk) = chunks.next().await? {
        if partial.is_none() {
            let missing = (PREFIX_BYTES - prefix.len()).min(chunk.len());
            prefix.extend_from_slice(&chunk.split_to(missing));
            let Ok(prefix) = <[u8; PREFIX_BYTES]>::try_from(prefix.as_slice()) else { continue };
            let head = Prefix::parse(prefix)?;
            let buffer = BodyBuffer::new(in_flight, Some(head.length as u64), settings)?;
            partial = Some((head, buffer));
        }
        if let Some((head, buffer)) = &mut partial {
            if buffer.len() + chunk.len() > head.length {
                return Err(malformed("more than one message in a unary call"));
            }
            buffer.add(&chunk).await?;
        }
    }
    match partial {
        Some((head, buffer)) if buffer.len() == head.length => {
            Ok(Frame { is_compressed: head.is_compressed, body: buffer.finish() })
        }
        Some(_) => Err(malformed("the call ends inside its message")),
        None => Err(malformed("a call without a message")),
    }
}

/// The decoded prefix of a message.
struct Prefix {
    is_compressed: bool,
    length: usize,
}

impl Prefix {
    fn parse(prefix: [u8; PREFIX_BYTES]) -> Result<Prefix, ReceiveError> {
        let [flag, length @ ..] = prefix;
        if flag > 1 {
            return Err(malformed("invalid prefix of a gRPC message"));
        }
        Ok(Prefix { is_compressed: flag == 1, length: u32::from_be_bytes(length) as usize })
    }
}

#[cold]
fn malformed(text: &str) -> ReceiveError {
    ReceiveError::permanent(ErrorKind::Malformed, text)
}

/// The body of a response: a message, then the trailers of success.
#[derive(Debug)]
pub(super) struct Unary {
    message: Option<Bytes>,
    trailers: Option<HeaderMap>,
}

impl Unary {
    pub(super) fn new(message: &[u8]) -> Unary {
        let mut framed = Vec::with_capacity(PREFIX_BYTES + message.len());
        framed.push(0);
        framed.extend_from_slice(&(message.len() as u32).to_be_bytes());
        framed.extend_from_slice(message);
        let trailers = HeaderMap::from_iter([(grpc::STATUS, HeaderValue::from_static("0"))]);
        Unary { message: Some(framed.into()), trailers: Some(trailers) }
    }
}

impl HttpBody for Unary {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        _: &mut Context<'_>,
    ) -> Poll<Option<Result<BodyFrame<Bytes>, Infallible>>> {
        if let Some(message) = self.message.take() {
            return Poll::Ready(Some(Ok(BodyFrame::data(message))));
        }
        Poll::Ready(self.trailers.take().map(|trailers| Ok(BodyFrame::trailers(trailers))))
    }

    fn is_end_stream(&self) -> bool {
        self.trailers.is_none()
    }

    fn size_hint(&self) -> SizeHint {
        SizeHint::new()
    }
}
