//! An agent with a recorder and a server that are stand-ins.

#![expect(clippy::unwrap_used, reason = "a test that finds nothing fails")]

mod kills;
mod rounds;
mod stand_in;
