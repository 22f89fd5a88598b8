//! From series to the table.

use crate::{SampleTable, WindowError, WindowSettings, WindowTable};

impl SampleTable {
    /// The table of windows.
    pub fn finish(self, settings: &WindowSettings) -> Result<WindowTable, WindowError> {
        let _ = settings;
        Err(WindowError::NoSamples { samples: self.samples() })
    }
}
