//! Access control: tokens, sessions, the origin of requests.

mod admission;
mod error;
mod headers;
mod login;
mod login_limit;
mod origin;
mod sessions;
mod tokens;

pub(crate) use admission::{Admission, VisibleTenants, protect};
pub(crate) use headers::REPORT_POLICY;
pub(crate) use login::routes as login_routes;
