//! Writes a table of the built pages in `dist`, so that the binary contains them. `cargo xtask pages` builds them.
//!
//! `LAGGARD_PAGES` changes that: a folder, from the root of the repository, is used instead; `skip` leaves the pages
//! out, and there is one page that says so.

use flate2::Compression;
use flate2::write::GzEncoder;
use std::ffi::OsStr;
use std::fmt::Write as _;
use std::io::Write as _;
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
    write_table(&pages, &out).expect("OUT_DIR can be written");
}

/// Writes `PAGES`: every file of the folder, by path, with its compressed form.
fn write_table(pages: &Path, out: &Path) -> io::Result<()> {
    let mut files = Vec::new();
    list(pages, pages, &mut files)?;
    files.sort();
    let mut text = String::from("static PAGES: &[Asset] = &[\n");
    for (index, path) in files.iter().enumerate() {
        let file = pages.join(path);
        let content = fs::read(&file)?;
        let etag = hash(&content);
        let gzip = compressed(&content)?;
        let packed = out.join(format!("{index}.gz"));
        let gzip = if 10 * gzip.len() < 9 * content.len() {
            fs::write(&packed, gzip)?;
            format!("Some(include_bytes!({packed:?}))")
        } else {
            "None".to_owned()
        };
        let _ = writeln!(
            text,
            "    Asset {{ path: {path:?}, etag: \"\\\"{etag:016x}\\\"\", identity: include_bytes!({file:?}), gzip: {gzip} }},",
        );
    }
    text.push_str("];\n");
    fs::write(out.join("pages.rs"), text)
}

fn compressed(content: &[u8]) -> io::Result<Vec<u8>> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::best());
    encoder.write_all(content)?;
    encoder.finish()
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

/// FNV-1a, enough to distinguish versions of a file.
fn hash(content: &[u8]) -> u64 {
    let step = |state: u64, byte: &u8| (state ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3);
    content.iter().fold(0xcbf2_9ce4_8422_2325, step)
}
