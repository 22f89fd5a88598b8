//! When events were lost.

use crate::path::Window;
use laggard_model::{EventKind, KernelEvent, KernelTime};

/// Losses that are remembered; beyond it every wait after the last one may contain a loss.
const INSTANTS_MAX: usize = 1 << 20;

/// The instants before which events of some CPU were lost, in time order.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct LossInstants {
    instants: Vec<KernelTime>,
    is_full: bool,
}

impl LossInstants {
    /// Takes the next event; only losses count.
    pub fn push(&mut self, event: &KernelEvent) {
        if !matches!(event.kind, EventKind::Lost { .. }) {
            return;
        }
        if self.instants.len() == INSTANTS_MAX {
            self.is_full = true;
            return;
        }
        // Streams are merged in time order; a moved event counts where it was put.
        let time = self.instants.last().map_or(event.time, |&last| last.max(event.time));
        self.instants.push(time);
    }

    /// Whether events may have been lost within a window.
    pub fn meets(&self, window: Window) -> bool {
        let next = self.instants.partition_point(|&instant| instant <= window.from);
        match self.instants.get(next) {
            Some(&instant) => instant <= window.to,
            None => self.is_full,
        }
    }

    /// How many losses there were.
    pub fn len(&self) -> usize {
        self.instants.len()
    }

    /// Whether nothing was lost.
    pub fn is_empty(&self) -> bool {
        self.instants.is_empty()
    }
}
