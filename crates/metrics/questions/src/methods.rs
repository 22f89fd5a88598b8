//! The registry of methods, one row each, for the command line, help and evaluation.

use laggard_model::MethodRow;

/// A method that finds changes.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum ChangeMethod {
    /// Estimates the noise level from the data, so that no error has to be allowed in advance.
    #[default]
    Adaptive,
    /// Segmentation for an allowed error.
    Cherkasova,
}

impl ChangeMethod {
    /// The name for `--method`.
    pub fn name(self) -> &'static str {
        let row = CHANGE_METHODS.iter().find(|row| row.method == self);
        row.expect("every method has a row").name
    }
}

/// Every method of `laggard changes`; the first is the default.
pub static CHANGE_METHODS: &[MethodRow<ChangeMethod>] = &[
    MethodRow {
        method: ChangeMethod::Adaptive,
        name: "adaptive",
        question: "Code, workload, or another process: what changed the CPU use, and when?",
        reads: "transactions and CPU by window",
        source: "this project, from Cherkasova et al. 2009",
        manual: "docs/manual/methods/changes.md",
    },
    MethodRow {
        method: ChangeMethod::Cherkasova,
        name: "cherkasova",
        question: "The same, as published: segments whose models stay within an allowed error",
        reads: "transactions and CPU by window",
        source: "Cherkasova et al., ACM TOCS 27(3), 2009",
        manual: "docs/manual/methods/cherkasova.md",
    },
];
