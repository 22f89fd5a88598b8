//! Reads a matrix: comma-separated numbers under a header `Latency,…,anomaly`, plain or zstd-compressed.

use super::RequestMatrix;
use std::fs::File;
use std::io::Read;
use std::path::Path;

const LATENCY: &str = "Latency";
const CAUSE: &str = "anomaly";
/// A matrix beyond this many bytes is refused.
const BYTES_MAX: u64 = 1 << 30;

/// Reads a file; `None` when its header is another one.
///
/// # Errors
/// When it cannot be read, or a row is not made of as many numbers as the header has names.
pub(crate) fn load(path: &Path) -> Result<Option<RequestMatrix>, String> {
    let with_path = |error: String| format!("{}: {error}", path.display());
    let file = File::open(path).map_err(|error| with_path(error.to_string()))?;
    let is_compressed = path.extension().is_some_and(|ending| ending == "zst");
    let mut text = String::new();
    let read = if is_compressed {
        let decoder = zstd::Decoder::new(file).map_err(|error| with_path(error.to_string()))?;
        decoder.take(BYTES_MAX).read_to_string(&mut text)
    } else {
        file.take(BYTES_MAX).read_to_string(&mut text)
    };
    read.map_err(|error| with_path(error.to_string()))?;
    let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
    let name = name.split('.').next().unwrap_or_default();
    parse(name, &text).map_err(with_path)
}

fn parse(name: &str, text: &str) -> Result<Option<RequestMatrix>, String> {
    let mut lines = text.lines();
    let header: Vec<&str> = lines.next().unwrap_or_default().split(',').map(str::trim).collect();
    let [LATENCY, columns @ .., CAUSE] = &header[..] else { return Ok(None) };
    let columns: Vec<String> = columns.iter().map(|&name| name.to_owned()).collect();
    let mut matrix =
        RequestMatrix { name: name.to_owned(), times_ms: vec![vec![]; columns.len()], ..Default::default() };
    for (row, line) in lines.enumerate().filter(|(_, line)| !line.trim().is_empty()) {
        let bad = || format!("row {}: {line:?} is not {} numbers", row + 1, columns.len() + 2);
        let numbers: Option<Vec<f64>> = line.split(',').map(|cell| cell.trim().parse().ok()).collect();
        let numbers = numbers.filter(|numbers| numbers.len() == columns.len() + 2).ok_or_else(bad)?;
        matrix.latency_ms.push(numbers[0]);
        for (column, &time) in matrix.times_ms.iter_mut().zip(&numbers[1..]) {
            column.push(time);
        }
        matrix.cause.push(numbers[columns.len() + 1] as u32);
    }
    matrix.columns = columns;
    Ok(Some(matrix))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_matrix_is_read_by_column() {
        let matrix = parse("m", "Latency,a,b,anomaly\n7,1,2,0\n9.5,3,4,2\n").unwrap().unwrap();
        assert_eq!(matrix.columns, ["a", "b"]);
        assert_eq!((matrix.latency_ms, matrix.cause), (vec![7.0, 9.5], vec![0, 2]));
        assert_eq!(matrix.times_ms, [[1.0, 3.0], [2.0, 4.0]]);
    }

    #[test]
    fn other_tables_are_skipped_and_damaged_rows_rejected() {
        assert_eq!(parse("m", "trace_id,span_id\n1,2\n"), Ok(None));
        assert_eq!(parse("m", ""), Ok(None));
        assert!(parse("m", "Latency,a,anomaly\n7,1\n").unwrap_err().contains("row 1"));
        assert!(parse("m", "Latency,a,anomaly\n7,x,0\n").is_err());
    }
}
