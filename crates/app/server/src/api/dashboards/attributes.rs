//! Attributes by the names that they have in spans, though they are stored with short ones.

use super::call_filter::{AttributeField, AttributeScope};
use laggard_formats::{SelectedAttributes, attribute_key, attribute_name};
use laggard_model::attributes_in;
use std::collections::BTreeMap;

/// The attribute of a name in spans; `None` if it is not stored.
pub(super) fn attribute(name: &str, selected: &SelectedAttributes) -> Option<AttributeField> {
    let key = attribute_key(name);
    let field = AttributeField { key: key.to_owned(), scope: AttributeScope::Either };
    selected.keys().any(|known| known == key).then_some(field)
}

/// Attributes by name, each with its values.
pub(super) type NamedValues<'a> = BTreeMap<&'a str, Vec<&'a str>>;

/// The attributes of a scope that calls of a service have, of a text of [`AttributeText`](laggard_model::AttributeText).
pub(super) fn named_values<'a>(text: &'a str, service: &str, scope: AttributeScope) -> NamedValues<'a> {
    let mut values = NamedValues::new();
    for attribute in attributes_in(text).filter(|attribute| scope.has(attribute.service, service)) {
        values.entry(attribute_name(attribute.key)).or_default().push(attribute.value);
    }
    values
}
