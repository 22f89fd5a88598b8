//! The evaluation over folders made for the purpose, and over the measured data where they are.

#![expect(clippy::unwrap_used, reason = "a test that cannot continue should panic at that line")]

mod folders;
mod measured;
