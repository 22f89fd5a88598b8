//! Which executions of a run are meant.

use crate::read::KernelRun;
use laggard_kernel_graph::{Execution, Window};
use laggard_model::{KernelTime, Nanos, Timestamp};

/// An instant as a user gives it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Instant {
    /// Of the trace's clock.
    Clock(KernelTime),
    /// So long after the trace's first event.
    AfterStart(Nanos),
    /// Calendar time; needs a trace that tells where its clock lies.
    Calendar(Timestamp),
}

impl Instant {
    /// The instant on a run's clock.
    ///
    /// # Errors
    /// Calendar time, and the trace does not tell where its clock lies: as a sentence.
    pub(crate) fn on_clock_of(self, run: &KernelRun) -> Result<KernelTime, String> {
        match self {
            Instant::Clock(time) => Ok(time),
            Instant::AfterStart(length) => Ok(run.window.from.plus_ns(length.ns())),
            Instant::Calendar(time) => match run.calendar {
                Some(clock) => Ok(clock.to_kernel(time)),
                None => Err(format!(
                    "{} does not tell where its clock lies in calendar time; give seconds of its own clock, or +1.5s \
                     from its first event",
                    run.traces[0].path
                )),
            },
        }
    }
}

/// A interval of time as a user gives it; open where nothing is given.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct TimeWindow {
    /// Its beginning.
    pub from: Option<Instant>,
    /// Its end.
    pub to: Option<Instant>,
}

impl TimeWindow {
    /// Whether it is open at both ends.
    pub fn is_open(self) -> bool {
        self.from.is_none() && self.to.is_none()
    }

    /// The window on a run's clock, cut to the run.
    ///
    /// # Errors
    /// Calendar time without a calendar, or an end that is not after the beginning: as a sentence.
    pub(crate) fn on_clock_of(self, run: &KernelRun) -> Result<Window, String> {
        let place = |instant: Option<Instant>, otherwise| match instant {
            Some(instant) => instant.on_clock_of(run),
            None => Ok(otherwise),
        };
        let (from, to) = (place(self.from, run.window.from)?, place(self.to, run.window.to)?);
        let cut = Window { from: from.max(run.window.from), to: to.min(run.window.to) };
        if cut.from < cut.to || self.is_open() {
            return Ok(Window { from: cut.from, to: cut.to.max(cut.from) });
        }
        Err(format!(
            "the window holds nothing of {}, which goes from {} to {} s",
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

/// Executions that lie in a window as a whole.
pub(crate) fn within(executions: &[Execution], window: Window) -> Vec<Execution> {
    let inside = |one: &&Execution| one.window.from >= window.from && one.window.to <= window.to;
    executions.iter().filter(inside).cloned().collect()
}

/// Executions cut to a window; those outside are left out.
pub(crate) fn cut_to(executions: &[Execution], window: Window) -> Vec<Execution> {
    let cut = |one: &Execution| {
        let part = Window { from: one.window.from.max(window.from), to: one.window.to.min(window.to) };
        (part.from < part.to).then(|| Execution { window: part, ..one.clone() })
    };
    executions.iter().filter_map(cut).collect()
}
