//! Settings by name.

use crate::nearest::nearest;
use crate::range::Range;
use crate::value::SettingValue;
use std::fmt;

/// The declaration of a setting without its type and default.
#[derive(Clone, PartialEq, Debug)]
pub struct SettingRow {
    /// The method, or part of one, to which it belongs.
    pub group: &'static str,
    /// Its name for `--set`, requests, and reports.
    pub name: &'static str,
    /// Unit of the value, such as `requests` or `ms`; empty for plain numbers, shares, and words.
    pub unit: &'static str,
    /// The range of valid values.
    pub range: Range,
    /// Its description: the lines of the doc comment, joined.
    pub doc: &'static str,
    /// Source of the default; empty where the meaning explains it.
    pub source: &'static str,
}

/// A setting that does not exist, or has a value that is not allowed, in a sentence that names it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct SettingError {
    message: String,
}

impl SettingError {
    /// An error with this message.
    pub fn new(message: impl fmt::Display) -> SettingError {
        SettingError { message: message.to_string() }
    }

    fn from_value(row: &SettingRow, written: &str, default: &dyn SettingValue) -> SettingError {
        let choices = default.choices();
        let range = default.range_text(row.range);
        let allowed = match choices.as_slice() {
            [] if range.is_empty() => default.kind(),
            [] => format!("{}, {range}", default.kind()),
            words => words.join(", "),
        };
        let has_unit = !row.unit.is_empty() && default.number().is_some();
        let unit = if has_unit { format!(" {}", row.unit) } else { String::new() };
        SettingError::new(format_args!(
            "{} is {written}; allowed: {allowed}; default: {}{unit}",
            row.name,
            default.text()
        ))
    }
}

impl fmt::Display for SettingError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for SettingError {}

/// Called with each setting in order.
pub type SeeSetting<'a> = &'a mut dyn FnMut(&'static SettingRow, &dyn SettingValue);

/// Called with each setting in order, to change it.
pub type SeeSettingMut<'a> = &'a mut dyn FnMut(&'static SettingRow, &mut dyn SettingValue);

/// Settings that [`settings!`](crate::settings) declared. Two parts of one question may share a name; it is then set in
/// both.
pub trait Settings: Default {
    /// Shows every setting.
    fn visit(&self, see: SeeSetting<'_>);

    /// Shows every setting for changing.
    fn visit_mut(&mut self, see: SeeSettingMut<'_>);

    /// Every name with its value as text.
    fn values(&self) -> Vec<(&'static str, String)> {
        let mut values = Vec::new();
        self.visit(&mut |row, value| values.push((row.name, value.text())));
        values
    }

    /// The value of a setting as text.
    fn get(&self, name: &str) -> Option<String> {
        self.values().into_iter().find(|(known, _)| *known == name).map(|(_, text)| text)
    }

    /// Sets a setting by its name.
    ///
    /// # Errors
    /// A name that does not exist, and a value of another kind or out of range.
    fn set(&mut self, name: &str, text: &str) -> Result<(), SettingError> {
        let mut result = None;
        self.visit_mut(&mut |row, value| {
            if row.name == name && !matches!(result, Some(Err(_))) {
                let is_allowed =
                    value.read(text.trim()) && value.number().is_none_or(|number| row.range.contains(number));
                result = Some(is_allowed.then_some(()).ok_or(row));
            }
        });
        match result {
            Some(Ok(())) => Ok(()),
            Some(Err(row)) => Err(refused::<Self>(row, text)),
            None => Err(unknown::<Self>(name)),
        }
    }

    /// Sets an option to none by its name.
    ///
    /// # Errors
    /// A name that does not exist, and a setting that needs a value.
    fn clear(&mut self, name: &str) -> Result<(), SettingError> {
        let mut result = None;
        self.visit_mut(&mut |row, value| {
            if row.name == name {
                result = Some(value.clear().then_some(()).ok_or(row));
            }
        });
        match result {
            Some(Ok(())) => Ok(()),
            Some(Err(row)) => Err(refused::<Self>(row, "empty")),
            None => Err(unknown::<Self>(name)),
        }
    }

    /// Checks every range.
    ///
    /// # Errors
    /// The first setting out of its range: its value, what is allowed, and the default.
    fn check(&self) -> Result<(), SettingError> {
        let mut outside = None;
        self.visit(&mut |row, value| {
            let is_outside = value.number().is_some_and(|number| !row.range.contains(number));
            if is_outside && outside.is_none() {
                outside = Some((row, value.text()));
            }
        });
        outside.map_or(Ok(()), |(row, text)| Err(refused::<Self>(row, &text)))
    }
}

fn refused<S: Settings>(row: &'static SettingRow, written: &str) -> SettingError {
    let mut error = None;
    S::default().visit(&mut |known, default| {
        if (known.group, known.name) == (row.group, row.name) {
            error = Some(SettingError::from_value(row, written, default));
        }
    });
    error.unwrap_or_else(|| SettingError::new(format_args!("{} is {written}", row.name)))
}

fn unknown<S: Settings>(name: &str) -> SettingError {
    let names: Vec<&str> = S::default().values().iter().map(|(name, _)| *name).collect();
    match nearest(name, &names) {
        Some(near) => SettingError::new(format_args!("there is no setting {name:?}; did you mean {near}?")),
        None => SettingError::new(format_args!("there is no setting {name:?}")),
    }
}
