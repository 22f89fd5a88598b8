//! Compares which crate uses which with the table of what is allowed.

use crate::layer_table::{ACROSS, AREAS, HEAVY, LAYERS, LEAVES, WITHOUT_DEPENDENCIES};
use crate::repository::{Judgment, Repository, judge};
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::process::Command;

/// Compares the manifests with the table.
pub(crate) fn check(repository: &Repository) -> Judgment {
    let listed = Command::new(env!("CARGO"))
        .args(["metadata", "--format-version", "1", "--no-deps", "--offline"])
        .current_dir(&repository.root)
        .output();
    let metadata = match listed {
        Ok(listed) if listed.status.success() => serde_json::from_slice(&listed.stdout).ok(),
        _ => None,
    };
    let Some(metadata) = metadata else { return Err(vec!["cargo metadata failed".to_owned()]) };
    let (arrows, areas) = (arrows(&metadata), areas(&metadata));
    let mut violations = violations(&arrows);
    violations.extend(area_violations(&arrows, &areas));
    judge(violations, || {
        format!("{} crates, {} arrows; {}", crates(&arrows), arrows.len(), crates_by_area(&areas))
    })
}

/// One line of a manifest: who uses what.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
struct Arrow {
    from: String,
    /// `None` for a crate that uses nothing, so that it is seen.
    to: Option<String>,
    inside: bool,
    tests_only: bool,
}

fn arrows(metadata: &Value) -> Vec<Arrow> {
    let mut arrows = Vec::new();
    for package in metadata["packages"].as_array().into_iter().flatten() {
        let from = package["name"].as_str().unwrap_or_default().to_owned();
        let used = package["dependencies"].as_array().into_iter().flatten();
        arrows.extend(used.map(|used| Arrow {
            from: from.clone(),
            to: used["name"].as_str().map(str::to_owned),
            inside: used["path"].is_string(),
            tests_only: used["kind"] == "dev",
        }));
        arrows.push(Arrow { from, to: None, inside: true, tests_only: false });
    }
    arrows.sort();
    arrows
}

/// The area of each crate, from the folder of its manifest: `crates/AREA/…` or `lab/…`.
fn areas(metadata: &Value) -> BTreeMap<String, &'static str> {
    let mut areas = BTreeMap::new();
    for package in metadata["packages"].as_array().into_iter().flatten() {
        let folders: Vec<&str> = package["manifest_path"].as_str().unwrap_or_default().rsplit('/').collect();
        // From the end: the file, the crate's folder, the area.
        let area = folders.get(2).and_then(|folder| AREAS.iter().find(|(name, _)| name == folder));
        if let (Some((area, _)), Some(name)) = (area, package["name"].as_str()) {
            areas.insert(name.to_owned(), *area);
        }
    }
    areas
}

fn crates_by_area(areas: &BTreeMap<String, &'static str>) -> String {
    let count = |area: &str| areas.values().filter(|known| **known == area).count();
    AREAS.iter().map(|(area, _)| format!("{area} {}", count(area))).collect::<Vec<_>>().join(", ")
}

/// Arrows of the product that lead to an area that is not below.
fn area_violations(arrows: &[Arrow], areas: &BTreeMap<String, &'static str>) -> Vec<String> {
    let rank = |area: &str| AREAS.iter().find(|(name, _)| *name == area).map_or(0, |(_, rank)| *rank);
    let mut out = Vec::new();
    for arrow in arrows.iter().filter(|arrow| !arrow.tests_only) {
        let Some(to) = &arrow.to else { continue };
        let (Some(&from_area), Some(&to_area)) = (areas.get(&arrow.from), areas.get(to)) else { continue };
        let leads_down = from_area == to_area || rank(to_area) < rank(from_area);
        if !leads_down && !ACROSS.contains(&(arrow.from.as_str(), to.as_str())) {
            out.push(format!(
                "{} ({from_area}) must not use {to} ({to_area}): areas build downwards",
                arrow.from
            ));
        }
    }
    out
}

fn crates(arrows: &[Arrow]) -> usize {
    arrows.iter().map(|arrow| &arrow.from).collect::<BTreeSet<_>>().len()
}

fn violations(arrows: &[Arrow]) -> Vec<String> {
    arrows.iter().filter_map(violation).collect()
}

