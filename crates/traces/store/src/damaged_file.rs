//! What is reported of damaged files.

/// A damaged or missing file.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct DamagedFile {
    /// Its path in the folder.
    pub file: String,
    /// What is wrong with it.
    pub text: String,
    /// What is lost with it.
    pub lost: String,
}

/// `1 span`, `7 spans`.
pub(crate) fn counted(number: u64, singular: &str, plural: &str) -> String {
    if number == 1 { format!("1 {singular}") } else { format!("{number} {plural}") }
}
