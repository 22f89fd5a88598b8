//! Who sent a request, so that no client takes the turns of all others.

use super::state::AppState;
use crate::listen::{Peer, network};
use axum::extract::{Request, State};
use axum::middleware::Next;
use axum::response::Response;
use http::HeaderMap;
use http::header::{AUTHORIZATION, COOKIE};
use std::collections::HashMap;
use std::hash::{BuildHasher, RandomState};
use std::net::IpAddr;
use std::sync::{Arc, LazyLock, Mutex, Weak};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

/// A token, a login, or without these an address.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub(crate) struct ClientId(u64);

tokio::task_local! {
    static CLIENT: ClientId;
}

impl ClientId {
    /// The client of the request that this task answers.
    pub(crate) fn current() -> ClientId {
        CLIENT.try_with(|client| *client).unwrap_or_default()
    }

    /// Does work of this client beyond the task that answers its request.
    pub(crate) fn scope<F: Future>(self, work: F) -> impl Future<Output = F::Output> {
        CLIENT.scope(self, work)
    }

    #[cfg(test)]
    pub(crate) const fn from_number(number: u64) -> ClientId {
        ClientId(number)
    }

    fn from_request(request: &Request, tokens_are_needed: bool) -> ClientId {
        let address = request.extensions().get::<Peer>().map(|peer| network(peer.address.ip()));
        ClientId::from_parts(request.headers(), address, tokens_are_needed)
    }

    /// Where no token is needed, anyone can send any: only the address counts.
    fn from_parts(headers: &HeaderMap, address: Option<IpAddr>, tokens_are_needed: bool) -> ClientId {
        static KEYS: LazyLock<RandomState> = LazyLock::new(RandomState::new);
        let secret = [AUTHORIZATION, COOKIE].iter().find_map(|name| headers.get(name));
        match secret.filter(|_| tokens_are_needed) {
            Some(secret) => ClientId(KEYS.hash_one(secret.as_bytes())),
            None => ClientId(KEYS.hash_one(address)),
        }
    }
}

/// Notes the client for everything that answers a request.
pub(super) async fn note_client(State(state): State<AppState>, request: Request, next: Next) -> Response {
    let client = ClientId::from_request(&request, state.admission.tokens_are_needed());
    CLIENT.scope(client, next.run(request)).await
}

/// Permits of which one client never has all.
pub(crate) struct SharedPermits {
    all: Arc<Semaphore>,
    each_max: usize,
    /// Of clients that wait or have a permit.
    of_clients: Mutex<HashMap<ClientId, Weak<Semaphore>>>,
}

/// Returned when it is dropped.
pub(crate) struct SharedPermit {
    _of_all: OwnedSemaphorePermit,
    _of_client: OwnedSemaphorePermit,
    _client: Arc<Semaphore>,
}

impl SharedPermits {
    /// The permits of a semaphore of which none is in use yet.
    pub(crate) fn new(all: Arc<Semaphore>) -> SharedPermits {
        let each_max = all.available_permits().saturating_sub(1).max(1);
        SharedPermits { all, each_max, of_clients: Mutex::default() }
    }

    /// Waits for a permit. Requests of one client beyond its share wait for each other, not in front of others.
    pub(crate) async fn acquire(&self, client: ClientId) -> SharedPermit {
        let own = self.of_client(client);
        let of_client = own.clone().acquire_owned().await.expect("the semaphore is never closed");
        let of_all = self.all.clone().acquire_owned().await.expect("the semaphore is never closed");
        SharedPermit { _of_all: of_all, _of_client: of_client, _client: own }
    }

    fn of_client(&self, client: ClientId) -> Arc<Semaphore> {
        let mut of_clients = self.of_clients.lock().expect("no thread panics while it holds the lock");
        if let Some(known) = of_clients.get(&client).and_then(Weak::upgrade) {
            return known;
        }
        of_clients.retain(|_, known| known.strong_count() > 0);
        let new = Arc::new(Semaphore::new(self.each_max));
        of_clients.insert(client, Arc::downgrade(&new));
        new
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use futures::FutureExt;
    use http::HeaderValue;

    #[test]
    fn a_client_is_its_token_or_its_address() {
        let client = |token: Option<&'static str>, address: &str, tokens_are_needed: bool| {
            let headers =
                token.map(|token| (AUTHORIZATION, HeaderValue::from_static(token))).into_iter().collect();
            ClientId::from_parts(&headers, address.parse().ok(), tokens_are_needed)
        };
        assert_eq!(client(Some("Bearer a"), "10.0.0.1", true), client(Some("Bearer a"), "10.0.0.2", true));
        assert_ne!(client(Some("Bearer a"), "10.0.0.1", true), client(Some("Bearer b"), "10.0.0.1", true));
        assert_eq!(client(Some("Bearer a"), "10.0.0.1", false), client(Some("Bearer b"), "10.0.0.1", false));
        assert_ne!(client(None, "10.0.0.1", false), client(None, "10.0.0.2", false));
    }

    #[tokio::test]
    async fn one_client_leaves_a_permit_to_others() {
        let permits = SharedPermits::new(Arc::new(Semaphore::new(3)));
        let (greedy, other) = (ClientId(1), ClientId(2));
        let first = permits.acquire(greedy).await;
        let _second = permits.acquire(greedy).await;
        let mut third = Box::pin(permits.acquire(greedy));
        assert!(third.as_mut().now_or_never().is_none(), "its share is used up");
        let of_other = permits.acquire(other).now_or_never().expect("one is left");
        drop((first, of_other));
        third.await;
        assert_eq!(permits.of_clients.lock().unwrap().len(), 2);
        drop(permits.of_client(ClientId(3)));
        assert_eq!(permits.of_clients.lock().unwrap().len(), 2, "clients without permits are forgotten");
    }
}
