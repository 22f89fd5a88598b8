//! From paths to the files that define what they name.

use super::modules::CrateTree;
use std::collections::BTreeSet;

/// Re-exports that are followed before a path counts as unresolved.
const DEPTH_MAX: usize = 16;

/// The item that a path names.
#[derive(Clone, PartialEq, Eq, Debug)]
enum Target {
    /// An item in a file.
    Item(usize),
    /// A module of this crate.
    Module(Vec<String>),
    /// Something of another crate, or a local name.
    Elsewhere,
}

/// Who uses whom: pairs of different files.
pub(super) fn arrows(tree: &CrateTree<'_>) -> BTreeSet<(usize, usize)> {
    let mut arrows = BTreeSet::new();
    for (path, module) in &tree.modules {
        let mut add = |target: Target| {
            if let Target::Item(file) = target
                && file != module.file
                && !below(tree, module.file, file)
            {
                arrows.insert((module.file, file));
            }
        };
        for import in &module.imports {
            if import.name == "*" {
                if let Target::Module(from) = resolve(tree, path, &import.path, 0) {
                    let names = module.words.iter().filter(|word| !module.items.contains(*word));
                    names.for_each(|word| add(name_in(tree, &from, word, true, 0)));
                }
            } else if !import.is_exported || module.words.contains(&import.name) {
                add(resolve(tree, path, &import.path, 0));
            }
        }
        for written in &module.paths {
            add(resolve(tree, path, written, 0));
        }
    }
    arrows
}

/// Follows a path as it stands in a module.
fn resolve(tree: &CrateTree<'_>, from: &[String], path: &[String], depth: usize) -> Target {
    let Some(first) = path.first() else { return Target::Module(from.to_vec()) };
    if depth > DEPTH_MAX {
        return Target::Elsewhere;
    }
    let mut target = match first.as_str() {
        "crate" => Target::Module(Vec::new()),
        "self" => Target::Module(from.to_vec()),
        "super" => Target::Module(from[..from.len().saturating_sub(1)].to_vec()),
        name => name_in(tree, from, name, path.len() == 1, depth + 1),
    };
    for (index, segment) in path.iter().enumerate().skip(1) {
        let is_last = index + 1 == path.len();
        target = match target {
            Target::Module(module) if segment == "super" => {
                Target::Module(module[..module.len().saturating_sub(1)].to_vec())
            }
            Target::Module(module) => match name_in(tree, &module, segment, is_last, depth + 1) {
                // What no declaration shows, such as an item of a macro, is its module's.
                Target::Elsewhere => {
                    return tree
                        .modules
                        .get(&module)
                        .map_or(Target::Elsewhere, |module| Target::Item(module.file));
                }
                found => found,
            },
            // A variant, an associated item, a path of another crate.
            other => return other,
        };
    }
    target
}

/// The item that a name refers to in a module.
fn name_in(tree: &CrateTree<'_>, module: &[String], name: &str, is_last: bool, depth: usize) -> Target {
    let Some(known) = tree.modules.get(module) else { return Target::Elsewhere };
    if depth > DEPTH_MAX {
        return Target::Elsewhere;
    }
    if known.items.contains(name) {
        return Target::Item(known.file);
    }
    let child = [module, &[name.to_owned()]].concat();
    let is_child = tree.modules.contains_key(&child);
    let import = known.imports.iter().find(|import| import.name == name);
    // A function may be called like the module that it is re-exported from.
    if is_child
        && !import.is_some_and(|import| is_last && import.path.first().is_some_and(|first| first == name))
    {
        return Target::Module(child);
    }
    if let Some(import) = import.filter(|import| !(import.path.len() == 1 && is_child)) {
        if is_child {
            return name_in(tree, &child, import.path.last().map_or(name, String::as_str), true, depth + 1);
        }
        // `use time::time` is of the crate `time`.
        if import.path.len() == 1 || import.path.first().is_some_and(|first| first == name) {
            return Target::Elsewhere;
        }
        return resolve(tree, module, &import.path, depth + 1);
    }
    let globs = known.imports.iter().filter(|import| import.name == "*");
    for glob in globs {
        let Target::Module(from) = resolve(tree, module, &glob.path, depth + 1) else { continue };
        if from == module {
            continue;
        }
        let found = name_in(tree, &from, name, is_last, depth + 1);
        if found != Target::Elsewhere {
            return found;
        }
    }
    Target::Elsewhere
}

/// Whether a file is a module of another one, at any depth: a parent is made of its children, and what it calls
/// in them is no import.
fn below(tree: &CrateTree<'_>, parent: usize, file: usize) -> bool {
    let path = &tree.files[parent].path;
    let folder = ["mod.rs", "lib.rs", "main.rs"].iter().find_map(|name| path.strip_suffix(name));
    folder.is_some_and(|folder| tree.files[file].path.starts_with(folder))
}
