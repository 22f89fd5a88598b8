//! Eigenvectors of small symmetric matrices, by the implicit QL method (Bowdler, Martin, Reinsch, and Wilkinson 1968). Most of its time is spent
//! on plane rotations of two columns, which are compiled for the widest vectors here; nalgebra's are not.

use nalgebra::DMatrix;
use nalgebra::linalg::SymmetricTridiagonal;
use pulp::{Arch, Simd, WithSimd};

/// Sweeps after which an eigenvalue is given up; it needs about two.
const SWEEPS_MAX: u32 = 100;

/// Eigenvalues in no order, and a column each.
pub(crate) struct EigenPairs {
    pub(crate) values: Vec<f64>,
    pub(crate) vectors: DMatrix<f64>,
}

/// The eigenvalues and eigenvectors of a symmetric matrix, of which only the lower triangle is read, in `O(p³)`. `None` when
/// they do not converge, as when something is not finite.
pub(crate) fn eigen_pairs(mut matrix: DMatrix<f64>) -> Option<EigenPairs> {
    let largest = matrix.amax();
    if matrix.is_empty() || largest == 0.0 {
        let size = matrix.nrows();
        return Some(EigenPairs { values: vec![0.0; size], vectors: DMatrix::identity(size, size) });
    }
    // Squares neither overflow nor vanish in a matrix of numbers up to 1.
    matrix /= largest;
    let (mut vectors, diagonal, beside) = SymmetricTridiagonal::new(matrix).unpack();
    let mut values = diagonal.as_slice().to_vec();
    let mut beside = beside.as_slice().to_vec();
    beside.push(0.0);
    let converged = Arch::new().dispatch(ImplicitQl {
        diagonal: &mut values,
        beside: &mut beside,
        vectors: vectors.as_mut_slice(),
    });
    values.iter_mut().for_each(|value| *value *= largest);
    converged.then_some(EigenPairs { values, vectors })
}

/// A tridiagonal matrix in the basis of some vectors; made diagonal in that of its eigenvectors.
struct ImplicitQl<'a> {
    diagonal: &'a mut [f64],
    /// Element `i` is beside the diagonal in row `i`; the last is 0.
    beside: &'a mut [f64],
    /// Column-major.
    vectors: &'a mut [f64],
}

impl WithSimd for ImplicitQl<'_> {
    /// Whether all eigenvalues converged.
    type Output = bool;

    #[inline(always)]
    fn with_simd<S: Simd>(mut self, _: S) -> bool {
        (0..self.diagonal.len()).all(|first| self.isolate(first))
    }
}

