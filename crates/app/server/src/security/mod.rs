//! Who may do what: tokens, tenants, transport.

mod admission;
mod headers;
mod login;
mod origin;
mod refusal;
mod sessions;
mod tenants;
mod tls;
mod tokens;

pub(crate) use admission::{Door, Gate, Peer, behind};
pub(crate) use headers::REPORT_POLICY;
pub(crate) use login::routes as login_routes;
pub(crate) use tenants::Tenants;
pub(crate) use tls::Transport;
