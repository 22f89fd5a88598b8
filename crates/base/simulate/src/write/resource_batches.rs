//! How OTLP groups spans: a document holds resources, a resource holds spans.

/// Spans in one document at most: the default size of a batch of OpenTelemetry's batch span processor.
const DOCUMENT_SPANS: usize = 512;

/// Where the next span goes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Place {
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

    /// Counts a span of a process and says where it goes.
    pub(super) fn place(&mut self, process: u32) -> Place {
        let place = match self.spans {
            0 | DOCUMENT_SPANS => Place::NewDocument,
            _ if process != self.process => Place::NewResource,
            _ => Place::SameResource,
        };
        self.spans = if place == Place::NewDocument { 1 } else { self.spans + 1 };
        self.process = process;
        place
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn documents_end_when_full() {
        let mut batches = ResourceBatches::default();
        assert!(!batches.is_open());
        assert_eq!(batches.place(1), Place::NewDocument);
        assert_eq!(batches.place(1), Place::SameResource);
        assert_eq!(batches.place(2), Place::NewResource);
        let rest: Vec<Place> = (0..510).map(|_| batches.place(2)).collect();
        assert_eq!(rest.iter().filter(|place| **place == Place::NewDocument).count(), 1);
        assert_eq!(rest[509], Place::NewDocument);
    }
}
