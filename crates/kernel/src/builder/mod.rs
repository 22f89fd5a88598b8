//! From events to the execution graph.

mod settings;

use crate::graph::ExecutionGraph;
use crate::sketch::GraphSketch;
use crate::worker::HostId;
use laggard_model::{KernelEvent, KernelTexts, Losses};

pub use settings::{GraphMode, GraphSettings, IrqName};

/// Builds the graph of one host, or of several whose events come merged in time on one clock.
#[derive(Debug)]
pub struct GraphBuilder {
    settings: GraphSettings,
    host: HostId,
    sketch: GraphSketch,
}

impl GraphBuilder {
    /// A builder for the events of `host` (and of others by [`GraphBuilder::push_from`]).
    pub fn new(settings: GraphSettings, host: HostId) -> GraphBuilder {
        GraphBuilder { settings, host, sketch: GraphSketch::default() }
    }

    /// Takes the next event of the builder's host. Events come in time order; `texts` is what the event's handles
    /// refer to, always the same growing table.
    pub fn push(&mut self, event: &KernelEvent, texts: &KernelTexts) {
        self.push_from(self.host, event, texts);
    }

    /// Takes the next event of any host; each host has a table of texts of its own. The events of all hosts come
    /// in one time order, their clocks aligned.
    pub fn push_from(&mut self, host: HostId, event: &KernelEvent, texts: &KernelTexts) {
        let _ = (host, event, texts, &self.settings);
    }

    /// The graph. Counts what could not be followed.
    pub fn finish(self, losses: &mut Losses) -> ExecutionGraph {
        let _ = losses;
        self.sketch.finish()
    }
}
