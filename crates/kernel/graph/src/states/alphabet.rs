//! Letters for states.

use super::names::WorkerNames;
use crate::path::{CriticalPath, PathPiece, PieceState};
use laggard_model::TextId;
use std::collections::BTreeMap;

/// Letters at most: a state of an aligned sequence is one byte.
const LETTERS_MAX: usize = 256;

/// Whose states are told apart.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Encoding {
    /// Nobody's: a letter is a state.
    State,
    /// A state of the execution's own thread is another letter than the same state of another worker. "Running" of
    /// another worker then is "blocked for another task" of Janecek et al. 2022.
    #[default]
    StateAndWorker,
}

/// What else tells letters apart.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum SplitBy {
    /// Nothing.
    #[default]
    Nothing,
    /// Waits by the device or interrupt waited for.
    Device,
    /// States of other workers by those workers' names; digits at the end of a name do not count, so that the threads
    /// of a pool are one.
    Worker,
}

/// How paths become letters.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct AlphabetSettings {
    /// Whose states are told apart.
    pub encoding: Encoding,
    /// What else tells letters apart.
    pub split_by: SplitBy,
    /// Shorter pieces, in nanoseconds, are added to their predecessor; 0 keeps all.
    pub min_ns: u64,
}

/// Whose state a letter is.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Whose {
    /// The execution's own thread's.
    Own,
    /// Another worker's.
    Other,
    /// Not told apart.
    Anyone,
}

/// A letter of an alphabet.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Letter {
    /// The state.
    pub state: PieceState,
    /// Whose.
    pub whose: Whose,
    /// The device or worker it is split by; empty when it is not.
    pub of: String,
}

impl Letter {
    /// The letter for reports: `running`, `running (another)`, `block_device virtio1-req.0`.
    pub fn name(&self) -> String {
        let mut name = self.state.name().to_owned();
        if !self.of.is_empty() {
            name = format!("{name} {}", self.of);
        }
        match self.whose {
            Whose::Own | Whose::Anyone => name,
            Whose::Other => format!("{name} (another)"),
        }
    }
}

/// Letters for states, the same for all paths that are compared.
///
/// The unsplit letters are there from the start, in the order of [`PieceState::ALL`], first one's own; split ones
/// come in the order they are [learned](Alphabet::learn). There are 256 at most: what comes later is not split.
#[derive(Clone, PartialEq, Debug)]
pub struct Alphabet {
    settings: AlphabetSettings,
    letters: Vec<Letter>,
    index: BTreeMap<Letter, u8>,
    unsplit: u64,
}

impl Alphabet {
    /// The alphabet without split letters.
    pub fn new(settings: AlphabetSettings) -> Alphabet {
        let whose: &[Whose] = match settings.encoding {
            Encoding::State => &[Whose::Anyone],
            Encoding::StateAndWorker => &[Whose::Own, Whose::Other],
        };
        let mut alphabet = Alphabet { settings, letters: Vec::new(), index: BTreeMap::new(), unsplit: 0 };
        for &whose in whose {
            for state in PieceState::ALL {
                alphabet.add(Letter { state, whose, of: String::new() });
            }
        }
        alphabet
    }

    /// How it was asked for.
    pub fn settings(&self) -> AlphabetSettings {
        self.settings
    }

    /// Adds the split letters of a path. Without a split nothing happens. To be called for all paths, in their order,
    /// before any is turned to letters.
    pub fn learn(&mut self, path: &CriticalPath, names: WorkerNames<'_>) {
        if self.settings.split_by == SplitBy::Nothing {
            return;
        }
        for piece in &path.pieces {
            let letter = self.wanted(path, piece, names);
            if self.index.contains_key(&letter) {
                continue;
            }
            match self.letters.len() < LETTERS_MAX {
                true => self.add(letter),
                false => self.unsplit += 1,
            }
        }
    }

    fn add(&mut self, letter: Letter) {
        let number = u8::try_from(self.letters.len()).expect("there are 256 letters at most");
        self.index.insert(letter.clone(), number);
        self.letters.push(letter);
    }

    /// The letter of a piece of a path: the one it should have, or the unsplit one when there is none.
    pub(crate) fn letter_of(&self, path: &CriticalPath, piece: &PathPiece, names: WorkerNames<'_>) -> u8 {
        let mut letter = self.wanted(path, piece, names);
        if let Some(&number) = self.index.get(&letter) {
            return number;
        }
        letter.of.clear();
        *self.index.get(&letter).expect("every unsplit letter is there from the start")
    }

    fn wanted(&self, path: &CriticalPath, piece: &PathPiece, names: WorkerNames<'_>) -> Letter {
        let is_own = piece.worker == path.worker;
        let whose = match self.settings.encoding {
            Encoding::State => Whose::Anyone,
            Encoding::StateAndWorker if is_own => Whose::Own,
            Encoding::StateAndWorker => Whose::Other,
        };
        let of = match self.settings.split_by {
            SplitBy::Device if piece.qualifier != TextId::EMPTY => {
                names.texts.text(piece.qualifier).to_owned()
            }
            SplitBy::Worker if !is_own => {
                names.name(piece.worker).trim_end_matches(|last: char| last.is_ascii_digit()).to_owned()
            }
            _ => String::new(),
        };
        Letter { state: piece.state, whose, of }
    }

    /// The letters, by number.
    pub fn letters(&self) -> &[Letter] {
        &self.letters
    }

    /// How many; 256 at most.
    pub fn len(&self) -> usize {
        self.letters.len()
    }

    /// Never.
    pub fn is_empty(&self) -> bool {
        self.letters.is_empty()
    }

    /// How many pieces were not split because there was no letter left.
    pub fn unsplit(&self) -> u64 {
        self.unsplit
    }
}
