//! The pages of the service as part of the binary: the files in `dist`, built from `web/` by `cargo xtask pages`.

include!(concat!(env!("OUT_DIR"), "/pages.rs"));

/// A file of the pages.
#[derive(Debug)]
pub struct Asset {
    /// Path without a leading slash: `assets/app.js`.
    pub path: &'static str,
    /// The value of the header `ETag`, quotes included.
    pub etag: &'static str,
    /// The file uncompressed.
    pub identity: &'static [u8],
    /// Compressed with gzip, where that saves at least a tenth.
    pub gzip: Option<&'static [u8]>,
}

impl Asset {
    /// Its media type, by its extension.
    pub fn media_type(&self) -> &'static str {
        let end = self.path.rsplit_once('.').map_or("", |(_, end)| end);
        match end {
            "html" => "text/html; charset=utf-8",
            "js" | "mjs" => "text/javascript; charset=utf-8",
            "css" => "text/css; charset=utf-8",
            "svg" => "image/svg+xml",
            "png" => "image/png",
            "ico" => "image/vnd.microsoft.icon",
            "json" => "application/json",
            "txt" => "text/plain; charset=utf-8",
            "woff2" => "font/woff2",
            _ => "application/octet-stream",
        }
    }
}

/// The file with this path, which has no leading slash.
pub fn asset(path: &str) -> Option<&'static Asset> {
    PAGES.binary_search_by(|asset| asset.path.cmp(path)).ok().map(|position| &PAGES[position])
}

/// The page at every URL of the pages; scripts then show the right one.
pub fn index() -> &'static Asset {
    asset("index.html").expect("the build checks that it exists")
}

/// Whether the pages have one for a path, by the list of their routes: `/traces/:id` is a page for every trace. Without such a list, as
/// with pages that were left out, everything is.
pub fn is_page(path: &str) -> bool {
    let Some(routes) = asset("routes.txt").and_then(|asset| std::str::from_utf8(asset.identity).ok()) else {
        return true;
    };
    let parts = |path: &'static str| path.split('/').filter(|part| !part.is_empty());
    let named: Vec<&str> = path.split('/').filter(|part| !part.is_empty()).collect();
    let is_route = |route: &'static str| {
        parts(route).count() == named.len()
            && parts(route).zip(&named).all(|(part, name)| part.starts_with(':') || part == *name)
    };
    path.ends_with("/index.html") || routes.lines().any(is_route)
}

/// Whether the pages were not left out by `LAGGARD_PAGES=skip`.
pub fn is_built() -> bool {
    asset("theme.js").is_some()
}

/// Every file, by path.
pub fn assets() -> &'static [Asset] {
    PAGES
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_file_is_found_by_its_path() {
        for known in assets() {
            let found = asset(known.path).expect("it is listed");
            assert!(std::ptr::eq(found, known), "{}", known.path);
            assert_ne!(found.media_type(), "application/octet-stream", "{}", known.path);
        }
        assert!(asset("").is_none() && asset("assets").is_none() && asset("../Cargo.toml").is_none());
        assert!(index().identity.starts_with(b"<!doctype html>"));
    }

    #[test]
    fn compressed_variants_have_the_same_content() {
        for known in assets() {
            if let Some(gzip) = known.gzip {
                let mut unpacked = Vec::new();
                let mut reader = flate2::read::GzDecoder::new(gzip);
                std::io::Read::read_to_end(&mut reader, &mut unpacked).unwrap();
                assert!(unpacked == known.identity, "{}", known.path);
            }
            assert!(known.gzip.map_or(0, <[u8]>::len) < known.identity.len(), "{}", known.path);
        }
    }

    #[test]
    fn pages_have_no_inline_code_and_load_no_external_resources() {
        let page = std::str::from_utf8(index().identity).unwrap();
        assert!(
            !page.contains("<style") && !page.contains("style=") && !page.contains(" onclick="),
            "{page}"
        );
        for script in page.split("<script").skip(1) {
            let (attributes, rest) = script.split_once('>').expect("a tag ends");
            assert!(attributes.contains("src=\"/") && rest.starts_with("</script>"), "{attributes}");
        }
        let elsewhere =
            page.split(['"', '\'']).find(|text| text.starts_with("http") || text.starts_with("//"));
        assert_eq!(elsewhere, None);
    }
}
