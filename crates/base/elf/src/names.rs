//! Names of functions as people write them, in the symbols that compilers make of them.

/// The path of a C++ or Rust function: `shop::handle` of `_ZN4shop6handleEi` and of `_ZN4shop6handle17h0123456789abcdefE`. `None`
/// for other symbols, and for those whose path has more than names in it (templates, operators).
pub fn function_path(symbol: &str) -> Option<String> {
    let mangled = symbol.strip_prefix("_Z")?;
    let (mut rest, is_nested) = match mangled.strip_prefix('N') {
        Some(nested) => (nested.strip_prefix('K').unwrap_or(nested), true),
        None => (mangled, false),
    };
    let mut names = Vec::new();
    while rest.starts_with(|first: char| first.is_ascii_digit()) {
        let digits = rest.bytes().take_while(u8::is_ascii_digit).count();
        let length: usize = rest[..digits].parse().ok()?;
        let end = digits.checked_add(length)?;
        names.push(rest.get(digits..end)?);
        rest = &rest[end..];
        if !is_nested {
            break;
        }
    }
    if names.is_empty() || (is_nested && !rest.starts_with('E')) {
        return None;
    }
    // The last part of a Rust path is a hash.
    if names.len() > 1 && names.last().is_some_and(|name| is_hash(name)) {
        names.pop();
    }
    Some(names.join("::"))
}

fn is_hash(name: &str) -> bool {
    name.strip_prefix('h')
        .is_some_and(|digits| digits.len() == 16 && digits.bytes().all(|digit| digit.is_ascii_hexdigit()))
}

#[cfg(test)]
mod tests {
    use super::function_path;

    #[test]
    fn paths_are_read_from_the_symbols_of_compilers() {
        for (symbol, path) in [
            ("_Z6handlei", Some("handle")),
            ("_ZN4shop6handleEi", Some("shop::handle")),
            ("_ZNK4shop4Cart5totalEv", Some("shop::Cart::total")),
            ("_ZN4shop6handle17h0123456789abcdefE", Some("shop::handle")),
            ("_ZN4shop4ListIiE3addEi", None),
            ("_ZN4shop99handleE", None),
            ("_ZN99999999999999999999aE", None),
            ("_ZN3é", None),
            ("_ZN", None),
            ("_Z", None),
            ("handle", None),
        ] {
            assert_eq!(function_path(symbol).as_deref(), path, "{symbol}");
        }
    }
}
