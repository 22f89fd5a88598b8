//! Access control: tokens, sessions, the origin of requests.

mod admission;
mod error;
mod failure_limit;
mod headers;
mod login;
mod origin;
mod revocation;
mod sessions;
mod token_files;
mod tokens;

pub(crate) use admission::{Admission, VisibleTenants, protect};
pub(crate) use headers::REPORT_POLICY;
pub(crate) use login::routes as login_routes;
pub(crate) use token_files::TokenFiles;
