//! Selects executions of a run by time.

use crate::read::KernelRun;
use laggard_kernel_graph::{Execution, Window};
use laggard_model::{KernelTime, Nanos, Timestamp};

/// An instant in user input.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Instant {
    /// On the trace's clock.
    Clock(KernelTime),
    /// Relative to the trace's first event.
    AfterStart(Nanos),
    /// Calendar time; requires a trace that relates its clock to calendar time.
    Calendar(Timestamp),
}

impl Instant {
    /// The instant on a run's clock.
    ///
    /// # Errors
    /// For calendar time, if the trace does not relate its clock to it: as a sentence.
    pub(crate) fn on_clock_of(self, run: &KernelRun) -> Result<KernelTime, String> {
        match self {
            Instant::Clock(time) => Ok(time),
            Instant::AfterStart(length) => Ok(run.window.from.plus_ns(length.ns())),
            Instant::Calendar(time) => match run.calendar {
                Some(clock) => Ok(clock.to_kernel(time)),
                None => Err(format!(
                    "{} does not relate its clock to calendar time; give seconds of its own clock, or +1.5s \
                     from its first event",
                    run.traces[0].path
                )),
            },
        }
    }
}

/// A time window in user input; unbounded where an end is not set.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct TimeWindow {
    /// The start.
    pub from: Option<Instant>,
    /// The end.
    pub to: Option<Instant>,
}

impl TimeWindow {
    /// Whether it is unbounded at both ends.
    pub fn is_open(self) -> bool {
        self.from.is_none() && self.to.is_none()
    }

    /// The window on a run's clock, clipped to the run.
    ///
    /// # Errors
    /// For calendar time without a calendar, or an end that is not after the start: as a sentence.
    pub(crate) fn on_clock_of(self, run: &KernelRun) -> Result<Window, String> {
        let resolve = |instant: Option<Instant>, otherwise| match instant {
            Some(instant) => instant.on_clock_of(run),
            None => Ok(otherwise),
        };
        let (from, to) = (resolve(self.from, run.window.from)?, resolve(self.to, run.window.to)?);
        let cut = Window { from: from.max(run.window.from), to: to.min(run.window.to) };
        if cut.from < cut.to || self.is_open() {
            return Ok(Window { from: cut.from, to: cut.to.max(cut.from) });
        }
        Err(format!(
            "the window does not overlap {}, which is from {} to {} s",
            run.traces[0].path,
            seconds(run.window.from),
            seconds(run.window.to)
        ))
    }
}

/// An instant in seconds of the trace's clock.
pub(crate) fn seconds(time: KernelTime) -> String {
    format!("{}.{:06}", time.ns() / 1_000_000_000, time.ns() % 1_000_000_000 / 1_000)
}

/// Executions entirely within a window.
pub(crate) fn within(executions: &[Execution], window: Window) -> Vec<Execution> {
    let inside =
        |execution: &&Execution| execution.window.from >= window.from && execution.window.to <= window.to;
    executions.iter().filter(inside).cloned().collect()
}

/// Executions clipped to a window; those outside are left out.
pub(crate) fn cut_to(executions: &[Execution], window: Window) -> Vec<Execution> {
    let cut = |execution: &Execution| {
        let part =
            Window { from: execution.window.from.max(window.from), to: execution.window.to.min(window.to) };
        (part.from < part.to).then(|| Execution { window: part, ..execution.clone() })
    };
    executions.iter().filter_map(cut).collect()
}
