//! Localization against the reference results and on small made-up incidents.

mod incidents;
mod mi;
mod pipeline;
