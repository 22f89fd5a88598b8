//! Products of vectors and matrices.

use laggard_numeric::Matrix;

/// `aᵀ b`.
pub(crate) fn dot(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

/// `A B`.
pub(crate) fn product(a: &Matrix, b: &Matrix) -> Matrix {
    let mut out = Matrix::zeros(a.rows(), b.cols());
    for i in 0..a.rows() {
        for (k, &value) in a.row(i).iter().enumerate() {
            out.row_mut(i).iter_mut().zip(b.row(k)).for_each(|(sum, other)| *sum += value * other);
        }
    }
    out
}

/// `Aᵀ`.
pub(crate) fn transposed(matrix: &Matrix) -> Matrix {
    let mut out = Matrix::zeros(matrix.cols(), matrix.rows());
    for i in 0..matrix.rows() {
        for j in 0..matrix.cols() {
            out.set(j, i, matrix.get(i, j));
        }
    }
    out
}

/// `A` without its first row and column: the covariance of the demands from that of constant and demands.
pub(crate) fn without_first(matrix: &Matrix) -> Matrix {
    let size = matrix.rows() - 1;
    let mut out = Matrix::zeros(size, size);
    for i in 0..size {
        out.row_mut(i).copy_from_slice(&matrix.row(i + 1)[1..]);
    }
    out
}

/// `XᵀX`.
pub(crate) fn gram(x: &Matrix) -> Matrix {
    let mut gram = Matrix::zeros(x.cols(), x.cols());
    for row in 0..x.rows() {
        add_outer(&mut gram, x.row(row), 1.0);
    }
    mirror(&mut gram);
    gram
}

/// Adds `weight · x xᵀ` to the lower triangle.
pub(crate) fn add_outer(gram: &mut Matrix, x: &[f64], weight: f64) {
    for (i, &value) in x.iter().enumerate() {
        if value == 0.0 {
            continue;
        }
        let scaled = weight * value;
        for (sum, &other) in gram.row_mut(i)[..=i].iter_mut().zip(x) {
            *sum += scaled * other;
        }
    }
}

/// Copies the lower triangle to the upper.
pub(crate) fn mirror(gram: &mut Matrix) {
    for i in 0..gram.rows() {
        for j in 0..i {
            gram.set(j, i, gram.get(i, j));
        }
    }
}
