//! Reference results and measured data lie beside the repository, not in it.

use std::path::PathBuf;

/// A folder beside the repository, or `None` (with a message on standard error) when it is not there.
#[expect(clippy::print_stderr, reason = "whoever runs the tests must see what was skipped")]
fn beside(name: &str) -> Option<PathBuf> {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../../../shared").join(name);
    if path.exists() {
        return Some(path);
    }
    eprintln!("skipped: {} is not there", path.display());
    None
}

/// The reference results in `golden/NAME.json`.
///
/// # Panics
/// When the file is there but is not JSON.
pub fn golden(name: &str) -> Option<serde_json::Value> {
    let path = beside(&format!("golden/{name}.json"))?;
    let text = std::fs::read_to_string(&path).expect("a golden file can be read");
    Some(serde_json::from_str(&text).expect("a golden file is JSON"))
}

/// The measured data under `data/NAME`.
pub fn data_folder(name: &str) -> Option<PathBuf> {
    beside(&format!("data/{name}"))
}
