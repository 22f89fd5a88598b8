//! Reference results, which are in this crate's folder, and measured data, which lies beside the repository.

use crate::skip::{Missing, skip};
use std::path::{Path, PathBuf};

/// The reference results in `golden/NAME.json`; `golden/README.md` describes each.
///
/// # Panics
/// When there is no such file, or it is not JSON.
pub fn golden(name: &str) -> serde_json::Value {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("golden").join(format!("{name}.json"));
    let text = std::fs::read_to_string(&path);
    let text = text.unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    serde_json::from_str(&text).expect("a golden file is JSON")
}

/// The folder of measured data: `../shared/data` beside the repository, or `LAGGARD_DATA`.
pub fn measured_data() -> PathBuf {
    let default_folder = || Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../../shared/data");
    std::env::var_os("LAGGARD_DATA").map_or_else(default_folder, PathBuf::from)
}

/// A folder of the measured data; `None`, and the test counts as skipped, when it is not there.
pub fn data_folder(name: &str) -> Option<PathBuf> {
    let path = measured_data().join(name);
    if path.exists() {
        return Some(path);
    }
    skip(Missing::Data, &format!("no measured data ../shared/data/{name}"));
    None
}
