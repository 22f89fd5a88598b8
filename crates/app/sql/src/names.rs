//! Names as columns: a row costs 16 bytes that point to the name, and nothing is compared or copied.

use datafusion::arrow::array::{ArrayRef, StringViewArray, StringViewBuilder};
use datafusion::arrow::buffer::ScalarBuffer;
use laggard_model::{Names, OperationId, ReplicaId, Status, attributes_in};
use serde_json::{Map, Value};
use std::sync::{Arc, LazyLock};

/// Texts by number.
pub(crate) struct Texts(StringViewArray);

impl Texts {
    pub(crate) fn new<T: AsRef<str>>(texts: impl Iterator<Item = T>) -> Texts {
        let mut builder = StringViewBuilder::new();
        texts.for_each(|text| builder.append_value(text));
        Texts(builder.finish())
    }

    /// A column of the texts of some numbers.
    ///
    /// # Panics
    /// When there is no text of a number.
    pub(crate) fn column(&self, numbers: impl Iterator<Item = usize>) -> ArrayRef {
        let views = self.0.views();
        let column: ScalarBuffer<u128> = numbers.map(|number| views[number]).collect();
        Arc::new(StringViewArray::new(column, self.0.data_buffers().to_vec(), None))
    }
}

/// All names behind handles.
pub(crate) struct NameTexts {
    /// By operation; so are the next two.
    services: Texts,
    operations: Texts,
    kinds: Texts,
    replicas: Texts,
}

impl NameTexts {
    pub(crate) fn new(names: &Names) -> NameTexts {
        let keys =
            || (0..names.operations()).map(|index| names.operation_key(OperationId::from_index(index)));
        NameTexts {
            services: Texts::new(keys().map(|key| key.service)),
            operations: Texts::new(keys().map(|key| key.operation)),
            kinds: Texts::new(keys().map(|key| key.kind.name())),
            replicas: Texts::new(
                (0..names.replicas()).map(|index| names.replica_name(ReplicaId::from_index(index))),
            ),
        }
    }

    pub(crate) fn services(&self, of: impl Iterator<Item = OperationId>) -> ArrayRef {
        self.services.column(of.map(OperationId::index))
    }

    pub(crate) fn operations(&self, of: impl Iterator<Item = OperationId>) -> ArrayRef {
        self.operations.column(of.map(OperationId::index))
    }

    pub(crate) fn kinds(&self, of: impl Iterator<Item = OperationId>) -> ArrayRef {
        self.kinds.column(of.map(OperationId::index))
    }

    pub(crate) fn replicas(&self, of: impl Iterator<Item = ReplicaId>) -> ArrayRef {
        self.replicas.column(of.map(ReplicaId::index))
    }
}

static STATUSES: LazyLock<Texts> =
    LazyLock::new(|| Texts::new((0..).map_while(Status::from_number).map(Status::name)));

pub(crate) fn statuses(of: impl Iterator<Item = Status>) -> ArrayRef {
    STATUSES.column(of.map(|status| status as usize))
}

/// A set of attributes as a JSON object: a key that several services set to different values has an array of these.
pub(crate) fn attributes_json(text: &str) -> Option<String> {
    let mut object = Map::new();
    for attribute in attributes_in(text) {
        let value = Value::from(attribute.value);
        match object.get_mut(attribute.key) {
            None => {
                object.insert(attribute.key.to_owned(), value);
            }
            Some(Value::Array(known)) => {
                if !known.contains(&value) {
                    known.push(value);
                }
            }
            Some(known) => {
                if *known != value {
                    *known = Value::Array(vec![known.take(), value]);
                }
            }
        }
    }
    (!object.is_empty()).then(|| Value::Object(object).to_string())
}

#[cfg(test)]
mod tests {
    use super::*;
    use laggard_model::{Attribute, AttributeText};

    #[test]
    fn attributes_are_a_json_object() {
        assert_eq!(attributes_json(""), None);
        let mut text = AttributeText::default();
        for (key, service, value) in [
            ("tenant", "web", "acme"),
            ("route", "web", "/a \"b\""),
            ("route", "db", "/c"),
            ("tenant", "db", "acme"),
        ] {
            text.add(Attribute { key, service, value });
        }
        let json = attributes_json(text.as_str()).unwrap();
        assert_eq!(json, r#"{"route":["/c","/a \"b\""],"tenant":"acme"}"#);
    }

    #[test]
    fn every_status_has_its_name() {
        let statuses = statuses([Status::Error, Status::Unset].into_iter());
        assert_eq!(
            statuses.as_ref(),
            &StringViewArray::from(vec!["error", "unset"]) as &dyn datafusion::arrow::array::Array
        );
    }
}
