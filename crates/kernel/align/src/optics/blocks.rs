//! Memory layout of points for vectorized distances from one point to many.

use laggard_numeric::Matrix;

/// Points of a block.
pub(super) const LANES: usize = 16;

/// Points in blocks of [`LANES`], each block column by column. The last block is filled up with points at infinity,
/// whose distance from every other is infinite or, from far out, NaN: never smaller than anything.
pub(super) struct Blocks {
    columns: usize,
    values: Vec<f64>,
    /// The row of each point; padded with `usize::MAX`.
    rows: Vec<usize>,
}

impl Blocks {
    /// Copies the given rows, in this order.
    pub(super) fn gather(points: &Matrix, rows: &[usize]) -> Blocks {
        let columns = points.cols();
        let count = rows.len().div_ceil(LANES);
        let mut values = vec![f64::INFINITY; count * LANES * columns];
        for (position, &row) in rows.iter().enumerate() {
            let (block, lane) = (position / LANES, position % LANES);
            for (column, &value) in points.row(row).iter().enumerate() {
                values[(block * columns + column) * LANES + lane] = value;
            }
        }
        let mut rows = rows.to_vec();
        rows.resize(count * LANES, usize::MAX);
        Blocks { columns, values, rows }
    }

    /// Number of blocks.
    pub(super) fn count(&self) -> usize {
        self.rows.len() / LANES
    }

    /// The row of each point, block after block.
    pub(super) fn rows(&self) -> &[usize] {
        &self.rows
    }

    /// Squared distances from a point to those of a block.
    #[inline(always)]
    pub(super) fn squared_distances(&self, block: usize, from: &[f64]) -> [f64; LANES] {
        let mut squares = [0.0; LANES];
        let start = block * self.columns * LANES;
        let values = &self.values[start..start + self.columns * LANES];
        for (column, &own) in values.chunks_exact(LANES).zip(from) {
            for (square, &value) in squares.iter_mut().zip(column) {
                let difference = value - own;
                *square += difference * difference;
            }
        }
        squares
    }
}
