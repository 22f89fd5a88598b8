//! Which windows tell of the application as it is now: those since its last change, without times in which
//! something foreign ran.

use super::WINDOWS_MIN;
use super::what_if::plain;
use crate::changes::ObservedServer;
use crate::sample_summary::window_start;
use laggard_changes::{Analysis, ChangeSettings, SegmentKind, changes};
use laggard_report::rfc3339;
use laggard_samples::{ServerWindows, WindowTable};
use std::num::NonZeroUsize;

/// Transaction types of a server that are told apart when changes are sought; rarer ones are pooled.
const TYPES_MAX: usize = 20;

/// The windows to look at, and why others were left out, as sentences.
pub(super) struct InForce {
    pub(super) windows: Vec<usize>,
    pub(super) cautions: Vec<String>,
}

/// Asks every server. Where too few windows would remain, all stay, and a sentence says so.
pub(super) fn in_force(table: &WindowTable, windows: &[usize], threads: NonZeroUsize) -> InForce {
    let mut keep: Vec<bool> = vec![true; table.windows];
    let mut cautions = Vec::new();
    for server in &table.servers {
        let observed = ObservedServer::of(table, server, TYPES_MAX);
        let Ok(analysis) = changes(&observed.observations, &ChangeSettings::default(), threads) else {
            continue;
        };
        let left_out = left_out(&analysis, &observed.observations.windows);
        cautions.extend(left_out.sentence(table, server));
        left_out.old.iter().chain(&left_out.foreign).for_each(|window| keep[*window] = false);
    }
    let kept: Vec<usize> = windows.iter().copied().filter(|window| keep[*window]).collect();
    if kept.len() == windows.len() {
        return InForce { windows: kept, cautions: vec![] };
    }
    if kept.len() < WINDOWS_MIN {
        let caution = format!(
            "The application changed or something foreign ran, and only {} windows would remain without those times: all \
             count as one. See `laggard changes`.",
            kept.len()
        );
        return InForce { windows: windows.to_vec(), cautions: vec![caution] };
    }
    InForce { windows: kept, cautions }
}

/// Windows of one server that tell of something else.
struct LeftOut {
    /// Another state of the application.
    old: Vec<usize>,
    /// Something foreign.
    foreign: Vec<usize>,
}

fn left_out(analysis: &Analysis, windows: &[usize]) -> LeftOut {
    let last = analysis.segments.iter().rev().find_map(|segment| match segment.kind {
        SegmentKind::Normal { group } => Some(group),
        _ => None,
    });
    let mut left_out = LeftOut { old: Vec::new(), foreign: Vec::new() };
    for segment in &analysis.segments {
        let rows = &windows[segment.rows.clone()];
        match segment.kind {
            SegmentKind::Normal { group } if Some(group) != last => left_out.old.extend(rows),
            SegmentKind::Anomalous { .. } => left_out.foreign.extend(rows),
            SegmentKind::Normal { .. } | SegmentKind::Pending => {}
        }
    }
    left_out
}

impl LeftOut {
    fn sentence(&self, table: &WindowTable, server: &ServerWindows) -> Option<String> {
        let name = if server.server.is_empty() { "the server" } else { &server.server };
        let name = plain(name);
        let mut parts = Vec::new();
        if let Some(last) = self.old.iter().max() {
            let until = rfc3339(window_start(table, last + 1));
            parts.push(format!(
                "{} windows until {until} in which the application was another than now",
                self.old.len()
            ));
        }
        if !self.foreign.is_empty() {
            parts
                .push(format!("{} windows in which transactions do not explain the CPU", self.foreign.len()));
        }
        (!parts.is_empty()).then(|| {
            format!("Left out because of `{name}`: {}. See `laggard changes`.", parts.join(", and "))
        })
    }
}
