//! The text files of the repository: the input of every rule.

use std::io;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The result of a rule: a summary when it holds, else every violation, one per line.
pub(crate) type Judgment = Result<String, Vec<String>>;

/// All text files that git knows or would add.
#[derive(Debug, Default)]
pub(crate) struct Repository {
    /// The folder they are in; empty in tests.
    pub(crate) root: PathBuf,
    /// The files, by path.
    pub(crate) files: Vec<TextFile>,
    /// Paths of all files, text or not.
    pub(crate) paths: Vec<String>,
}

/// Built from `web/` and minified, so that no rule about text applies.
const BUILT_PAGES: &str = "crates/app/ui/dist/";

#[derive(Clone, Debug)]
pub(crate) struct TextFile {
    /// From the root, with `/`.
    pub(crate) path: String,
    /// Its content.
    pub(crate) text: String,
}

impl Repository {
    /// Reads the repository that this program was built in.
    ///
    /// # Errors
    /// When git cannot list the files or one of them cannot be read.
    pub(crate) fn load() -> io::Result<Repository> {
        let root = root();
        let listed = Command::new("git")
            .args(["ls-files", "-z", "--cached", "--others", "--exclude-standard"])
            .current_dir(&root)
            .output()?;
        let listed = String::from_utf8_lossy(&listed.stdout);
        let mut paths: Vec<String> =
            listed.split('\0').filter(|path| root.join(path).is_file()).map(str::to_owned).collect();
        paths.sort();
        if paths.is_empty() {
            return Err(io::Error::other("git lists no files here; xtask needs a git checkout"));
        }
        let mut files = Vec::new();
        for path in paths.iter().filter(|path| !path.starts_with(BUILT_PAGES)) {
            // What is not UTF-8 is no text: samples of binary formats.
            if let Ok(text) = String::from_utf8(std::fs::read(root.join(path))?) {
                files.push(TextFile { path: path.clone(), text });
            }
        }
        Ok(Repository { root, files, paths })
    }

    /// A repository of snippets.
    #[cfg(test)]
    pub(crate) fn from_files(files: &[(&str, &str)]) -> Repository {
        let file = |&(path, text): &(&str, &str)| TextFile { path: path.to_owned(), text: text.to_owned() };
        let paths = files.iter().map(|(path, _)| (*path).to_owned()).collect();
        Repository { root: PathBuf::new(), files: files.iter().map(file).collect(), paths }
    }

    /// The text of a file; `None` when it is missing.
    pub(crate) fn text(&self, path: &str) -> Option<&str> {
        self.files.iter().find(|file| file.path == path).map(|file| file.text.as_str())
    }

    /// Whether a file, or a folder with files, has this path.
    pub(crate) fn has(&self, path: &str) -> bool {
        let folder = format!("{}/", path.trim_end_matches('/'));
        self.paths.iter().any(|known| known == path || known.starts_with(&folder))
    }

    /// Files whose name ends like this.
    pub(crate) fn ending<'a>(&'a self, end: &'a str) -> impl Iterator<Item = &'a TextFile> {
        self.files.iter().filter(move |file| file.path.ends_with(end))
    }
}

/// The folder of the workspace.
pub(crate) fn root() -> PathBuf {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    here.parent().unwrap_or(here).to_owned()
}

/// Samples of input and expected results hold other people's words.
pub(crate) fn is_sample(path: &str) -> bool {
    ["/samples/", "/golden/"].iter().any(|folder| path.contains(folder))
}

/// The judgment of some violations; `summary` is printed if there are none.
pub(crate) fn judge(violations: Vec<String>, summary: impl FnOnce() -> String) -> Judgment {
    if violations.is_empty() { Ok(summary()) } else { Err(violations) }
}
