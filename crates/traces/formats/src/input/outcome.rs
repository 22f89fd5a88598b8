//! The outcome of reading inputs: their formats and sizes, and the inputs that were skipped.

use super::InputError;
use std::collections::BTreeMap;

/// Maximum number of skipped inputs listed by name.
const SKIPPED_MAX: usize = 20;

/// Outcome of reading one or several sources.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Outcome {
    /// Documents read to their end, by format name. An archive holds many.
    pub formats: BTreeMap<&'static str, u64>,
    /// Bytes read, before decompression.
    pub bytes: u64,
    /// Bytes of the documents, after decompression.
    pub decompressed: u64,
    /// Inputs that were found and are no traces: the first few.
    pub skipped: Vec<SkippedInput>,
    /// How many were skipped.
    pub skipped_count: u64,
    /// The first input that looks like another format than it was read as, because the user named one.
    pub misnamed: Option<MisnamedFormat>,
}

/// An input that looks like another format than the user named.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct MisnamedFormat {
    /// Its path.
    pub name: String,
    /// The format it was read as.
    pub read_as: &'static str,
    /// The format that is recognized.
    pub looks_like: &'static str,
}

/// An input that was found in a folder or an archive and could not be read.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct SkippedInput {
    /// Its path; a member's name follows its archive's after a colon.
    pub name: String,
    /// Why, as a clause.
    pub reason: String,
}

impl Outcome {
    /// The format, when all documents have the same.
    pub fn format(&self) -> Option<&'static str> {
        let mut names = self.formats.keys().copied();
        let first = names.next()?;
        names.next().is_none().then_some(first)
    }

    /// Documents read.
    pub fn documents(&self) -> u64 {
        self.formats.values().sum()
    }

    /// Adds another source's.
    pub fn merge(&mut self, other: Outcome) {
        for (format, count) in other.formats {
            *self.formats.entry(format).or_default() += count;
        }
        self.bytes += other.bytes;
        self.decompressed += other.decompressed;
        self.skipped_count += other.skipped_count;
        self.misnamed = self.misnamed.take().or(other.misnamed);
        let space = SKIPPED_MAX - self.skipped.len();
        self.skipped.extend(other.skipped.into_iter().take(space));
    }

    /// Whether anything was read at all.
    ///
    /// # Errors
    /// Every input was skipped.
    pub fn check(&self) -> Result<(), InputError> {
        if self.documents() > 0 || self.skipped_count == 0 {
            return Ok(());
        }
        Err(InputError::NothingRead { skipped: self.skipped.clone(), count: self.skipped_count })
    }

    pub(super) fn count(&mut self, format: &'static str) {
        *self.formats.entry(format).or_default() += 1;
    }

    pub(super) fn skip(&mut self, input: SkippedInput) {
        self.skipped_count += 1;
        if self.skipped.len() < SKIPPED_MAX {
            self.skipped.push(input);
        }
    }
}
