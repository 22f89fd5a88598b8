//! The vertices of an execution graph: 24 bytes each.

use crate::path::WorkerState;
use laggard_model::{Cpu, KernelTime, TextId};

/// A vertex, by its worker and its index in that worker's chain.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct VertexRef {
    pub(crate) worker: u32,
    pub(crate) index: u32,
}

/// The kind of a vertical edge.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum VerticalKind {
    /// A wake-up; usually of zero length.
    WakeUp,
    /// A packet, or (in graphs built by tests) any other state with a length.
    State(WorkerState),
}

/// Marks a missing incoming vertical edge.
const NO_SOURCE: VertexRef = VertexRef { worker: u32::MAX, index: u32::MAX };
const WAKE_UP: u8 = 0xf;
const IMPLIED: u8 = 1;

/// One vertex with the edges that end at it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Vertex {
    pub(crate) time: KernelTime,
    source: VertexRef,
    pub(crate) qualifier: TextId,
    pub(crate) cpu: Cpu,
    /// Low half: 0 for no edge from the previous vertex, else 1 + state. High half: the same for the vertical edge,
    /// `WAKE_UP` for a wake-up.
    states: u8,
    flags: u8,
}

impl Vertex {
    pub(crate) fn new(time: KernelTime, cpu: Cpu, edge: Option<WorkerState>) -> Vertex {
        Vertex {
            time,
            source: NO_SOURCE,
            qualifier: TextId::EMPTY,
            cpu,
            states: edge.map_or(0, |state| state as u8 + 1),
            flags: 0,
        }
    }

    /// The state of the horizontal edge that ends here; `None` at the beginning and after a gap.
    pub(crate) fn edge(&self) -> Option<WorkerState> {
        state_of(self.states & 0xf)
    }

    /// The vertical edge that ends here.
    pub(crate) fn vertical(&self) -> Option<(VertexRef, VerticalKind)> {
        match self.states >> 4 {
            0 => None,
            WAKE_UP => Some((self.source, VerticalKind::WakeUp)),
            code => state_of(code).map(|state| (self.source, VerticalKind::State(state))),
        }
    }

    /// Sets the vertical edge that ends here, replacing any other.
    pub(crate) fn set_vertical(&mut self, source: VertexRef, kind: VerticalKind) {
        let code = match kind {
            VerticalKind::WakeUp => WAKE_UP,
            VerticalKind::State(state) => state as u8 + 1,
        };
        self.source = source;
        self.states = (self.states & 0xf) | (code << 4);
    }

    pub(crate) fn is_implied(&self) -> bool {
        self.flags & IMPLIED != 0
    }

    pub(crate) fn set_implied(&mut self) {
        self.flags |= IMPLIED;
    }
}

fn state_of(code: u8) -> Option<WorkerState> {
    let index = usize::from(code).checked_sub(1)?;
    WorkerState::ALL.get(index).copied()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_vertex_is_24_bytes() {
        assert_eq!(size_of::<Vertex>(), 24);
    }

    #[test]
    fn horizontal_and_vertical_edges_are_independent() {
        for edge in WorkerState::ALL.map(Some).into_iter().chain([None]) {
            let mut vertex = Vertex::new(KernelTime::from_ns(7), Cpu(3), edge);
            assert_eq!((vertex.edge(), vertex.vertical(), vertex.is_implied()), (edge, None, false));
            let kinds = WorkerState::ALL.map(VerticalKind::State).into_iter().chain([VerticalKind::WakeUp]);
            for kind in kinds {
                let source = VertexRef { worker: 5, index: 9 };
                vertex.set_vertical(source, kind);
                vertex.set_implied();
                assert_eq!((vertex.edge(), vertex.vertical()), (edge, Some((source, kind))));
                assert!(vertex.is_implied());
            }
        }
    }
}
