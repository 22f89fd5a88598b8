//! Types that a setting may have.

use crate::quantity::parse_length;
use laggard_model::Nanos;

/// A value of a setting, read from text and written as text.
pub trait SettingValue {
    /// What kind of value it is, with its article: `a number`.
    fn kind(&self) -> &'static str;

    /// The value as [`SettingValue::read`] accepts it.
    fn text(&self) -> String;

    /// The number that must lie in the setting's range; `None` when nothing has to.
    fn number(&self) -> Option<f64>;

    /// The words it can be, if it is one of several.
    fn choices(&self) -> Vec<&'static str> {
        Vec::new()
    }

    /// Replaces the value; `false`, and the value is unchanged, when the text is of another kind.
    fn read(&mut self, text: &str) -> bool;
}

impl SettingValue for f64 {
    fn kind(&self) -> &'static str {
        "a number"
    }

    fn text(&self) -> String {
        let is_tiny = *self != 0.0 && self.abs() < 1e-4;
        if is_tiny { format!("{self:e}") } else { self.to_string() }
    }

    fn number(&self) -> Option<f64> {
        Some(*self)
    }

    fn read(&mut self, text: &str) -> bool {
        text.parse().map(|number| *self = number).is_ok()
    }
}

macro_rules! whole_number {
    ($($type:ty)*) => {$(
        impl SettingValue for $type {
            fn kind(&self) -> &'static str {
                "a whole number"
            }

            fn text(&self) -> String {
                self.to_string()
            }

            fn number(&self) -> Option<f64> {
                Some(*self as f64)
            }

            fn read(&mut self, text: &str) -> bool {
                text.parse().map(|number| *self = number).is_ok()
            }
        }
    )*};
}

whole_number!(u16 u32 u64 usize);

/// The word for a value that follows from the data.
const AUTO: &str = "auto";

impl<T: SettingValue + Default> SettingValue for Option<T> {
    fn kind(&self) -> &'static str {
        "auto or a whole number"
    }

    fn text(&self) -> String {
        self.as_ref().map_or_else(|| AUTO.to_owned(), SettingValue::text)
    }

    fn number(&self) -> Option<f64> {
        self.as_ref().and_then(SettingValue::number)
    }

    fn read(&mut self, text: &str) -> bool {
        let mut value = T::default();
        let is_read = text == AUTO || value.read(text);
        if is_read {
            *self = (text != AUTO).then_some(value);
        }
        is_read
    }
}

impl SettingValue for Nanos {
    fn kind(&self) -> &'static str {
        "a length of time in seconds"
    }

    fn text(&self) -> String {
        format!("{}s", self.ns() as f64 / 1e9)
    }

    fn number(&self) -> Option<f64> {
        Some(self.ns() as f64 / 1e9)
    }

    fn read(&mut self, text: &str) -> bool {
        parse_length(text).map(|length| *self = length).is_ok()
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

impl<T: Choice> SettingValue for T {
    fn kind(&self) -> &'static str {
        "a word"
    }

    fn text(&self) -> String {
        self.word().to_owned()
    }

    fn number(&self) -> Option<f64> {
        None
    }

    fn choices(&self) -> Vec<&'static str> {
        T::CHOICES.iter().map(|(word, _)| *word).collect()
    }

    fn read(&mut self, text: &str) -> bool {
        let known = T::CHOICES.iter().find(|(word, _)| *word == text);
        known.map(|(_, value)| *self = *value).is_some()
    }
}
