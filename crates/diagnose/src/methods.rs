//! The registry of methods: one row each. Command line, help and evaluation come from the rows.

/// A method.
#[derive(Clone, Copy, Debug)]
pub struct Method {
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
pub static METHODS: &[Method] = &[Method {
    name: "clouddiag",
    question: "Which operations on which replicas make requests slow?",
    reads: "spans or call logs",
    source: "Mi et al., IEEE TPDS 24(6), 2013",
    manual: "docs/manual/methods/clouddiag.md",
}];
