//! Names a database query by its verb and its first table, so that queries that differ in values are one operation.

/// Longest name of a table that is used; generated names are longer.
const TABLE_BYTES_MAX: usize = 64;

/// The verb and the first table of an SQL statement: after `FROM`, `INTO`, or `UPDATE`, outside of parentheses. Quotes and the
/// names of schemas are left out. `None` for what begins with another verb, as do Redis' commands, and for a subquery.
pub(super) fn verb_and_table(query: &str) -> Option<(&'static str, &str)> {
    let mut words = query.split_ascii_whitespace();
    let verb = words.next()?;
    let is_verb = |expected: &&str| verb.eq_ignore_ascii_case(expected);
    let verb = ["SELECT", "INSERT", "UPDATE", "DELETE"].into_iter().find(is_verb)?;
    let before = match verb {
        "UPDATE" => return Some((verb, table(words.next()?)?)),
        "INSERT" => "INTO",
        _ => "FROM",
    };
    let mut depth = 0_i32;
    while let Some(word) = words.next() {
        if depth == 0 && word.eq_ignore_ascii_case(before) {
            return Some((verb, table(words.next()?)?));
        }
        let count = |bracket: char| word.matches(bracket).count() as i32;
        depth += count('(') - count(')');
    }
    None
}

/// The last part of a table's name; `None` if it is no name.
fn table(word: &str) -> Option<&str> {
    let name = word.split(['(', ',', ';']).next()?;
    let last = name.rsplit('.').next()?.trim_matches(['"', '`', '[', ']', '\'']);
    let is_name = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'$');
    (!last.is_empty() && last.len() <= TABLE_BYTES_MAX && last.bytes().all(is_name)).then_some(last)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_table_of_a_statement() {
        let cases = [
            ("SELECT id, title FROM item WHERE id = %s", ("SELECT", "item")),
            ("select count(*) from public.\"Orders\" o join line on true", ("SELECT", "Orders")),
            ("INSERT INTO orders(customer, cents) VALUES (?, ?)", ("INSERT", "orders")),
            ("UPDATE `shop`.`item` SET stock = ?", ("UPDATE", "item")),
            ("DELETE FROM cart;", ("DELETE", "cart")),
            ("\n  SELECT i.id,\n sum(n)\n  FROM item i, line", ("SELECT", "item")),
            ("SELECT extract(year FROM placed) FROM orders", ("SELECT", "orders")),
        ];
        for (query, expected) in cases {
            assert_eq!(verb_and_table(query), Some(expected), "{query}");
        }
    }

    #[test]
    fn statements_without_a_table() {
        let long = format!("SELECT 1 FROM {}", "x".repeat(TABLE_BYTES_MAX + 1));
        let cases = [
            "",
            "SELECT",
            "SELECT 1",
            "SELECT a FROM",
            "SELECT a FROM (SELECT 1)",
            "GET ?",
            "BEGIN",
            "UPDATE ?",
            &long,
        ];
        for query in cases {
            assert_eq!(verb_and_table(query), None, "{query}");
        }
    }
}
