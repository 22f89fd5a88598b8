//! Progress on standard error, when it is a terminal and the work takes long.

use indicatif::{HumanBytes, HumanCount, ProgressBar, ProgressDrawTarget, ProgressStyle};
use laggard_formats::{Progress, Source};
use std::io::{IsTerminal, stderr};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// Work shorter than this shows nothing.
const QUIET: Duration = Duration::from_millis(700);

/// A bar with an estimate, where it is known how much there is to do.
fn set_style(bar: &ProgressBar) {
    let template = if bar.length().is_some() { "{msg} [{bar:30}] {percent} %, {eta} left" } else { "{msg}" };
    if let Ok(style) = ProgressStyle::with_template(template) {
        bar.set_style(style.progress_chars("=> "));
    }
}

/// Counts bytes and spans, and shows them.
pub(crate) struct Meter {
    bar: ProgressBar,
    started: Instant,
    bytes: AtomicU64,
    spans: AtomicU64,
    /// Read and all slices of a window of a server.
    slices: [AtomicU64; 2],
}

impl Meter {
    /// A meter for some sources; hidden unless standard error is a terminal.
    pub(crate) fn new(sources: &[Source]) -> Meter {
        let sizes: Option<Vec<u64>> = sources.iter().map(Source::size).collect();
        let bar = match sizes {
            Some(sizes) if !sizes.is_empty() => ProgressBar::new(sizes.iter().sum()),
            _ => ProgressBar::no_length(),
        };
        bar.set_draw_target(ProgressDrawTarget::hidden());
        set_style(&bar);
        Meter {
            bar,
            started: Instant::now(),
            bytes: AtomicU64::new(0),
            spans: AtomicU64::new(0),
            slices: [AtomicU64::new(0), AtomicU64::new(0)],
        }
    }

    /// A meter of events, of which it is not known how many there will be.
    pub(crate) fn without_total() -> Meter {
        Meter::new(&[])
    }

    /// Counts spans, or call-log records.
    pub(crate) fn spans(&self, more: u64) {
        self.spans.fetch_add(more, Ordering::Relaxed);
        self.show();
    }

    /// Names the stage after reading.
    pub(crate) fn stage(&self, name: &'static str) {
        self.reveal();
        self.bar.set_message(name);
    }

    /// Names a step, and how many of how many parts of it are done; 0 of 0 if that is not known.
    pub(crate) fn step(&self, name: &'static str, done: u64, all: u64) {
        self.reveal();
        match all {
            0 => self.bar.unset_length(),
            _ => self.bar.set_length(all),
        }
        set_style(&self.bar);
        if self.bar.message() != name {
            self.bar.reset_eta();
        }
        self.bar.set_position(done);
        self.bar.set_message(name);
    }

    /// Removes whatever is shown.
    pub(crate) fn done(&self) {
        self.bar.finish_and_clear();
    }

    fn reveal(&self) {
        if self.bar.is_hidden() && stderr().is_terminal() && self.started.elapsed() > QUIET {
            self.bar.set_draw_target(ProgressDrawTarget::stderr_with_hz(8));
        }
    }

    fn show(&self) {
        self.reveal();
        if self.bar.is_hidden() {
            return;
        }
        let (bytes, spans) = (self.bytes.load(Ordering::Relaxed), self.spans.load(Ordering::Relaxed));
        let seconds = self.started.elapsed().as_secs_f64().max(0.001);
        let rate = (spans as f64 / seconds) as u64;
        self.bar.set_position(bytes);
        let [read, all] = [&self.slices[0], &self.slices[1]].map(|count| count.load(Ordering::Relaxed));
        let message = match (bytes, spans) {
            (_, 0) => format!("reading {}", HumanBytes(bytes)),
            (0, _) => format!("reading {} events, {}/s", HumanCount(spans), HumanCount(rate)),
            _ => format!(
                "reading {}, {} records, {}/s",
                HumanBytes(bytes),
                HumanCount(spans),
                HumanCount(rate)
            ),
        };
        self.bar.set_message(match all {
            0 => message,
            _ => format!("{message}, {} of {} slices", HumanCount(read), HumanCount(all)),
        });
    }
}

impl Drop for Meter {
    fn drop(&mut self) {
        self.done();
    }
}

impl Progress for Meter {
    fn bytes(&self, compressed_bytes: u64) {
        self.bytes.fetch_add(compressed_bytes, Ordering::Relaxed);
        self.show();
    }
}

impl laggard_trace_sources::SourceProgress for Meter {
    fn slices(&self, read: u64, all: u64) {
        self.slices[0].store(read, Ordering::Relaxed);
        self.slices[1].store(all, Ordering::Relaxed);
        self.show();
    }
}

impl laggard_params::ReadProgress for Meter {
    fn events(&self, more: u64) {
        self.spans(more);
    }
}
