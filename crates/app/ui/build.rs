//! Builds the pages from `web/` with npm and writes a table of them, so that the binary holds them.
//!
//! `LAGGARD_PAGES` changes how: a folder takes the pages from there, `skip` leaves them out, `require` fails where
//! they would otherwise be left out with a warning. Nothing is written outside the folder that cargo gives.

use std::ffi::OsStr;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::{env, fs, io};

/// What the pages are built from, below `web/`.
const SOURCES: &[&str] = &[
    "src",
    "public",
    "build",
    "index.html",
    "package.json",
    "package-lock.json",
    "svelte.config.js",
    "tsconfig.json",
    "vite.config.ts",
];

const CHOICE: &str = "LAGGARD_PAGES";

fn main() {
    let out = PathBuf::from(env::var_os("OUT_DIR").expect("cargo sets OUT_DIR"));
    let here = PathBuf::from(env::var_os("CARGO_MANIFEST_DIR").expect("cargo sets CARGO_MANIFEST_DIR"));
    let web = here.join("../../../web");
    println!("cargo::rerun-if-env-changed={CHOICE}");
    for source in SOURCES {
        println!("cargo::rerun-if-changed={}", web.join(source).display());
    }
    let choice = env::var(CHOICE).unwrap_or_default();
    let pages = match choice.as_str() {
        "skip" => Err("LAGGARD_PAGES=skip".to_owned()),
        "" | "require" => built(&web, &out.join("web")),
        folder => given(&here.join("../../..").join(folder)),
    };
    let pages = pages.unwrap_or_else(|reason| {
        assert!(choice != "require", "the pages could not be built: {reason}");
        println!("cargo::warning=laggard-ui: the pages are left out: {reason}");
        if choice != "skip" {
            // A path that never exists: the next build tries again, since npm may be there then.
            println!("cargo::rerun-if-changed={}", out.join("never").display());
        }
        here.join("pages")
    });
    write_table(&pages, &out.join("pages.rs")).expect("the folder that cargo gives can be written");
}

/// Pages that somebody built before.
fn given(folder: &Path) -> Result<PathBuf, String> {
    println!("cargo::rerun-if-changed={}", folder.display());
    match folder.join("index.html").is_file() {
        true => Ok(folder.to_owned()),
        false => Err(format!("{} has no index.html", folder.display())),
    }
}

/// Copies the sources, installs what they need when that has changed, and builds.
fn built(web: &Path, work: &Path) -> Result<PathBuf, String> {
    let failed = |error: io::Error| format!("{}: {error}", work.display());
    let before = fs::read(work.join("package-lock.json")).unwrap_or_default();
    for source in SOURCES {
        copy(&web.join(source), &work.join(source)).map_err(failed)?;
    }
    let wanted = fs::read(work.join("package-lock.json")).map_err(failed)?;
    if before != wanted || !work.join("node_modules/.package-lock.json").is_file() {
        // A lock file that stays would say that an installation that failed is in place.
        fs::write(work.join("package-lock.json"), &wanted).map_err(failed)?;
        let options = ["--omit=dev", "--ignore-scripts", "--no-audit", "--no-fund", "--fetch-retries=1"];
        run(work, "npm", [&["ci"], options.as_slice()].concat().as_slice())?;
    }
    run(work, "npm", &["run", "--silent", "build"])?;
    run(work, "node", &["build/compress.mjs", "dist"])?;
    Ok(work.join("dist"))
}

/// Runs a program without input; what it said is told when it fails.
fn run(folder: &Path, program: &str, arguments: &[&str]) -> Result<(), String> {
    let what = format!("{program} {}", arguments.first().copied().unwrap_or_default());
    let mut command = Command::new(program);
    command.args(arguments).current_dir(folder).stdin(Stdio::null());
    let output = command.output().map_err(|error| format!("{what}: {error}"))?;
    if output.status.success() {
        return Ok(());
    }
    let said = String::from_utf8_lossy(&output.stderr);
    let lines: Vec<&str> = said.lines().filter(|line| !line.trim().is_empty()).collect();
    let last = lines[lines.len().saturating_sub(4)..].join("; ");
    Err(format!("{what}: {}: {last}", output.status))
}

/// Makes `to` the same as `from`: a file, or a folder without anything else in it. Files that are the same are left alone.
fn copy(from: &Path, to: &Path) -> io::Result<()> {
    if !from.is_dir() {
        let content = fs::read(from)?;
        return match fs::read(to) {
            Ok(old) if old == content => Ok(()),
            _ => fs::write(to, content),
        };
    }
    fs::create_dir_all(to)?;
    for old in fs::read_dir(to)? {
        let old = old?.path();
        if old.file_name().is_some_and(|name| !from.join(name).exists()) {
            if old.is_dir() { fs::remove_dir_all(&old)? } else { fs::remove_file(&old)? }
        }
    }
    for entry in fs::read_dir(from)? {
        let name = entry?.file_name();
        copy(&from.join(&name), &to.join(&name))?;
    }
    Ok(())
}

/// Writes `PAGES`: every file of the folder, by path, with what it becomes compressed.
fn write_table(pages: &Path, table: &Path) -> io::Result<()> {
    let mut files = Vec::new();
    list(pages, pages, &mut files)?;
    files.sort();
    let mut text = String::from("static PAGES: &[Asset] = &[\n");
    for path in files.iter().filter(|path| !is_compressed(path)) {
        let whole = pages.join(path);
        let etag = hash(&fs::read(&whole)?);
        let encoded = |end: &str| {
            let file = pages.join(format!("{path}.{end}"));
            if file.is_file() { format!("Some(include_bytes!({file:?}))") } else { "None".to_owned() }
        };
        writeln!(
            text,
            "    Asset {{ path: {path:?}, etag: \"\\\"{etag:016x}\\\"\", identity: include_bytes!({whole:?}), \
             brotli: {}, gzip: {} }},",
            encoded("br"),
            encoded("gz"),
        )
        .expect("a string can be written to");
    }
    text.push_str("];\n");
    fs::write(table, text)
}

fn list(root: &Path, folder: &Path, files: &mut Vec<String>) -> io::Result<()> {
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        if path.is_dir() {
            list(root, &path, files)?;
            continue;
        }
        let relative = path.strip_prefix(root).expect("it is listed from the root");
        let parts: Vec<_> = relative.iter().map(OsStr::to_string_lossy).collect();
        files.push(parts.join("/"));
    }
    Ok(())
}

fn is_compressed(path: &str) -> bool {
    path.ends_with(".br") || path.ends_with(".gz")
}

/// FNV-1a: tells versions of a file apart, nothing more.
fn hash(content: &[u8]) -> u64 {
    let step = |state: u64, byte: &u8| (state ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3);
    content.iter().fold(0xcbf2_9ce4_8422_2325, step)
}
