//! Generates an incident: draws requests on several threads, and writes trace files and the ground truth.

use crate::Error;
use crate::request::Request;
use crate::settings::{Compression, OutputFormat, Settings};
use crate::simulation::{Arrival, Simulation};
use crate::tally::{INJECTIONS_FILE, INJECTIONS_HEADER, Tally};
use crate::truth::Truth;
use crate::write::{TraceFile, TraceLog, Written, open};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};

/// Requests generated per batch: enough to avoid contention between threads, few enough to fit into memory.
const BATCH: usize = 512;
/// Batches that may wait to be written, per thread that draws.
const WAITING: usize = 2;
/// More threads than this only wait for the one that writes.
const DRAWERS_MAX: usize = 4;

/// The folder for the traces, inside the output folder.
pub const TRACES_FOLDER: &str = "traces";
/// The file with the truth, inside the output folder.
pub const TRUTH_FILE: &str = "truth.json";

/// Summary of generated files.
#[derive(Clone, PartialEq, Debug)]
pub struct Summary {
    /// The folder with nothing but trace files.
    pub traces: PathBuf,
    /// The file with the truth.
    pub truth_file: PathBuf,
    /// Its content.
    pub truth: Truth,
    /// Number of trace files.
    pub files: u64,
    /// Bytes of the trace files before compression.
    pub bytes: u64,
}

/// Generates traces into `directory/traces`, with `directory/truth.json` and `directory/injections.csv`
/// beside it. The same settings give the same bytes on every machine.
///
/// # Errors
/// [`Error::Setting`] for a setting outside its range, [`Error::NotEmpty`] when there are traces already,
/// [`Error::Io`] when the operating system refuses.
pub fn generate(
    settings: &Settings,
    output: OutputFormat,
    directory: &Path,
    compression: Compression,
) -> Result<Summary, Error> {
    let simulation = Arc::new(Simulation::new(settings)?);
    let traces = make_traces_folder(directory)?;
    let mut log = open(&simulation, output, &traces, compression)?;
    let mut tally = Tally::new(&simulation);
    let mut injections = TraceFile::create(directory, INJECTIONS_FILE, Compression::Plain)?;
    injections.buffer.extend_from_slice(INJECTIONS_HEADER.as_bytes());
    let arrivals = simulation.arrivals();
    draw_all(&simulation, &arrivals, |requests, next_start_ns| {
        for request in &requests {
            tally.add(request, &mut injections.buffer);
            log.add(request);
        }
        injections.pass_on()?;
        log.write_before(next_start_ns)
    })?;
    injections.finish()?;
    conclude(directory, traces, log.as_mut(), &tally)
}

fn conclude(
    directory: &Path,
    traces: PathBuf,
    log: &mut dyn TraceLog,
    tally: &Tally,
) -> Result<Summary, Error> {
    let Written { records, files, bytes } = log.finish()?;
    let truth = tally.truth(records);
    let truth_file = directory.join(TRUTH_FILE);
    let mut text = serde_json::to_string_pretty(&truth).expect("names and numbers are valid JSON");
    text.push('\n');
    std::fs::write(&truth_file, text).map_err(Error::with_path(&truth_file))?;
    Ok(Summary { traces, truth_file, truth, files, bytes })
}

pub(crate) fn make_traces_folder(directory: &Path) -> Result<PathBuf, Error> {
    let traces = directory.join(TRACES_FOLDER);
    std::fs::create_dir_all(&traces).map_err(Error::with_path(&traces))?;
    let mut entries = std::fs::read_dir(&traces).map_err(Error::with_path(&traces))?;
    if entries.next().is_some() { Err(Error::NotEmpty(traces)) } else { Ok(traces) }
}

/// Draws all requests on several threads and hands them on in their order, with the start of the next.
///
/// ```text
/// drawer 0:  batch 0, 2, 4, ... ──┐
/// drawer 1:  batch 1, 3, 5, ... ──┴─► write 0, 1, 2, 3, ...
/// ```
fn draw_all(
    simulation: &Arc<Simulation>,
    arrivals: &[Arrival],
    mut write: impl FnMut(Vec<Request>, Option<i64>) -> Result<(), Error>,
) -> Result<(), Error> {
    let drawers = std::thread::available_parallelism().map_or(1, usize::from).min(DRAWERS_MAX);
    std::thread::scope(|scope| {
        let drawn: Vec<Receiver<Vec<Request>>> = (0..drawers)
            .map(|first| {
                let (sender, receiver) = sync_channel(WAITING);
                let own = arrivals.chunks(BATCH).skip(first).step_by(drawers);
                scope.spawn(move || draw(simulation, own, &sender));
                receiver
            })
            .collect();
        for number in 0..arrivals.len().div_ceil(BATCH) {
            let requests = drawn[number % drawers].recv().expect("a drawer sends all of its batches");
            write(requests, arrivals.get((number + 1) * BATCH).map(|next| next.start_ns))?;
        }
        Ok(())
    })
}

fn draw<'a>(
    simulation: &Arc<Simulation>,
    batches: impl Iterator<Item = &'a [Arrival]>,
    sender: &SyncSender<Vec<Request>>,
) {
    for batch in batches {
        let requests = batch.iter().map(|&arrival| Request::draw(simulation, arrival)).collect();
        // The writer gave up: it has the error.
        if sender.send(requests).is_err() {
            return;
        }
    }
}
