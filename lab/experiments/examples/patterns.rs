//! Latency degradation patterns of labeled request tables: what is found, how well, and how fast.
//!
//! ```text
//! cargo run --release -p laggard-experiments --example patterns -- FOLDER|FILE.csv[.zst]… [--verbose]
//! ```
//!
//! A table has a header, the latency first, one column per operation, and last the number of the cause (0 for
//! none). Of every table the rows without a cause are searched as well: whatever is found there is false.

#![expect(clippy::print_stdout, reason = "it is what an example is for")]

#[path = "../../../crates/traces/localize/tests/it/delag.rs"]
mod delag;

use delag::Labeled;
use laggard_localize::LatencyPatterns;
use std::path::Path;
use std::time::Instant;

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let is_verbose = arguments.iter().any(|argument| argument == "--verbose");
    let mut sums = [0.0; 3];
    let (mut files, mut false_patterns) = (0, 0);
    println!(
        "table                        precision  recall     F1  per cause  patterns  seconds  on quiet rows"
    );
    for argument in arguments.iter().filter(|argument| !argument.starts_with("--")) {
        let path = Path::new(argument);
        let tables =
            if path.is_dir() { delag::tables(path) } else { vec![(argument.clone(), Labeled::read(path))] };
        for (name, table) in tables {
            let start = Instant::now();
            let found = table.patterns();
            let seconds = start.elapsed().as_secs_f64();
            let quiet = table.filtered(|row| table.causes[row] == 0).patterns().patterns.len();
            let (score, per_cause) = (table.score(&found), table.mean_cause_f1(&found));
            println!(
                "{name:28} {:9.3} {:7.3} {:6.3} {per_cause:10.3} {:9} {seconds:8.3} {quiet:14}",
                score.precision,
                score.recall,
                score.f1,
                found.patterns.len()
            );
            if is_verbose {
                describe(&table, &found);
            }
            for (sum, value) in sums.iter_mut().zip([score.f1, per_cause, seconds]) {
                *sum += value;
            }
            files += 1;
            false_patterns += quiet;
        }
    }
    let [f1, per_cause, seconds] = sums.map(|sum| sum / f64::from(files.max(1)));
    println!(
        "mean of {files}: F1 {f1:.3}, per cause {per_cause:.3}, {seconds:.3} s; {false_patterns} false patterns on quiet rows"
    );
}

fn describe(table: &Labeled, found: &LatencyPatterns) {
    for pattern in &found.patterns {
        println!(
            "    {} requests, +{:.1} ({:.2}x), separation {:.3}, precision {:.3}, recall {:.3}, p {:.1e}",
            pattern.rows.len(),
            pattern.mean_excess,
            pattern.slowdown,
            pattern.separation,
            pattern.precision,
            pattern.recall,
            pattern.p_value
        );
        let conditions = pattern.conditions.iter().map(|condition| ("if ", condition));
        let companions = pattern.companions.iter().map(|condition| ("and", condition));
        for (word, condition) in conditions.chain(companions) {
            println!(
                "        {word} {}..{} {}",
                condition.low, condition.high, table.operations[condition.column]
            );
        }
    }
}
