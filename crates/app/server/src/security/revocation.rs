//! Requests end with the token that they were admitted with.

use super::tokens::KnownToken;
use axum::body::{Body, Bytes};
use axum::response::Response;
use futures::future::BoxFuture;
use hyper::body::{Body as HttpBody, Frame, SizeHint};
use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

/// The response to a request of a token; `None` if the token is revoked before there is one. If it is revoked while the
/// response is sent, that is cut off: it may be a stream that has no end.
pub(super) async fn while_valid(
    token: &Arc<KnownToken>,
    response: impl Future<Output = Response>,
) -> Option<Response> {
    let response = tokio::select! {
        biased;
        () = token.revoked() => return None,
        response = response => response,
    };
    // A body of a known size is in memory, and sent as fast as its receiver takes it.
    if HttpBody::size_hint(response.body()).exact().is_some() {
        return Some(response);
    }
    let token = token.clone();
    let revoked: BoxFuture<'static, ()> = Box::pin(async move { token.revoked().await });
    Some(response.map(|body| Body::new(RevocableBody { body, revoked: Some(revoked) })))
}

/// A body that ends with an error once a token is revoked.
struct RevocableBody {
    body: Body,
    /// `None` after it was revoked.
    revoked: Option<BoxFuture<'static, ()>>,
}

impl HttpBody for RevocableBody {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
        let Some(revoked) = &mut self.revoked else { return Poll::Ready(None) };
        if revoked.as_mut().poll(context).is_ready() {
            self.revoked = None;
            let error = io::Error::other("the token is not valid any more");
            return Poll::Ready(Some(Err(axum::Error::new(error))));
        }
        Pin::new(&mut self.body).poll_frame(context)
    }

    fn is_end_stream(&self) -> bool {
        self.revoked.is_none() || self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::security::tokens::Tokens;
    use crate::settings::CheckedToken;
    use axum::response::IntoResponse;
    use futures::{FutureExt, StreamExt, stream};
    use std::convert::Infallible;

    fn tokens() -> (Tokens, Arc<KnownToken>) {
        let secret = b"0123456789abcdef".to_vec();
        let token =
            CheckedToken { name: "a".to_owned(), secret, read: true, write: false, tenants: Vec::new() };
        let tokens = Tokens::new(&[token]);
        let known = tokens.find(b"0123456789abcdef").unwrap();
        (tokens, known)
    }

    #[tokio::test]
    async fn a_stream_without_an_end_is_cut_off_with_its_token() {
        let (tokens, token) = tokens();
        let endless = stream::iter([Ok::<_, Infallible>("first")]).chain(stream::pending());
        let response =
            while_valid(&token, async { Body::from_stream(endless).into_response() }).await.unwrap();
        let mut body = response.into_body().into_data_stream();
        assert_eq!(body.next().await.unwrap().unwrap(), "first");
        assert!(body.next().now_or_never().is_none(), "more may come");
        tokens.replace(&[]);
        assert!(body.next().await.unwrap().is_err());
        assert!(body.next().await.is_none());
    }

    #[tokio::test]
    async fn a_request_without_a_response_ends_with_its_token() {
        let (tokens, token) = tokens();
        let response = while_valid(&token, async { "complete".into_response() }).await.unwrap();
        assert_eq!(response.body().size_hint().exact(), Some(8), "sent as it is");
        let mut waiting = Box::pin(while_valid(&token, std::future::pending()));
        assert!(waiting.as_mut().now_or_never().is_none());
        tokens.replace(&[]);
        assert!(waiting.await.is_none());
    }
}
