//! Both versions of remote write on the wire.
//!
//! Field numbers: <https://github.com/prometheus/prometheus/blob/main/prompb/types.proto>,
//! <https://github.com/prometheus/prometheus/blob/main/prompb/io/prometheus/write/v2/types.proto>

use crate::format::FormatError;
use crate::metrics::Attributes;
use laggard_wire::{Fields, Value, WireError};
use std::borrow::Cow;

/// Version 2 has a table of texts; a message may have this many.
const SYMBOLS_MAX: usize = 1 << 20;
/// Labels of a series.
const LABELS_MAX: usize = 256;

/// Of remote write.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum RemoteWriteVersion {
    /// `prometheus.WriteRequest`.
    One,
    /// `io.prometheus.write.v2.Request`.
    Two,
}

/// A series as received.
#[derive(Debug, Default)]
pub(super) struct WireSeries<'a> {
    /// Its labels, the name among them.
    pub(super) labels: Attributes<'a>,
    pub(super) points: Vec<WirePoint>,
    pub(super) histograms: u64,
}

/// A number at an instant.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub(super) struct WirePoint {
    /// Milliseconds since the Unix epoch.
    pub(super) ms: i64,
    pub(super) value: f64,
}

/// Emits each series of a message.
pub(super) fn each<'a>(
    version: RemoteWriteVersion,
    message: &'a [u8],
    take: &mut dyn FnMut(&WireSeries<'a>),
) -> Result<(), FormatError> {
    let damaged = |WireError| FormatError::new("this is no message of remote write");
    let symbols = match version {
        RemoteWriteVersion::One => Vec::new(),
        RemoteWriteVersion::Two => symbols(message)?,
    };
    let field_of_series = if version == RemoteWriteVersion::One { 1 } else { 5 };
    for field in Fields::new(message) {
        let (field, Value::Bytes(series)) = field.map_err(damaged)? else { continue };
        if field == field_of_series {
            let read = match version {
                RemoteWriteVersion::One => read_series(series),
                RemoteWriteVersion::Two => read_series_2(series, &symbols),
            };
            take(&read.map_err(damaged)?);
        }
    }
    Ok(())
}

fn symbols(message: &[u8]) -> Result<Vec<&[u8]>, FormatError> {
    let mut symbols = Vec::new();
    for field in Fields::new(message).map_while(Result::ok) {
        if let (4, Value::Bytes(text)) = field {
            if symbols.len() == SYMBOLS_MAX {
                return Err(FormatError::new(format!("more than {SYMBOLS_MAX} symbols in a message")));
            }
            symbols.push(text);
        }
    }
    Ok(symbols)
}

fn read_series(message: &[u8]) -> Result<WireSeries<'_>, WireError> {
    let mut series = WireSeries::default();
    for field in Fields::new(message) {
        match field? {
            (1, Value::Bytes(label)) => {
                let (name, value) = read_label(label)?;
                add(&mut series.labels, name, value)?;
            }
            (2, Value::Bytes(point)) => series.points.push(read_point(point)?),
            (4, Value::Bytes(_)) => series.histograms += 1,
            _ => {}
        }
    }
    Ok(series)
}

fn read_series_2<'a>(message: &[u8], symbols: &[&'a [u8]]) -> Result<WireSeries<'a>, WireError> {
    let mut series = WireSeries::default();
    let mut references: Vec<u64> = Vec::new();
    for field in Fields::new(message) {
        match field? {
            (1, Value::Bytes(packed)) => read_packed(packed, &mut references)?,
            (1, Value::Varint(reference)) => references.push(reference),
            (2, Value::Bytes(point)) => series.points.push(read_point(point)?),
            (3, Value::Bytes(_)) => series.histograms += 1,
            _ => {}
        }
    }
    let (pairs, rest) = references.as_chunks::<2>();
    if !rest.is_empty() {
        return Err(WireError);
    }
    let symbol = |reference: u64| {
        let found = usize::try_from(reference).ok().and_then(|index| symbols.get(index));
        found.copied().ok_or(WireError)
    };
    for &[name, value] in pairs {
        add(&mut series.labels, symbol(name)?, symbol(value)?)?;
    }
    Ok(series)
}

fn read_packed(mut packed: &[u8], references: &mut Vec<u64>) -> Result<(), WireError> {
    while !packed.is_empty() {
        let (reference, bytes) = laggard_wire::varint(packed)?.ok_or(WireError)?;
        if references.len() == 2 * LABELS_MAX {
            return Err(WireError);
        }
        references.push(reference);
        packed = &packed[bytes..];
    }
    Ok(())
}

fn add<'a>(labels: &mut Attributes<'a>, name: &'a [u8], value: &'a [u8]) -> Result<(), WireError> {
    if labels.pairs().count() == LABELS_MAX {
        return Err(WireError);
    }
    let text = |bytes: &'a [u8]| -> Cow<'a, str> { String::from_utf8_lossy(bytes) };
    labels.add(text(name), text(value));
    Ok(())
}

fn read_label(message: &[u8]) -> Result<(&[u8], &[u8]), WireError> {
    let mut label: (&[u8], &[u8]) = (&[], &[]);
    for field in Fields::new(message) {
        match field? {
            (1, Value::Bytes(name)) => label.0 = name,
            (2, Value::Bytes(value)) => label.1 = value,
            _ => {}
        }
    }
    Ok(label)
}

fn read_point(message: &[u8]) -> Result<WirePoint, WireError> {
    let mut point = WirePoint::default();
    for field in Fields::new(message) {
        match field? {
            (1, Value::Fixed64(bits)) => point.value = f64::from_bits(bits),
            (2, Value::Varint(ms)) => point.ms = ms as i64,
            _ => {}
        }
    }
    Ok(point)
}
