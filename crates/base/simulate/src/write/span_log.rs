//! Spans over one or several files, as they are exported by their processes.

use super::{NewEncoder, SpanEncoder, SpanNames, TraceFile, TraceLog, Written};
use crate::delivery::{Arrangement, Delivery, PROCESSES, SpanQueue, SpanRow, deliver};
use crate::request::Request;
use crate::simulation::Simulation;
use crate::{Compression, Error};
use std::path::Path;
use std::sync::Arc;

/// All spans, in one file or spread over several as by collectors that each serve some of the nodes.
pub(crate) struct SpanLog {
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

/// Where the spans of a log come from.
pub(crate) struct SpanOrigin {
    pub(crate) names: Arc<dyn SpanNames>,
    pub(crate) seed: u64,
    pub(crate) processes: usize,
    /// The host whose spans come late.
    pub(crate) late_host: Option<u32>,
    /// Number of files.
    pub(crate) files: u16,
}

impl SpanLog {
    pub(super) fn create(
        origin: SpanOrigin,
        layout: SpanLayout,
        folder: &Path,
        compression: Compression,
    ) -> Result<SpanLog, Error> {
        let count = origin.files;
        let SpanLayout { arrangement, file_name, encoder } = layout;
        let create = |number| {
            let name = if count == 1 { file_name.to_owned() } else { format!("{number:02}-{file_name}") };
            let mut file = TraceFile::create(folder, &name, compression)?;
            let mut encoder = encoder(Arc::clone(&origin.names));
            encoder.begin(&mut file.buffer);
            Ok(SpanFile { encoder, file })
        };
        let files = (0..count).map(create).collect::<Result<Vec<_>, Error>>()?;
        let queue = SpanQueue::new(origin.seed, origin.processes, origin.late_host, arrangement);
        Ok(SpanLog { queue, arrangement, files })
    }

    /// Takes a span, and counts what becomes of it.
    pub(crate) fn push(&mut self, row: SpanRow, is_lost: bool) {
        let counts = &mut self.queue.counts;
        *(if is_lost { &mut counts.dropped } else { &mut counts.written }) += 1;
        self.queue.push(row, if is_lost { Delivery::Lost } else { Delivery::Once });
    }

    /// Writes what is complete, given that no further request starts before this (true) time.
    pub(crate) fn write_before(&mut self, next_start_ns: Option<i64>) -> Result<(), Error> {
        let files = &mut self.files;
        let mut outcome = Ok(());
        let count = files.len();
        self.queue.drain(next_start_ns, &mut |span| {
            let number = match self.arrangement {
                Arrangement::AsExported => span.host as usize % count,
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

    /// Writes the rest and closes the files.
    pub(crate) fn finish(&mut self) -> Result<Written, Error> {
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

/// The spans of a scenario.
pub(super) struct ScenarioLog {
    simulation: Arc<Simulation>,
    log: SpanLog,
    requests: u32,
}

impl ScenarioLog {
    pub(super) fn create(
        simulation: Arc<Simulation>,
        layout: SpanLayout,
        folder: &Path,
        compression: Compression,
    ) -> Result<ScenarioLog, Error> {
        let origin = SpanOrigin {
            names: Arc::clone(&simulation) as Arc<dyn SpanNames>,
            seed: simulation.settings.seed,
            processes: PROCESSES,
            late_host: simulation.late_host().map(u32::from),
            files: simulation.settings.files,
        };
        Ok(ScenarioLog {
            simulation,
            log: SpanLog::create(origin, layout, folder, compression)?,
            requests: 0,
        })
    }
}

impl TraceLog for ScenarioLog {
    fn add(&mut self, request: &Request) {
        deliver(&self.simulation, request, self.requests, &mut self.log.queue);
        self.requests += 1;
    }

    fn write_before(&mut self, next_start_ns: Option<i64>) -> Result<(), Error> {
        self.log.write_before(next_start_ns)
    }

    fn finish(&mut self) -> Result<Written, Error> {
        self.log.finish()
    }
}
