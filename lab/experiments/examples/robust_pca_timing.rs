//! Times robust PCA on generated request latencies and prints one line of JSON.
//!
//! `robust_pca_timing ROWS COLS THREADS REPEATS [FILE]` – with FILE, the input is also written there as
//! little-endian doubles, row by row, so that another implementation can be timed on the same numbers.
#![expect(clippy::print_stdout, reason = "printing is what it is for")]

#[path = "../../../crates/base/numeric/tests/it/latency_matrix.rs"]
mod latency_matrix;

use std::io::Write;
use std::num::NonZeroUsize;
use std::time::Instant;

use laggard_numeric::{Matrix, RobustPca, RobustPcaSettings, column_cosines, robust_pca};
use latency_matrix::LatencyMatrix;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [rows, cols, threads, repeats, file @ ..] = arguments.as_slice() else {
        return Err("usage: robust_pca_timing ROWS COLS THREADS REPEATS [FILE]".into());
    };
    let (rows, cols, repeats) = (rows.parse()?, cols.parse()?, repeats.parse::<usize>()?);
    let settings = RobustPcaSettings { threads: threads.parse::<NonZeroUsize>()?, ..Default::default() };
    if let [path] = file {
        write_doubles(path, &input(rows, cols))?;
    }
    let (mut seconds, mut cpu) = (Vec::new(), Vec::new());
    let mut last = None;
    for _ in 0..repeats {
        // Before the next input exists, so that the peak is that of one call.
        drop(last.take());
        let matrix = input(rows, cols);
        let (start, cpu_start) = (Instant::now(), cpu_seconds());
        last = Some(robust_pca(matrix, &settings));
        seconds.push(start.elapsed().as_secs_f64());
        cpu.push(cpu_seconds() - cpu_start);
    }
    let peak = peak_resident_bytes();
    if let Some(parts) = last {
        report(&input(rows, cols), &parts, &seconds, &cpu, peak);
    }
    Ok(())
}

fn input(rows: usize, cols: usize) -> Matrix {
    let generator =
        LatencyMatrix { seed: 42, rows, cols, culprit: 7, hit_probability: 0.08, hit_multiple: 200.0 };
    generator.generate(|_| ())
}

fn report(input: &Matrix, parts: &RobustPca, seconds: &[f64], cpu: &[f64], peak_bytes: u64) {
    let RobustPca { iterations, residual, rank, .. } = parts;
    let cosines = column_cosines(input, &parts.low_rank);
    println!(
        "{{\"seconds\": {seconds:?}, \"cpu\": {cpu:.2?}, \"peak_bytes\": {peak_bytes}, \"iterations\": {iterations}, \
         \"residual\": {residual:e}, \"rank\": {rank}, \"cosines\": {cosines:?}}}"
    );
}

fn write_doubles(path: &str, matrix: &Matrix) -> std::io::Result<()> {
    let mut file = std::io::BufWriter::new(std::fs::File::create(path)?);
    for value in matrix.data() {
        file.write_all(&value.to_le_bytes())?;
    }
    file.flush()
}

/// The kernel's record of the most memory this process ever held; 0 where there is none.
fn peak_resident_bytes() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    let kilobytes = line.and_then(|line| line.trim().trim_end_matches(" kB").parse::<u64>().ok());
    kilobytes.unwrap_or(0) * 1024
}

/// Processor time of all threads so far, in steps of the kernel's clock tick of 10 ms; 0 where there is no
/// record of it.
fn cpu_seconds() -> f64 {
    let stat = std::fs::read_to_string("/proc/self/stat").unwrap_or_default();
    let after_name = stat.rsplit(") ").next().unwrap_or_default();
    let ticks = after_name.split(' ').skip(11).take(2).filter_map(|field| field.parse::<f64>().ok());
    ticks.sum::<f64>() / 100.0
}
