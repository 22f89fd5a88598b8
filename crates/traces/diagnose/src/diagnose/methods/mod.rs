//! The registry of methods. Every method declares its row in its own file; command line, help and evaluation use them.

pub(crate) mod combined;
mod published;

use crate::diagnose::question::DiagnoseMethod;
use laggard_model::MethodRow;

/// Every method; the first is the default.
pub static METHODS: &[MethodRow<DiagnoseMethod>] =
    &[combined::ROW, published::clouddiag::ROW, published::pca::ROW];

impl Default for DiagnoseMethod {
    fn default() -> DiagnoseMethod {
        METHODS[0].method
    }
}

impl DiagnoseMethod {
    /// The method of a name, if there is one.
    pub fn from_name(name: &str) -> Option<DiagnoseMethod> {
        METHODS.iter().find(|row| row.name == name).map(|row| row.method)
    }
}
