//! Types that a setting may have.

use crate::quantity::{Length, Size, parse_length};
use crate::range::Range;
use laggard_model::Nanos;
use std::net::SocketAddr;
use std::path::PathBuf;

/// A value of a setting, read from text and written as text. Implemented for every [`SettingType`], and for options of
/// them.
pub trait SettingValue {
    /// The kind of value with its article: `a number`.
    fn kind(&self) -> String;

    /// The value as [`SettingValue::read`] accepts it.
    fn text(&self) -> String;

    /// The number that must lie in the setting's range; `None` for values without one.
    fn number(&self) -> Option<f64>;

    /// The range of its numbers, in words.
    fn range_text(&self, range: Range) -> String;

    /// The words it can be, if it is one of several.
    fn choices(&self) -> Vec<&'static str>;

    /// The entries, if it is a list.
    fn entries(&self) -> Option<&[String]>;

    /// Replaces the value; `false`, and the value is unchanged, when the text is of another kind.
    fn read(&mut self, text: &str) -> bool;

    /// Sets an option to none; `false` for other values.
    fn clear(&mut self) -> bool;
}

/// A type of which settings, and options of settings, can be.
pub trait SettingType: Sized {
    /// The word for `None` of an option.
    const NONE: &'static str = "off";

    /// See [`SettingValue::kind`].
    fn kind() -> &'static str;

    /// See [`SettingValue::choices`].
    fn choices() -> Vec<&'static str> {
        Vec::new()
    }

    /// A bound of a range as text.
    fn number_text(number: f64) -> String {
        number.to_string()
    }

    /// The value of a text; `None` when the text is of another kind.
    fn parse(text: &str) -> Option<Self>;

    /// See [`SettingValue::entries`].
    fn entries(&self) -> Option<&[String]> {
        None
    }

    /// See [`SettingValue::text`].
    fn to_text(&self) -> String;

    /// See [`SettingValue::number`].
    fn to_number(&self) -> Option<f64> {
        None
    }
}

impl<T: SettingType> SettingValue for T {
    fn kind(&self) -> String {
        T::kind().to_owned()
    }

    fn text(&self) -> String {
        SettingType::to_text(self)
    }

    fn number(&self) -> Option<f64> {
        SettingType::to_number(self)
    }

    fn range_text(&self, range: Range) -> String {
        range.text(T::number_text)
    }

    fn choices(&self) -> Vec<&'static str> {
        T::choices()
    }

    fn entries(&self) -> Option<&[String]> {
        SettingType::entries(self)
    }

    fn read(&mut self, text: &str) -> bool {
        T::parse(text).map(|value| *self = value).is_some()
    }

    fn clear(&mut self) -> bool {
        false
    }
}

impl<T: SettingType> SettingValue for Option<T> {
    fn kind(&self) -> String {
        format!("{} or {}", T::NONE, T::kind())
    }

    fn text(&self) -> String {
        self.as_ref().map_or_else(|| T::NONE.to_owned(), SettingType::to_text)
    }

    fn number(&self) -> Option<f64> {
        self.as_ref().and_then(SettingType::to_number)
    }

    fn range_text(&self, range: Range) -> String {
        range.text(T::number_text)
    }

    fn choices(&self) -> Vec<&'static str> {
        Vec::new()
    }

    fn entries(&self) -> Option<&[String]> {
        self.as_ref().and_then(SettingType::entries)
    }

    fn read(&mut self, text: &str) -> bool {
        if text == T::NONE {
            return self.clear();
        }
        T::parse(text).map(|value| *self = Some(value)).is_some()
    }

    fn clear(&mut self) -> bool {
        *self = None;
        true
    }
}

impl SettingType for f64 {
    fn kind() -> &'static str {
        "a number"
    }

    fn parse(text: &str) -> Option<f64> {
        text.parse().ok()
    }

    fn to_text(&self) -> String {
        let is_tiny = *self != 0.0 && self.abs() < 1e-4;
        if is_tiny { format!("{self:e}") } else { self.to_string() }
    }

    fn to_number(&self) -> Option<f64> {
        Some(*self)
    }
}

macro_rules! whole_number {
    ($($type:ty)*) => {$(
        impl SettingType for $type {
            /// The value follows from the data.
            const NONE: &'static str = "auto";

            fn kind() -> &'static str {
                "a whole number"
            }

            fn parse(text: &str) -> Option<$type> {
                text.parse().ok()
            }

            fn to_text(&self) -> String {
                self.to_string()
            }

            fn to_number(&self) -> Option<f64> {
                Some(*self as f64)
            }
        }
    )*};
}

whole_number!(u16 u32 u64 usize);

macro_rules! from_str {
    ($($type:ty => $kind:literal)*) => {$(
        impl SettingType for $type {
            fn kind() -> &'static str {
                $kind
            }

            fn parse(text: &str) -> Option<$type> {
                text.parse().ok()
            }

            fn to_text(&self) -> String {
                self.to_string()
            }
        }
    )*};
}

from_str! {
    bool => "true or false"
    SocketAddr => "an address like 127.0.0.1:4316 or [::1]:4316"
}

