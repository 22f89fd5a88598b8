//! Common Trace Format: LTTng's, and that of perf's converter.
//!
//! ```text
//! metadata ─► tsdl | ctf2 ─► schema (field classes) ─► decoder (plans) ─┐
//! stream files ─► packets ──────────────────────────────────────────────┴─► events
//! ```

mod class;
mod decoder;
mod kinds;
mod meaning;
mod packet;
mod plan;
mod roles;
mod schema;
mod stream;
mod tsdl;
mod window;

use crate::error::KernelTraceError;
use crate::format::KernelFormat;
use crate::options::OpenOptions;
use crate::trace::{EventStream, KernelTrace, TraceFacts};
use decoder::Decoder;
use laggard_model::{ClockMap, Cpu, Losses};
use schema::{Clock, Schema};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use stream::{CtfStream, StreamFile};

pub(crate) const FORMAT: KernelFormat = KernelFormat {
    name: "ctf",
    about: "CTF 1.8 folders of LTTng and `perf data convert --to-ctf`",
    recognise,
    open,
};

fn recognise(path: &Path, _head: &[u8]) -> bool {
    path.join("metadata").is_file()
}

fn open(path: &Path, options: &OpenOptions) -> Result<KernelTrace, KernelTraceError> {
    let metadata = path.join("metadata");
    let damaged = |reason: String| KernelTraceError::Damaged { path: path.to_owned(), reason };
    let io = |path: &Path| {
        let path = path.to_owned();
        move |source| KernelTraceError::Io { path, source }
    };
    let bytes = std::fs::read(&metadata).map_err(io(&metadata))?;
    let text = if tsdl::is_packetised(&bytes) { tsdl::unpacketised(&bytes).map_err(damaged)? } else { bytes };
    let schema = tsdl::parse(&text).map_err(damaged)?;
    let decoder = Arc::new(Decoder::new(&schema, options).map_err(damaged)?);
    let mut files: Vec<PathBuf> = Vec::new();
    for entry in std::fs::read_dir(path).map_err(io(path))? {
        let entry = entry.map_err(io(path))?;
        if entry.path().is_file() && entry.file_name() != "metadata" {
            files.push(entry.path());
        }
    }
    files.sort();
    let mut streams: Vec<Box<dyn EventStream>> = Vec::new();
    let mut facts = facts(&schema);
    for (index, path) in files.into_iter().enumerate() {
        let bytes = std::fs::metadata(&path).map_err(io(&path))?.len();
        facts.bytes += bytes;
        facts.cpus += 1;
        let file = StreamFile { path, bytes, cpu: Cpu(index as u16) };
        streams.push(Box::new(CtfStream::new(Arc::clone(&decoder), vec![file])));
    }
    Ok(KernelTrace { facts, losses: Losses::none(), streams })
}

fn facts(schema: &Schema) -> TraceFacts {
    let clock = schema.clocks.values().next();
    TraceFacts {
        format: "CTF 1.8".to_owned(),
        clock: clock.map_or(String::new(), |clock| clock.name.clone()),
        calendar: clock.and_then(calendar),
        host: schema.fact(&["hostname", "host"]).map(str::to_owned),
        kernel: schema.fact(&["kernel_release", "release"]).map(str::to_owned),
        ..TraceFacts::default()
    }
}

fn calendar(clock: &Clock) -> Option<ClockMap> {
    let cycles = i128::from(clock.offset_cycles) * 1_000_000_000 / i128::from(clock.frequency);
    let offset = i128::from(clock.offset_seconds) * 1_000_000_000 + cycles;
    i64::try_from(offset).ok().filter(|offset| *offset != 0).map(ClockMap::from_offset_ns)
}
