//! Parameters by name, as a JSON object has them.

use laggard_settings::{Settings, nearest};
use serde::de::{DeserializeOwned, Deserializer, Error as _, Visitor};
use serde::forward_to_deserialize_any;
use serde_json::{Map, Value};
use std::fmt;

/// Parameters that cannot be used, in a sentence that names the one that is wrong.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ParamsError {
    message: String,
}

impl ParamsError {
    /// An error with this message.
    pub fn new(message: impl fmt::Display) -> ParamsError {
        ParamsError { message: message.to_string() }
    }
}

impl fmt::Display for ParamsError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for ParamsError {}

/// Parameters that were not read yet.
///
/// Questions are made of groups of parameters; each group reads its own, and what is left at the end is unknown.
#[derive(Debug)]
pub struct RawParams {
    left: Map<String, Value>,
    known: Vec<&'static str>,
}

/// A question, or a part of one, that is read from named parameters.
pub trait FromParams: Sized {
    /// Reads the parameters that belong to it.
    ///
    /// # Errors
    /// A setting that is of another kind, or out of its range.
    fn from_raw(raw: &mut RawParams) -> Result<Self, ParamsError>;

    /// Reads a JSON object. Settings that are not in it have their defaults; `null` is no object.
    ///
    /// # Errors
    /// As [`FromParams::from_raw`]; and settings that do not exist.
    fn from_json(value: Value) -> Result<Self, ParamsError> {
        let Value::Object(unread) = value else {
            return Err(ParamsError::new("settings are a JSON object, like {\"since\": \"-1h\"}"));
        };
        let mut raw = RawParams { left: unread, known: Vec::new() };
        let params = Self::from_raw(&mut raw)?;
        raw.finish()?;
        Ok(params)
    }
}

impl RawParams {
    /// Reads the fields of a struct that has no flattened fields and a default for every field.
    ///
    /// # Errors
    /// A value of another kind.
    pub fn group<T: DeserializeOwned>(&mut self) -> Result<T, ParamsError> {
        let names = field_names::<T>();
        self.known.extend(names);
        let own: Map<String, Value> = (names.iter())
            .filter_map(|&name| {
                Some((name.to_owned(), self.left.remove(name).filter(|value| !value.is_null())?))
            })
            .collect();
        T::deserialize(Value::Object(own.clone())).map_err(|error| explain::<T>(own, &error))
    }

    /// Collects settings in `set`, those that are written beside the parameters, too.
    ///
    /// # Errors
    /// A `set` that is not an object.
    pub fn gather_settings<S: Settings>(&mut self) -> Result<(), ParamsError> {
        let mut set = match self.left.remove("set") {
            None | Some(Value::Null) => Map::new(),
            Some(Value::Object(set)) => set,
            Some(_) => {
                return Err(ParamsError::new(
                    "set is an object from names to values, like {\"cv-min\": 1.5}",
                ));
            }
        };
        for (name, _) in S::default().values() {
            let value = self.left.remove(name).filter(|value| !value.is_null());
            set.extend(value.map(|value| (name.to_owned(), value)));
        }
        self.left.insert("set".to_owned(), Value::Object(set));
        Ok(())
    }

    fn finish(self) -> Result<(), ParamsError> {
        let Some(name) = self.left.keys().next() else { return Ok(()) };
        let mut known = self.known;
        if let Some(near) = nearest(name, &known) {
            return Err(ParamsError::new(format_args!("there is no setting {name:?}; did you mean {near}?")));
        }
        known.sort_unstable();
        Err(ParamsError::new(format_args!("there is no setting {name:?}; there is {}", known.join(", "))))
    }
}

/// Says which of the settings is wrong: serde does not.
fn explain<T: DeserializeOwned>(own: Map<String, Value>, error: &serde_json::Error) -> ParamsError {
    for (name, value) in own {
        let alone = Map::from_iter([(name.clone(), value)]);
        if let Err(error) = T::deserialize(Value::Object(alone)) {
            return ParamsError::new(format_args!("{name}: {error}"));
        }
    }
    ParamsError::new(error)
}

/// The names under which a struct's fields are read.
fn field_names<T: DeserializeOwned>() -> &'static [&'static str] {
    let mut names = FieldNames::default();
    // Reading ends with an error once the names are known.
    let _ = T::deserialize(&mut names);
    names.fields
}

#[derive(Default)]
struct FieldNames {
    fields: &'static [&'static str],
}

impl<'de> Deserializer<'de> for &mut FieldNames {
    type Error = serde::de::value::Error;

    fn deserialize_struct<V: Visitor<'de>>(
        self,
        _name: &'static str,
        fields: &'static [&'static str],
        _visitor: V,
    ) -> Result<V::Value, Self::Error> {
        self.fields = fields;
        Err(Self::Error::custom("names are known"))
    }

    fn deserialize_any<V: Visitor<'de>>(self, _visitor: V) -> Result<V::Value, Self::Error> {
        Err(Self::Error::custom("no struct"))
    }

    forward_to_deserialize_any! {
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char str string bytes byte_buf option unit
        unit_struct newtype_struct seq tuple tuple_struct map enum identifier ignored_any
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde::Deserialize;
    use serde_json::json;

    #[derive(Deserialize, PartialEq, Debug, Default)]
    #[serde(rename_all = "kebab-case", default)]
    struct First {
        share_min: Option<f64>,
        name: String,
    }

    #[derive(Deserialize, PartialEq, Debug, Default)]
    #[serde(rename_all = "kebab-case", default)]
    struct Second {
        #[serde(alias = "most")]
        rows_max: u32,
    }

    #[derive(PartialEq, Debug)]
    struct Both(First, Second);

    impl FromParams for Both {
        fn from_raw(raw: &mut RawParams) -> Result<Both, ParamsError> {
            Ok(Both(raw.group()?, raw.group()?))
        }
    }

    #[test]
    fn each_group_reads_its_own_settings() {
        let read = Both::from_json(json!({"rows-max": 3, "share-min": 0.5})).unwrap();
        assert_eq!(read, Both(First { share_min: Some(0.5), name: String::new() }, Second { rows_max: 3 }));
        assert_eq!(Both::from_json(json!({"most": 4})).unwrap().1.rows_max, 4);
        assert_eq!(Both::from_json(json!({"share-min": null})).unwrap().0.share_min, None);
    }

    #[test]
    fn errors_name_the_parameter() {
        let message = |value| Both::from_json(value).unwrap_err().to_string();
        assert_eq!(
            message(json!({"rows_max": 3})),
            "there is no setting \"rows_max\"; did you mean rows-max?"
        );
        assert!(message(json!({"name": "x", "share-min": "y"})).starts_with("share-min: invalid type"));
        assert!(message(json!({"rows-max": -1})).starts_with("rows-max: invalid value"));
        assert!(message(json!([])).contains("a JSON object"));
    }
}
