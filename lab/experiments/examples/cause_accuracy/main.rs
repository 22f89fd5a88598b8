//! Whether the kind of cause is named that was injected, from traces alone and with samples of CPU and recordings of the kernel:
//!
//! ```sh
//! cargo run --release -p laggard-experiments --example cause_accuracy -- [FIRST..LAST] [PROFILE|all] [KIND|all]
//! ```
//!
//! Ordinary days of three hours with a fault in their last half hour. The CPU of a replica is a share of the own time of its
//! spans; databases send no spans, so that waiting for one is of a dependency. What a fault adds is CPU, waiting, or the effect of
//! another process, as its kind says; recordings are of a simulated machine with the matching fault. Some kinds falsify a source:
//! samples of another process on the wrong replica, recordings of something else.
#![expect(clippy::print_stdout, reason = "a command-line program")]

mod case;
mod cpu;
mod kinds;
mod recording;

use case::{Case, Reports};
use kinds::{KINDS, Kind};
use laggard_report::{Cause, Report};
use laggard_simulate::{PROFILES, Profile};
use std::ops::Range;

/// Figures of a kind of fault.
#[derive(Clone, Copy, Default)]
struct Total {
    cases: u32,
    right_by_traces: u32,
    with_suspect: u32,
    right: u32,
    first_right: u32,
    contradicted: u32,
}

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let argument = |index: usize, default: &'static str| arguments.get(index).map_or(default, String::as_str);
    let seeds = seeds(argument(0, "1..4"));
    let (profile, requested) = (argument(1, "all"), argument(2, "all"));
    let profiles: Vec<Profile> = match profile {
        "all" => PROFILES.to_vec(),
        name => vec![Profile::parse(name).expect("a profile")],
    };
    let kinds: Vec<&Kind> =
        KINDS.iter().filter(|kind| requested == "all" || requested == kind.name).collect();
    assert!(!kinds.is_empty(), "there is no kind {requested}");
    println!("| kind | system | seed | truth | traces | joint | contradictions | first clause |");
    println!("|---|---|---|---|---|---|---|---|");
    let mut totals = Vec::new();
    for kind in kinds {
        let mut total = Total::default();
        for profile in &profiles {
            for seed in seeds.clone() {
                if let Some(case) = Case::draw(kind, *profile, seed) {
                    add(&mut total, &case, kind, *profile, seed);
                }
            }
        }
        totals.push((kind, total));
    }
    print_totals(&totals);
}

/// # Panics
/// When there is none.
fn seeds(text: &str) -> Range<u64> {
    let (first, last) = text.split_once("..").expect("FIRST..LAST");
    let seeds = first.parse::<u64>().expect("a seed")..last.parse().expect("a seed");
    assert!(!seeds.is_empty(), "no seed in {text}: LAST is excluded");
    seeds
}

fn add(total: &mut Total, case: &Case, kind: &Kind, profile: Profile, seed: u64) {
    let Reports { alone, joint } = case.reports();
    let is_right = |report: &Report| report.cause.as_ref().is_some_and(|cause| cause.class == kind.truth);
    let contradictions = joint.cause.as_ref().map_or(0, |cause| cause.contradictions.len());
    let is_first_right = case.is_first_clause_right(&joint);
    total.cases += 1;
    total.right_by_traces += u32::from(is_right(&alone));
    total.with_suspect += u32::from(joint.cause.is_some());
    total.right += u32::from(is_right(&joint));
    total.first_right += u32::from(is_first_right);
    total.contradicted += u32::from(contradictions > 0);
    println!(
        "| {} | {} | {seed} | {:?} | {} | {} | {contradictions} | {} |",
        kind.name,
        profile.name,
        kind.truth,
        name(&alone.cause),
        name(&joint.cause),
        if is_first_right { "right" } else { "wrong" }
    );
    if std::env::var_os("LAGGARD_VERBOSE").is_some() {
        for piece in joint.cause.iter().flat_map(|cause| &cause.evidence) {
            println!("    {:+} {:?}: {}", piece.weight, piece.class, piece.text);
        }
        joint.clauses.iter().take(1).for_each(|clause| println!("    {}", clause.text));
        println!("    {}", case.truth_text());
    }
}

fn name(cause: &Option<Cause>) -> String {
    cause.as_ref().map_or("no suspects".to_owned(), |cause| {
        let also = cause.also.map_or_else(String::new, |also| format!(" or {also:?}"));
        format!("{:?}{also} ({:?})", cause.class, cause.certainty)
    })
}

fn print_totals(totals: &[(&Kind, Total)]) {
    println!(
        "\n| kind | cases | with a suspect | right by traces | right with all | first clause right | with a contradiction |"
    );
    println!("|---|---|---|---|---|---|---|");
    let mut sums = [("true", Total::default()), ("falsified", Total::default())];
    for (kind, total) in totals {
        print_total(kind.name, *total);
        let sum = &mut sums[usize::from(kind.is_falsified)].1;
        sum.cases += total.cases;
        sum.right_by_traces += total.right_by_traces;
        sum.with_suspect += total.with_suspect;
        sum.right += total.right;
        sum.first_right += total.first_right;
        sum.contradicted += total.contradicted;
    }
    sums.iter().for_each(|(name, sum)| print_total(name, *sum));
}

fn print_total(name: &str, total: Total) {
    let Total { cases, with_suspect, right_by_traces, right, first_right, contradicted } = total;
    println!(
        "| {name} | {cases} | {with_suspect} | {right_by_traces} | {right} | {first_right} | {contradicted} |"
    );
}
