//! Installs clients and their dependencies, in pinned versions, below `target`.

use laggard_testkit::{Missing, python_with, skip};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::OnceLock;
use std::{env, fs};

/// The sources of the clients.
fn sources() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/clients")
}

/// Where a client is installed; the folder can be deleted at any time.
pub(crate) fn folder(client: &str) -> PathBuf {
    Path::new(env!("CARGO_TARGET_TMPDIR")).join("clients").join(client)
}

/// A command without the environment's exporter and proxy variables.
pub(crate) fn command(program: impl AsRef<std::ffi::OsStr>) -> Command {
    let mut command = Command::new(program);
    for (name, _) in env::vars_os() {
        let text = name.to_string_lossy();
        if text.starts_with("OTEL_") || text.starts_with("ROTEL_") {
            command.env_remove(&name);
        }
    }
    command.env("no_proxy", "*").env("NO_PROXY", "*").stdin(Stdio::null());
    command
}

/// Whether a tool is installed. Prints if not, and fails where all tools are required.
pub(crate) fn has(tool: &str, arguments: &[&str]) -> bool {
    let mut command = Command::new(tool);
    let quiet = command.args(arguments).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    if quiet.status().is_ok_and(|ended| ended.success()) {
        return true;
    }
    let lacking = format!("{} does not run here", [&[tool], arguments].concat().join(" "));
    let missing = match tool {
        "node" | "npm" => Missing::Packages("nodejs npm"),
        _ => Missing::Machine,
    };
    skip(missing, &lacking);
    false
}

/// The interpreter of a virtual environment with the Python SDK.
pub(crate) fn python() -> Option<&'static Path> {
    static INSTALLED: OnceLock<Option<PathBuf>> = OnceLock::new();
    let install = || python_with(&folder("python"), &sources().join("python/requirements.txt"));
    INSTALLED.get_or_init(install).as_deref()
}

/// The interpreter of a virtual environment with the SDK of the Model Context Protocol.
pub(crate) fn mcp_python() -> Option<&'static Path> {
    static INSTALLED: OnceLock<Option<PathBuf>> = OnceLock::new();
    let install = || python_with(&folder("mcp"), &sources().join("mcp/requirements.txt"));
    INSTALLED.get_or_init(install).as_deref()
}

/// The program that uses it.
pub(crate) fn mcp_program() -> PathBuf {
    sources().join("mcp/client.py")
}

/// The agent that is part of the Python packages.
pub(crate) fn agent(python: &Path) -> PathBuf {
    let where_it_is = "import os, rotel; print(os.path.dirname(rotel.__file__), end='')";
    let output = Command::new(python).args(["-c", where_it_is]).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    Path::new(&String::from_utf8(output.stdout).unwrap()).join("rotel-agent")
}

/// A program of the folder `python`.
pub(crate) fn python_program(name: &str) -> PathBuf {
    sources().join("python").join(name)
}

/// The folder with the JavaScript SDK and the programs that use it.
pub(crate) fn node() -> Option<&'static Path> {
    static INSTALLED: OnceLock<Option<PathBuf>> = OnceLock::new();
    let install = || {
        if !has("node", &["--version"]) || !has("npm", &["--version"]) {
            return None;
        }
        let folder = folder("node");
        let from = sources().join("node");
        fs::create_dir_all(&folder).unwrap();
        for entry in fs::read_dir(&from).unwrap() {
            let name = entry.unwrap().file_name();
            fs::copy(from.join(&name), folder.join(&name)).unwrap();
        }
        install_once(&folder, &from.join("package-lock.json"), || {
            let quiet = ["ci", "--ignore-scripts", "--no-audit", "--no-fund"];
            run(Command::new("npm").args(quiet).current_dir(&folder));
        });
        Some(folder)
    };
    INSTALLED.get_or_init(install).as_deref()
}

/// The program that uses the Rust SDK.
pub(crate) fn rust() -> &'static Path {
    static BUILT: OnceLock<PathBuf> = OnceLock::new();
    BUILT.get_or_init(|| {
        let folder = folder("rust");
        let manifest = sources().join("rust/Cargo.toml");
        let mut cargo = Command::new(env!("CARGO"));
        cargo.args(["build", "--locked", "--quiet", "--manifest-path"]).arg(manifest);
        run(cargo.arg("--target-dir").arg(&folder));
        folder.join("debug/laggard-rust-client")
    })
}

/// Prometheus: the installed one, otherwise Debian's package, unpacked.
pub(crate) fn prometheus() -> Option<&'static Path> {
    static FOUND: OnceLock<Option<PathBuf>> = OnceLock::new();
    let find = || {
        if Command::new("prometheus").arg("--version").output().is_ok() {
            return Some(PathBuf::from("prometheus"));
        }
        let folder = folder("prometheus");
        let program = folder.join("usr/bin/prometheus");
        if program.is_file() {
            return Some(program);
        }
        // The package also has a service that starts by itself and web libraries. Only the program is needed.
        if !has("apt-get", &["--version"]) || !has("dpkg-deb", &["--version"]) {
            return None;
        }
        fs::create_dir_all(&folder).unwrap();
        run(Command::new("apt-get").args(["download", "--quiet", "prometheus"]).current_dir(&folder));
        let package = fs::read_dir(&folder).unwrap().map(|entry| entry.unwrap().path());
        let mut package = package.filter(|path| path.extension().is_some_and(|end| end == "deb"));
        let package = package.next().expect("the package was downloaded");
        run(Command::new("dpkg-deb").arg("--extract").arg(&package).arg(&folder));
        fs::remove_file(package).unwrap();
        Some(program)
    };
    FOUND.get_or_init(find).as_deref()
}

/// Installs unless the folder was installed from the same list.
fn install_once(folder: &Path, list: &Path, install: impl FnOnce()) {
    let mark = folder.join(".installed-from");
    let expected = fs::read(list).unwrap();
    if fs::read(&mark).is_ok_and(|installed| installed == expected) {
        return;
    }
    install();
    fs::write(mark, expected).unwrap();
}

/// Runs an installer and panics if it fails.
fn run(command: &mut Command) {
    let command_line = format!("{command:?}");
    let output =
        command.stdin(Stdio::null()).output().unwrap_or_else(|error| panic!("{command_line}: {error}"));
    let output_text = [output.stdout, output.stderr].concat();
    assert!(
        output.status.success(),
        "a client could not be installed (can its registry be reached?): {command_line}: {}\n{}",
        output.status,
        String::from_utf8_lossy(&output_text)
    );
}
