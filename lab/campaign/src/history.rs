//! Normal operation, as a server is loaded with it: moved so that no gaps remain where faults were cut out. A gap would be time
//! without requests, which is not what happened.

use crate::recording::{Recording, spans_interval};
use crate::server::Server;
use crate::shift::{Kind, messages, moved};
use crate::{CampaignError, in_file};
use std::path::{Path, PathBuf};

/// Imports the history of a run so that it ends at an instant.
///
/// # Errors
/// When it cannot be read, or the server refuses it.
pub(crate) fn import(folder: &Path, server: &Server, end_ns: i64) -> Result<(), CampaignError> {
    let mut end_ns = end_ns;
    let traces = Recording::files(folder, Kind::Traces)?;
    // The latest part first: each ends where the next one begins.
    for path in traces.iter().rev() {
        let Some((first_ns, last_ns)) = spans_interval(path)? else { continue };
        let by_ns = end_ns - last_ns;
        import_file(server, Kind::Traces, path, by_ns)?;
        let metrics = of_metrics(path);
        if metrics.is_file() {
            import_file(server, Kind::Metrics, &metrics, by_ns)?;
        }
        end_ns = first_ns + by_ns;
    }
    Ok(())
}

/// The metrics of the same time.
fn of_metrics(traces: &Path) -> PathBuf {
    let name = traces.file_name().unwrap_or_default().to_string_lossy();
    traces.with_file_name(name.replace(Kind::Traces.name(), Kind::Metrics.name()))
}

fn import_file(server: &Server, kind: Kind, path: &Path, by_ns: i64) -> Result<(), CampaignError> {
    let file = std::fs::read(path).map_err(|error| in_file(path, &error))?;
    let mut out = Vec::with_capacity(file.len());
    for message in messages(&file) {
        let message = moved(kind, message, by_ns)?.bytes;
        out.extend(u32::try_from(message.len()).unwrap_or(u32::MAX).to_be_bytes());
        out.extend(message);
    }
    server.import_bytes(&format!("{}.binpb", kind.name()), &out)
}
