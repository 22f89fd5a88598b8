//! Localization against the reference results and on small made-up incidents.

mod delag;
mod incidents;
mod mi;
mod patterns;
mod pipeline;
mod sites;
