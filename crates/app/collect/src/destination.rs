//! Destinations of collected bytes.

use crate::CollectError;

/// New lines of a file, or a complete file.
#[derive(Clone, Copy, Debug)]
pub struct Chunk<'a> {
    /// Name of the source.
    pub name: &'a str,
    /// Extension of its files, without the dot.
    pub ending: &'a str,
    /// How many earlier files of this name were rotated away.
    pub generation: u32,
    /// The line with the column names, where the bytes do not begin with it.
    pub header: Option<&'a str>,
    /// The new bytes.
    pub bytes: &'a [u8],
    /// Valid length of the local file; the bytes belong behind it.
    pub written: u64,
    /// Whether to append to the local file or to replace it.
    pub placement: ChunkPlacement,
}

/// How a destination stores a chunk.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ChunkPlacement {
    /// Append it to the earlier chunks.
    Append,
    /// Store it as a separate file.
    Alone,
}

/// The result of a delivery.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Delivered {
    /// Records that the destination could not read, by cause; empty if it does not read them.
    pub losses: Vec<(String, u64)>,
    /// A warning for the user.
    pub caution: Option<String>,
}

/// Stores chunks, from several threads at once.
pub trait Destination: Sync {
    /// Stores a chunk; after success it is durable.
    ///
    /// # Errors
    /// [`CollectError::Destination`] when it was not stored, or may not have been.
    fn deliver(&self, chunk: &Chunk<'_>) -> Result<Delivered, CollectError>;

    /// Whether a chunk whose delivery was interrupted may be stored twice.
    fn may_repeat(&self) -> bool;

    /// Identifies it in the state file, which is of one destination only.
    fn identity(&self) -> String;
}
