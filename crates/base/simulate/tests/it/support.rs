//! Temporary folders, and spans in a common representation for all formats.

use laggard_model::SpanKind;
use laggard_simulate::{
    Call, Compression, OutputFormat, Request, Scenario, Settings, Summary, generate, requests,
};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};

/// A folder that is deleted on drop.
pub(crate) struct Folder(PathBuf);

impl Folder {
    pub(crate) fn new() -> Folder {
        static NUMBER: AtomicU32 = AtomicU32::new(0);
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let path = std::env::temp_dir().join(format!("laggard-simulate-{}-{number}", std::process::id()));
        std::fs::create_dir_all(&path).unwrap();
        Folder(path)
    }

    pub(crate) fn path(&self) -> &Path {
        &self.0
    }

    /// All files with their names, sorted.
    pub(crate) fn files(&self, folder: &str) -> Vec<(String, Vec<u8>)> {
        let entries = std::fs::read_dir(self.0.join(folder)).unwrap().map(|entry| entry.unwrap().path());
        let mut files: Vec<PathBuf> = entries.filter(|path| path.is_file()).collect();
        files.sort();
        let name = |path: &Path| path.file_name().unwrap().to_str().unwrap().to_owned();
        files.iter().map(|path| (name(path), std::fs::read(path).unwrap())).collect()
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// A few requests of a scenario.
pub(crate) fn small(scenario: Scenario, seed: u64) -> Settings {
    Settings { requests_per_service: 60, window_s: 120, ..Settings::new(scenario, seed) }
}

/// Generates uncompressed.
pub(crate) fn write(settings: &Settings, format: OutputFormat) -> (Folder, Summary) {
    let folder = Folder::new();
    let summary = generate(settings, format, folder.path(), Compression::Plain).unwrap();
    (folder, summary)
}

/// All requests, in memory.
pub(crate) fn draw(settings: &Settings) -> Vec<Request> {
    requests(settings).unwrap().collect()
}

/// A span in the common representation: microseconds, because some formats have no higher precision.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug, Default)]
pub(crate) struct Span {
    pub(crate) trace: String,
    pub(crate) id: String,
    pub(crate) parent: String,
    pub(crate) service: String,
    pub(crate) operation: String,
    pub(crate) replica: String,
    pub(crate) kind: String,
    pub(crate) start_us: i64,
    pub(crate) duration_us: i64,
}

/// A call in the common representation.
pub(crate) fn span(request: &Request, call: &Call) -> Span {
    let parent = call.parent.map(|parent| request.calls[parent as usize].span_id.to_string());
    let start_us = call.start.unix_ns() / 1_000;
    let end_us = call.start.plus(call.inclusive).unix_ns() / 1_000;
    Span {
        trace: format!("{:032x}", request.trace_id.value()),
        id: call.span_id.to_string(),
        parent: parent.unwrap_or_default(),
        service: request.service(call).to_owned(),
        operation: request.operation(call).to_owned(),
        replica: request.replica(call).to_owned(),
        kind: match request.kind(call) {
            SpanKind::Internal => String::new(),
            kind => kind.name().to_owned(),
        },
        start_us,
        duration_us: end_us - start_us,
    }
}

/// The calls of all requests in the common representation, sorted.
pub(crate) fn spans(settings: &Settings) -> Vec<Span> {
    let mut spans: Vec<Span> = draw(settings)
        .iter()
        .flat_map(|request| request.calls.iter().map(|call| span(request, call)).collect::<Vec<_>>())
        .collect();
    spans.sort();
    spans
}

/// Median of some numbers.
pub(crate) fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}
