//! Times the published method on a made-up workload.
//!
//! `segmentation_timing WINDOWS THREADS REPEATS PUSHES [FILE]`: windows with 14 transaction types in which mix and load
//! move and demands change now and then. With `FILE` the counts and utilizations are written there as
//! little-endian doubles, 15 a window, for other programs. With `PUSHES` above 0, as many more windows are appended
//! online, when `WINDOWS` windows are stored, and timed one by one. One line of JSON is printed.

use std::num::NonZeroUsize;
use std::time::Instant;

use laggard_changes::{
    CherkasovaSettings, Observations, OnlineCherkasova, OnlineShape, OnlineWindow, cherkasova,
};
use laggard_numeric::Matrix;

const TYPES: usize = 14;
const DEMANDS_S: [f64; TYPES] =
    [0.003, 0.0065, 0.0075, 0.008, 0.006, 0.003, 0.0055, 0.004, 0.006, 0.005, 0.002, 0.0035, 0.0032, 0.0055];
/// Shares in percent of a browsing, a shopping and an ordering mix (TPC-W 1.8, clause 5.2.2).
const MIXES: [[f64; TYPES]; 3] = [
    [0.10, 0.09, 11.0, 0.69, 0.75, 0.82, 11.0, 29.0, 11.0, 0.25, 0.30, 21.0, 12.0, 2.0],
    [0.10, 0.09, 5.0, 1.2, 2.6, 3.0, 17.0, 16.0, 5.0, 0.66, 0.75, 17.0, 20.0, 11.6],
    [0.12, 0.11, 0.46, 10.18, 12.73, 12.86, 13.08, 9.12, 0.46, 0.22, 0.25, 12.35, 14.53, 13.53],
];

#[expect(clippy::print_stdout, reason = "a program that prints its result")]
fn main() {
    let mut arguments = std::env::args().skip(1);
    let mut number = |what: &str| -> usize {
        arguments
            .next()
            .and_then(|text| text.parse().ok())
            .unwrap_or_else(|| panic!("{what}: a number is wanted"))
    };
    let (windows, threads, repeats, pushes) =
        (number("WINDOWS"), number("THREADS"), number("REPEATS"), number("PUSHES"));
    let data = workload(windows);
    if let Some(file) = arguments.next() {
        write(&data, &file);
    }
    let threads = NonZeroUsize::new(threads).expect("at least one thread");
    let mut seconds = Vec::new();
    let mut shape = (0, 0);
    for _ in 0..repeats {
        let start = Instant::now();
        let analysis = cherkasova(&data, &CherkasovaSettings::default(), threads).expect("enough data");
        seconds.push(start.elapsed().as_secs_f64());
        shape = (analysis.segments.len(), analysis.changes.len());
    }
    let push_ms = if pushes > 0 { online(windows, pushes) } else { Vec::new() };
    println!(
        "{{\"seconds\": {seconds:?}, \"segments\": {}, \"changes\": {}, \"push_ms\": {push_ms:?}}}",
        shape.0, shape.1
    );
}

/// Milliseconds of each push beyond `windows`.
fn online(windows: usize, pushes: usize) -> Vec<f64> {
    let data = workload(windows + pushes);
    let settings = CherkasovaSettings { exact_windows_max: windows, ..CherkasovaSettings::default() };
    let shape = OnlineShape { window_s: 60.0, types: TYPES, cores: 1.0, windows_max: windows };
    let mut online = OnlineCherkasova::new(settings, &shape);
    let mut push_ms = Vec::new();
    for t in 0..windows + pushes {
        let (counts, utilization) = (data.counts.row(t), data.utilization[t]);
        let start = Instant::now();
        let update = online.push(&OnlineWindow { number: t, counts, utilization, response_s: &[] });
        if t >= windows {
            push_ms.push(1e3 * start.elapsed().as_secs_f64());
        }
        assert!(update.is_ok() || t < 30, "enough data");
    }
    push_ms
}

/// The 30 hours of the paper in small steps, repeated.
fn workload(windows: usize) -> Observations {
    let mut random = Random(1);
    let mut counts = Matrix::zeros(windows, TYPES);
    let mut utilization = Vec::with_capacity(windows);
    for t in 0..windows {
        let hour = t % 1800 / 300;
        let clients = 200.0 + 200.0 * ((t / 60) % 5) as f64;
        let wander = 0.5 + 0.5 * (t as f64 / 37.0).sin();
        let mut work = 60.0 * 0.012;
        for j in 0..TYPES {
            let share = match hour {
                0 => MIXES[0][j],
                2 => MIXES[1][j],
                3 => MIXES[2][j],
                _ => MIXES[1][j] * wander + MIXES[2][j] * (1.0 - wander),
            };
            let mean = clients / 7.0 * 60.0 * share / 100.0;
            let count = (mean + mean.sqrt() * random.normal()).round().max(0.0);
            counts.set(t, j, count);
            let slower = if j == 7 && hour == 5 { 0.005 } else { 0.0 };
            work += count * (DEMANDS_S[j] + slower) + count.sqrt() * DEMANDS_S[j] * random.normal();
        }
        let foreign = if hour == 1 && t % 300 < 180 { 0.02 + 0.28 * random.uniform() } else { 0.0 };
        utilization.push((work / 60.0 + foreign + 0.0025 * random.normal()).clamp(0.0, 1.0));
    }
    Observations {
        window_s: 60.0,
        windows: (0..windows).collect(),
        counts,
        utilization,
        response_s: Matrix::zeros(0, 0),
        cores: 1.0,
    }
}

fn write(data: &Observations, file: &str) {
    let row =
        |t: usize| data.counts.row(t).iter().copied().chain([data.utilization[t]]).flat_map(f64::to_le_bytes);
    let bytes: Vec<u8> = (0..data.utilization.len()).flat_map(row).collect();
    std::fs::write(file, bytes).expect("the file can be written");
}

/// Steele, Lea, Flood 2014.
struct Random(u64);

impl Random {
    fn uniform(&mut self) -> f64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let z = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        let z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        ((z ^ (z >> 31)) >> 11) as f64 * 2.0_f64.powi(-53)
    }

    fn normal(&mut self) -> f64 {
        (-2.0 * (1.0 - self.uniform()).ln()).sqrt() * (std::f64::consts::TAU * self.uniform()).cos()
    }
}
