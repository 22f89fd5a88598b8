//! The band of the alignment table that is computed.

/// How one alignment consumes columns of two profiles.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Move {
    /// A column of each.
    Both,
    /// A column of the first, a gap in the second.
    First,
    /// A column of the second, a gap in the first.
    Second,
}

/// For every row `0..=n` of the table the columns `low..high` of `0..=m` that are computed.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Band {
    pub(super) low: Vec<u32>,
    pub(super) high: Vec<u32>,
}

/// A path through the table from corner to corner, as the first and last column of each row.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Guide {
    first: Vec<u32>,
    last: Vec<u32>,
}

impl Guide {
    /// Straight from corner to corner.
    pub(super) fn straight(n: usize, m: usize) -> Guide {
        Guide::through(n, m, &[])
    }

    /// Straight from anchor to anchor. Anchors are pairs of positions, ascending in both.
    pub(super) fn through(n: usize, m: usize, anchors: &[(usize, usize)]) -> Guide {
        let mut guide = Guide { first: Vec::with_capacity(n + 1), last: Vec::with_capacity(n + 1) };
        let (mut from, mut current) = ((0, 0), 0);
        for &(row, column) in anchors.iter().chain(&[(n, m)]) {
            let (rows, columns) = (row - from.0, column - from.1);
            for step in 0..rows {
                let next = from.1 + columns * (step + 1) / rows;
                guide.first.push(current as u32);
                guide.last.push(next as u32);
                current = next;
            }
            from = (row, column);
        }
        guide.first.push(current as u32);
        guide.last.push(m as u32);
        guide
    }

    /// Along an alignment.
    pub(super) fn along(moves: &[Move]) -> Guide {
        let mut guide = Guide { first: vec![0], last: Vec::new() };
        let mut column = 0;
        for step in moves {
            column += u32::from(*step != Move::First);
            if *step != Move::Second {
                let leaves = if *step == Move::Both { column - 1 } else { column };
                guide.last.push(leaves);
                guide.first.push(column);
            }
        }
        guide.last.push(column);
        guide
    }

    /// All cells at most `half` columns from the path.
    pub(super) fn band(&self, m: usize, half: usize) -> Band {
        let half = u32::try_from(half).unwrap_or(u32::MAX);
        let end = m as u32 + 1;
        Band {
            low: self.first.iter().map(|first| first.saturating_sub(half)).collect(),
            high: self.last.iter().map(|last| last.saturating_add(half).saturating_add(1).min(end)).collect(),
        }
    }
}

impl Band {
    pub(super) fn cells(&self) -> u64 {
        self.low.iter().zip(&self.high).map(|(low, high)| u64::from(high - low)).sum()
    }

    pub(super) fn width_max(&self) -> usize {
        self.low.iter().zip(&self.high).map(|(low, high)| (high - low) as usize).max().unwrap_or(0)
    }

    /// Whether a path runs along the edge of the band where there would be more beyond it.
    pub(super) fn is_touched_by(&self, moves: &[Move], m: usize) -> bool {
        let (mut row, mut column) = (0_usize, 0_u32);
        let touches = |row: usize, column: u32| {
            (column == self.low[row] && column > 0) || (column + 1 == self.high[row] && column < m as u32)
        };
        moves.iter().any(|step| {
            row += usize::from(*step != Move::Second);
            column += u32::from(*step != Move::First);
            touches(row, column)
        })
    }
}