fn violation(arrow: &Arrow) -> Option<String> {
    let from = &arrow.from;
    let Some(layer) = LAYERS.iter().find(|layer| layer.name == from) else {
        return arrow.to.is_none().then(|| format!("{from} has no row in xtask/src/layer_table.rs"));
    };
    let to = arrow.to.as_deref()?;
    if !arrow.inside {
        let is_bare = WITHOUT_DEPENDENCIES.contains(&layer.name) && !arrow.tests_only;
        let is_heavy = HEAVY.contains(&to) && !LEAVES.contains(&(layer.name, to));
        return (is_bare || is_heavy).then(|| format!("{from} must not depend on {to}"));
    }
    let in_tests =
        arrow.tests_only && (to == "laggard-testkit" || to == from || layer.tests_may_use.contains(&to));
    let allowed = layer.may_use.contains(&to) || in_tests;
    (!allowed).then(|| format!("{from} must not use {to}: the arrow is not in xtask/src/layer_table.rs"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn violations_of(package: &str, dependencies: &str) -> Vec<String> {
        let text = format!(r#"{{"packages": [{{"name": "{package}", "dependencies": [{dependencies}]}}]}}"#);
        violations(&arrows(&serde_json::from_str(&text).unwrap()))
    }

    #[test]
    fn a_dependency_missing_from_the_table_fails() {
        let engine = r#"{"name": "laggard-engine", "path": "x", "kind": null}"#;
        assert_eq!(violations_of("laggard-diagnose", engine), Vec::<String>::new());
        assert_eq!(violations_of("laggard-localize", engine).len(), 1);
        assert_eq!(violations_of("laggard-numeric", engine).len(), 1);
    }

    #[test]
    fn tests_may_use_more() {
        let kit = |kind: &str| format!(r#"{{"name": "laggard-testkit", "path": "x", "kind": {kind}}}"#);
        assert_eq!(violations_of("laggard-assembly", &kit(r#""dev""#)), Vec::<String>::new());
        assert_eq!(violations_of("laggard-assembly", &kit("null")).len(), 1);
    }

    #[test]
    fn the_vocabulary_has_no_dependencies() {
        let serde = r#"{"name": "serde", "kind": null}"#;
        assert_eq!(violations_of("laggard-model", serde), ["laggard-model must not depend on serde"]);
        assert_eq!(violations_of("laggard-report", serde), Vec::<String>::new());
    }

    #[test]
    fn heavy_crates_and_unknown_crates_fail() {
        assert_eq!(violations_of("laggard", r#"{"name": "axum", "kind": null}"#).len(), 1);
        assert_eq!(violations_of("laggard", r#"{"name": "ureq", "kind": null}"#).len(), 1);
        assert_eq!(violations_of("laggard-prometheus", r#"{"name": "ureq", "kind": null}"#).len(), 0);
        assert_eq!(violations_of("laggard-new", "").len(), 1);
    }

    #[test]
    fn areas_depend_only_on_lower_areas() {
        let package = |name: &str, folder: &str, used: &str| {
            format!(
                r#"{{"name": "{name}", "manifest_path": "/x/{folder}/a/Cargo.toml", "dependencies":
                [{{"name": "{used}", "path": "y", "kind": null}}]}}"#
            )
        };
        let count = |from: &str, to: &str| {
            let packages = [package("one", from, "two"), package("two", to, "none")].join(",");
            let metadata = serde_json::from_str(&format!(r#"{{"packages": [{packages}]}}"#)).unwrap();
            area_violations(&arrows(&metadata), &areas(&metadata)).len()
        };
        assert_eq!((count("crates/app", "crates/traces"), count("crates/traces", "crates/base")), (0, 0));
        assert_eq!((count("crates/traces", "crates/app"), count("crates/traces", "crates/kernel")), (1, 1));
        assert_eq!(count("crates/app", "lab"), 1);
    }

    #[test]
    fn the_table_has_no_cycle() {
        for (index, layer) in LAYERS.iter().enumerate() {
            for used in layer.may_use {
                let below = LAYERS.iter().position(|other| other.name == *used);
                assert!(
                    below.is_some_and(|below| below < index),
                    "{} uses {used}, which is not below it",
                    layer.name
                );
            }
        }
    }
}