impl SettingType for String {
    fn kind() -> &'static str {
        "a text that is not empty"
    }

    fn parse(text: &str) -> Option<String> {
        (!text.is_empty()).then(|| text.to_owned())
    }

    fn to_text(&self) -> String {
        self.clone()
    }
}

impl SettingType for PathBuf {
    fn kind() -> &'static str {
        "a path"
    }

    fn parse(text: &str) -> Option<PathBuf> {
        String::parse(text).map(PathBuf::from)
    }

    fn to_text(&self) -> String {
        self.to_string_lossy().into_owned()
    }
}

/// Written with commas between the entries; a backslash precedes commas and backslashes of an entry, and stands for a
/// single empty entry. Its number is that of its entries.
impl SettingType for Vec<String> {
    fn kind() -> &'static str {
        "a list like a,b"
    }

    fn entries(&self) -> Option<&[String]> {
        Some(self)
    }

    fn parse(text: &str) -> Option<Vec<String>> {
        let mut entries: Vec<String> = Vec::new();
        let mut entry = String::new();
        let mut characters = text.chars();
        while let Some(character) = characters.next() {
            match character {
                ',' => entries.push(std::mem::take(&mut entry)),
                '\\' => entry.extend(characters.next()),
                _ => entry.push(character),
            }
        }
        if !text.is_empty() {
            entries.push(entry);
        }
        Some(entries)
    }

    fn to_text(&self) -> String {
        match self.as_slice() {
            [entry] if entry.is_empty() => "\\".to_owned(),
            entries => {
                let escaped = entries.iter().map(|entry| entry.replace('\\', "\\\\").replace(',', "\\,"));
                escaped.collect::<Vec<_>>().join(",")
            }
        }
    }

    fn to_number(&self) -> Option<f64> {
        Some(self.len() as f64)
    }
}

impl SettingType for Nanos {
    fn kind() -> &'static str {
        "a length of time in seconds"
    }

    fn parse(text: &str) -> Option<Nanos> {
        parse_length(text).ok()
    }

    fn to_text(&self) -> String {
        format!("{}s", self.ns() as f64 / 1e9)
    }

    fn to_number(&self) -> Option<f64> {
        Some(self.ns() as f64 / 1e9)
    }
}

impl SettingType for Length {
    fn kind() -> &'static str {
        "a length of time like 500ms, 30s, 5m, 12h or 7d"
    }

    fn number_text(seconds: f64) -> String {
        Length::from_millis((seconds * 1e3) as u64).to_string()
    }

    fn parse(text: &str) -> Option<Length> {
        text.parse().ok()
    }

    fn to_text(&self) -> String {
        self.to_string()
    }

    fn to_number(&self) -> Option<f64> {
        Some(self.duration().as_secs_f64())
    }
}

impl SettingType for Size {
    fn kind() -> &'static str {
        "a size like 4096, 64KiB, 512MiB or 2GiB"
    }

    fn number_text(bytes: f64) -> String {
        Size(bytes as u64).to_string()
    }

    fn parse(text: &str) -> Option<Size> {
        text.parse().ok()
    }

    fn to_text(&self) -> String {
        self.to_string()
    }

    fn to_number(&self) -> Option<f64> {
        Some(self.0 as f64)
    }
}

/// A setting that is one of several words.
pub trait Choice: Copy + PartialEq + 'static {
    /// The words with their meanings, the default first.
    const CHOICES: &'static [(&'static str, Self)];

    /// The word for it.
    fn word(self) -> &'static str {
        let row = Self::CHOICES.iter().find(|(_, value)| *value == self);
        row.map_or("", |(word, _)| word)
    }
}

impl<T: Choice> SettingType for T {
    fn kind() -> &'static str {
        "a word"
    }

    fn choices() -> Vec<&'static str> {
        T::CHOICES.iter().map(|(word, _)| *word).collect()
    }

    fn parse(text: &str) -> Option<T> {
        T::CHOICES.iter().find(|(word, _)| *word == text).map(|(_, value)| *value)
    }

    fn to_text(&self) -> String {
        self.word().to_owned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn optional_values_are_none_by_keyword() {
        let mut address: Option<SocketAddr> = None;
        assert!(address.read("127.0.0.1:80") && address.text() == "127.0.0.1:80");
        assert!(!address.read("localhost") && address.is_some(), "unchanged");
        assert!(address.read("off") && address.is_none());
        let mut count = Some(3_u32);
        assert!(!count.read("off") && count.read("auto") && count.is_none());
        assert!(!3_u32.clear());
    }

    #[test]
    fn lists_are_separated_by_commas() {
        for (text, entries) in [
            ("a,b", vec!["a", "b"]),
            (r"a\,b,c\\", vec!["a,b", r"c\"]),
            ("", vec![]),
            ("a,", vec!["a", ""]),
            (r"\", vec![""]),
        ] {
            let mut list = Vec::new();
            assert!(list.read(text), "{text}");
            assert_eq!(list, entries, "{text}");
            assert_eq!(list.text(), text);
        }
    }

    #[test]
    fn ranges_are_written_in_the_units_of_their_values() {
        let day = Range { high: 86_400.0, ..crate::at_least(0.1) };
        assert_eq!(Length::from_secs(1).range_text(day), "100ms to 1d");
        assert_eq!(Size(1).range_text(crate::at_least(65_536.0)), "at least 64KiB");
    }
}
