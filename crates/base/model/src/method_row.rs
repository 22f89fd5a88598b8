//! A row of a registry of methods.

/// One method that answers a question, as `laggard methods` lists it. `M` is the enum that selects the method.
#[derive(Clone, Copy, Debug)]
pub struct MethodRow<M> {
    /// Selects the method.
    pub method: M,
    /// The value of `--method`.
    pub name: &'static str,
    /// The question it answers.
    pub question: &'static str,
    /// The data it reads.
    pub reads: &'static str,
    /// The publication that describes it.
    pub source: &'static str,
    /// Path of its page in the manual, from the repository's root.
    pub manual: &'static str,
}
