//! The archive and the Debian package that `packaging/release.sh` makes, of the tested binary.

use crate::outcome::{Outcome, finish};
use laggard_testkit::{Missing, is_installed, skip};
use serde_json::Value;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

const VERSION: &str = env!("CARGO_PKG_VERSION");

/// A run of a tool that must succeed.
#[track_caller]
fn run(tool: &str, arguments: &[&str]) -> Outcome {
    let outcome = finish(Command::new(tool).args(arguments));
    assert_eq!(outcome.status, 0, "{tool} {arguments:?}\n{}\n{}", outcome.stdout, outcome.stderr);
    outcome
}

fn scratch(name: &str) -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("packages").join(name);
    if folder.exists() {
        std::fs::remove_dir_all(&folder).unwrap();
    }
    std::fs::create_dir_all(&folder).unwrap();
    folder
}

/// Runs the release script on the tested binary, without its debugging information.
fn release(binary: &Path, folder: &Path, further: &[&str]) -> Outcome {
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/../../../packaging/release.sh");
    let mut script = Command::new(script);
    script.env("SOURCE_DATE_EPOCH", "1768204800");
    let outcome = finish(script.arg("--binary").arg(binary).arg("--output").arg(folder).args(further));
    assert_eq!(outcome.status, 0, "{}\n{}", outcome.stdout, outcome.stderr);
    outcome
}

/// The folder with the packages, which the first test makes; `None` where a tool is missing.
fn packages() -> Option<&'static Path> {
    static MADE: OnceLock<Option<PathBuf>> = OnceLock::new();
    let made = MADE.get_or_init(|| {
        ["dpkg-deb", "strip", "rustc"].into_iter().all(is_installed).then(|| {
            let folder = scratch("made");
            let binary = folder.join("stripped");
            run("strip", &["-o", binary.to_str().unwrap(), env!("CARGO_BIN_EXE_laggard")]);
            release(&binary, &folder, &[]);
            folder
        })
    });
    if made.is_none() {
        skip(Missing::Packages("dpkg binutils"), "packages need dpkg-deb and strip");
    }
    made.as_deref()
}

/// Whether the tool for bills of materials is there.
fn has_cyclonedx() -> bool {
    let version = Command::new("cargo").args(["cyclonedx", "--version"]).output();
    version.is_ok_and(|output| output.status.success())
}

/// The only file of a folder with this ending.
fn file(folder: &Path, ending: &str) -> PathBuf {
    let entries = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let mut files: Vec<PathBuf> =
        entries.filter(|path| path.to_str().is_some_and(|name| name.ends_with(ending))).collect();
    assert_eq!(files.len(), 1, "{files:?}");
    files.remove(0)
}

fn text(path: &Path) -> &str {
    path.to_str().unwrap()
}

#[test]
fn checksums_match_and_the_archive_has_a_program_that_runs() {
    let Some(folder) = packages() else { return };
    let sums = std::fs::read_to_string(folder.join("SHA256SUMS")).unwrap();
    assert!(sums.contains(".tar.gz\n") && sums.contains(".deb\n"), "{sums}");
    let checked = finish(Command::new("sha256sum").args(["--check", "SHA256SUMS"]).current_dir(folder));
    assert_eq!(checked.status, 0, "{}", checked.stdout);

    let archive = file(folder, ".tar.gz");
    let to = scratch("archive");
    run("tar", &["-xzf", text(&archive), "-C", text(&to)]);
    let name = archive.file_name().unwrap().to_str().unwrap().strip_suffix(".tar.gz").unwrap();
    let tree = to.join(name);
    assert_eq!(run(text(&tree.join("laggard")), &["--version"]).text(), format!("laggard {VERSION}\n"));
    for part in [
        "LICENSE",
        "laggard.yaml",
        "man/laggard-kernel-path.1",
        "completions/laggard.zsh",
        "systemd/laggard.service",
        "examples/prometheus/alerts.yml",
    ] {
        assert!(tree.join(part).is_file(), "{part}");
    }
}