impl ImplicitQl<'_> {
    /// Sweeps until nothing is beside the diagonal in row `first`.
    #[inline(always)]
    fn isolate(&mut self, first: usize) -> bool {
        for _ in 0..SWEEPS_MAX {
            let last = self.block_end(first);
            if last == first {
                return true;
            }
            self.sweep(first, last);
        }
        false
    }

    /// The last row of the block that begins at `first`: beside its diagonal is nothing but rounding.
    #[inline(always)]
    fn block_end(&self, first: usize) -> usize {
        let is_end = |&row: &usize| {
            let next = self.diagonal.get(row + 1).map_or(0.0, |value| value.abs());
            self.beside[row].abs() <= f64::EPSILON * (self.diagonal[row].abs() + next)
        };
        (first..self.diagonal.len()).find(is_end).unwrap_or(self.diagonal.len() - 1)
    }

    /// One QL step of the block, shifted by the eigenvalue of its leading 2 x 2 block that is closest to its first element.
    #[inline(always)]
    fn sweep(&mut self, first: usize, last: usize) {
        let (diagonal, beside) = (&mut *self.diagonal, &mut *self.beside);
        let half = (diagonal[first + 1] - diagonal[first]) / (2.0 * beside[first]);
        let root = (half * half + 1.0).sqrt().copysign(half);
        let mut bulge = diagonal[last] - diagonal[first] + beside[first] / (half + root);
        let (mut sine, mut cosine, mut shift) = (1.0, 1.0, 0.0);
        let size = diagonal.len();
        for row in (first..last).rev() {
            let (f, b) = (sine * beside[row], cosine * beside[row]);
            let norm = (f * f + bulge * bulge).sqrt();
            beside[row + 1] = norm;
            if norm == 0.0 {
                // The block falls apart here.
                diagonal[row + 1] -= shift;
                beside[last] = 0.0;
                return;
            }
            (sine, cosine) = (f / norm, bulge / norm);
            let rest = diagonal[row + 1] - shift;
            let moved = (diagonal[row] - rest) * sine + 2.0 * cosine * b;
            shift = sine * moved;
            diagonal[row + 1] = rest + shift;
            bulge = cosine * moved - b;
            let (lower, upper) = self.vectors[row * size..(row + 2) * size].split_at_mut(size);
            for (a, b) in lower.iter_mut().zip(upper) {
                (*a, *b) = (cosine * *a - sine * *b, sine * *a + cosine * *b);
            }
        }
        diagonal[first] -= shift;
        beside[first] = bulge;
        beside[last] = 0.0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Largest deviation of `A V` from `V D`, and of `V' V` from one.
    fn deviations(matrix: &DMatrix<f64>, eigen: &EigenPairs) -> (f64, f64) {
        let scaled = &eigen.vectors * DMatrix::from_diagonal(&eigen.values.clone().into());
        let identity = DMatrix::identity(matrix.nrows(), matrix.nrows());
        (
            (matrix * &eigen.vectors - scaled).amax(),
            (eigen.vectors.transpose() * &eigen.vectors - identity).amax(),
        )
    }

    fn check(matrix: &DMatrix<f64>) -> Result<(), TestCaseError> {
        let found = eigen_pairs(matrix.clone()).expect("it converges");
        let (residual, skew) = deviations(matrix, &found);
        prop_assert!(residual <= 1e-13 * matrix.amax() * matrix.nrows() as f64, "{residual}");
        prop_assert!(skew <= 1e-13 * matrix.nrows() as f64, "{skew}");
        let mut values = found.values;
        values.sort_by(f64::total_cmp);
        let mut expected = matrix.symmetric_eigenvalues().as_slice().to_vec();
        expected.sort_by(f64::total_cmp);
        for (value, expected) in values.iter().zip(expected) {
            prop_assert!((value - expected).abs() <= 1e-12 * matrix.amax() * matrix.nrows() as f64);
        }
        Ok(())
    }

    /// Random orthonormal vectors with given eigenvalues.
    fn with_eigenvalues(values: &[f64], entries: &[f64]) -> DMatrix<f64> {
        let size = values.len();
        let basis =
            DMatrix::from_fn(size, size, |i, j| entries[(i * size + j) % entries.len()] + f64::from(i == j));
        let basis = basis.qr().q();
        let matrix = &basis * DMatrix::from_diagonal(&values.to_vec().into()) * basis.transpose();
        (&matrix + matrix.transpose()) / 2.0
    }

    proptest! {
        #[test]
        fn eigenvectors_of_gram_matrices(
            size in 1_usize..40,
            rows in 1_usize..60,
            scale in -100_i32..100,
            entries in prop::collection::vec(-1.0..1.0_f64, 97),
        ) {
            let matrix = DMatrix::from_fn(rows, size, |i, j| entries[(i * 31 + j * 7) % 97] * f64::from(scale).exp2());
            check(&(matrix.transpose() * &matrix))?;
        }

        #[test]
        fn eigenvalues_that_are_equal_or_far_apart(
            values in prop::collection::vec(prop_oneof![Just(0.0), Just(1.0), Just(1e-9), Just(1e6), -1.0..1.0_f64], 1..30),
            entries in prop::collection::vec(-1.0..1.0_f64, 89),
        ) {
            check(&with_eigenvalues(&values, &entries))?;
        }
    }

    #[test]
    fn a_matrix_that_is_diagonal_or_zero_has_its_diagonal() {
        for diagonal in [vec![3.0, -1.0, 0.0, 3.0], vec![0.0; 3], vec![7.0], vec![]] {
            let matrix = DMatrix::from_diagonal(&diagonal.clone().into());
            let found = eigen_pairs(matrix.clone()).expect("it converges");
            assert_eq!(deviations(&matrix, &found), (0.0, 0.0));
            assert_eq!(found.values, diagonal);
        }
    }

    #[test]
    fn what_is_not_a_number_does_not_converge() {
        let mut matrix = DMatrix::identity(3, 3);
        matrix[(1, 0)] = f64::NAN;
        assert!(eigen_pairs(matrix).is_none());
    }
}
