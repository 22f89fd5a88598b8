//! The list of rules, and the run over them.

use crate::repository::{Judgment, Repository};
use crate::{
    cargo, cycles, generated, layers, links, manual, publishing, purity, say, site, sizes, testing, words,
};
use std::io;
use std::time::Instant;

/// One rule.
pub(crate) struct Step {
    pub(crate) name: &'static str,
    pub(crate) rule: &'static str,
    judge: fn(&Repository) -> Judgment,
}

/// Every rule, the quick ones first.
pub(crate) const STEPS: &[Step] = &[
    Step { name: "format", rule: "cargo fmt changes nothing", judge: cargo::format },
    Step { name: "layers", rule: "crates use only what the table of arrows allows", judge: layers::check },
    Step {
        name: "cycles",
        rule: "no import cycle of more than three files in a crate",
        judge: cycles::check,
    },
    Step {
        name: "purity",
        rule: "pure crates see no file, clock, network or thread pool",
        judge: purity::check,
    },
    Step { name: "sizes", rule: "files up to 500 lines, functions up to 70", judge: sizes::check },
    Step {
        name: "words",
        rule: "no unfinished work, no unwrap, no empty names, no machine's paths",
        judge: words::check,
    },
    Step { name: "links", rule: "relative links in Markdown lead somewhere", judge: links::check },
    Step { name: "manual", rule: "what the code lists, the manual explains", judge: manual::check },
    Step { name: "site", rule: "every page of the manual has its place in the site", judge: site::check },
    Step { name: "publishing", rule: "manifests have what a registry asks for", judge: publishing::check },
    Step { name: "lints", rule: "clippy has no warnings", judge: cargo::lints },
    Step { name: "fuzz", rule: "the fuzz targets compile", judge: cargo::fuzz },
    Step { name: "generated", rule: "generated pages are current", judge: generated::check },
    Step { name: "docs", rule: "API documentation builds without warnings", judge: cargo::docs },
    Step { name: "tests", rule: "every test passes", judge: testing::check },
];

/// Runs the named steps, or all; true when every one holds.
///
/// # Errors
/// When a name is no step, or the repository cannot be read.
pub(crate) fn check(names: &[&str]) -> io::Result<bool> {
    let steps = select(names).map_err(io::Error::other)?;
    let repository = Repository::load()?;
    let mut holds = true;
    for step in steps {
        let started = Instant::now();
        let judgment = (step.judge)(&repository);
        let seconds = started.elapsed().as_secs_f64();
        holds &= judgment.is_ok();
        match judgment {
            Ok(summary) => say(&format!("ok    {:<10} {seconds:>6.1} s  {summary}", step.name)),
            Err(violations) => {
                say(&format!("FAIL  {:<10} {seconds:>6.1} s  {}", step.name, step.rule));
                violations.iter().for_each(|violation| say(&format!("      {violation}")));
            }
        }
    }
    Ok(holds)
}

fn select(names: &[&str]) -> Result<Vec<&'static Step>, String> {
    if names.is_empty() {
        return Ok(STEPS.iter().collect());
    }
    let known = || STEPS.iter().map(|step| step.name).collect::<Vec<_>>().join(", ");
    let find = |name: &&str| {
        let step = STEPS.iter().find(|step| step.name == *name);
        step.ok_or_else(|| format!("there is no step {name:?}; there is {}", known()))
    };
    names.iter().map(find).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn steps_are_selected_by_name() {
        assert_eq!(select(&[]).map(|steps| steps.len()), Ok(STEPS.len()));
        let names = |steps: Vec<&Step>| steps.iter().map(|step| step.name).collect::<Vec<_>>();
        assert_eq!(select(&["sizes", "layers"]).map(names), Ok(vec!["sizes", "layers"]));
        assert!(select(&["size"]).err().is_some_and(|error| error.contains("layers")));
    }
}
