//! Records and fields against an independent CSV parser, and the limits.

use super::{FieldBuffers, RECORD_BYTES_MAX, RawRecord, RecordCutter, RecordEvent};
use csv_core::ReadRecordResult;
use proptest::prelude::*;

/// All records of a text read in chunks, as lists of fields; `None` represents an oversized record.
fn read_all(chunks: &[&[u8]], delimiter: u8) -> Vec<Option<(u64, Vec<String>)>> {
    let mut cutter = RecordCutter::new();
    cutter.set_delimiter(delimiter);
    let mut fields = FieldBuffers::default();
    let mut records = Vec::new();
    let mut split = |record: RawRecord<'_>| {
        let row = fields.split(record, delimiter, 100).unwrap();
        let texts = row.iter().map(str::to_owned).collect();
        (row.line, texts)
    };
    for chunk in chunks {
        let mut rest = *chunk;
        while let Some(cut) = cutter.next(&mut rest) {
            records.push(match cut {
                RecordEvent::Record(record) => Some(split(record)),
                RecordEvent::Oversized { .. } => None,
            });
        }
    }
    records.extend(cutter.unterminated().map(|record| Some(split(record))));
    records
}

/// The same by `csv-core`, which skips empty lines; its record boundaries outside quotes are equal.
fn reference(text: &str, delimiter: u8) -> Vec<Vec<String>> {
    let mut reader = csv_core::ReaderBuilder::new().delimiter(delimiter).build();
    let mut input = text.as_bytes();
    let (mut output, mut ends) = ([0; 4_096], [0; 256]);
    let mut records = Vec::new();
    let (mut written, mut ended) = (0, 0);
    loop {
        let (result, read, wrote, fields) =
            reader.read_record(input, &mut output[written..], &mut ends[ended..]);
        input = &input[read..];
        written += wrote;
        ended += fields;
        match result {
            ReadRecordResult::InputEmpty => {}
            ReadRecordResult::Record => {
                let starts = std::iter::once(0).chain(ends[..ended].iter().copied());
                let text =
                    |(start, end): (usize, usize)| String::from_utf8(output[start..end].to_vec()).unwrap();
                records.push(starts.zip(ends[..ended].iter().copied()).map(text).collect());
                (written, ended) = (0, 0);
            }
            ReadRecordResult::End => return records,
            other => panic!("{other:?}"),
        }
    }
}

proptest! {
    /// Letters, quotes, delimiters and line breaks in any order. Spaces are excluded, because the reader trims fields.
    #[test]
    fn fields_match_an_independent_parser(text in "[ab\"\"\",,;\n\u{e9}]{0,60}", semicolon: bool) {
        let delimiter = if semicolon { b';' } else { b',' };
        let actual: Vec<Vec<String>> = read_all(&[text.as_bytes()], delimiter)
            .into_iter()
            .map(|record| record.unwrap().1)
            .filter(|fields| *fields != [""])
            .collect();
        let reference_fields: Vec<Vec<String>> = reference(&text, delimiter)
            .into_iter()
            .map(|fields| fields.into_iter().map(|field| field.trim_ascii().to_owned()).collect())
            .filter(|fields: &Vec<String>| *fields != [""])
            .collect();
        prop_assert_eq!(actual, reference_fields);
    }

    #[test]
    fn cutting_into_chunks_changes_nothing(text in "[ab\",\r\n]{0,60}", at in 0_usize..60) {
        let (left, right) = text.as_bytes().split_at(at.min(text.len()));
        prop_assert_eq!(read_all(&[left, right], b','), read_all(&[text.as_bytes()], b','));
    }
}

#[test]
fn lines_are_counted_through_quotes_and_empty_lines() {
    let records = read_all(&[b"a,\"x\ny\"\n\nb\r\nc"], b',');
    let lines: Vec<u64> = records.iter().flatten().map(|(line, _)| *line).collect();
    assert_eq!(lines, [1, 3, 4, 5]);
    assert_eq!(records[0].as_ref().unwrap().1, ["a", "x\ny"]);
    assert_eq!(records[2].as_ref().unwrap().1, ["b"]);
}

#[test]
fn a_record_of_the_largest_size_is_read_and_one_byte_more_is_not() {
    for (length, is_read) in [(RECORD_BYTES_MAX, true), (RECORD_BYTES_MAX + 1, false)] {
        let text = [vec![b'a'; length], b"\nb\n".to_vec()].concat();
        for chunk in [1 << 10, 999_983, text.len()] {
            let chunks: Vec<&[u8]> = text.chunks(chunk).collect();
            let records = read_all(&chunks, b',');
            assert_eq!(records.len(), 2);
            assert_eq!(records[0].is_some(), is_read, "{length} in chunks of {chunk}");
            assert_eq!(records[1], Some((2, vec!["b".to_owned()])));
        }
    }
}

/// A stray quote costs a record's limit of bytes, not the rest of the input.
#[test]
fn an_unclosed_quote_ends_at_the_limit() {
    let line = "some,ordinary,line\n";
    let count = 3 * RECORD_BYTES_MAX / line.len();
    let text = format!("\"unclosed\n{}", line.repeat(count));
    for chunk in [4 << 10, 999_983, text.len()] {
        let chunks: Vec<&[u8]> = text.as_bytes().chunks(chunk).collect();
        let records = read_all(&chunks, b',');
        assert_eq!(records[0], None);
        let lost = RECORD_BYTES_MAX.div_ceil(line.len());
        let read = records.len() - 1;
        assert!(read + lost + 1 >= count, "{read} of {count} lines");
        let first_line = records[1].as_ref().unwrap().0;
        assert_eq!(first_line as usize, count + 2 - read);
    }
}

#[test]
fn surplus_fields_are_one_field() {
    let mut cutter = RecordCutter::new();
    let mut fields = FieldBuffers::default();
    for text in ["a,b,c,d\n", "a,\"b\",c,d\n"] {
        let mut rest = text.as_bytes();
        let Some(RecordEvent::Record(record)) = cutter.next(&mut rest) else { panic!("a record") };
        let row = fields.split(record, b',', 2).unwrap();
        assert_eq!(row.iter().collect::<Vec<_>>(), ["a", "b", "c,d"]);
    }
}
