//! Critical paths as sequences of letters.

mod alphabet;
mod names;
mod pieces;

pub use alphabet::{Alphabet, AlphabetSettings, Encoding, Letter, SplitBy, Whose};
pub use names::WorkerNames;
pub use pieces::{StatePiece, state_pieces};

#[cfg(test)]
mod tests;
