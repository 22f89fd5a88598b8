//! Names inside names: the service in a method's, the host in a file's.

/// A method's name and its parts.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Method<'a> {
    pub(super) service: &'a str,
    pub(super) operation: &'a str,
    /// The full name.
    pub(super) full_name: &'a str,
}

/// Splits `Front.list`, `front::list` or `front/list(int)` at its last separator; a parameter list is no
/// place to split. Without two parts the service is `unknown`.
#[inline]
pub(super) fn split_method(full_name: &str) -> Method<'_> {
    let full_name = if full_name.is_empty() { "unknown" } else { full_name };
    let name_end = full_name.find('(').unwrap_or(full_name.len());
    let bytes = full_name.as_bytes();
    let separates = |&index: &usize| match bytes[index] {
        b'.' | b'/' => true,
        b':' => index > 0 && bytes[index - 1] == b':',
        _ => false,
    };
    let undivided = Method { service: "unknown", operation: full_name, full_name };
    let Some(position) = (0..name_end).rev().find(separates) else { return undivided };
    let width = if bytes[position] == b':' { 2 } else { 1 };
    let (service, operation) = (&full_name[..position + 1 - width], &full_name[position + 1..]);
    if service.is_empty() || operation.is_empty() {
        return undivided;
    }
    Method { service, operation, full_name }
}

/// The host that a file is named after: its name without folder, rotation number and known endings.
pub(super) fn host_of_file(path: &str) -> Option<String> {
    const ENDINGS: [&str; 8] = [".gz", ".zst", ".zstd", ".log", ".csv", ".tsv", ".txt", ".calls"];
    let mut name = path.rsplit(['/', '\\']).next()?;
    loop {
        let ending = ENDINGS.iter().find_map(|ending| name.strip_suffix(ending));
        let rotation = || name.rsplit_once('.').filter(|(_, number)| is_number(number)).map(|(name, _)| name);
        match ending.or_else(rotation).filter(|shorter| !shorter.is_empty()) {
            Some(shorter) => name = shorter,
            None => break,
        }
    }
    (!name.is_empty()).then(|| name.to_owned())
}

fn is_number(text: &str) -> bool {
    !text.is_empty() && text.len() <= 4 && text.bytes().all(|byte| byte.is_ascii_digit())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_separator_splits_service_and_operation() {
        for (name, service, operation) in [
            ("Front.list", "Front", "list"),
            ("com.shop.Cart.add", "com.shop.Cart", "add"),
            ("shop.Cart/Add", "shop.Cart", "Add"),
            ("cart::store::get", "cart::store", "get"),
            ("Cart.add(java.lang.String)", "Cart", "add(java.lang.String)"),
            ("work", "unknown", "work"),
            ("/list", "unknown", "/list"),
            ("Front.", "unknown", "Front."),
            ("a:b", "unknown", "a:b"),
            ("Cart.add:all", "Cart", "add:all"),
            ("::b", "unknown", "::b"),
            ("", "unknown", "unknown"),
            ("dépôt.prêt", "dépôt", "prêt"),
        ] {
            let method = split_method(name);
            assert_eq!((method.service, method.operation), (service, operation), "{name}");
        }
    }

    #[test]
    fn a_file_is_named_after_its_host() {
        for (path, host) in [
            ("/var/log/calls/web-03.log.gz", "web-03"),
            ("run5/node7.csv", "node7"),
            ("web-03.example.com.log.12", "web-03.example.com"),
            ("h1", "h1"),
            (".log", ".log"),
        ] {
            assert_eq!(host_of_file(path).as_deref(), Some(host), "{path}");
        }
        assert_eq!(host_of_file("/"), None);
    }
}
