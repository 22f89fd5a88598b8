//! The door of every listener: who is it, may they, and whose data is it about?

use super::headers::harden;
use super::origin::{crosses_sites, names_us};
use super::refusal::Refusal;
use super::sessions::Sessions;
use super::tokens::{Tokens, bearer};
use crate::settings::CheckedSettings;
use crate::shared::{AppState, Tenant};
use axum::Router;
use axum::extract::{Request, State};
use axum::middleware::{Next, from_fn, from_fn_with_state};
use axum::response::Response;
use http::{HeaderMap, Method, Uri};
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use tower_http::CompressionLevel;
use tower_http::compression::CompressionLayer;

/// Who may come in.
pub(crate) struct Gate {
    pub(super) tokens: Tokens,
    pub(super) sessions: Sessions,
    /// Requests that were not let in.
    pub(crate) refused: AtomicU64,
}

impl Gate {
    pub(crate) fn new(settings: &CheckedSettings) -> Gate {
        let tokens = Tokens::new(settings.tokens.clone());
        Gate { tokens, sessions: Sessions::default(), refused: AtomicU64::new(0) }
    }
}

/// Who sent a request: an extension of every request.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Peer {
    pub(crate) address: SocketAddr,
    pub(crate) encrypted: bool,
}

/// What stands behind a door.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Door {
    /// API and pages.
    Http,
    /// A receiver over HTTP.
    Receiver,
    /// A receiver over gRPC.
    Grpc,
}

/// What a request must be allowed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Need {
    /// Nothing: it is answered without any data.
    Nothing,
    /// To ask about the server as a whole.
    ReadServer,
    /// To ask about data.
    Read,
    /// To send data.
    Write,
}

/// Puts a door before routes: whoever comes through has a [`Tenant`] as an extension where data is meant.
/// `listener` is the name of the setting that tells where it is.
pub(crate) fn behind(door: Door, listener: &str, routes: Router, state: &AppState) -> Router {
    let addresses = state.settings.raw.addresses();
    let local = addresses.iter().any(|(name, address)| *name == listener && address.ip().is_loopback());
    let entrance = Entrance { door, local, state: state.clone() };
    let routes = routes.layer(from_fn_with_state(entrance, admit));
    if door != Door::Http {
        return routes;
    }
    // Answers are JSON of many numbers alike; streams of events are left as they are.
    routes.layer(CompressionLayer::new().quality(CompressionLevel::Fastest)).layer(from_fn(harden))
}

#[derive(Clone)]
struct Entrance {
    door: Door,
    /// Whether only this machine can reach it.
    local: bool,
    state: AppState,
}

async fn admit(State(entrance): State<Entrance>, mut request: Request, next: Next) -> Response {
    match entrance.check(request.method(), request.uri(), request.headers()).await {
        Ok(tenant) => {
            if let Some(tenant) = tenant {
                request.extensions_mut().insert(tenant);
            }
            next.run(request).await
        }
        Err(refusal) => entrance.refuse(&request, &refusal),
    }
}

/// Who was recognized.
struct Caller {
    /// The place of their token; `None` where nobody needs one.
    token: Option<usize>,
    /// The tenant that was chosen at login.
    tenant: Option<Box<str>>,
}

impl Entrance {
    async fn check(
        &self,
        method: &Method,
        uri: &Uri,
        headers: &HeaderMap,
    ) -> Result<Option<Arc<Tenant>>, Refusal> {
        self.check_origin(method, uri, headers)?;
        let need = need(self.door, method, uri.path());
        if need == Need::Nothing {
            return Ok(None);
        }
        let caller = self.recognize(headers)?;
        self.check_scope(&caller, need)?;
        if need == Need::ReadServer {
            return Ok(None);
        }
        self.tenant(&caller, headers).await.map(Some)
    }

    fn check_origin(&self, method: &Method, uri: &Uri, headers: &HeaderMap) -> Result<(), Refusal> {
        if self.door == Door::Grpc {
            // No browser speaks it.
            return Ok(());
        }
        if crosses_sites(method, uri, headers) {
            return Err(Refusal::CrossSite);
        }
        let trusts_everybody = self.local && !self.state.gate.tokens.are_needed();
        if trusts_everybody && !names_us(uri, headers, &self.state.settings.raw.names) {
            return Err(Refusal::OtherHost);
        }
        Ok(())
    }

