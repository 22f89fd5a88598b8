//! Symbols for states: the alphabet of the sequences that are aligned.

use super::names::WorkerNames;
use crate::path::{CriticalPath, PathSegment, WorkerState};
use laggard_model::TextId;
use std::collections::BTreeMap;

/// Maximum number of symbols: a state of an aligned sequence is one byte.
const SYMBOLS_MAX: usize = 256;

/// Whether the states of different workers are distinguished.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Encoding {
    /// No: a symbol is a state.
    State,
    /// A state of the execution's own thread has another symbol than the same state of another worker. "Running" of
    /// another worker then is "blocked for another task" of Janecek et al. 2022.
    #[default]
    StateAndWorker,
}

/// Properties besides the state that distinguish symbols.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum SplitBy {
    /// Nothing.
    #[default]
    Nothing,
    /// The device or interrupt of a wait.
    Device,
    /// The names of other workers; digits at the end of a name are ignored, so that the threads of a pool share a
    /// symbol.
    Worker,
}

/// How paths are converted to symbols.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct AlphabetSettings {
    /// Whether the states of different workers are distinguished.
    pub encoding: Encoding,
    /// Properties besides the state that distinguish symbols.
    pub split_by: SplitBy,
    /// Segments shorter than this (nanoseconds) are merged into their predecessor; 0 merges none.
    pub min_ns: u64,
}

/// The owner of a symbol's state.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum SymbolOwner {
    /// The execution's own thread.
    Own,
    /// Another worker.
    Other,
    /// Any worker: owners are not distinguished.
    Anyone,
}

/// A symbol of an alphabet.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct StateSymbol {
    /// The state.
    pub state: WorkerState,
    /// The owner of the state.
    pub owner: SymbolOwner,
    /// The device or worker it is split by; empty if it is not split.
    pub qualifier: String,
}

impl StateSymbol {
    /// The symbol's name in reports: `running`, `running (another)`, `block_device virtio1-req.0`.
    pub fn name(&self) -> String {
        let mut name = self.state.name().to_owned();
        if !self.qualifier.is_empty() {
            name = format!("{name} {}", self.qualifier);
        }
        match self.owner {
            SymbolOwner::Own | SymbolOwner::Anyone => name,
            SymbolOwner::Other => format!("{name} (another)"),
        }
    }
}

/// Maps states to symbols; the same for all paths that are compared.
///
/// Unsplit symbols always exist, in the order of [`WorkerState::ALL`], those of the own thread first; split ones follow
/// in the order they are [learned](Alphabet::learn). There are at most 256; further ones are not split.
#[derive(Clone, PartialEq, Debug)]
pub struct Alphabet {
    settings: AlphabetSettings,
    symbols: Vec<StateSymbol>,
    index: BTreeMap<StateSymbol, u8>,
    unsplit: u64,
}

impl Alphabet {
    /// The alphabet without split symbols.
    pub fn new(settings: AlphabetSettings) -> Alphabet {
        let owner: &[SymbolOwner] = match settings.encoding {
            Encoding::State => &[SymbolOwner::Anyone],
            Encoding::StateAndWorker => &[SymbolOwner::Own, SymbolOwner::Other],
        };
        let mut alphabet = Alphabet { settings, symbols: Vec::new(), index: BTreeMap::new(), unsplit: 0 };
        for &owner in owner {
            for state in WorkerState::ALL {
                alphabet.add(StateSymbol { state, owner, qualifier: String::new() });
            }
        }
        alphabet
    }

    /// Its settings.
    pub fn settings(&self) -> AlphabetSettings {
        self.settings
    }

    /// Adds the split symbols of a path. Must be called for all paths, in order, before any is converted.
    pub fn learn(&mut self, path: &CriticalPath, names: WorkerNames<'_>) {
        if self.settings.split_by == SplitBy::Nothing {
            return;
        }
        for segment in &path.segments {
            let symbol = self.split_symbol(path, segment, names);
            if self.index.contains_key(&symbol) {
                continue;
            }
            match self.symbols.len() < SYMBOLS_MAX {
                true => self.add(symbol),
                false => self.unsplit += 1,
            }
        }
    }

    fn add(&mut self, symbol: StateSymbol) {
        let number = u8::try_from(self.symbols.len()).expect("at most 256 symbols");
        self.index.insert(symbol.clone(), number);
        self.symbols.push(symbol);
    }

    /// The symbol of a segment: the split one if it exists, else the unsplit one.
    pub(crate) fn symbol_for(
        &self,
        path: &CriticalPath,
        segment: &PathSegment,
        names: WorkerNames<'_>,
    ) -> u8 {
        let mut symbol = self.split_symbol(path, segment, names);
        if let Some(&number) = self.index.get(&symbol) {
            return number;
        }
        symbol.qualifier.clear();
        *self.index.get(&symbol).expect("every unsplit symbol exists")
    }

    fn split_symbol(
        &self,
        path: &CriticalPath,
        segment: &PathSegment,
        names: WorkerNames<'_>,
    ) -> StateSymbol {
        let is_own = segment.worker == path.worker;
        let owner = match self.settings.encoding {
            Encoding::State => SymbolOwner::Anyone,
            Encoding::StateAndWorker if is_own => SymbolOwner::Own,
            Encoding::StateAndWorker => SymbolOwner::Other,
        };
        let qualifier = match self.settings.split_by {
            SplitBy::Device if segment.qualifier != TextId::EMPTY => {
                names.texts.text(segment.qualifier).to_owned()
            }
            SplitBy::Worker if !is_own => {
                names.name(segment.worker).trim_end_matches(|last: char| last.is_ascii_digit()).to_owned()
            }
            _ => String::new(),
        };
        StateSymbol { state: segment.state, owner, qualifier }
    }

    /// The symbols, by number.
    pub fn symbols(&self) -> &[StateSymbol] {
        &self.symbols
    }

    /// Number of symbols, at most 256.
    pub fn len(&self) -> usize {
        self.symbols.len()
    }

    /// Always false.
    pub fn is_empty(&self) -> bool {
        self.symbols.is_empty()
    }

    /// Number of segments that were not split because no symbol was left.
    pub fn unsplit(&self) -> u64 {
        self.unsplit
    }
}
