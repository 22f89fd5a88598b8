//! The built pages in `dist` belong to the sources in `web/`.

use crate::sources::hash_of_sources;
use std::path::Path;

#[test]
fn built_pages_are_fresh() {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    let sources = hash_of_sources(&here.join("../../../web")).unwrap();
    let built = std::fs::read_to_string(here.join("sources.hash")).unwrap();
    assert_eq!(built, sources, "web/ has changed; run `cargo xtask pages`");
}
