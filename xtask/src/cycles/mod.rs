//! Import cycles inside a crate.
//!
//! Files are joined by paths: `use` declarations, and paths written out in the code. A path leads to the file that
//! defines the item, through whatever re-exports lie between. A parent is made of its children: what it declares,
//! re-exports, and calls in them joins nothing.

mod imports;
mod modules;
mod resolve;

use crate::repository::{Judgment, Repository, judge};
use crate::rust_text::product_sources;
use modules::CrateTree;
use std::collections::BTreeSet;

/// Most files that may depend on each other in a circle.
const CYCLE_FILES_MAX: usize = 3;

/// Searches every crate of the product.
pub(crate) fn check(repository: &Repository) -> Judgment {
    let sources = product_sources(repository);
    let roots =
        sources.iter().filter(|file| file.path.starts_with("crates/") || file.path.starts_with("lab/"));
    let roots =
        roots.filter(|file| file.path.ends_with("/src/lib.rs") || file.path.ends_with("/src/main.rs"));
    let (mut violations, mut files) = (Vec::new(), 0);
    for root in roots {
        let tree = CrateTree::load(&root.path, &sources);
        files += tree.files.len();
        for cycle in cycles(&resolve::arrows(&tree), tree.files.len()) {
            if cycle.len() > CYCLE_FILES_MAX {
                violations.push(describe(&tree, &cycle));
            }
        }
    }
    judge(violations, || format!("{files} files, no cycle of more than {CYCLE_FILES_MAX}"))
}

/// The files of a cycle, each with those of the cycle that it uses.
fn describe(tree: &CrateTree<'_>, cycle: &[usize]) -> String {
    let arrows = resolve::arrows(tree);
    let folder = tree.files[0].path.rsplit_once('/').map_or("", |(folder, _)| folder);
    let name = |file: usize| {
        let path = tree.files[file].path.as_str();
        path.strip_prefix(folder).unwrap_or(path).trim_start_matches('/')
    };
    let mut text = format!("{folder}: a cycle of {} files", cycle.len());
    for &file in cycle {
        let used = arrows.iter().filter(|&&(from, to)| from == file && cycle.contains(&to));
        let used: Vec<&str> = used.map(|&(_, to)| name(to)).collect();
        text.push_str(&format!("\n          {} -> {}", name(file), used.join(", ")));
    }
    text
}

/// Strongly connected components with more than one file, by Kosaraju's two walks.
fn cycles(arrows: &BTreeSet<(usize, usize)>, files: usize) -> Vec<Vec<usize>> {
    let forward = |file: usize| arrows.range((file, 0)..=(file, usize::MAX)).map(|&(_, to)| to);
    let mut order = Vec::new();
    let mut visited = vec![false; files];
    for file in 0..files {
        walk(file, &mut visited, &mut order, &forward);
    }
    let reversed: BTreeSet<(usize, usize)> = arrows.iter().map(|&(from, to)| (to, from)).collect();
    let backward = |file: usize| reversed.range((file, 0)..=(file, usize::MAX)).map(|&(_, from)| from);
    let mut visited = vec![false; files];
    let mut out = Vec::new();
    for &file in order.iter().rev() {
        let mut component = Vec::new();
        walk(file, &mut visited, &mut component, &backward);
        component.sort_unstable();
        if component.len() > 1 {
            out.push(component);
        }
    }
    out
}

/// Depth first; files are added when everything behind them is.
fn walk<I: Iterator<Item = usize>>(
    file: usize,
    visited: &mut [bool],
    order: &mut Vec<usize>,
    next: &impl Fn(usize) -> I,
) {
    if std::mem::replace(&mut visited[file], true) {
        return;
    }
    for other in next(file) {
        walk(other, visited, order, next);
    }
    order.push(file);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cycles_in(files: &[(&str, &str)]) -> Vec<Vec<String>> {
        let repository = Repository::from_files(files);
        let sources = product_sources(&repository);
        let tree = CrateTree::load("crates/a/src/lib.rs", &sources);
        let name = |file: &usize| tree.files[*file].path.trim_start_matches("crates/a/src/").to_owned();
        let cycles = cycles(&resolve::arrows(&tree), tree.files.len());
        cycles.iter().map(|cycle| cycle.iter().map(name).collect()).collect()
    }

    const NONE: Vec<Vec<String>> = Vec::new();

    #[test]
    fn files_that_import_each_other_are_a_cycle() {
        let cycle = cycles_in(&[
            ("crates/a/src/lib.rs", "mod one; mod two;"),
            ("crates/a/src/one.rs", "use crate::two::Two; pub struct One;"),
            ("crates/a/src/two.rs", "pub struct Two; fn f() { crate::one::One; }"),
        ]);
        assert_eq!(cycle, [["one.rs", "two.rs"]]);
    }

    #[test]
    fn a_parent_that_declares_and_re_exports_is_in_no_cycle() {
        let files = [
            ("crates/a/src/lib.rs", "mod part;"),
            ("crates/a/src/part/mod.rs", "mod inner; pub use inner::{Inner, other}; pub struct Own;"),
            ("crates/a/src/part/inner.rs", "use super::Own; pub struct Inner; pub fn other() {}"),
        ];
        assert_eq!(cycles_in(&files), NONE);
    }

    #[test]
    fn paths_lead_to_the_file_that_defines_the_item() {
        let files = [
            ("crates/a/src/lib.rs", "mod part; mod user; pub(crate) use part::*;"),
            (
                "crates/a/src/part/mod.rs",
                "mod inner; mod far; pub(crate) use inner::Inner; pub(crate) use far::far;",
            ),
            ("crates/a/src/part/inner.rs", "pub struct Inner;"),
            ("crates/a/src/part/far.rs", "use crate::user::User; pub fn far() {}"),
            ("crates/a/src/user.rs", "use crate::Inner; pub struct User;"),
        ];
        assert_eq!(cycles_in(&files), NONE);
        let cycle = (files[4].0, "use crate::part; pub struct User; fn g() { part::far() }");
        assert_eq!(cycles_in(&[files[0], files[1], files[2], files[3], cycle]), [["part/far.rs", "user.rs"]]);
    }

    #[test]
    fn globs_count_for_the_names_that_are_used() {
        let files = |code| {
            [
                ("crates/a/src/lib.rs", "mod one; mod two;"),
                ("crates/a/src/one.rs", "use crate::two::g; pub fn f() { g() }"),
                ("crates/a/src/two.rs", code),
            ]
        };
        assert_eq!(cycles_in(&files("use crate::one::*; pub fn g() {}")), NONE);
        assert_eq!(cycles_in(&files("use crate::one::*; pub fn g() { f() }")).len(), 1);
    }
}
