//! Finders over drawn events.

mod drawn;
mod markers;
mod others;
mod properties;
