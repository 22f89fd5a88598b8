//! Converts critical paths to sequences of symbols.

mod alphabet;
mod names;
mod steps;

pub use alphabet::{Alphabet, AlphabetSettings, Encoding, SplitBy, StateSymbol, SymbolOwner};
pub use names::WorkerNames;
pub use steps::{StateStep, state_steps};

#[cfg(test)]
mod tests;
