//! The published method (Cherkasova et al. 2009), complete.

mod settings;

pub use settings::{CherkasovaMode, CherkasovaSettings, CherkasovaSettingsError};
