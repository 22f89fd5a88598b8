//! Times OPTICS: `optics_timing POINTS COLUMNS KINDS THREADS raw|sqrt POINTS_FILE LABELS_FILE`.
//!
//! Draws count vectors of so many kinds, writes them as little-endian doubles, clusters them, writes the labels as
//! little-endian 64-bit integers (-1: noise), and prints the seconds as JSON.

#![expect(clippy::print_stdout, reason = "an example prints what it measured")]

use laggard_align::{OpticsSettings, optics};
use laggard_numeric::Matrix;
use std::num::NonZeroUsize;
use std::time::Instant;

/// splitmix64.
fn uniform(state: &mut u64) -> f64 {
    *state = state.wrapping_add(0x9E37_79B9_7F4A_7C15);
    let z = (*state ^ (*state >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    let z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    ((z ^ (z >> 31)) >> 11) as f64 / (1_u64 << 53) as f64
}

/// Counts: a kind's mean, scattered by up to its square root on either side.
fn draw(points: usize, columns: usize, kinds: usize, is_root: bool) -> Matrix {
    let mut state = 1;
    let means: Vec<f64> = (0..kinds * columns).map(|_| (80.0 * uniform(&mut state)).round()).collect();
    let mut drawn = Matrix::zeros(points, columns);
    for index in 0..points {
        let kind = (uniform(&mut state) * kinds as f64) as usize;
        for (value, mean) in drawn.row_mut(index).iter_mut().zip(&means[kind * columns..]) {
            let scatter = uniform(&mut state) + uniform(&mut state) - 1.0;
            let count = (mean + 2.0 * mean.sqrt() * scatter).round().max(0.0);
            *value = if is_root { count.sqrt() } else { count };
        }
    }
    drawn
}

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let number = |index: usize| arguments[index].parse().expect("a number");
    let points = draw(number(0), number(1), number(2), arguments[4] == "sqrt");
    let threads = NonZeroUsize::new(number(3)).expect("at least one thread");
    let bytes: Vec<u8> = points.data().iter().flat_map(|value| value.to_le_bytes()).collect();
    std::fs::write(&arguments[5], bytes).expect("the points can be written");
    let start = Instant::now();
    let found = optics(&points, &OpticsSettings { threads, ..OpticsSettings::default() });
    let seconds = start.elapsed().as_secs_f64();
    let found = found.expect("there are points enough");
    let labels: Vec<i64> = found.labels.iter().map(|label| label.map_or(-1, |label| label as i64)).collect();
    let bytes: Vec<u8> = labels.iter().flat_map(|label| label.to_le_bytes()).collect();
    std::fs::write(&arguments[6], bytes).expect("the labels can be written");
    let clusters = labels.iter().max().map_or(0, |largest| largest + 1);
    let noise = labels.iter().filter(|&&label| label < 0).count();
    println!("{{\"seconds\": {seconds}, \"clusters\": {clusters}, \"noise\": {noise}}}");
}
