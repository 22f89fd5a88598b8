//! The file of `laggard kernel path --perfetto`.

use crate::exit::CommandError;
use laggard_kernel_diagnose::{KernelPathQuestion, KernelRun, PerfettoError, write_perfetto};
use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::Path;

/// Writes a Perfetto trace; returns what is missing in it, as a sentence. Without executions no file is written.
pub(crate) fn write(
    path: &Path,
    runs: &[KernelRun],
    question: &KernelPathQuestion,
) -> Result<Option<String>, CommandError> {
    let unwritable =
        |error: io::Error| CommandError::unreadable(format!("cannot write {}: {error}", path.display()));
    let mut out = BufWriter::new(LazyFile { path, file: None });
    let summary = write_perfetto(runs, question, &mut out).map_err(|error| match error {
        PerfettoError::Question(reason) => CommandError::usage(reason),
        PerfettoError::Output(error) => unwritable(error),
    })?;
    out.flush().map_err(unwritable)?;
    Ok(summary.remark())
}

/// A file that is created when something is written, so that a trace without executions replaces nothing.
struct LazyFile<'p> {
    path: &'p Path,
    file: Option<File>,
}

impl Write for LazyFile<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let file = match &mut self.file {
            Some(file) => file,
            none => none.insert(File::create(self.path)?),
        };
        file.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.as_mut().map_or(Ok(()), File::flush)
    }
}