#[test]
fn the_bill_of_materials_lists_the_crates_of_the_program() {
    let Some(folder) = packages() else { return };
    if !has_cyclonedx() {
        return skip(Missing::Packages("cargo-cyclonedx"), "there is no cargo-cyclonedx");
    }
    let sums = std::fs::read_to_string(folder.join("SHA256SUMS")).unwrap();
    assert!(sums.contains(".cdx.json\n"), "{sums}");
    let text = std::fs::read_to_string(file(folder, ".cdx.json")).unwrap();
    let bill: Value = serde_json::from_str(&text).unwrap();
    assert_eq!((&bill["bomFormat"], &bill["specVersion"]), (&"CycloneDX".into(), &"1.5".into()));
    let subject = &bill["metadata"]["component"];
    assert_eq!((&subject["name"], &subject["version"]), (&"laggard".into(), &VERSION.into()));
    let components = bill["components"].as_array().unwrap();
    let lock = include_str!("../../../../../Cargo.lock");
    for component in components {
        let [name, version] = ["name", "version"].map(|field| component[field].as_str().unwrap());
        assert!(lock.contains(&format!("name = \"{name}\"\nversion = \"{version}\"\n")), "{name} {version}");
        let license = &component["licenses"][0];
        assert!(license["expression"].is_string() || license["license"].is_object(), "{component}");
    }
    let component = |name: &str| components.iter().find(|component| component["name"] == name);
    let parquet = component("parquet").unwrap();
    assert!(parquet["purl"].as_str().unwrap().starts_with("pkg:cargo/parquet@"), "{parquet}");
    assert!(parquet["hashes"][0]["content"].as_str().unwrap().len() == 64, "{parquet}");
    assert!(component("laggard-server").is_some(), "its own crates are parts");
    assert!(component("proptest").is_none(), "what only tests use is no part");
    assert!(
        !text.contains("/tmp/") && !text.contains(env!("CARGO_MANIFEST_DIR")),
        "it names no folder of the builder's"
    );
}

#[test]
fn the_same_binary_gives_the_same_bytes() {
    let Some(folder) = packages() else { return };
    let again = scratch("again");
    release(&folder.join("stripped"), &again, &[]);
    let bytes = |folder: &Path, ending: &str| std::fs::read(file(folder, ending)).unwrap();
    for ending in [".tar.gz", ".deb"] {
        assert!(bytes(folder, ending) == bytes(&again, ending), "{ending}");
    }
}

/// A file system of its own, with a database of packages.
fn scratch_root(name: &str) -> PathBuf {
    let root = scratch(name);
    for folder in ["info", "updates", "triggers"] {
        std::fs::create_dir_all(root.join("var/lib/dpkg").join(folder)).unwrap();
    }
    for file in ["status", "available"] {
        std::fs::write(root.join("var/lib/dpkg").join(file), "").unwrap();
    }
    root
}

/// Files below a root, without dpkg's own.
fn files(root: &Path) -> Vec<String> {
    let found = run("find", &[text(root), "-type", "f", "-printf", "%P\\n"]).stdout;
    let mut files: Vec<String> =
        found.lines().filter(|path| !path.starts_with("var/lib/dpkg/")).map(str::to_owned).collect();
    files.sort();
    files
}

#[test]
fn the_debian_package_installs_upgrades_and_leaves_nothing() {
    let Some(folder) = packages() else { return };
    let package = file(folder, ".deb");
    let root = scratch_root("root");
    let in_root = format!("--root={}", root.display());
    // The root has no C library: the program runs with that of this machine.
    let dpkg = |arguments: &[&str]| {
        let flags = [&in_root, "--force-not-root", "--force-script-chrootless", "--force-depends"];
        run("dpkg", &[&flags, arguments].concat())
    };
    dpkg(&["--install", text(&package)]);
    let program = root.join("usr/bin/laggard");
    assert_eq!(run(text(&program), &["--version"]).text(), format!("laggard {VERSION}\n"));
    let configuration = root.join("etc/laggard/laggard.yaml");
    run(text(&program), &["serve", "--check-config", "--config", text(&configuration)]);
    assert_eq!(dpkg(&["--verify", "laggard"]).stdout, "", "files are as the checksums say");
    run("gzip", &["--test", text(&root.join("usr/share/man/man1/laggard.1.gz"))]);

    // An upgrade keeps what the administrator changed.
    let changed = std::fs::read_to_string(&configuration).unwrap().replace("keep_for: 7d", "keep_for: 30d");
    assert!(changed.contains("keep_for: 30d"));
    std::fs::write(&configuration, &changed).unwrap();
    dpkg(&["--install", text(&package)]);
    assert_eq!(std::fs::read_to_string(&configuration).unwrap(), changed);

    dpkg(&["--remove", "laggard"]);
    assert_eq!(files(&root), ["etc/laggard/laggard.yaml"]);
    dpkg(&["--purge", "laggard"]);
    assert!(files(&root).is_empty());
}

