//! Builds the pages of the service from `web/` with npm into `crates/app/ui/dist`, which the default build uses.

#[path = "../../crates/app/ui/sources.rs"]
mod sources;

use crate::repository;
use std::io;
use std::path::Path;
use std::process::{Command, Stdio};

/// Builds the pages and records the hash of their sources.
///
/// # Errors
/// When npm or node is missing or fails, or a file cannot be written.
pub(crate) fn build() -> io::Result<()> {
    let root = repository::root();
    let (web, ui) = (root.join("web"), root.join("crates/app/ui"));
    run(&web, "npm", &["ci", "--ignore-scripts", "--no-audit", "--no-fund"])?;
    run(&web, "npm", &["run", "--silent", "build"])?;
    let dist = ui.join("dist");
    if dist.exists() {
        std::fs::remove_dir_all(&dist)?;
    }
    copy(&web.join("dist"), &dist)?;
    std::fs::write(ui.join("sources.hash"), sources::hash_of_sources(&web)?)
}

fn run(folder: &Path, program: &str, arguments: &[&str]) -> io::Result<()> {
    let mut command = Command::new(program);
    let status = command.args(arguments).current_dir(folder).stdin(Stdio::null()).status()?;
    if status.success() {
        return Ok(());
    }
    Err(io::Error::other(format!("{program} {}: {status}", arguments.join(" "))))
}

fn copy(from: &Path, to: &Path) -> io::Result<()> {
    std::fs::create_dir_all(to)?;
    for entry in std::fs::read_dir(from)? {
        let entry = entry?;
        let target = to.join(entry.file_name());
        if entry.file_type()?.is_dir() {
            copy(&entry.path(), &target)?;
        } else {
            std::fs::copy(entry.path(), target)?;
        }
    }
    Ok(())
}
