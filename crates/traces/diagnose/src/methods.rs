//! The registry of methods: one row each. Command line, help and evaluation come from the rows.

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

/// How a method that looks for changes is picked.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum ChangeMethod {
    /// Changes found with the noise that the data show: no error has to be allowed in advance.
    #[default]
    Tuned,
    /// Segmentation for an allowed error.
    Cherkasova,
}

impl ChangeMethod {
    /// The word for `--method`.
    pub fn name(self) -> &'static str {
        let row = CHANGE_METHODS.iter().find(|row| row.method == self);
        row.expect("every method has a row").name
    }
}

/// A method of one question.
#[derive(Clone, Copy, Debug)]
pub struct Method<M = DiagnoseMethod> {
    /// How it is picked.
    pub method: M,
    /// The word for `--method`.
    pub name: &'static str,
    /// The question it answers.
    pub question: &'static str,
    /// What it reads.
    pub reads: &'static str,
    /// Where it was published.
    pub source: &'static str,
    /// Path of its page in the manual, from the repository's root.
    pub manual: &'static str,
}

/// Every method; the first is the default of `laggard diagnose`.
pub static METHODS: &[Method] = &[
    Method {
        method: DiagnoseMethod::Combined,
        name: "combined",
        question: "Which operations on which replicas make requests slow, since when, and against what?",
        reads: "spans or call logs; optionally a baseline",
        source: "this project, from published methods",
        manual: "docs/manual/methods/combined.md",
    },
    Method {
        method: DiagnoseMethod::CloudDiag,
        name: "clouddiag",
        question: "Which operations on which replicas make requests slow?",
        reads: "spans or call logs",
        source: "Mi et al., IEEE TPDS 24(6), 2013",
        manual: "docs/manual/methods/clouddiag.md",
    },
    Method {
        method: DiagnoseMethod::Pca,
        name: "pca",
        question: "Which operations set anomalous requests apart, and on which replicas?",
        reads: "spans or call logs",
        source: "Mi et al., Sci. China Inf. Sci. 55(12), 2012",
        manual: "docs/manual/methods/pca.md",
    },
];

/// Every method of `laggard changes`; the first is the default.
pub static CHANGE_METHODS: &[Method<ChangeMethod>] = &[
    Method {
        method: ChangeMethod::Tuned,
        name: "tuned",
        question: "Code, workload or something foreign: since when do transactions cost something else?",
        reads: "transactions and CPU by window",
        source: "this project, from Cherkasova et al. 2009",
        manual: "docs/manual/methods/changes.md",
    },
    Method {
        method: ChangeMethod::Cherkasova,
        name: "cherkasova",
        question: "The same, as published: segments whose models stay within an allowed error",
        reads: "transactions and CPU by window",
        source: "Cherkasova et al., ACM TOCS 27(3), 2009",
        manual: "docs/manual/methods/cherkasova.md",
    },
];
