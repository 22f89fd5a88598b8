//! Reads the claims of a verdict from the sentences of its clauses: the same text that a user reads.

use crate::incidents::ListedIncident;

/// The first name in a verdict.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(crate) struct Claim {
    /// Service and operation.
    pub(crate) operation: Option<(String, String)>,
    /// Services of caller and callee.
    pub(crate) edge: Option<(String, String)>,
    /// Replicas that it is limited to; empty for all, or if it is undecided.
    pub(crate) replicas: Vec<String>,
    /// The value of an attribute that slow requests have in common.
    pub(crate) attribute: Option<(String, String)>,
}

impl Claim {
    /// Of an incident: its first clause and *Where*; of one without a verdict, its headline.
    pub(crate) fn from_incident(incident: &ListedIncident) -> Claim {
        let what = incident.clause("what").unwrap_or(&incident.headline);
        let location = incident.clause("where").unwrap_or_default();
        Claim {
            operation: operation(what),
            edge: edge(what),
            replicas: replicas(location),
            attribute: attribute(location),
        }
    }
}

/// Names in backticks, with what stands before each.
fn quoted(text: &str) -> Vec<(&str, &str)> {
    let parts: Vec<&str> = text.split('`').collect();
    parts.chunks_exact(2).map(|pair| (pair[0], pair[1])).collect()
}

/// ``… `SERVICE` operation `OPERATION` …``; of a whole service, ``… service `SERVICE` …`` without an operation.
fn operation(what: &str) -> Option<(String, String)> {
    let names = quoted(what);
    let Some(position) = names.iter().position(|(before, _)| *before == " operation ") else {
        let (_, service) = names.iter().find(|(before, _)| before.ends_with(" service "))?;
        return Some(((*service).to_owned(), String::new()));
    };
    Some((names.get(position.checked_sub(1)?)?.1.to_owned(), names[position].1.to_owned()))
}

/// ``Between `CALLER` and `CALLEE` …``
fn edge(what: &str) -> Option<(String, String)> {
    let names = quoted(what);
    let position = names.iter().position(|(before, _)| before.ends_with("Between "))?;
    let (before, callee) = *names.get(position + 1)?;
    (before == " and ").then(|| (names[position].1.to_owned(), callee.to_owned()))
}

/// `On 1 of 3 replicas (store-2).` or ``On replica `store-2`.``; of all replicas, none is named.
fn replicas(location: &str) -> Vec<String> {
    if let Some((_, name)) = quoted(location).iter().find(|(before, _)| *before == "On replica ") {
        return vec![(*name).to_owned()];
    }
    let Some((before, rest)) = location.split_once(" of ").filter(|(before, _)| before.contains("On "))
    else {
        return Vec::new();
    };
    let is_count = before.rsplit(' ').next().is_some_and(|word| word.parse::<u32>().is_ok());
    let list = rest.split_once('(').and_then(|(_, list)| list.split_once(')'));
    let Some((list, _)) = list.filter(|_| is_count) else { return Vec::new() };
    let names = list.split(", ").flat_map(|part| part.split(" and "));
    names.map(|name| name.trim_matches(['`', ' ']).to_owned()).filter(|name| !name.is_empty()).collect()
}

/// ``… `KEY` = `VALUE` …``
fn attribute(location: &str) -> Option<(String, String)> {
    quoted(location).into_iter().find_map(|(_, name)| {
        let (key, value) = name.split_once('=')?;
        Some((key.trim().to_owned(), value.trim().to_owned()))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn operations_and_edges_are_read() {
        let text = "`store` operation `GET /item`: 61 ms a call. Also suspected: store GET /home.";
        assert_eq!(operation(text), Some(("store".to_owned(), "GET /item".to_owned())));
        let text = "Between `store` and `recommendations` (`GET /related`): 40 ms a call.";
        assert_eq!(edge(text), Some(("store".to_owned(), "recommendations".to_owned())));
        assert_eq!((operation(text), edge("`a` and `b`")), (None, None));
    }

    #[test]
    fn replicas_of_a_clause_are_parsed() {
        assert_eq!(replicas("On 1 of 3 replicas (store-2)."), ["store-2"]);
        assert_eq!(replicas("On 2 of 3 replicas (store-1 and store-3), 40 % busy."), ["store-1", "store-3"]);
        assert!(replicas("On all 3 replicas.").is_empty());
        assert!(replicas("On the only replica (worker).").is_empty());
    }
}
