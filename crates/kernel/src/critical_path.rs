//! The critical path: whose work a thread's waits waited for.

use crate::graph::ExecutionGraph;
use crate::path::{CriticalPath, PathPiece, PieceState, Window};
use crate::worker::WorkerId;
use laggard_model::{KernelTime, TextId};

impl ExecutionGraph {
    /// The critical path of a worker over a window. The window is cut to the worker's life; its length is 0 when
    /// they do not meet.
    pub fn critical_path(&self, worker: WorkerId, window: Window) -> CriticalPath {
        let life = self.life(worker).unwrap_or(Window { from: KernelTime::MAX, to: KernelTime::MAX });
        let from = window.from.clamp(life.from, life.to);
        let window = Window { from, to: window.to.clamp(from, life.to) };
        let piece = PathPiece {
            worker,
            state: PieceState::Unknown,
            window,
            qualifier: TextId::EMPTY,
            idle_ns: 0,
            inferred: false,
        };
        CriticalPath { worker, window, pieces: vec![piece], links: Vec::new(), unresolved: 0 }
    }
}
