//! Names of transactions: path templates, a bounded number of them.

use super::record::LogRecord;
use crate::conventions::replace_ids;
use crate::text::char_boundary;
use std::collections::HashMap;

// Limit: transaction names of an access log | `name_limit`: `(other)`
/// Distinct names; more are pooled.
pub(super) const NAMES_MAX: usize = 1_000;
/// Bytes of a name; longer ones are cut.
const NAME_BYTES_MAX: usize = 200;

/// Objects that belong to no page.
pub(super) const OBJECTS: &str = "(objects)";
/// Requests that the client got wrong, and those that the server failed.
const ERRORS: [&str; 2] = ["(4xx)", "(5xx)"];
const OTHER: &str = "(other)";

/// Handle of a name.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct NameId(u32);

/// The names so far.
#[derive(Debug)]
pub(super) struct TransactionNames {
    names: Vec<String>,
    ids: HashMap<String, NameId>,
    template: String,
}

const RESERVED: [&str; 4] = [OBJECTS, ERRORS[0], ERRORS[1], OTHER];

impl TransactionNames {
    pub(super) fn new() -> TransactionNames {
        let names = RESERVED.map(str::to_owned).to_vec();
        TransactionNames { names, ids: HashMap::new(), template: String::new() }
    }

    pub(super) const fn other() -> NameId {
        NameId(3)
    }

    pub(super) fn text(&self, id: NameId) -> &str {
        &self.names[id.0 as usize]
    }

    /// The name of a page; that of all others when there are too many already.
    pub(super) fn page_name(&mut self, record: &LogRecord<'_>) -> NameId {
        match record.status {
            400..=499 => return NameId(1),
            500.. => return NameId(2),
            _ => {}
        }
        self.template.clear();
        if record.method != "GET" {
            self.template.push_str(record.method);
            self.template.push(' ');
        }
        append_template(record.path, &mut self.template);
        if self.template.len() > NAME_BYTES_MAX {
            self.template.truncate(char_boundary(&self.template, NAME_BYTES_MAX));
        }
        if let Some(&id) = self.ids.get(&self.template) {
            return id;
        }
        if self.ids.len() == NAMES_MAX {
            return TransactionNames::other();
        }
        let id = NameId(self.names.len() as u32);
        self.names.push(self.template.clone());
        self.ids.insert(self.template.clone(), id);
        id
    }
}

/// Writes a path with its ids replaced. Beyond what is done to names of spans, every segment that is a number is an
/// id, since addresses are not deliberate names.
fn append_template(path: &str, out: &mut String) {
    let is_number = |segment: &str| !segment.is_empty() && segment.bytes().all(|byte| byte.is_ascii_digit());
    if !path.split('/').any(|segment| segment.len() == 1 && is_number(segment)) {
        return replace_ids(path, out);
    }
    let numbered = path.split('/').map(|segment| if is_number(segment) { "{id}" } else { segment });
    replace_ids(&numbered.collect::<Vec<_>>().join("/"), out);
}

/// Whether a path is of an object that pages embed, by its extension.
pub(super) fn is_object(path: &str) -> bool {
    const OBJECTS: [&str; 30] = [
        "css",
        "js",
        "mjs",
        "map",
        "wasm",
        "png",
        "jpg",
        "jpeg",
        "gif",
        "svg",
        "ico",
        "webp",
        "avif",
        "bmp",
        "cur",
        "woff",
        "woff2",
        "ttf",
        "otf",
        "eot",
        "mp3",
        "mp4",
        "webm",
        "ogg",
        "ogv",
        "wav",
        "m4a",
        "m4v",
        "swf",
        "webmanifest",
    ];
    let name = path.rsplit('/').next().unwrap_or_default();
    let Some((_, extension)) = name.rsplit_once('.') else { return false };
    OBJECTS.iter().any(|object| object.eq_ignore_ascii_case(extension))
}

/// Whether a path is of data that scripts of a page request.
pub(super) fn is_data(path: &str) -> bool {
    const FOLDERS: [&str; 5] = ["api", "ajax", "graphql", "rest", "xhr"];
    let is_folder = path.split('/').any(|part| FOLDERS.iter().any(|name| name.eq_ignore_ascii_case(part)));
    let extension = path.rsplit('/').next().and_then(|name| name.rsplit_once('.')).map_or("", |(_, it)| it);
    is_folder || extension.eq_ignore_ascii_case("json") || extension.eq_ignore_ascii_case("xml")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn segments_that_are_numbers_are_ids() {
        for (path, expected) in [
            ("/cart/7", "/cart/{id}"),
            ("/7", "/{id}"),
            ("/a/1/b/2x/3", "/a/{id}/b/2x/{id}"),
            ("/cart/4711/items", "/cart/{id}/items"),
            ("/api/v2/list", "/api/v2/list"),
            ("//", "//"),
        ] {
            let mut out = String::new();
            append_template(path, &mut out);
            assert_eq!(out, expected);
        }
    }

    #[test]
    fn objects_and_data_are_recognized_by_their_paths() {
        for path in ["/a/logo.PNG", "/x.min.js", "/fonts/a.woff2", "/favicon.ico"] {
            assert!(is_object(path), "{path}");
        }
        for path in ["/", "/cart", "/index.html", "/a.php", "/v1.2/list", "/a.png/view", "/js"] {
            assert!(!is_object(path), "{path}");
        }
        for path in ["/api/cart", "/v1/API/x", "/x.json", "/graphql"] {
            assert!(is_data(path), "{path}");
        }
        for path in ["/", "/apiary", "/rested"] {
            assert!(!is_data(path), "{path}");
        }
    }
}