#[test]
fn the_package_lists_what_it_needs() {
    let Some(folder) = packages() else { return };
    let package = file(folder, ".deb");
    let field = |name: &str| run("dpkg-deb", &["--field", text(&package), name]).text();
    assert_eq!(field("Version"), format!("{VERSION}\n"));
    // The tested binary is linked with the C library of this machine, unless the target is musl.
    let needed = if cfg!(target_env = "musl") { "" } else { "libc6 (>= 2." };
    assert!(field("Depends").starts_with(needed), "{}", field("Depends"));
    assert!(field("Homepage").starts_with("https://"));
}

#[test]
fn the_packaged_units_are_valid() {
    let Some(folder) = packages() else { return };
    if !is_installed("systemd-analyze") {
        return skip(Missing::Packages("systemd"), "there is no systemd-analyze");
    }
    let tree = scratch("units");
    run("dpkg-deb", &["--extract", text(&file(folder, ".deb")), text(&tree)]);
    let program = tree.join("usr/bin/laggard");
    for name in ["laggard.service", "laggard-agent.service"] {
        let unit = std::fs::read_to_string(tree.join("usr/lib/systemd/system").join(name)).unwrap();
        let path = tree.join(name);
        std::fs::write(&path, unit.replace("/usr/bin/laggard", text(&program))).unwrap();
        let verified = run("systemd-analyze", &["verify", "--man=no", "--recursive-errors=no", text(&path)]);
        assert_eq!(verified.stderr, "", "{name}");
    }
}

/// Packages of a target whose programs are static. The tested binary stands for one: formula and image are made of any.
#[test]
fn static_programs_have_a_formula_and_an_image() {
    let Some(folder) = packages() else { return };
    let to = scratch("static");
    let triple = concat!(env!("CARGO_PKG_VERSION"), "-x86_64-unknown-linux-musl");
    let outcome = release(&folder.join("stripped"), &to, &["--target", "x86_64-unknown-linux-musl"]);
    let formula = std::fs::read_to_string(to.join("laggard.rb")).unwrap();
    let sums = std::fs::read_to_string(to.join("SHA256SUMS")).unwrap();
    let archive = format!("laggard-{triple}.tar.gz");
    let sum =
        sums.lines().find(|line| line.ends_with(&archive)).and_then(|line| line.split(' ').next()).unwrap();
    assert!(formula.contains(&format!("sha256 \"{sum}\"")) && formula.contains(&archive), "{formula}");
    assert!(formula.starts_with("class Laggard < Formula\n") && !formula.contains('@'), "{formula}");
    if is_installed("ruby") {
        run("ruby", &["-c", text(&to.join("laggard.rb"))]);
    }
    if !is_installed("buildah") {
        assert!(
            outcome.stderr.contains("Left out: ") && outcome.stderr.contains("buildah"),
            "{}",
            outcome.stderr
        );
        return skip(Missing::Packages("buildah"), "there is no buildah");
    }
    let image = file(&to, "-image-amd64.tar");
    run("tar", &["-xf", text(&image), "-C", text(&to)]);
    let manifest: Value =
        serde_json::from_str(&std::fs::read_to_string(to.join("manifest.json")).unwrap()).unwrap();
    let named = |value: &Value| to.join(value.as_str().unwrap());
    let config = std::fs::read_to_string(named(&manifest[0]["Config"])).unwrap();
    let config = &serde_json::from_str::<Value>(&config).unwrap()["config"];
    assert_eq!(
        (&config["User"], &config["Entrypoint"][0]),
        (&"65532:65532".into(), &"/usr/bin/laggard".into())
    );
    assert!(config["Healthcheck"]["Test"].to_string().contains("--check-health"), "{config}");
    let listed = run("tar", &["-tvf", text(&named(&manifest[0]["Layers"][0]))]).stdout;
    assert!(
        listed.lines().any(|line| line.starts_with("drwx")
            && line.contains(" 65532/65532 ")
            && line.ends_with(" data/")),
        "{listed}"
    );
    assert!(
        listed.lines().any(|line| line.starts_with("-rwxr-xr-x") && line.ends_with(" usr/bin/laggard")),
        "{listed}"
    );
}

#[test]
fn invalid_usage_of_the_script_makes_no_package() {
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/../../../packaging/release.sh");
    let folder = scratch("none");
    for arguments in
        [&["--binary"][..], &["--fast"], &["--binary", "/nonexistent", "--output", text(&folder)]]
    {
        let outcome = finish(Command::new(script).args(arguments));
        assert_ne!(outcome.status, 0, "{arguments:?}");
    }
    assert!(files(&folder).is_empty());
    // The version is the program's own, so that any other program is refused.
    let other = finish(Command::new(script).args(["--binary", "/bin/true", "--output", text(&folder)]));
    assert!(other.status != 0 && other.stderr.contains("version"), "{}", other.stderr);
}
