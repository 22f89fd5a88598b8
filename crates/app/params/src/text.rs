//! Settings that are texts of a form of their own, like `500ms` or `app=4`.

use serde::de::{self, Deserialize, Deserializer, Visitor};
use serde::{Serialize, Serializer};
use std::fmt;
use std::marker::PhantomData;
use std::ops::Deref;
use std::str::FromStr;

/// A type that is parsed from a text.
pub trait FromText: Sized {
    /// Reads it.
    ///
    /// # Errors
    /// What is wrong, and what to write instead.
    fn from_text(text: &str) -> Result<Self, String>;
}

/// A value with the text it was read from; a number counts as its digits.
#[derive(Clone, PartialEq, Debug)]
pub struct Text<T> {
    text: String,
    value: T,
}

impl<T> Text<T> {
    /// The value.
    pub fn into_value(self) -> T {
        self.value
    }
}

impl<T> Deref for Text<T> {
    type Target = T;
    fn deref(&self) -> &T {
        &self.value
    }
}

impl<T> fmt::Display for Text<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl<T: FromText> FromStr for Text<T> {
    type Err = String;
    fn from_str(text: &str) -> Result<Text<T>, String> {
        Ok(Text { text: text.to_owned(), value: T::from_text(text)? })
    }
}

impl<T> Serialize for Text<T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&self.text)
    }
}

impl<'de, T: FromText> Deserialize<'de> for Text<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Text<T>, D::Error> {
        deserializer.deserialize_any(TextVisitor(PhantomData))
    }
}

struct TextVisitor<T>(PhantomData<T>);

impl<T: FromText> Visitor<'_> for TextVisitor<T> {
    type Value = Text<T>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a text or a number")
    }

    fn visit_str<E: de::Error>(self, text: &str) -> Result<Text<T>, E> {
        text.parse().map_err(E::custom)
    }

    fn visit_u64<E: de::Error>(self, number: u64) -> Result<Text<T>, E> {
        self.visit_str(&number.to_string())
    }

    fn visit_i64<E: de::Error>(self, number: i64) -> Result<Text<T>, E> {
        self.visit_str(&number.to_string())
    }

    fn visit_f64<E: de::Error>(self, number: f64) -> Result<Text<T>, E> {
        self.visit_str(&number.to_string())
    }
}

/// Reads a list, or one of its elements alone.
pub(crate) fn one_or_more<'de, D, T>(deserializer: D) -> Result<Vec<T>, D::Error>
where
    D: Deserializer<'de>,
    T: Deserialize<'de>,
{
    #[derive(serde::Deserialize)]
    #[serde(untagged)]
    enum OneOrMore<T> {
        More(Vec<T>),
        One(T),
    }
    Ok(match OneOrMore::deserialize(deserializer)? {
        OneOrMore::More(list) => list,
        OneOrMore::One(value) => vec![value],
    })
}
