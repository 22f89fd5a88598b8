//! Admission of every request: its sender, their permissions, and the tenant.

use super::error::AdmissionError;
use super::failure_limit::FailureLimit;
use super::headers::harden;
use super::origin::{crosses_sites, names_us};
use super::revocation::while_valid;
use super::sessions::{Session, Sessions};
use super::tokens::{KnownToken, Tokens, bearer};
use crate::listen::Peer;
use crate::settings::{CheckedSettings, CheckedToken, ListenerKind, TenantSettings, is_tenant_name};
use crate::tenants::{Tenant, TenantError, Tenants};
use axum::Router;
use axum::extract::{Request, State};
use axum::middleware::{Next, from_fn, from_fn_with_state};
use axum::response::Response;
use http::header::AUTHORIZATION;
use http::{HeaderMap, Method, Uri};
use std::net::IpAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;
use tower_http::CompressionLevel;
use tower_http::compression::CompressionLayer;

/// Decides which requests are admitted, and counts those that are not.
pub(crate) struct Admission {
    pub(super) tokens: Tokens,
    pub(super) sessions: Sessions,
    /// Failed logins, after which an address cannot log in for a while.
    pub(super) logins: FailureLimit,
    /// Requests with wrong credentials, after which an address has to wait; right ones are always accepted.
    wrong_credentials: FailureLimit,
    pub(super) tenant_settings: TenantSettings,
    /// Names, beside addresses and `localhost`, under which browsers may reach the server.
    names: Vec<String>,
    tenants: Arc<Tenants>,
    /// Requests that were not admitted.
    pub(crate) refused: AtomicU64,
}

impl Admission {
    pub(crate) fn new(settings: &CheckedSettings, tenants: Arc<Tenants>) -> Admission {
        Admission {
            tokens: Tokens::new(&settings.tokens),
            sessions: Sessions::default(),
            logins: FailureLimit::default(),
            wrong_credentials: FailureLimit::default(),
            tenant_settings: settings.raw.tenants.clone(),
            names: settings.raw.names.clone(),
            tenants,
            refused: AtomicU64::new(0),
        }
    }

    /// Whether requests need a token.
    pub(crate) fn tokens_are_needed(&self) -> bool {
        self.tokens.are_needed()
    }

    /// Replaces all tokens. Requests, streams, and sessions of those that are not among them end at once.
    pub(super) fn replace_tokens(&self, tokens: &[CheckedToken]) {
        self.tokens.replace(tokens);
    }

    /// The session that a browser's request names, and its token, as long as that is valid.
    pub(super) fn session(&self, headers: &HeaderMap) -> Option<(Session, Arc<KnownToken>)> {
        let session = self.sessions.find(headers)?;
        let token = self.tokens.find(&session.secret)?;
        Some((session, token))
    }
}

/// The permission that a request needs.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Permission {
    /// None: it is answered without any data.
    None,
    /// Reading the status of the whole server.
    ReadServer,
    /// To read data.
    Read,
    /// To send data.
    Write,
}

/// Puts admission before routes. An admitted request has its [`Tenant`] as an extension where it is about data.
/// `is_local`: whether only this machine can reach the listener.
pub(crate) fn protect(
    listener: ListenerKind,
    is_local: bool,
    routes: Router,
    admission: &Arc<Admission>,
) -> Router {
    let entrance = Entrance { listener, is_local, admission: admission.clone() };
    let routes = routes.layer(from_fn_with_state(entrance, admit));
    if listener != ListenerKind::Http {
        return routes;
    }
    // Answers are JSON of many similar numbers; streams of events are left as they are.
    routes.layer(CompressionLayer::new().quality(CompressionLevel::Fastest)).layer(from_fn(harden))
}

#[derive(Clone)]
struct Entrance {
    listener: ListenerKind,
    is_local: bool,
    admission: Arc<Admission>,
}

async fn admit(State(entrance): State<Entrance>, mut request: Request, next: Next) -> Response {
    let peer = request.extensions().get::<Peer>().map(|peer| peer.address.ip());
    match entrance.check(request.method(), request.uri(), request.headers(), peer).await {
        Ok(Admitted { tenant, visible, token }) => {
            if let Some(tenant) = tenant {
                request.extensions_mut().insert(tenant);
            }
            request.extensions_mut().insert(visible);
            let Some(token) = token else { return next.run(request).await };
            match while_valid(&token, next.run(request)).await {
                Some(response) => response,
                None => entrance.answer(&AdmissionError::Unauthenticated),
            }
        }
        Err(error) => entrance.refuse(&request, &error),
    }
}

/// An admitted request.
struct Admitted {
    /// The tenant that it is about.
    tenant: Option<Arc<Tenant>>,
    visible: VisibleTenants,
    /// The token it was admitted with; it ends with it.
    token: Option<Arc<KnownToken>>,
}

