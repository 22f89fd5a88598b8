//! Facts about the input that only its reader knows.

use crate::{NamedCount, SystemEvent};

/// Number, size and formats of the inputs that were read.
#[derive(Clone, Debug, Default)]
pub struct InputFacts {
    /// Inputs read.
    pub files: u64,
    /// Bytes read, before decompression.
    pub bytes: u64,
    /// Bytes that were written to a temporary file, because the spans did not fit in memory.
    pub spilled_bytes: u64,
    /// Formats recognized, with the number of inputs of each.
    pub formats: Vec<NamedCount>,
    /// Deployments and other changes of the system that somebody declared, in any order.
    pub events: Vec<SystemEvent>,
}
