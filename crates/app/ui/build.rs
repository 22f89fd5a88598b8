//! Writes a table of the built pages in `dist`, so that the binary contains them. `cargo xtask pages` builds them.
//!
//! `LAGGARD_PAGES` changes that: a folder, from the root of the repository, is used instead; `skip` leaves the pages
//! out, and there is one page that says so.

use std::ffi::OsStr;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::{env, fs, io};

const PAGES: &str = "LAGGARD_PAGES";

fn main() {
    let out = PathBuf::from(env::var_os("OUT_DIR").expect("cargo sets OUT_DIR"));
    let here = PathBuf::from(env::var_os("CARGO_MANIFEST_DIR").expect("cargo sets CARGO_MANIFEST_DIR"));
    println!("cargo::rerun-if-env-changed={PAGES}");
    let choice = env::var(PAGES).unwrap_or_default();
    let pages = match choice.as_str() {
        "skip" => here.join("pages"),
        "" | "require" => here.join("dist"),
        folder => here.join("../../..").join(folder),
    };
    println!("cargo::rerun-if-changed={}", pages.display());
    assert!(pages.join("index.html").is_file(), "{} has no index.html", pages.display());
    write_table(&pages, &out.join("pages.rs")).expect("OUT_DIR can be written");
}

/// Writes `PAGES`: every file of the folder, by path, with its compressed forms.
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

/// FNV-1a, enough to distinguish versions of a file.
fn hash(content: &[u8]) -> u64 {
    let step = |state: u64, byte: &u8| (state ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3);
    content.iter().fold(0xcbf2_9ce4_8422_2325, step)
}