/// Tenants whose data the sender of a request may see: an extension of every admitted request.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(crate) struct VisibleTenants {
    /// Only these; `None` for all.
    only: Option<Arc<[String]>>,
}

impl VisibleTenants {
    /// Those of a token: all without one, or if it names none.
    pub(crate) fn from_token(token: Option<&CheckedToken>) -> VisibleTenants {
        let named = token.map(|token| &token.tenants).filter(|tenants| !tenants.is_empty());
        VisibleTenants { only: named.map(|tenants| tenants.as_slice().into()) }
    }

    /// Whether it may see all, and so figures of the whole server.
    pub(crate) fn are_all(&self) -> bool {
        self.only.is_none()
    }

    pub(crate) fn contain(&self, tenant: &str) -> bool {
        self.only.as_ref().is_none_or(|only| only.iter().any(|name| name == tenant))
    }
}

/// The sender of a request.
struct Caller {
    /// Their token; `None` where no token is needed.
    token: Option<Arc<KnownToken>>,
    /// The tenant selected at login.
    tenant: Option<Box<str>>,
}

impl Entrance {
    async fn check(
        &self,
        method: &Method,
        uri: &Uri,
        headers: &HeaderMap,
        peer: Option<IpAddr>,
    ) -> Result<Admitted, AdmissionError> {
        self.check_origin(method, uri, headers)?;
        let needed = needed_permission(self.listener, method, uri.path());
        if needed == Permission::None {
            let visible = VisibleTenants { only: Some([].into()) };
            return Ok(Admitted { tenant: None, visible, token: None });
        }
        let caller = self.identify(headers, peer)?;
        self.check_scope(&caller, needed)?;
        let visible = VisibleTenants::from_token(caller.token.as_ref().map(|token| &token.checked));
        let tenant = match needed {
            Permission::ReadServer => None,
            _ => Some(self.tenant(&caller, headers, needed).await?),
        };
        Ok(Admitted { tenant, visible, token: caller.token })
    }

    fn check_origin(&self, method: &Method, uri: &Uri, headers: &HeaderMap) -> Result<(), AdmissionError> {
        if self.listener == ListenerKind::OtlpGrpc {
            // Browsers do not send gRPC.
            return Ok(());
        }
        if crosses_sites(method, uri, headers) {
            return Err(AdmissionError::CrossSite);
        }
        let is_open = self.is_local && !self.admission.tokens.are_needed();
        if is_open && !names_us(uri, headers, &self.admission.names) {
            return Err(AdmissionError::OtherHost);
        }
        Ok(())
    }

    fn identify(&self, headers: &HeaderMap, peer: Option<IpAddr>) -> Result<Caller, AdmissionError> {
        let admission = &self.admission;
        if !admission.tokens.are_needed() {
            return Ok(Caller { token: None, tenant: None });
        }
        if let Some(secret) = bearer(headers) {
            let token = admission.tokens.find(secret).ok_or_else(|| self.wrong_credentials(peer))?;
            return Ok(Caller { token: Some(token), tenant: None });
        }
        let session = (self.listener == ListenerKind::Http).then(|| admission.session(headers)).flatten();
        if let Some((session, token)) = session {
            return Ok(Caller { token: Some(token), tenant: session.tenant });
        }
        // Credentials of another scheme, such as Basic, are never right.
        Err(match headers.contains_key(AUTHORIZATION) {
            true => self.wrong_credentials(peer),
            false => AdmissionError::Unauthenticated,
        })
    }

    /// Counts wrong credentials. Right ones of the same address are never refused for it: they may be of others behind
    /// the same proxy.
    fn wrong_credentials(&self, peer: Option<IpAddr>) -> AdmissionError {
        let (Some(peer), now) = (peer, Instant::now()) else { return AdmissionError::Unauthenticated };
        let limit = &self.admission.wrong_credentials;
        if let Some(wait) = limit.wait(peer, now) {
            return AdmissionError::TooManyFailures(wait);
        }
        if limit.failed(peer, now) {
            tracing::warn!(%peer, listener = self.listener.name(), "many requests with wrong credentials");
        }
        AdmissionError::Unauthenticated
    }

    fn check_scope(&self, caller: &Caller, needed: Permission) -> Result<(), AdmissionError> {
        let Some(token) = &caller.token else { return Ok(()) };
        match needed {
            Permission::Write if !token.checked.write => Err(AdmissionError::Scope("sending data")),
            Permission::Read | Permission::ReadServer if !token.checked.read => {
                Err(AdmissionError::Scope("reading"))
            }
            _ => Ok(()),
        }
    }

