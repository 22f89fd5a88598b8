//! The rules of the repository as commands.
//!
//! ```text
//! cargo xtask check [STEP…]   every rule, or some; one line a step; fails when one does
//! cargo xtask docs            writes the generated pages of the manual
//! cargo xtask pages           builds the pages of the service from web/ (needs npm)
//! cargo xtask site            builds the documentation as a site with search (needs mdbook)
//! cargo xtask outdated        dependencies that are behind their newest version (needs the network)
//! cargo xtask test [AREA…]    every test, or those of some areas: base, traces, metrics, kernel, app, program, lab, web
//! cargo xtask evaluate …      every method over incidents with known truth
//! cargo xtask campaign …      the bookstore, broken in known ways, under a live server
//! ```
//!
//! A rule is a file with a function from [`Repository`] to [`repository::Judgment`], a row in [`steps::STEPS`], and
//! tests that show it fail on a bad snippet.

mod cargo;
mod cycles;
mod generated;
mod json_pages;
mod layer_table;
mod layers;
mod limits;
mod links;
mod manual;
mod outdated;
mod pages;
mod publishing;
mod purity;
mod repository;
mod rust_text;
mod samples;
mod site;
mod sizes;
mod steps;
mod testing;
mod typescript;
mod words;

use repository::Repository;
use std::io::{self, Write};
use std::process::ExitCode;

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let passed = match words[..] {
        ["check", ref names @ ..] => steps::check(names),
        ["docs"] => Repository::load().and_then(|repository| generated::write(&repository)).map(|()| true),
        ["pages"] => pages::build().map(|()| true),
        ["site"] => Repository::load().and_then(|repository| site::build(&repository)),
        ["outdated"] => {
            Repository::load().and_then(|repository| outdated::report(&repository)).map(|()| true)
        }
        ["test", ref areas @ ..] => testing::run(areas),
        ["evaluate", ref options @ ..] => cargo::run_program("laggard-evaluate", options),
        ["campaign", ref options @ ..] => cargo::campaign(options),
        _ => return usage(),
    };
    match passed {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            say(&format!("xtask: {error}"));
            ExitCode::FAILURE
        }
    }
}

fn usage() -> ExitCode {
    say("cargo xtask check [STEP…]   check the rules of the repository, all or some:");
    for step in steps::STEPS {
        say(&format!("    {:<10} {}", step.name, step.rule));
    }
    say("cargo xtask docs            write the generated pages of the manual");
    say("cargo xtask pages           build the pages of the service from web/ (needs npm)");
    say("cargo xtask site            build the documentation as a site with search (needs mdbook)");
    say(
        "cargo xtask outdated        list dependencies that are behind their newest version (needs the network)",
    );
    say("cargo xtask test [AREA…]    run every test, or those of some areas:");
    say("    base, traces, metrics, kernel, app, program (the whole program), lab, web, xtask");
    say("cargo xtask evaluate …      run every method over incidents with known truth");
    say(
        "cargo xtask campaign …      break the bookstore in known ways, and compare the server's incidents with the truth",
    );
    ExitCode::from(2)
}

/// Prints a line. A reader that went away is no reason to stop checking.
fn say(line: &str) {
    let _ = writeln!(io::stdout().lock(), "{line}");
}
