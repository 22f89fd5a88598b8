//! The files that tools may read.

use crate::exit::CommandError;
use laggard_formats::{Source, expand};
use std::fs;
use std::path::{Component, Path, PathBuf};

/// Folders and files that were named when the command was started.
#[derive(Debug)]
pub(crate) struct ReadablePaths {
    /// Without links; at least one.
    roots: Vec<PathBuf>,
}

impl ReadablePaths {
    /// The current folder if no path is named.
    pub(crate) fn new(paths: &[PathBuf]) -> Result<ReadablePaths, CommandError> {
        let named = if paths.is_empty() { &[PathBuf::from(".")] } else { paths };
        let canonical = |path: &PathBuf| {
            let unreadable = |error| format!("cannot read {}: {error}", path.display());
            fs::canonicalize(path).map_err(|error| CommandError::unreadable(unreadable(error)))
        };
        let roots: Vec<PathBuf> = named.iter().map(canonical).collect::<Result<_, _>>()?;
        if paths.is_empty() && roots[0].parent().is_none() {
            return Err(CommandError::usage(
                "the current folder is the root of the file system; name the folders that assistants may read: laggard mcp FOLDER...",
            ));
        }
        Ok(ReadablePaths { roots })
    }

    /// The paths of an argument: files, folders, or patterns.
    pub(crate) fn checked(&self, argument: &str, texts: &[String]) -> Result<Vec<PathBuf>, CommandError> {
        texts.iter().map(|text| self.check(argument, text)).collect()
    }

    fn check(&self, argument: &str, text: &str) -> Result<PathBuf, CommandError> {
        if text.is_empty() || text == "-" {
            return Err(CommandError::usage(format!("{argument}: name files, folders, or patterns")));
        }
        let path = self.folder().join(text);
        let is_within = match fs::canonicalize(&path) {
            Ok(real) => self.contains(&real),
            // A pattern, or nothing. What is elsewhere is refused alike whether it exists or not.
            Err(_) => !path.components().any(|part| part == Component::ParentDir) && self.contains(&path),
        };
        if !is_within {
            return Err(self.outside(text));
        }
        for source in expand(std::slice::from_ref(&path)).map_err(CommandError::unreadable)? {
            let Source::File { path, size: Some(_), .. } = &source else {
                // Whoever reads a pipe may wait for ever.
                return Err(CommandError::usage(format!("{} is no file", source.name())));
            };
            // Links may lead anywhere.
            if !fs::canonicalize(path).is_ok_and(|real| self.contains(&real)) {
                return Err(self.outside(&source.name()));
            }
        }
        Ok(path)
    }

    /// Where relative paths begin.
    fn folder(&self) -> &Path {
        let first = &self.roots[0];
        if first.is_dir() { first } else { first.parent().unwrap_or(first) }
    }

    fn contains(&self, path: &Path) -> bool {
        self.roots.iter().any(|root| path.starts_with(root))
    }

    fn outside(&self, name: &str) -> CommandError {
        let roots: Vec<String> = self.roots.iter().map(|root| root.display().to_string()).collect();
        CommandError::usage(format!(
            "{name} is not below {}, and nothing else may be read; whoever configures `laggard mcp` can name further folders",
            roots.join(" or ")
        ))
    }
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;
    use std::os::unix::fs::symlink;

    #[test]
    fn only_what_was_named_can_be_read() {
        let folder = tempfile::tempdir().unwrap();
        let [inside, outside] = ["in", "out"].map(|name| folder.path().join(name));
        for root in [&inside, &outside] {
            fs::create_dir(root).unwrap();
            fs::write(root.join("a.json"), "{}").unwrap();
        }
        symlink(&outside, inside.join("link")).unwrap();
        let readable = ReadablePaths::new(std::slice::from_ref(&inside)).unwrap();
        let check = |text: &str| {
            readable.checked("paths", &[text.to_owned()]).map_err(|error| error.message().to_owned())
        };
        for text in ["a.json", ".", "*.json", "a*", &inside.join("a.json").display().to_string()] {
            assert!(check(text).is_ok(), "{text}");
        }
        let outside_file = outside.join("a.json").display().to_string();
        for text in [
            "..",
            "../out/a.json",
            "../out/*.json",
            "link",
            "link/a.json",
            "link/*.json",
            "/etc",
            "/no/such",
            &outside_file,
        ] {
            let message = check(text).unwrap_err();
            assert!(message.contains("is not below"), "{text}: {message}");
        }
        for (text, words) in [
            ("", "name files"),
            ("-", "name files"),
            ("b.json", "there is no such file"),
            ("*.csv", "no file matches"),
        ] {
            let message = check(text).unwrap_err();
            assert!(message.contains(words), "{text}: {message}");
        }
        // A link among the files of a folder.
        symlink(outside.join("a.json"), inside.join("b.json")).unwrap();
        assert!(check(".").unwrap_err().contains("b.json is not below"));
        assert!(check("a.json").is_ok());
        let file = ReadablePaths::new(&[inside.join("a.json")]).unwrap();
        assert!(file.checked("paths", &["a.json".to_owned()]).is_ok());
        assert!(ReadablePaths::new(&[folder.path().join("none")]).is_err());
    }
}
