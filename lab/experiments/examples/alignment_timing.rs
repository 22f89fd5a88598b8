//! Aligns the sequences of a FASTA file (a letter for each state), or scores an alignment in one; prints a line of JSON.
//!
//! ```text
//! alignment_timing align FILE OUTPUT THREADS      seconds, processor seconds are the caller's to measure, score
//! alignment_timing score FILE                     score of the rows in FILE, `-` is a gap
//! ```
#![expect(clippy::print_stdout, reason = "its caller reads the line")]

use laggard_align::StateId;
use laggard_align::msa::{MsaSettings, ProfileRow, align, sum_of_pairs};
use std::error::Error;
use std::fmt::Write as _;
use std::num::NonZeroUsize;
use std::time::Instant;

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    match words.as_slice() {
        ["align", file, output, threads] => align_file(file, output, threads.parse()?),
        ["score", file] => score_file(file),
        _ => Err("align FILE OUTPUT THREADS, or score FILE".into()),
    }
}

/// The rows of a FASTA file in the order of their names, which are numbers.
fn read(file: &str) -> Result<Vec<String>, Box<dyn Error>> {
    let text = std::fs::read_to_string(file)?;
    let mut rows: Vec<(usize, String)> = Vec::new();
    for part in text.split('>').skip(1) {
        let (name, letters) = part.split_once('\n').ok_or("a row without letters")?;
        rows.push((name.trim().parse()?, letters.split_whitespace().collect()));
    }
    rows.sort();
    Ok(rows.into_iter().map(|(_, letters)| letters).collect())
}

fn align_file(file: &str, output: &str, threads: NonZeroUsize) -> Result<(), Box<dyn Error>> {
    let rows = read(file)?;
    let states: Vec<Vec<StateId>> =
        rows.iter().map(|row| row.bytes().map(|letter| letter - b'A').collect()).collect();
    let slices: Vec<&[StateId]> = states.iter().map(Vec::as_slice).collect();
    let mut used: Vec<StateId> = states.concat();
    used.sort_unstable();
    used.dedup();
    let start = Instant::now();
    // The alphabet is as large as the letters that occur: numbers that do not occur are no states.
    let dense: Vec<Vec<StateId>> = slices
        .iter()
        .map(|row| {
            row.iter()
                .map(|state| used.binary_search(state).map_or(0, |position| position as StateId))
                .collect()
        })
        .collect();
    let dense: Vec<&[StateId]> = dense.iter().map(Vec::as_slice).collect();
    let found = align(&dense, used.len(), &MsaSettings { threads, ..MsaSettings::default() });
    let seconds = start.elapsed().as_secs_f64();
    let mut text = String::new();
    for (row, states) in slices.iter().enumerate() {
        writeln!(text, ">{row}")?;
        let letter = |cell: Option<StateId>| cell.map_or('-', |state| char::from(state + b'A'));
        text.extend(found.cells(row, states).into_iter().map(letter));
        text.push('\n');
    }
    std::fs::write(output, text)?;
    println!(
        "{{\"seconds\": {seconds}, \"score\": {}, \"before\": {}, \"columns\": {}, \"sweeps\": {}, \"improvements\": {}, \"end\": \"{:?}\"}}",
        found.sum_of_pairs,
        found.sum_of_pairs_before,
        found.len,
        found.refinement.sweeps,
        found.refinement.improvements,
        found.refinement.end
    );
    Ok(())
}

fn score_file(file: &str) -> Result<(), Box<dyn Error>> {
    let rows = read(file)?;
    let filled = |row: &String| -> (Vec<StateId>, Vec<u32>) {
        let cells = row.bytes().enumerate().filter(|&(_, letter)| letter != b'-');
        cells.map(|(column, letter)| (letter - b'A', column as u32)).unzip()
    };
    let parts: Vec<(Vec<StateId>, Vec<u32>)> = rows.iter().map(filled).collect();
    let rows_of: Vec<ProfileRow<'_>> =
        parts.iter().map(|(states, columns)| ProfileRow { states, columns, weight: 1 }).collect();
    let len = rows.first().map_or(0, String::len);
    println!("{{\"score\": {}, \"columns\": {len}}}", sum_of_pairs(&rows_of, len, NonZeroUsize::MIN));
    Ok(())
}