    fn recognize(&self, headers: &HeaderMap) -> Result<Caller, Refusal> {
        let gate = &self.state.gate;
        if !gate.tokens.are_needed() {
            return Ok(Caller { token: None, tenant: None });
        }
        if let Some(secret) = bearer(headers) {
            let token = gate.tokens.find(secret).ok_or(Refusal::Unknown)?;
            return Ok(Caller { token: Some(token), tenant: None });
        }
        let session = (self.door == Door::Http).then(|| gate.sessions.find(headers)).flatten();
        let session = session.ok_or(Refusal::Unknown)?;
        Ok(Caller { token: Some(session.token), tenant: session.tenant })
    }

    fn check_scope(&self, caller: &Caller, need: Need) -> Result<(), Refusal> {
        let Some(token) = caller.token.map(|place| self.state.gate.tokens.at(place)) else { return Ok(()) };
        match need {
            Need::Write if !token.write => Err(Refusal::Scope("sending data")),
            Need::Read | Need::ReadServer if !token.read => Err(Refusal::Scope("asking")),
            _ => Ok(()),
        }
    }

    async fn tenant(&self, caller: &Caller, headers: &HeaderMap) -> Result<Arc<Tenant>, Refusal> {
        let tenants = &self.state.tenants;
        let settings = &self.state.settings.raw.tenants;
        if !settings.enabled {
            return tenants.only().await.map_err(Refusal::Tenant);
        }
        let token = caller.token.map(|place| self.state.gate.tokens.at(place));
        let allowed = token.map_or(&[][..], |token| &token.tenants);
        let named = headers.get(&settings.header).map(|value| value.to_str().unwrap_or(""));
        let implied = (allowed.len() == 1).then(|| allowed[0].as_str());
        let chosen = named.or(caller.tenant.as_deref()).or(implied).or(settings.default.as_deref());
        let name = chosen.ok_or_else(|| Refusal::NoTenant(settings.header.clone()))?;
        if !allowed.is_empty() && !allowed.iter().any(|known| known == name) {
            return Err(Refusal::OtherTenant);
        }
        tenants.get(name).await.map_err(Refusal::Tenant)
    }

    fn refuse(&self, request: &Request, refusal: &Refusal) -> Response {
        self.state.gate.refused.fetch_add(1, Ordering::Relaxed);
        let peer = request.extensions().get::<Peer>().map(|peer| peer.address);
        let path = request.uri().path();
        tracing::debug!(?peer, path, ?refusal, "refused");
        if self.door == Door::Grpc { refusal.over_grpc() } else { refusal.over_http() }
    }
}

/// What a request must be allowed. Data are only below `/api/`: what is not below it is pages, and needs nothing.
fn need(door: Door, method: &Method, path: &str) -> Need {
    if door != Door::Http {
        return Need::Write;
    }
    match path {
        "/metrics" | "/version" => Need::ReadServer,
        "/api/v1/session" => Need::Nothing,
        "/api/v1/import" | "/api/v1/flush" | "/api/v1/write" if method != Method::GET => Need::Write,
        path if path.starts_with("/api/") => Need::Read,
        _ => Need::Nothing,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn everything_below_api_needs_something() {
        let http = |method: Method, path: &str| need(Door::Http, &method, path);
        for path in ["/", "/healthz", "/readyz", "/assets/app.js", "/verdict", "/api/v1/session"] {
            assert_eq!(http(Method::GET, path), Need::Nothing, "{path}");
        }
        for path in ["/metrics", "/version"] {
            assert_eq!(http(Method::GET, path), Need::ReadServer, "{path}");
        }
        for path in ["/api/v1/status", "/api/v1/session/x", "/api/", "/api/v2/anything", "/api/v1/import"] {
            assert_eq!(http(Method::GET, path), Need::Read, "{path}");
        }
        for path in ["/api/v1/import", "/api/v1/flush", "/api/v1/write"] {
            assert_eq!(http(Method::POST, path), Need::Write, "{path}");
        }
        assert_eq!(http(Method::POST, "/api/v1/diagnose"), Need::Read);
        assert_eq!(need(Door::Receiver, &Method::POST, "/v1/traces"), Need::Write);
        assert_eq!(need(Door::Receiver, &Method::GET, "/"), Need::Write);
        assert_eq!(need(Door::Grpc, &Method::POST, "/healthz"), Need::Write);
    }
}
