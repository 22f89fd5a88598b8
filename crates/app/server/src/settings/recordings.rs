//! Settings of recordings: the rule without which no host records.

use super::{Length, SettingError, Size};
use laggard_settings::settings;

settings! {
    group "recordings";
    /// Kernel recordings of hosts with an agent (`docs/manual/agent.md`). Without hosts, nothing is ever recorded.
    #[derive(Clone, PartialEq, Debug)]
    pub struct RecordingSettings {
        /// Hosts that may record, by the names of their agents; `*` matches anything. None by default
        hosts ("recordings.hosts", "entries"): Vec<String> = Vec::new(), within(0.0, 1_000.0);
        /// Most recordings per hour, of all hosts together
        per_hour ("recordings.per_hour"): u32 = 12, within(1.0, 10_000.0);
        /// Longest recorded interval
        length ("recordings.length"): Length = Length::from_secs(30), within(0.1, 600.0);
        /// Memory for events on each host that may record
        buffer ("recordings.buffer"): Size = Size(32 << 20), within(1_048_576.0, 67_108_864.0);
        /// Most CPU of a host that recording may take, as a share of all its CPUs; beyond it, recording pauses
        cpu ("recordings.cpu"): f64 = 0.03, within(0.001, 0.5);
        /// Largest recording
        upload ("recordings.upload"): Size = Size(64 << 20), at_least(1.0);
        /// Recordings older than this are deleted
        keep_for ("recordings.keep_for"): Length = Length::from_secs(7 * 86_400), at_least(3_600.0);
        /// Maximum size of a tenant's recordings; beyond it the oldest are deleted
        keep_bytes ("recordings.keep_bytes"): Size = Size(1 << 30), at_least(1.0);
    }
}

impl RecordingSettings {
    /// Checks what a range cannot express.
    pub(super) fn check_pairs(&self) -> Result<(), SettingError> {
        if self.keep_bytes < self.upload {
            return Err(SettingError::new(format_args!(
                "recordings.keep_bytes is {}; allowed: at least recordings.upload, which is {}",
                self.keep_bytes, self.upload
            )));
        }
        match self.hosts.iter().find(|host| host.trim().is_empty()) {
            Some(_) => Err(SettingError::new(
                "recordings.hosts has an empty entry; write names of hosts, or * for all",
            )),
            None => Ok(()),
        }
    }
}
