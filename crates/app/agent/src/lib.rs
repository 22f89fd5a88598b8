//! The agent of a host: records in memory while a server's operator allows it, and sends the part that is requested.
//!
//! ```text
//! poll ─► rule ─► recorder starts, pauses, stops
//!      └► requests ─► snapshot ─► spool (a file) ─► upload ─► file removed
//! ```
//!
//! The recorder is a trait: this crate knows no kernel. A request stays with the server until its recording has arrived or
//! is reported as missed, so that it does not matter when either side is killed.

mod agent;
mod budget;
mod client;
mod error;
mod protocol;
mod recorder;
mod spool;

pub use agent::{Agent, AgentSettings, Round};
pub use budget::EVENT_COST_NS;
pub use client::ServerAccess;
pub use error::AgentError;
pub use protocol::RecordRule;
pub use recorder::{Recorder, StartRecorder};
