//! Groups of aligned sequences, and their merging.

use super::band::Move;
use super::pairs::OccupancyBits;
use super::profile::{Profile, ProfileRow};
use crate::StateId;

/// The distinct sequences to be aligned, and how often each occurs.
pub(super) struct Distinct<'a> {
    pub(super) sequences: Vec<&'a [StateId]>,
    pub(super) weights: Vec<u32>,
}

/// Some of the sequences, aligned.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Group {
    /// Which sequences.
    pub(super) members: Vec<usize>,
    /// For each the column of each of its steps.
    pub(super) columns: Vec<Vec<u32>>,
    /// Number of columns.
    pub(super) len: usize,
}

impl Group {
    pub(super) fn single(sequence: usize, len: usize) -> Group {
        Group { members: vec![sequence], columns: vec![(0..len as u32).collect()], len }
    }

    pub(super) fn rows<'a>(&'a self, distinct: &'a Distinct<'_>) -> Vec<ProfileRow<'a>> {
        let row = |(&member, columns): (&usize, &'a Vec<u32>)| ProfileRow {
            states: distinct.sequences[member],
            columns,
            weight: distinct.weights[member],
        };
        self.members.iter().zip(&self.columns).map(row).collect()
    }

    pub(super) fn profile(&self, distinct: &Distinct<'_>) -> Profile {
        Profile::new(&self.rows(distinct), self.len)
    }

    pub(super) fn bits(&self) -> OccupancyBits {
        OccupancyBits::new(self.columns.iter().map(Vec::as_slice), self.len)
    }

    /// Merges both groups; `moves` gives the new columns.
    pub(super) fn join(&self, other: &Group, moves: &[Move]) -> Group {
        let (own_map, other_map) = column_maps(moves, self.len, other.len);
        let moved =
            |columns: &[u32], map: &[u32]| columns.iter().map(|&column| map[column as usize]).collect();
        let mut columns: Vec<Vec<u32>> = self.columns.iter().map(|row| moved(row, &own_map)).collect();
        columns.extend(other.columns.iter().map(|row| moved(row, &other_map)));
        Group { members: [self.members.as_slice(), &other.members].concat(), columns, len: moves.len() }
    }

    /// The rows of some members without empty columns, and the remaining columns.
    pub(super) fn part(&self, is_in: impl Fn(usize) -> bool) -> GroupPart {
        let selected: Vec<usize> = (0..self.members.len()).filter(|&row| is_in(self.members[row])).collect();
        let mut map = vec![0_u32; self.len];
        for &row in &selected {
            self.columns[row].iter().for_each(|&column| map[column as usize] = 1);
        }
        let is_retained: Vec<bool> = map.iter().map(|&retained| retained == 1).collect();
        let mut len = 0;
        for retained in &mut map {
            len += std::mem::replace(retained, len);
        }
        let moved = |row: &usize| self.columns[*row].iter().map(|&column| map[column as usize]).collect();
        let group = Group {
            members: selected.iter().map(|&row| self.members[row]).collect(),
            columns: selected.iter().map(moved).collect(),
            len: len as usize,
        };
        GroupPart { group, is_retained }
    }

    /// Rows in the order of their members.
    pub(super) fn sorted(mut self) -> Group {
        let mut order: Vec<usize> = (0..self.members.len()).collect();
        order.sort_by_key(|&row| self.members[row]);
        let columns = order.iter().map(|&row| std::mem::take(&mut self.columns[row])).collect();
        Group { members: order.iter().map(|&row| self.members[row]).collect(), columns, len: self.len }
    }
}

/// A part of a group.
pub(super) struct GroupPart {
    pub(super) group: Group,
    /// The group's columns that are columns of the part.
    pub(super) is_retained: Vec<bool>,
}

/// The path that merges two parts back into their group. Of runs of columns that only one part has, the first's come
/// before the second's, so that equal alignments give equal paths.
pub(super) fn path_between(first: &GroupPart, second: &GroupPart) -> Vec<Move> {
    let mut moves = Vec::with_capacity(first.is_retained.len());
    for (&first, &second) in first.is_retained.iter().zip(&second.is_retained) {
        match (first, second) {
            (true, true) => moves.push(Move::Both),
            (true, false) => moves.push(Move::First),
            (false, true) => moves.push(Move::Second),
            (false, false) => {}
        }
    }
    moves
}

/// The new column of each old one.
fn column_maps(moves: &[Move], first_len: usize, second_len: usize) -> (Vec<u32>, Vec<u32>) {
    let (mut first, mut second) = (Vec::with_capacity(first_len), Vec::with_capacity(second_len));
    for (column, step) in moves.iter().enumerate() {
        if *step != Move::Second {
            first.push(column as u32);
        }
        if *step != Move::First {
            second.push(column as u32);
        }
    }
    (first, second)
}
