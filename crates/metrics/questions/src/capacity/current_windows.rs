//! Selects the windows of the current version of the application: those since its last change, without times of foreign
//! load.

use super::WINDOWS_MIN;
use super::what_if::plain;
use crate::changes::ObservedServer;
use crate::sample_summary::window_start;
use laggard_changes::{Analysis, ChangeSettings, SegmentKind, changes};
use laggard_report::rfc3339;
use laggard_samples::{ServerWindows, WindowTable};
use std::num::NonZeroUsize;

/// Maximum number of transaction types of a server in the search for changes; rarer ones are pooled.
const TYPES_MAX: usize = 20;

/// The selected windows, and sentences on why others were left out.
pub(super) struct CurrentWindows {
    pub(super) windows: Vec<usize>,
    pub(super) cautions: Vec<String>,
    /// The application before its last change, if there was one.
    pub(super) previous: Option<PreviousApplication>,
}

/// The application before a change, as one server shows it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct PreviousApplication {
    /// The server, by position in the table.
    pub(super) server: usize,
    /// The windows in which it ran.
    pub(super) windows: Vec<usize>,
    /// The first window of what runs since.
    pub(super) until: usize,
}

/// Excludes windows by the changes of every server; all windows are used, with a caution, if too few would remain.
pub(super) fn current_windows(
    table: &WindowTable,
    windows: &[usize],
    threads: NonZeroUsize,
) -> CurrentWindows {
    let mut is_current: Vec<bool> = vec![true; table.windows];
    let mut cautions = Vec::new();
    let mut previous: Option<PreviousApplication> = None;
    for (index, server) in table.servers.iter().enumerate() {
        let observed = ObservedServer::of(table, server, TYPES_MAX);
        let Ok(analysis) = changes(&observed.observations, &ChangeSettings::default(), threads) else {
            continue;
        };
        let left_out = left_out(&analysis, &observed.observations.windows);
        cautions.extend(left_out.sentence(table, server));
        let before = previous_application(&analysis, &observed.observations.windows, index);
        previous = previous.into_iter().chain(before).max_by_key(|previous| previous.until);
        left_out.old.iter().chain(&left_out.unexplained).for_each(|window| is_current[*window] = false);
    }
    let current: Vec<usize> = windows.iter().copied().filter(|window| is_current[*window]).collect();
    if current.len() == windows.len() {
        return CurrentWindows { windows: current, cautions: vec![], previous: None };
    }
    if current.len() < WINDOWS_MIN {
        let caution = format!(
            "The application changed or another process used the CPU, and only {} windows would remain without those \
             times, so all windows are used. See `laggard changes`.",
            current.len()
        );
        return CurrentWindows { windows: windows.to_vec(), cautions: vec![caution], previous: None };
    }
    CurrentWindows { windows: current, cautions, previous }
}

/// The previous version of the application; `None` if the last segment's ran all the time.
fn previous_application(
    analysis: &Analysis,
    windows: &[usize],
    server: usize,
) -> Option<PreviousApplication> {
    let normal = analysis.segments.iter().filter_map(|segment| match segment.kind {
        SegmentKind::Normal { group } => Some((group, &segment.rows)),
        _ => None,
    });
    let normal: Vec<_> = normal.collect();
    let (last, _) = normal.last()?;
    let index = normal.iter().rposition(|(group, _)| group != last)?;
    let (before, _) = normal[index];
    let rows = normal[..=index].iter().filter(|(group, _)| *group == before);
    Some(PreviousApplication {
        server,
        windows: rows.flat_map(|(_, rows)| windows[(*rows).clone()].iter().copied()).collect(),
        until: windows[normal[index + 1].1.start],
    })
}

/// The excluded windows of one server.
struct LeftOut {
    /// Windows of an earlier version of the application.
    old: Vec<usize>,
    /// Windows whose CPU use transactions do not explain.
    unexplained: Vec<usize>,
}

fn left_out(analysis: &Analysis, windows: &[usize]) -> LeftOut {
    let last = analysis.segments.iter().rev().find_map(|segment| match segment.kind {
        SegmentKind::Normal { group } => Some(group),
        _ => None,
    });
    let mut left_out = LeftOut { old: Vec::new(), unexplained: Vec::new() };
    for segment in &analysis.segments {
        let rows = &windows[segment.rows.clone()];
        match segment.kind {
            SegmentKind::Normal { group } if Some(group) != last => left_out.old.extend(rows),
            SegmentKind::Anomalous { .. } => left_out.unexplained.extend(rows),
            SegmentKind::Normal { .. } | SegmentKind::Pending => {}
        }
    }
    left_out
}

impl LeftOut {
    fn sentence(&self, table: &WindowTable, server: &ServerWindows) -> Option<String> {
        let name = if server.server.is_empty() { "the server" } else { &server.server };
        let name = plain(name);
        let counted = |windows: &[usize]| laggard_report::counted(windows.len() as u64, "window");
        let mut parts = Vec::new();
        if let Some(last) = self.old.iter().max() {
            let until = rfc3339(window_start(table, last + 1));
            parts.push(format!(
                "{} from before the last application change, until {until}",
                counted(&self.old)
            ));
        }
        if !self.unexplained.is_empty() {
            parts
                .push(format!("{} in which transactions do not explain the CPU", counted(&self.unexplained)));
        }
        (!parts.is_empty()).then(|| {
            format!("Left out because of `{name}`: {}. See `laggard changes`.", parts.join(", and "))
        })
    }
}
