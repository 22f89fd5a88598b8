//! Settings by name: `--set NAME=VALUE`, and the object `set` of a request.

use crate::ParamsError;
use laggard_settings::Settings;
use serde::de::{Deserialize, Deserializer, Error};
use serde::ser::{SerializeMap, Serializer};
use serde_json::{Map, Value};
use std::str::FromStr;

/// One setting with its value.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct SetArgument {
    /// Its name; whether it exists depends on the question.
    pub name: String,
    /// Its value, as written.
    pub value: String,
}

impl FromStr for SetArgument {
    type Err = String;

    fn from_str(text: &str) -> Result<SetArgument, String> {
        let (name, value) = text.split_once('=').ok_or_else(|| format!("{text:?} is not NAME=VALUE"))?;
        Ok(SetArgument { name: name.trim().to_owned(), value: value.trim().to_owned() })
    }
}

/// Sets what was set by name; `question` is what `laggard settings` calls it.
pub(crate) fn apply<S: Settings>(
    set: &[SetArgument],
    settings: &mut S,
    question: &str,
) -> Result<(), ParamsError> {
    for SetArgument { name, value } in set {
        settings.set(name, value).map_err(|error| {
            ParamsError::new(format_args!("{error} (laggard settings {question} lists what can be set)"))
        })?;
    }
    settings.check().map_err(ParamsError::new)
}

/// Writes an object from names to values.
pub(crate) fn serialize<S: Serializer>(set: &[SetArgument], serializer: S) -> Result<S::Ok, S::Error> {
    let mut object = serializer.serialize_map(Some(set.len()))?;
    for argument in set {
        object.serialize_entry(&argument.name, &argument.value)?;
    }
    object.end()
}

/// Reads an object from names to texts or numbers.
pub(crate) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<SetArgument>, D::Error> {
    let argument = |(name, value)| match value {
        Value::String(value) => Ok(SetArgument { name, value }),
        Value::Number(number) => Ok(SetArgument { name, value: number.to_string() }),
        _ => Err(D::Error::custom(format_args!("{name} is neither a text nor a number"))),
    };
    Map::<String, Value>::deserialize(deserializer)?.into_iter().map(argument).collect()
}
