//! The engine, `datafusion-distributed`: the only module that names it or DataFusion.

mod channel;
mod leaf;
mod root;
mod worker;

pub(crate) use root::{Assigned, EngineRoot};
pub use worker::{WorkerSettings, serve};

/// The header with the build of the root.
const BUILD_HEADER: &str = "laggard-build";