    /// Only sending data creates a tenant.
    async fn tenant(
        &self,
        caller: &Caller,
        headers: &HeaderMap,
        needed: Permission,
    ) -> Result<Arc<Tenant>, AdmissionError> {
        let tenants = &self.admission.tenants;
        let settings = &self.admission.tenant_settings;
        if !settings.enabled {
            return tenants.only().await.map_err(AdmissionError::Tenant);
        }
        let allowed = caller.token.as_ref().map_or(&[][..], |token| &token.checked.tenants);
        let named = headers.get(&settings.header).map(|value| value.to_str().unwrap_or(""));
        let implied = (allowed.len() == 1).then(|| allowed[0].as_str());
        let selected = named.or(caller.tenant.as_deref()).or(implied).or(settings.default.as_deref());
        let name = selected.ok_or_else(|| AdmissionError::NoTenant(settings.header.clone()))?;
        if !allowed.is_empty() && !allowed.iter().any(|known| known == name) {
            return Err(AdmissionError::OtherTenant);
        }
        match needed {
            Permission::Write => tenants.get(name).await.map_err(AdmissionError::Tenant),
            _ if !is_tenant_name(name) => Err(AdmissionError::Tenant(TenantError::Name)),
            _ => tenants.find(name).ok_or(AdmissionError::UnknownTenant),
        }
    }

    fn refuse(&self, request: &Request, error: &AdmissionError) -> Response {
        self.admission.refused.fetch_add(1, Ordering::Relaxed);
        let peer = request.extensions().get::<Peer>().map(|peer| peer.address);
        let path = request.uri().path();
        tracing::debug!(?peer, path, ?error, "refused");
        self.answer(error)
    }

    fn answer(&self, error: &AdmissionError) -> Response {
        match self.listener {
            ListenerKind::OtlpGrpc => error.over_grpc(),
            _ => error.over_http(),
        }
    }
}

/// The permission that a request needs. Data are only below `/api/`, `/jaeger/`, and `/tempo/`; everything else is pages, which need
/// none.
fn needed_permission(listener: ListenerKind, method: &Method, path: &str) -> Permission {
    if listener != ListenerKind::Http {
        return Permission::Write;
    }
    match path {
        "/metrics" | "/version" => Permission::ReadServer,
        "/api/v1/session" => Permission::None,
        "/api/v1/import" | "/api/v1/flush" | "/api/v1/write" | "/api/v1/events" | "/api/v1/recordings"
            if method != Method::GET =>
        {
            Permission::Write
        }
        path if path.starts_with("/api/v1/silences") && method != Method::GET => Permission::Write,
        // The protocol of agents.
        path if path.starts_with("/api/v1/agent/") => Permission::Write,
        path if ["/api/", "/jaeger/", "/tempo/"].iter().any(|data| path.starts_with(data)) => {
            Permission::Read
        }
        _ => Permission::None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn everything_below_api_needs_a_permission() {
        let http = |method: Method, path: &str| needed_permission(ListenerKind::Http, &method, path);
        for path in ["/", "/healthz", "/readyz", "/assets/app.js", "/verdict", "/api/v1/session"] {
            assert_eq!(http(Method::GET, path), Permission::None, "{path}");
        }
        for path in ["/metrics", "/version"] {
            assert_eq!(http(Method::GET, path), Permission::ReadServer, "{path}");
        }
        for path in [
            "/api/v1/status",
            "/api/v1/session/x",
            "/api/",
            "/api/v2/anything",
            "/api/v1/import",
            "/api/v1/events",
            "/jaeger/api/traces",
            "/tempo/ready",
        ] {
            assert_eq!(http(Method::GET, path), Permission::Read, "{path}");
        }
        for path in ["/api/v1/import", "/api/v1/flush", "/api/v1/write", "/api/v1/events", "/api/v1/silences"]
        {
            assert_eq!(http(Method::POST, path), Permission::Write, "{path}");
        }
        assert_eq!(http(Method::POST, "/api/v1/recordings"), Permission::Write);
        assert_eq!(http(Method::GET, "/api/v1/recordings"), Permission::Read);
        for (method, path) in [
            (Method::POST, "/api/v1/agent/poll"),
            (Method::PUT, "/api/v1/agent/recordings/0"),
            (Method::GET, "/api/v1/agent/"),
        ] {
            assert_eq!(http(method, path), Permission::Write, "{path}");
        }
        assert_eq!(http(Method::POST, "/api/v1/diagnose"), Permission::Read);
        assert_eq!(needed_permission(ListenerKind::OtlpHttp, &Method::POST, "/v1/traces"), Permission::Write);
        assert_eq!(needed_permission(ListenerKind::OtlpHttp, &Method::GET, "/"), Permission::Write);
        assert_eq!(needed_permission(ListenerKind::OtlpGrpc, &Method::POST, "/healthz"), Permission::Write);
    }
}
