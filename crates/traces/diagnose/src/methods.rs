//! The registry of methods: one row each. Command line, help and evaluation come from the rows.

use laggard_model::MethodRow;

/// How a method is picked.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum DiagnoseMethod {
    /// Everything that helps: sites compared with peers, with a baseline and over time, and CloudDiag.
    #[default]
    Combined,
    /// Dispersion of categories, robust PCA of their times.
    CloudDiag,
    /// Anomalous requests by principal components, operations by rank tests.
    Pca,
}

impl DiagnoseMethod {
    /// The word for `--method`.
    pub fn name(self) -> &'static str {
        let row = METHODS.iter().find(|row| row.method == self);
        row.expect("every method has a row").name
    }
}

/// Every method; the first is the default of `laggard diagnose`.
pub static METHODS: &[MethodRow<DiagnoseMethod>] = &[
    MethodRow {
        method: DiagnoseMethod::Combined,
        name: "combined",
        question: "Which operations on which replicas make requests slow, since when, and against what?",
        reads: "spans or call logs; optionally a baseline",
        source: "this project, from published methods",
        manual: "docs/manual/methods/combined.md",
    },
    MethodRow {
        method: DiagnoseMethod::CloudDiag,
        name: "clouddiag",
        question: "Which operations on which replicas make requests slow?",
        reads: "spans or call logs",
        source: "Mi et al., IEEE TPDS 24(6), 2013",
        manual: "docs/manual/methods/clouddiag.md",
    },
    MethodRow {
        method: DiagnoseMethod::Pca,
        name: "pca",
        question: "Which operations set anomalous requests apart, and on which replicas?",
        reads: "spans or call logs",
        source: "Mi et al., Sci. China Inf. Sci. 55(12), 2012",
        manual: "docs/manual/methods/pca.md",
    },
];
