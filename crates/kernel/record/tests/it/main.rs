//! What is written is read again, without a kernel's help.

#![expect(clippy::unwrap_used, reason = "a test that finds nothing fails")]

mod written;
