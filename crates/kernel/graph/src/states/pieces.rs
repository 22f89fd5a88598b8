//! Paths to sequences of letters.

use super::alphabet::Alphabet;
use super::names::WorkerNames;
use crate::path::CriticalPath;
use crate::worker::WorkerId;

/// A step of an execution: neighboring pieces of its path that are of the same worker and the same letter.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct StatePiece {
    /// The letter's number in the alphabet.
    pub state: u8,
    /// Whose state it is.
    pub worker: WorkerId,
    /// Its time in nanoseconds, above 0.
    pub ns: u64,
    /// The first of its pieces: a 0-based index in the path's pieces.
    pub first_piece: usize,
    /// The last of its pieces, included.
    pub last_piece: usize,
}

/// The steps of a path, in order. Together they take the path's time, and their pieces follow each other without a gap.
pub fn state_pieces(path: &CriticalPath, alphabet: &Alphabet, names: WorkerNames<'_>) -> Vec<StatePiece> {
    let mut steps: Vec<StatePiece> = Vec::new();
    for (index, piece) in path.pieces.iter().enumerate() {
        let step = StatePiece {
            state: alphabet.letter_of(path, piece, names),
            worker: piece.worker,
            ns: piece.window.ns(),
            first_piece: index,
            last_piece: index,
        };
        join(&mut steps, step);
    }
    let min_ns = alphabet.settings().min_ns.max(1);
    without_short(steps, min_ns)
}

/// Appends a step, or lengthens the last one when it is the same worker's and the same letter.
fn join(steps: &mut Vec<StatePiece>, step: StatePiece) {
    match steps.last_mut() {
        Some(last) if last.state == step.state && last.worker == step.worker => absorb(last, &step),
        _ => steps.push(step),
    }
}

fn absorb(into: &mut StatePiece, step: &StatePiece) {
    into.ns += step.ns;
    into.last_piece = step.last_piece;
}

/// Adds short steps to their predecessor, the first ones to the first that is long enough.
fn without_short(steps: Vec<StatePiece>, min_ns: u64) -> Vec<StatePiece> {
    let mut kept: Vec<StatePiece> = Vec::with_capacity(steps.len());
    let mut head: Option<StatePiece> = None;
    for mut step in steps {
        let is_short = step.ns < min_ns;
        match kept.last_mut() {
            Some(last) if is_short => absorb(last, &step),
            None if is_short => match &mut head {
                Some(head) => absorb(head, &step),
                None => head = Some(step),
            },
            _ => {
                if let Some(head) = head.take() {
                    step.ns += head.ns;
                    step.first_piece = head.first_piece;
                }
                join(&mut kept, step);
            }
        }
    }
    // Nothing is long enough: one step of whatever came first.
    kept.extend(head.filter(|head| head.ns > 0));
    kept
}
