//! Attributes in JSON: OTLP's and Jaeger's lists of keys and values, or an object as Elasticsearch and Zipkin
//! store them.
//!
//! ```text
//! [{"key":"http.route","value":{"stringValue":"/cart"}}]
//! [{"key":"http.route","type":"string","value":"/cart"}]
//! {"http.route":"/cart"}
//! ```

use crate::conventions::{OperationAttributes, ResourceAttributes};
use crate::lax_json::Text;
use serde::Deserialize;
use serde::de::{Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};
use std::borrow::Cow;
use std::fmt;
use std::marker::PhantomData;

/// Picks the attributes it wants.
pub(crate) trait TakeAttribute<'a> {
    fn take_attribute(&mut self, name: &str, value: Cow<'a, str>);
}

impl<'a> TakeAttribute<'a> for OperationAttributes<'a> {
    fn take_attribute(&mut self, name: &str, value: Cow<'a, str>) {
        self.take(name.as_bytes(), value);
    }
}

impl<'a> TakeAttribute<'a> for ResourceAttributes {
    fn take_attribute(&mut self, name: &str, value: Cow<'a, str>) {
        self.take(name.as_bytes(), &value);
    }
}

/// Attributes, folded into `T` as they are read.
#[derive(Debug, Default)]
pub(crate) struct Attributes<T>(pub(crate) T);

impl<'de, T: TakeAttribute<'de> + Default> Deserialize<'de> for Attributes<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Attributes<T>, D::Error> {
        deserializer.deserialize_any(AttributesVisitor(PhantomData)).map(Attributes)
    }
}

struct AttributesVisitor<T>(PhantomData<T>);

#[derive(Deserialize)]
struct KeyValue<'a> {
    #[serde(borrow, default)]
    key: Text<'a>,
    #[serde(borrow, default)]
    value: AnyValue<'a>,
}

impl<'de, T: TakeAttribute<'de> + Default> Visitor<'de> for AttributesVisitor<T> {
    type Value = T;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("attributes")
    }

    fn visit_unit<E>(self) -> Result<T, E> {
        Ok(T::default())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<T, A::Error> {
        let mut taken = T::default();
        while let Some(item) = items.next_element::<Option<KeyValue<'de>>>()? {
            if let Some(KeyValue { key, value }) = item {
                taken.take_attribute(key.as_str(), value.0);
            }
        }
        Ok(taken)
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<T, A::Error> {
        let mut taken = T::default();
        while let Some((key, value)) = map.next_entry::<Text<'de>, AnyValue<'de>>()? {
            taken.take_attribute(key.as_str(), value.0);
        }
        Ok(taken)
    }
}

/// An attribute's value as text: a plain value, or OTLP's object around one. Lists and objects are empty.
#[derive(Default)]
struct AnyValue<'a>(Cow<'a, str>);

impl<'de: 'a, 'a> Deserialize<'de> for AnyValue<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<AnyValue<'a>, D::Error> {
        deserializer.deserialize_any(AnyValueVisitor).map(AnyValue)
    }
}

struct AnyValueVisitor;

impl<'de> Visitor<'de> for AnyValueVisitor {
    type Value = Cow<'de, str>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an attribute's value")
    }

    fn visit_borrowed_str<E>(self, text: &'de str) -> Result<Self::Value, E> {
        Ok(Cow::Borrowed(text))
    }

    fn visit_str<E>(self, text: &str) -> Result<Self::Value, E> {
        Ok(Cow::Owned(text.to_owned()))
    }

    fn visit_bool<E>(self, value: bool) -> Result<Self::Value, E> {
        Ok(Cow::Borrowed(if value { "true" } else { "false" }))
    }

    fn visit_u64<E>(self, value: u64) -> Result<Self::Value, E> {
        Ok(Cow::Owned(value.to_string()))
    }

    fn visit_i64<E>(self, value: i64) -> Result<Self::Value, E> {
        Ok(Cow::Owned(value.to_string()))
    }

    fn visit_f64<E>(self, value: f64) -> Result<Self::Value, E> {
        Ok(Cow::Owned(value.to_string()))
    }

    fn visit_unit<E>(self) -> Result<Self::Value, E> {
        Ok(Cow::Borrowed(""))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Self::Value, A::Error> {
        while items.next_element::<IgnoredAny>()?.is_some() {}
        Ok(Cow::Borrowed(""))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
        let mut found = Cow::Borrowed("");
        while let Some(key) = map.next_key::<Text<'de>>()? {
            match key.as_str() {
                "stringValue" | "string_value" | "intValue" | "int_value" | "boolValue" | "bool_value"
                | "doubleValue" | "double_value" => found = map.next_value::<Text<'de>>()?.0,
                _ => {
                    map.next_value::<IgnoredAny>()?;
                }
            }
        }
        Ok(found)
    }
}
