//! The Model Context Protocol (MCP), for a server that has tools and nothing else.
//!
//! ```text
//! text ─► ToolServer ─┬─► reply: initialize, server/discover, ping, tools/list, errors
//!                     ├─► ToolCall ─► work of a command or of `serve` ─► ToolAnswer, bounded ─► reply
//!                     └─► cancellation of a call
//! ```
//!
//! Both eras of the protocol are spoken: that of requests that carry their version (2026-07-28), and that of sessions which begin
//! with `initialize` (until 2025-11-25). No reply depends on an earlier message, so that connections have no state.
//! <https://modelcontextprotocol.io/specification/2026-07-28>

mod answer;
mod bounds;
mod client;
mod error;
mod message;
mod schema;
mod server;
mod stdio;
mod tool;

pub use answer::ToolAnswer;
pub use client::{CallRequest, result_of};
pub use error::RpcError;
pub use message::RequestId;
pub use schema::{input_schema, with_properties};
pub use server::{
    CAPABILITIES_KEY, Era, PROTOCOL_VERSION_KEY, Received, ToolCall, ToolServer, is_supported,
    reply_without_id, unsupported_version,
};
pub use stdio::{CallWork, serve_lines};
pub use tool::Tool;
