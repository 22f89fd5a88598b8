//! Every crate says in its manifest what a registry of crates asks for, or that it is not published.

use crate::repository::{Judgment, Repository, TextFile, judge};
use std::collections::BTreeMap;

/// What each crate inherits from the workspace, so that it is written once.
const INHERITED: &[&str] = &["version", "edition", "rust-version", "license"];

/// Crates with an engine that needs a later Rust than the workspace; nothing that is built by default uses them.
const LATER_RUST: &[&str] = &["laggard-cluster", "laggard-sql"];

/// What the workspace must set for its crates.
const SHARED: &[&str] = &["version", "edition", "rust-version", "license", "repository"];

/// The longest description that search results show as a whole.
const DESCRIPTION_MAX: usize = 120;

/// Compares every manifest with what publishing needs.
pub(crate) fn check(repository: &Repository) -> Judgment {
    let workspace = repository.text("Cargo.toml").unwrap_or_default();
    let shared = section(workspace, "workspace.package");
    let mut violations: Vec<String> = SHARED
        .iter()
        .filter(|field| value(&shared, field).is_none())
        .map(|field| format!("Cargo.toml: [workspace.package] has no {field}"))
        .collect();
    let version = value(&shared, "version").unwrap_or_default();
    let manifests: Vec<Manifest<'_>> =
        repository.ending("/Cargo.toml").filter(|file| is_member(&file.path)).map(Manifest::read).collect();
    let is_published: BTreeMap<&str, bool> =
        manifests.iter().map(|manifest| (manifest.name, manifest.is_published)).collect();
    for manifest in &manifests {
        violations.extend(manifest.lacks().into_iter().map(|what| format!("{}: {what}", manifest.path)));
        let private = manifest.needs.iter().filter(|name| is_published.get(*name) == Some(&false));
        violations.extend(
            private
                .filter(|_| manifest.is_published)
                .map(|name| format!("{} is published and needs {name}, which is not", manifest.path)),
        );
    }
    // A path alone is not enough for a registry; a version must be that of the workspace.
    let dependencies = section(workspace, "workspace.dependencies");
    for (name, _) in is_published.iter().filter(|(_, is_published)| **is_published) {
        let row = value(&dependencies, name);
        let expected = format!("version = \"{}\"", version.trim_matches('"'));
        if row.is_some_and(|row| !row.contains(&expected)) {
            violations.push(format!("Cargo.toml: {name} is published, so its dependency needs {expected}"));
        }
    }
    let published = is_published.values().filter(|is_published| **is_published).count();
    judge(violations, || {
        format!("{published} crates can be published, {} cannot", manifests.len() - published)
    })
}

/// Other manifests are of workspaces of their own.
fn is_member(path: &str) -> bool {
    let parts = path.split('/').count();
    (path.starts_with("crates/") && parts == 4)
        || (path.starts_with("lab/") && parts == 3)
        || path == "xtask/Cargo.toml"
}

struct Manifest<'a> {
    path: &'a str,
    name: &'a str,
    package: Vec<&'a str>,
    is_published: bool,
    /// Crates of this repository that it needs to be built; those of its tests are left out when it is published.
    needs: Vec<&'a str>,
}

impl<'a> Manifest<'a> {
    fn read(file: &'a TextFile) -> Manifest<'a> {
        let package = section(&file.text, "package");
        let is_published =
            value(&package, "publish").is_none() && value(&package, "publish.workspace").is_none();
        let dependencies = ["dependencies", "build-dependencies"];
        let needed = dependencies.into_iter().flat_map(|name| section(&file.text, name));
        let needs = needed.filter(|line| line.starts_with("laggard-"));
        let needs = needs.filter_map(|line| line.split(['.', ' ']).next()).collect();
        let name = value(&package, "name").unwrap_or_default().trim_matches('"');
        Manifest { path: &file.path, name, package, is_published, needs }
    }

    fn lacks(&self) -> Vec<String> {
        let inherits = |field: &str| value(&self.package, &format!("{field}.workspace")) == Some("true");
        let has_later = |field: &str| field == "rust-version" && LATER_RUST.contains(&self.name);
        let missing = |field: &&str| !inherits(field) && !has_later(field);
        let mut lacks: Vec<String> = INHERITED
            .iter()
            .copied()
            .filter(missing)
            .map(|field| format!("it does not inherit {field} ({field}.workspace = true)"))
            .collect();
        let description = value(&self.package, "description").unwrap_or_default().trim_matches('"');
        if description.is_empty() || description.chars().count() > DESCRIPTION_MAX {
            lacks.push(format!("it has no description of at most {DESCRIPTION_MAX} characters"));
        }
        if self.is_published && !inherits("repository") {
            lacks.push(
                "it inherits no repository (repository.workspace = true), or it lacks publish = false"
                    .to_owned(),
            );
        }
        lacks
    }
}

/// The lines of a table of a manifest.
fn section<'a>(manifest: &'a str, name: &str) -> Vec<&'a str> {
    let header = format!("[{name}]");
    let lines = manifest.lines().skip_while(|line| line.trim() != header).skip(1);
    lines.take_while(|line| !line.starts_with('[')).collect()
}

