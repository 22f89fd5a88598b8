#![allow(dead_code, missing_docs, clippy::all)]
#[path = "../tests/it/accuracy.rs"]
mod accuracy;
#[path = "../tests/it/queue.rs"]
mod queue;
#[path = "../tests/it/situations.rs"]
mod situations;
use accuracy::{Errors, mean};
fn main() {
    let a: Vec<u64> = std::env::args().skip(1).map(|x| x.parse().unwrap()).collect();
    let (first, seeds, windows) = (a[0], a[1], a[2] as usize);
    for load in [0.2, 0.5, 0.8] {
        let mut all = Errors::default();
        for situation in situations::all() {
            let mut errors = Errors::default();
            for seed in first..first + seeds {
                for types in 1..=4 {
                    let (queue, demand) = situation.queue(load, types, seed);
                    let observations = queue.observe(windows, 10.0);
                    let fit = errors.add(&observations, 0..windows, &demand);
                    let _ = fit;
                }
            }
            let rms =
                (errors.selected.iter().map(|e| e * e).sum::<f64>() / errors.selected.len() as f64).sqrt();
            println!(
                "{load} {:<45} n {:4} covered {:5.1}  half width {:5.1}  rms error {:5.1}  ratio {:.2}",
                situation.name,
                errors.selected.len(),
                100.0 * errors.coverage(),
                mean(&errors.half_width),
                rms,
                mean(&errors.half_width) / 1.96 / rms
            );
            all.selected.extend(errors.selected);
            all.covered += errors.covered;
            all.half_width.extend(errors.half_width);
        }
        println!(
            "{load} ALL n {} covered {:.1} half {:.1}",
            all.selected.len(),
            100.0 * all.coverage(),
            mean(&all.half_width)
        );
    }
}
