//! Spans over one or several files.

use super::{NewEncoder, SpanEncoder, TraceFile, TraceLog, Written};
use crate::delivery::{Arrangement, SpanQueue};
use crate::request::Request;
use crate::simulation::Simulation;
use crate::{Compression, Error};
use std::path::Path;
use std::sync::Arc;

/// All spans, in one file or spread over several as by collectors that each serve some of the nodes.
pub(super) struct SpanLog {
    queue: SpanQueue,
    arrangement: Arrangement,
    files: Vec<SpanFile>,
}

/// How the spans of a format lie in files.
pub(super) struct SpanLayout {
    pub(super) arrangement: Arrangement,
    pub(super) file_name: &'static str,
    pub(super) encoder: NewEncoder,
}

struct SpanFile {
    encoder: Box<dyn SpanEncoder>,
    file: TraceFile,
}

impl SpanLog {
    pub(super) fn create(
        simulation: Arc<Simulation>,
        layout: SpanLayout,
        folder: &Path,
        compression: Compression,
    ) -> Result<SpanLog, Error> {
        let count = simulation.settings.files;
        let SpanLayout { arrangement, file_name, encoder } = layout;
        let create = |number| {
            let name = if count == 1 { file_name.to_owned() } else { format!("{number:02}-{file_name}") };
            let mut file = TraceFile::create(folder, &name, compression)?;
            let mut encoder = encoder(Arc::clone(&simulation));
            encoder.begin(&mut file.buffer);
            Ok(SpanFile { encoder, file })
        };
        let files = (0..count).map(create).collect::<Result<Vec<_>, Error>>()?;
        Ok(SpanLog { queue: SpanQueue::new(&simulation, arrangement), arrangement, files })
    }
}

impl TraceLog for SpanLog {
    fn add(&mut self, request: &Request) {
        self.queue.add(request);
    }

    fn write_before(&mut self, next_start_ns: Option<i64>) -> Result<(), Error> {
        let files = &mut self.files;
        let mut outcome = Ok(());
        let count = files.len();
        self.queue.drain(next_start_ns, &mut |span| {
            let number = match self.arrangement {
                Arrangement::AsExported => usize::from(span.node) % count,
                Arrangement::ByTrace => span.request as usize % count,
            };
            let SpanFile { encoder, file } = &mut files[number];
            encoder.span(span, &mut file.buffer);
            if outcome.is_ok() {
                outcome = file.pass_on();
            }
        });
        outcome
    }

    fn finish(&mut self) -> Result<Written, Error> {
        self.write_before(None)?;
        let mut written = Written { records: self.queue.counts, ..Written::default() };
        for SpanFile { mut encoder, mut file } in self.files.drain(..) {
            encoder.end(&mut file.buffer);
            written.bytes += file.finish()?;
            written.files += 1;
        }
        Ok(written)
    }
}
