//! Where what was read goes.

use crate::CollectError;

/// Whole lines of a file, or a file as a whole.
#[derive(Clone, Copy, Debug)]
pub struct Chunk<'a> {
    /// Name of the source.
    pub name: &'a str,
    /// How its files end.
    pub ending: &'a str,
    /// Files of this name before it, which were rotated away.
    pub generation: u32,
    /// What it begins with where it is not the file's beginning: the line that names columns.
    pub header: Option<&'a str>,
    /// What is new.
    pub bytes: &'a [u8],
    /// Bytes of the local file that count, which come before it.
    pub written: u64,
    /// Where it belongs.
    pub place: ChunkPlacement,
}

/// Where a piece belongs.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ChunkPlacement {
    /// Behind what came before.
    Append,
    /// It is a file of its own.
    Alone,
}

/// What became of a piece.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Delivered {
    /// Records that the destination could not read, by their cause; empty where it does not look.
    pub losses: Vec<(String, u64)>,
    /// What somebody should know, in words.
    pub caution: Option<String>,
}

/// Takes pieces. From several threads at once.
pub trait Destination: Sync {
    /// Takes a piece; after success it is safe.
    ///
    /// # Errors
    /// [`CollectError::Destination`] when it is not taken, or nobody knows whether it was.
    fn take(&self, piece: &Chunk<'_>) -> Result<Delivered, CollectError>;

    /// Whether a piece that was handed over when the program ended may be taken a second time.
    fn may_repeat(&self) -> bool;

    /// What it is, so that a state is not used for another one.
    fn identity(&self) -> String;
}
