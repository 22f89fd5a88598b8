//! From what a person types to the list of inputs.

use crate::input::InputError;
use std::collections::HashSet;
use std::fs;
use std::path::{Path, PathBuf};

/// One input, not opened yet.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Source {
    /// Standard input.
    Stdin,
    /// A file, or a pipe that has a path.
    File {
        /// Where it is.
        path: PathBuf,
        /// Its size in bytes, unless it is a pipe or device.
        size: Option<u64>,
        /// How it got into the list.
        origin: SourceOrigin,
    },
}

/// How a file got into the list of inputs. Files that were named must be readable; files that were merely
/// found may be something else and are then skipped and listed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum SourceOrigin {
    /// By its own path.
    Named,
    /// In a folder or by a pattern.
    Discovered,
}

impl Source {
    /// Its name in messages.
    pub fn name(&self) -> String {
        match self {
            Source::Stdin => "standard input".to_owned(),
            Source::File { path, .. } => path.display().to_string(),
        }
    }

    /// Its size in bytes before decompression, when known.
    pub fn size(&self) -> Option<u64> {
        match self {
            Source::Stdin => None,
            Source::File { size, .. } => *size,
        }
    }

    pub(crate) fn origin(&self) -> SourceOrigin {
        match self {
            Source::Stdin => SourceOrigin::Named,
            Source::File { origin, .. } => *origin,
        }
    }
}

/// Lists the inputs of paths, each file once. A folder expands to all files below it, sorted
/// by path, hidden ones and those behind links to folders left out; a path with `*`, `?` or `[` that is
/// no file expands to what it matches (`**` crosses folders); `-`, or no path at all, for standard input.
///
/// # Errors
/// A path that does not exist or cannot be read, a folder without files, a pattern that matches nothing.
pub fn expand(paths: &[PathBuf]) -> Result<Vec<Source>, InputError> {
    if paths.is_empty() {
        return Ok(vec![Source::Stdin]);
    }
    let mut sources = Vec::new();
    for path in paths {
        expand_one(path, &mut sources)?;
    }
    let mut seen = HashSet::new();
    sources.retain(|source| match source {
        Source::Stdin => seen.insert(None),
        // `x` and `./x` are one file.
        Source::File { path, .. } => {
            seen.insert(Some(fs::canonicalize(path).unwrap_or_else(|_| path.clone())))
        }
    });
    Ok(sources)
}

fn expand_one(path: &Path, sources: &mut Vec<Source>) -> Result<(), InputError> {
    if path.as_os_str() == "-" {
        sources.push(Source::Stdin);
        return Ok(());
    }
    match fs::metadata(path) {
        Ok(metadata) if metadata.is_dir() => expand_folder(path, sources),
        Ok(metadata) => {
            let size = metadata.is_file().then_some(metadata.len());
            sources.push(Source::File { path: path.to_owned(), size, origin: SourceOrigin::Named });
            Ok(())
        }
        Err(_) if is_pattern(path) => expand_pattern(path, sources),
        Err(error) => Err(InputError::unreadable(path, &error)),
    }
}

fn is_pattern(path: &Path) -> bool {
    path.to_str().is_some_and(|text| text.contains(['*', '?', '[']))
}

fn expand_pattern(path: &Path, sources: &mut Vec<Source>) -> Result<(), InputError> {
    let nothing = |reason: String| InputError::NotFound { path: path.to_owned(), reason };
    let options = glob::MatchOptions { require_literal_leading_dot: true, ..glob::MatchOptions::default() };
    let pattern = path.to_str().unwrap_or_default();
    let matches = glob::glob_with(pattern, options)
        .map_err(|error| nothing(format!("it is neither a file nor a valid pattern ({})", error.msg)))?;
    let before = sources.len();
    for found in matches {
        let found = found.map_err(|error| InputError::unreadable(error.path(), error.error()))?;
        match fs::metadata(&found) {
            Ok(metadata) if metadata.is_file() => sources.push(discovered_file(found, metadata.len())),
            Ok(metadata) if metadata.is_dir() => walk(&found, sources)?,
            _ => {}
        }
    }
    if sources.len() == before {
        return Err(nothing("no file matches this pattern".to_owned()));
    }
    Ok(())
}

fn expand_folder(path: &Path, sources: &mut Vec<Source>) -> Result<(), InputError> {
    let before = sources.len();
    walk(path, sources)?;
    if sources.len() == before {
        let reason = "the folder has no files (hidden ones do not count)".to_owned();
        return Err(InputError::NotFound { path: path.to_owned(), reason });
    }
    Ok(())
}

fn discovered_file(path: PathBuf, size: u64) -> Source {
    Source::File { path, size: Some(size), origin: SourceOrigin::Discovered }
}

/// Adds the files below a folder. Links to folders are not followed, so the walk ends.
fn walk(folder: &Path, sources: &mut Vec<Source>) -> Result<(), InputError> {
    let mut files = Vec::new();
    let mut folders = vec![folder.to_owned()];
    while let Some(folder) = folders.pop() {
        let entries = fs::read_dir(&folder).map_err(|error| InputError::unreadable(&folder, &error))?;
        for entry in entries {
            let entry = entry.map_err(|error| InputError::unreadable(&folder, &error))?;
            if entry.file_name().as_encoded_bytes().starts_with(b".") {
                continue;
            }
            let is_folder = entry.file_type().is_ok_and(|kind| kind.is_dir());
            match fs::metadata(entry.path()) {
                _ if is_folder => folders.push(entry.path()),
                Ok(metadata) if metadata.is_file() => files.push((entry.path(), metadata.len())),
                _ => {}
            }
        }
    }
    files.sort();
    sources.extend(files.into_iter().map(|(path, size)| discovered_file(path, size)));
    Ok(())
}
