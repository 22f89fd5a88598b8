//! Written recordings are read back, without a kernel.

#![expect(clippy::unwrap_used, reason = "a test that finds nothing fails")]

mod written;
