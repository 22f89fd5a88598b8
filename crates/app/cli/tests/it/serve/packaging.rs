//! Files in `packaging/` match the program.

use super::Running;
use crate::outcome::laggard;
use serde_json::Value;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

fn packaging(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../packaging").join(name)
}

fn text(name: &str) -> String {
    std::fs::read_to_string(packaging(name)).unwrap()
}

/// Names of metrics in query expressions.
fn metrics(text: &str) -> BTreeSet<String> {
    let words = text.split(|c: char| !(c.is_ascii_alphanumeric() || c == '_'));
    words
        .filter(|word| word.starts_with("laggard_") || word.starts_with("process_"))
        .map(str::to_owned)
        .collect()
}

fn expressions(value: &Value, into: &mut Vec<String>) {
    match value {
        Value::Object(fields) => {
            for (name, value) in fields {
                match value.as_str() {
                    Some(text) if name == "expr" || name == "definition" => into.push(text.to_owned()),
                    _ => expressions(value, into),
                }
            }
        }
        Value::Array(values) => values.iter().for_each(|value| expressions(value, into)),
        _ => {}
    }
}

#[test]
fn every_metric_of_dashboard_and_alerts_is_exposed() {
    let folder = tempfile::tempdir().unwrap();
    let server = Running::start(folder.path(), &[]);
    let exposed = server.get("/metrics").body;
    let families: BTreeSet<&str> = exposed
        .lines()
        .filter_map(|line| line.strip_prefix("# TYPE "))
        .filter_map(|line| line.split(' ').next())
        .collect();
    let mut used = Vec::new();
    expressions(&serde_json::from_str(&text("grafana/laggard.json")).unwrap(), &mut used);
    used.extend(
        text("prometheus/alerts.yml")
            .lines()
            .filter_map(|line| Some(line.trim().strip_prefix("expr:")?.to_owned())),
    );
    let used = metrics(&used.join("\n"));
    assert!(used.len() > 20, "{used:?}");
    for name in used {
        assert!(families.contains(name.as_str()), "{name} is not in {families:?}");
    }
}

#[test]
fn the_packaged_configuration_is_valid() {
    let path = packaging("laggard.yaml");
    let printed = laggard(&["serve", "--check-config", "--config", path.to_str().unwrap()]).text();
    assert!(printed.contains("keep_bytes: 50GiB"), "{printed}");
}

#[test]
fn the_agents_unit_and_daemon_set_use_valid_arguments() {
    let help = laggard(&["agent", "--help"]).text();
    for file in ["systemd/laggard-agent.service", "kubernetes/agent.yaml"] {
        let text = text(file);
        let started = text.lines().filter(|line| line.starts_with("ExecStart=") || line.contains("- --"));
        let words: Vec<&str> =
            started.flat_map(str::split_whitespace).filter(|word| word.starts_with("--")).collect();
        assert!(words.len() >= 2, "{file}: {words:?}");
        for word in words {
            let flag = word.split('=').next().unwrap_or(word);
            assert!(help.contains(flag), "{file}: {flag}");
        }
    }
}

/// The container file and the unit use existing flags and variables.
#[test]
fn container_and_unit_use_valid_arguments() {
    let help = laggard(&["serve", "--help"]).text();
    let container = text("container/Containerfile");
    let unit = text("systemd/laggard.service");
    for flag in [container.as_str(), unit.as_str()].join("\n").split_whitespace() {
        let flag = flag.trim_matches(['"', ',', '[', ']', '`', '.', ';']);
        if flag.starts_with("--check-") || flag == "--config" {
            assert!(help.contains(flag), "{flag}");
        }
    }
    let variables = container.lines().filter_map(|line| {
        let line = line.trim().strip_prefix("ENV ").unwrap_or(line.trim());
        line.strip_prefix("LAGGARD_")?.split_once('=')
    });
    let keys: Vec<String> = variables.map(|(name, _)| name.to_lowercase()).collect();
    assert_eq!(keys.len(), 7);
    let printed = laggard(&["serve", "--check-config"]).text();
    for key in keys {
        let last = key.rsplit_once("logs_").map_or(key.as_str(), |(_, last)| last);
        assert!(printed.lines().any(|line| line.trim().starts_with(&format!("{last}:"))), "{key}");
    }
    for instruction in container.lines().filter(|line| line.starts_with(|c: char| c.is_ascii_uppercase())) {
        let word = instruction.split(' ').next().unwrap();
        let known = [
            "FROM",
            "RUN",
            "COPY",
            "WORKDIR",
            "USER",
            "VOLUME",
            "ENV",
            "EXPOSE",
            "STOPSIGNAL",
            "HEALTHCHECK",
            "ENTRYPOINT",
            "CMD",
        ];
        assert!(known.contains(&word), "{instruction}");
    }
    assert!(container.contains("\nUSER 65532:65532\n"), "not root");
}
