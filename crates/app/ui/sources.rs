//! The sources of the pages below `web/`, and a hash of them. Shared by the tests and `cargo xtask pages`.

use std::io;
use std::path::Path;

/// Sources of the pages.
pub(crate) const SOURCES: &[&str] = &[
    "../crates/app/report/assets/colors.css",
    "index.html",
    "package-lock.json",
    "package.json",
    "public",
    "src",
    "svelte.config.js",
    "tsconfig.json",
    "vite.config.ts",
];

/// A hash of the paths and contents of all sources, as 16 hexadecimal digits.
///
/// # Errors
/// When a source cannot be read.
pub(crate) fn hash_of_sources(web: &Path) -> io::Result<String> {
    let mut hash = Fnv(0xcbf2_9ce4_8422_2325);
    for source in SOURCES {
        add(&mut hash, source, &web.join(source))?;
    }
    Ok(format!("{:016x}\n", hash.0))
}

fn add(hash: &mut Fnv, name: &str, path: &Path) -> io::Result<()> {
    if !path.is_dir() {
        hash.bytes(name.as_bytes());
        // Lengths separate names and contents.
        let content = std::fs::read(path)?;
        hash.bytes(&content.len().to_le_bytes());
        hash.bytes(&content);
        return Ok(());
    }
    let mut names = Vec::new();
    for entry in std::fs::read_dir(path)? {
        names.push(entry?.file_name().to_string_lossy().into_owned());
    }
    names.sort();
    names.iter().try_for_each(|inner| add(hash, &format!("{name}/{inner}"), &path.join(inner)))
}

/// FNV-1a, enough to detect changes.
struct Fnv(u64);

impl Fnv {
    fn bytes(&mut self, bytes: &[u8]) {
        for byte in bytes {
            self.0 = (self.0 ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3);
        }
    }
}
