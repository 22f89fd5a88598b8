//! Log records of OTLP: there is no ground table for them, so they are counted.

use laggard_model::{Loss, Sink};
use laggard_wire::{Fields, Value, WireError};
use serde::Deserialize;
use serde::de::IgnoredAny;

/// Field of the records in `ResourceLogs.ScopeLogs`, from the outside in; all three are numbered alike in OTLP.
const PATH: [u32; 3] = [1, 2, 2];

/// Counts the records of `ExportLogsServiceRequest`; what is wrong with it otherwise.
pub(super) fn read_protobuf(message: &[u8], sink: &mut dyn Sink) -> Option<String> {
    match count(message, &PATH) {
        Ok(records) => {
            lose(records, sink);
            None
        }
        Err(WireError) => Some("this is no message of log records".to_owned()),
    }
}

fn count(message: &[u8], path: &[u32]) -> Result<u64, WireError> {
    let Some((&number, below)) = path.split_first() else {
        return Ok(1);
    };
    let mut records = 0;
    for field in Fields::new(message) {
        if let (field, Value::Bytes(contents)) = field?
            && field == number
        {
            records += count(contents, below)?;
        }
    }
    Ok(records)
}

#[derive(Deserialize)]
struct LogsRequest {
    #[serde(default, rename = "resourceLogs", alias = "resource_logs")]
    resource_logs: Vec<ResourceLogs>,
}

#[derive(Deserialize)]
struct ResourceLogs {
    #[serde(default, rename = "scopeLogs", alias = "scope_logs")]
    scope_logs: Vec<ScopeLogs>,
}

#[derive(Deserialize)]
struct ScopeLogs {
    #[serde(default, rename = "logRecords", alias = "log_records")]
    log_records: Vec<IgnoredAny>,
}

/// As [`read_protobuf`], of JSON.
pub(super) fn read_json(message: &[u8], sink: &mut dyn Sink) -> Option<String> {
    let request: LogsRequest = match serde_json::from_slice(message) {
        Ok(request) => request,
        Err(error) => return Some(error.to_string()),
    };
    let scopes = request.resource_logs.iter().flat_map(|resource| &resource.scope_logs);
    lose(scopes.map(|scope| scope.log_records.len() as u64).sum(), sink);
    None
}

fn lose(records: u64, sink: &mut dyn Sink) {
    for _ in 0..records {
        sink.lose(Loss::OtherSignal, &|| "a log record".to_owned());
    }
}