/// The value of a key in a table's lines.
fn value<'a>(lines: &[&'a str], key: &str) -> Option<&'a str> {
    let mut rows = lines.iter().filter_map(|line| line.split_once(" = "));
    rows.find(|(name, _)| *name == key).map(|(_, value)| value.trim())
}

#[cfg(test)]
mod tests {
    use super::*;

    const WORKSPACE: &str = "[workspace.package]\nversion = \"0.2.0\"\nedition = \"2024\"\nrust-version = \"1.89\"\nlicense = \"MIT\"\nrepository = \"https://x\"\npublish = false\n\n[workspace.dependencies]\nlaggard-a = { path = \"crates/base/a\", version = \"0.2.0\" }\n";
    const INHERITS: &str = "version.workspace = true\nedition.workspace = true\nrust-version.workspace = true\nlicense.workspace = true\n";

    fn manifest(name: &str, more: &str) -> String {
        format!("[package]\nname = \"{name}\"\ndescription = \"One\"\n{INHERITS}{more}")
    }

    fn violations(workspace: &str, a: &str, b: &str) -> Vec<String> {
        let files =
            [("Cargo.toml", workspace), ("crates/base/a/Cargo.toml", a), ("crates/app/b/Cargo.toml", b)];
        check(&Repository::from_files(&files)).err().unwrap_or_default()
    }

    #[test]
    fn complete_manifests_pass() {
        let public = manifest("laggard-a", "repository.workspace = true\n");
        let private =
            manifest("laggard-b", "publish.workspace = true\n[dependencies]\nlaggard-a.workspace = true\n");
        assert_eq!(violations(WORKSPACE, &public, &private), Vec::<String>::new());
    }

    #[test]
    fn what_is_missing_is_named() {
        let good = manifest("laggard-a", "repository.workspace = true\n");
        let found = violations(WORKSPACE, &good, &manifest("laggard-b", ""));
        assert!(
            found.len() == 1 && found[0].contains("crates/app/b") && found[0].contains("repository"),
            "{found:?}"
        );
        let without = good.replace("description = \"One\"\n", "");
        assert!(violations(WORKSPACE, &without, &good)[0].contains("description"));
        let own = good.replace("license.workspace = true", "license = \"MIT\"");
        assert!(violations(WORKSPACE, &own, &good)[0].contains("license"));
        let old = WORKSPACE.replace("version = \"0.2.0\" }", "version = \"0.1.0\" }");
        assert!(violations(&old, &good, &good)[0].contains("version = \"0.2.0\""));
        let nowhere = WORKSPACE.replace("repository = \"https://x\"\n", "");
        assert_eq!(violations(&nowhere, &good, &good), ["Cargo.toml: [workspace.package] has no repository"]);
    }

    #[test]
    fn a_published_crate_needs_published_ones() {
        let private = manifest("laggard-a", "publish = false\n");
        let needs = |table: &str| {
            let more = format!("repository.workspace = true\n\n[{table}]\nlaggard-a.workspace = true\n");
            violations(WORKSPACE, &private, &manifest("laggard-b", &more))
        };
        assert_eq!(
            needs("dependencies"),
            ["crates/app/b/Cargo.toml is published and needs laggard-a, which is not"]
        );
        assert!(needs("dev-dependencies").is_empty());
    }
}
