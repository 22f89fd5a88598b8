//! State shared by the log thread, the flusher, and the store's handles.

use super::timed_files::SharedDurations;
use crate::budget::Budget;
use crate::clock::Clock;
use crate::intake::Intake;
use crate::log::{DamagedRange, ReplayReport};
use crate::problems::{IssueList, Severity};
use crate::settings::StoreSettings;
use crate::{Claim, StoreIssue};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;
use tokio::sync::Notify;

const TORN_LOG: &str = "torn_log";
const CORRUPT_LOG: &str = "corrupt_log";
const LOG_ELSEWHERE: &str = "log_elsewhere";

pub(super) struct WritePath {
    intake: Mutex<Intake>,
    pub(super) budget: Budget,
    pub(super) problems: IssueList,
    pub(super) clock: Arc<dyn Clock>,
    pub(super) idle: Duration,
    /// Wakes the flusher when memory is tight.
    pub(super) tight: Notify,
    pub(super) spans_appended: AtomicU64,
    pub(super) log_bytes: AtomicU64,
    pub(super) log_syncs: SharedDurations,
    pub(super) compactions: SharedDurations,
    pub(super) closing: AtomicBool,
    /// Whether the last write to the log failed.
    pub(super) log_fails: AtomicBool,
    /// The claim of the prefix that segments are below, if there is one.
    claim: Option<Claim>,
}

impl WritePath {
    pub(super) fn new(
        intake: Intake,
        settings: &StoreSettings,
        clock: Arc<dyn Clock>,
        log_syncs: SharedDurations,
    ) -> WritePath {
        let idle = Duration::from_nanos(settings.idle.ns());
        let budget = Budget::new(settings.memory_bytes, settings.shared.clone());
        budget.force(intake.bytes());
        WritePath {
            intake: Mutex::new(intake),
            budget,
            problems: IssueList::default(),
            clock,
            idle,
            tight: Notify::new(),
            spans_appended: AtomicU64::new(0),
            log_bytes: AtomicU64::new(0),
            log_syncs,
            compactions: SharedDurations::default(),
            closing: AtomicBool::new(false),
            log_fails: AtomicBool::new(false),
            claim: settings.claim.clone(),
        }
    }

    pub(super) fn intake(&self) -> MutexGuard<'_, Intake> {
        self.intake.lock().expect("no thread panics while it holds the lock")
    }

    pub(super) fn report(&self, name: &'static str, severity: Severity, text: String) {
        self.problems.report(name, severity, self.clock.wall(), text);
    }

    pub(super) fn is_closing(&self) -> bool {
        self.closing.load(Ordering::Acquire)
    }

    pub(super) fn log_fails(&self) -> bool {
        self.log_fails.load(Ordering::Relaxed)
    }

    /// What happened, if another server has taken over the segments.
    pub(super) fn taken_over(&self) -> Option<StoreIssue> {
        self.claim.as_ref()?.lost()
    }

    /// Reports that the log of the server before is not here.
    pub(super) fn report_log_elsewhere(&self) {
        if let Some(text) = self.claim.as_ref().and_then(Claim::log_elsewhere) {
            self.report(LOG_ELSEWHERE, Severity::Warns, text.to_owned());
        }
    }

    /// Clears the problems reported by replay.
    pub(super) fn forget_findings(&self) {
        self.problems.clear(LOG_ELSEWHERE);
        self.problems.clear(TORN_LOG);
        self.problems.clear(CORRUPT_LOG);
    }

    /// Reports what replay found.
    pub(super) fn report_replay(&self, findings: &ReplayReport) {
        if let Some(torn) = &findings.torn {
            let text = format!(
                "the last write of {} was cut off: {} unacknowledged bytes are lost",
                torn.file, torn.bytes
            );
            self.report(TORN_LOG, Severity::Warns, text);
        }
        let Some(first) = findings.corrupt.first() else { return };
        let sum = |of: fn(&DamagedRange) -> u64| findings.corrupt.iter().map(of).sum::<u64>();
        let text = format!(
            "the write-ahead log is damaged in {} places, first in {}: {} bytes were passed over, {} batches are \
             missing; what follows was recovered",
            findings.corrupt.len(),
            first.file,
            sum(|damage| damage.bytes),
            sum(|damage| damage.records),
        );
        self.report(CORRUPT_LOG, Severity::Warns, text);
    }
}
