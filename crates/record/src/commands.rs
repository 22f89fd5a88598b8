//! The same recording by other programs.

use crate::settings::RecordSettings;

/// The command lines of trace-cmd, perf and LTTng that record the same, as a text to be printed.
pub fn equivalent_commands(_settings: &RecordSettings) -> String {
    String::new()
}
