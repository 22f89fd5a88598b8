//! How OTLP groups spans: a document holds resources, a resource holds spans.

/// Spans in one document at most: the default size of a batch of OpenTelemetry's batch span processor.
const DOCUMENT_SPANS: usize = 512;

/// The batch of the next span.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum BatchTarget {
    /// Into a new document.
    NewDocument,
    /// Into the open document, under a new resource.
    NewResource,
    /// Under the open resource.
    SameResource,
}

/// Counts what the open document holds.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct ResourceBatches {
    spans: usize,
    process: u32,
}

impl ResourceBatches {
    /// Whether a document is open.
    pub(super) fn is_open(&self) -> bool {
        self.spans > 0
    }

    /// Counts a span of a process and returns its batch.
    pub(super) fn target(&mut self, process: u32) -> BatchTarget {
        let target = match self.spans {
            0 | DOCUMENT_SPANS => BatchTarget::NewDocument,
            _ if process != self.process => BatchTarget::NewResource,
            _ => BatchTarget::SameResource,
        };
        self.spans = if target == BatchTarget::NewDocument { 1 } else { self.spans + 1 };
        self.process = process;
        target
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn documents_end_when_full() {
        let mut batches = ResourceBatches::default();
        assert!(!batches.is_open());
        assert_eq!(batches.target(1), BatchTarget::NewDocument);
        assert_eq!(batches.target(1), BatchTarget::SameResource);
        assert_eq!(batches.target(2), BatchTarget::NewResource);
        let rest: Vec<BatchTarget> = (0..510).map(|_| batches.target(2)).collect();
        assert_eq!(rest.iter().filter(|target| **target == BatchTarget::NewDocument).count(), 1);
        assert_eq!(rest[509], BatchTarget::NewDocument);
    }
}
