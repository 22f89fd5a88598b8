//! The part of TraceQL that selects spans by their own fields: one `{ … }`, which Grafana's search form writes.
//!
//! ```text
//! query      = "{" [ any ] "}" [ "with" "(" "most_recent" "=" bool ")" ]
//! any        = all { "||" all }
//! all        = one { "&&" one }
//! one        = "!" one | "(" any ")" | "true" | "false" | field operator value
//! operator   = "=" "!=" "=~" "!~" "<" "<=" ">" ">="
//! ```
//!
//! Everything else is an error that quotes what is not answered. Source: *TraceQL* in the manual of `grafana/tempo`.

mod comparison;
mod lexer;
mod parser;
mod typed;

pub(super) use comparison::{Field, intrinsic_fields};
pub(super) use parser::parse_field;
pub(crate) use parser::parse_query;
pub(super) use typed::parse_typed;

use std::fmt;

/// Why a query is not answered.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct TraceQlError(String);

impl TraceQlError {
    /// Something is wrong with the query.
    fn invalid(reason: impl fmt::Display) -> TraceQlError {
        TraceQlError(format!("invalid TraceQL query: {reason}"))
    }

    /// A part of the language, or of the data, that is not there.
    fn unsupported(part: &str, reason: impl fmt::Display) -> TraceQlError {
        TraceQlError(format!("unsupported TraceQL query: `{part}`: {reason}"))
    }
}

impl fmt::Display for TraceQlError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}
