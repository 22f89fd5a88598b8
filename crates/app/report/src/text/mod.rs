//! Reports for a person at a terminal that are not documents yet.

mod capacity;
mod sections;
mod table;

pub(crate) use crate::render::text::{TextStyle, page, paint};
pub(crate) use capacity::capacity;

/// Narrower pages are laid out for this width.
const WIDTH_MIN: u16 = 60;

/// Wider pages are laid out for this width: longer lines are hard to read.
const WIDTH_MAX: u16 = 100;
