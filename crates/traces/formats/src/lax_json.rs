//! JSON values as real writers produce them: numbers as strings, strings as numbers, nulls anywhere.

use serde::de::{Deserialize, Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};
use std::borrow::Cow;
use std::fmt;

/// Reads one complete JSON value. Bytes that are not UTF-8 are replaced (in `repaired`, which then backs the
/// value's text): they can only change a name.
pub(crate) fn parse<'a, T: Deserialize<'a>>(
    value: &'a [u8],
    repaired: &'a mut String,
) -> Result<T, serde_json::Error> {
    if let Ok(text) = std::str::from_utf8(value) {
        return serde_json::from_str(text);
    }
    *repaired = String::from_utf8_lossy(value).into_owned();
    serde_json::from_str(repaired)
}

/// Text, borrowed where possible. Numbers and booleans become their text; null and containers are empty.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(crate) struct LaxText<'a>(pub(crate) Cow<'a, str>);

impl LaxText<'_> {
    pub(crate) fn as_str(&self) -> &str {
        &self.0
    }
}

impl<'de: 'a, 'a> Deserialize<'de> for LaxText<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<LaxText<'a>, D::Error> {
        deserializer.deserialize_any(TextVisitor::<false>).map(LaxText)
    }
}

/// An attribute's value as text: a plain value, or OTLP's object around one. Lists and other objects are empty.
#[derive(Default)]
pub(crate) struct AnyValue<'a>(pub(crate) Cow<'a, str>);

impl<'de: 'a, 'a> Deserialize<'de> for AnyValue<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<AnyValue<'a>, D::Error> {
        deserializer.deserialize_any(TextVisitor::<true>).map(AnyValue)
    }
}

/// Reads a value as text; with `UNWRAP`, the value inside OTLP's `AnyValue` object.
struct TextVisitor<const UNWRAP: bool>;

impl<'de, const UNWRAP: bool> Visitor<'de> for TextVisitor<UNWRAP> {
    type Value = Cow<'de, str>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("text")
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

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
        let mut inner = Cow::Borrowed("");
        if !UNWRAP {
            while map.next_entry::<IgnoredAny, IgnoredAny>()?.is_some() {}
            return Ok(inner);
        }
        while let Some(key) = map.next_key::<LaxText<'de>>()? {
            match key.as_str() {
                "stringValue" | "string_value" | "intValue" | "int_value" | "boolValue" | "bool_value"
                | "doubleValue" | "double_value" => inner = map.next_value::<LaxText<'de>>()?.0,
                _ => {
                    map.next_value::<IgnoredAny>()?;
                }
            }
        }
        Ok(inner)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Self::Value, A::Error> {
        while items.next_element::<IgnoredAny>()?.is_some() {}
        Ok(Cow::Borrowed(""))
    }
}

/// A number written as a number or as text.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub(crate) enum Number {
    /// Absent, null, or no number.
    #[default]
    Missing,
    Integer(i128),
    /// Finite.
    Real(f64),
}

impl Number {
    fn from_text(text: &str) -> Number {
        if let Ok(value) = text.parse::<u64>() {
            return Number::Integer(value.into());
        }
        let text = text.trim();
        if let Ok(value) = text.parse() {
            return Number::Integer(value);
        }
        text.parse().map_or(Number::Missing, Number::from_real)
    }

    fn from_real(value: f64) -> Number {
        if value.is_finite() { Number::Real(value) } else { Number::Missing }
    }

    /// This number of units of `factor` each, rounded to an integer; `None` when missing or out of range.
    pub(crate) fn scaled(self, factor: u32) -> Option<i64> {
        match self {
            Number::Missing => None,
            Number::Integer(value) => value.checked_mul(i128::from(factor))?.try_into().ok(),
            Number::Real(value) => {
                let scaled = (value * f64::from(factor)).round();
                // Both ends of the range are exact in floating point; the upper one is excluded.
                let fits = scaled >= i64::MIN as f64 && scaled < i64::MAX as f64;
                fits.then_some(scaled as i64)
            }
        }
    }
}

impl<'de> Deserialize<'de> for Number {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Number, D::Error> {
        deserializer.deserialize_any(NumberVisitor)
    }
}

struct NumberVisitor;

impl<'de> Visitor<'de> for NumberVisitor {
    type Value = Number;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a number")
    }

    fn visit_u64<E>(self, value: u64) -> Result<Number, E> {
        Ok(Number::Integer(value.into()))
    }

    fn visit_i64<E>(self, value: i64) -> Result<Number, E> {
        Ok(Number::Integer(value.into()))
    }

    fn visit_f64<E>(self, value: f64) -> Result<Number, E> {
        Ok(Number::from_real(value))
    }

    fn visit_str<E>(self, text: &str) -> Result<Number, E> {
        Ok(Number::from_text(text))
    }

    fn visit_bool<E>(self, _: bool) -> Result<Number, E> {
        Ok(Number::Missing)
    }

    fn visit_unit<E>(self) -> Result<Number, E> {
        Ok(Number::Missing)
    }

    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Number, A::Error> {
        TextVisitor::<false>.visit_map(map).map(|_| Number::Missing)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, items: A) -> Result<Number, A::Error> {
        TextVisitor::<false>.visit_seq(items).map(|_| Number::Missing)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn number(json: &str) -> Number {
        serde_json::from_str(json).unwrap()
    }

    #[test]
    fn integers_beyond_floating_point_stay_exact() {
        for json in ["1485449191639875001", "\"1485449191639875001\"", "\" 1485449191639875001 \""] {
            assert_eq!(number(json).scaled(1), Some(1_485_449_191_639_875_001), "{json}");
        }
        assert_eq!(number("18446744073709551615").scaled(1), None);
        assert_eq!(number("1655759396144110").scaled(1000), Some(1_655_759_396_144_110_000));
    }

    #[test]
    fn reals_are_rounded_and_invalid_numbers_missing() {
        assert_eq!(number("12.5").scaled(1000), Some(12_500));
        assert_eq!(number("\"1e3\"").scaled(1000), Some(1_000_000));
        assert_eq!(number("-0.0004").scaled(1000), Some(0));
        assert_eq!(number("1e300").scaled(1), None);
        for json in ["null", "\"\"", "\"NaN\"", "true", "[1,2]", "{\"a\":[1]}"] {
            assert_eq!(number(json), Number::Missing, "{json}");
        }
    }

    #[test]
    fn numbers_and_booleans_are_read_as_text() {
        let texts: Vec<LaxText> =
            serde_json::from_str(r#"["a","\u0062",3,-4,1.5,true,null,{},[[]]]"#).unwrap();
        let texts: Vec<_> = texts.iter().map(LaxText::as_str).collect();
        assert_eq!(texts, ["a", "b", "3", "-4", "1.5", "true", "", "", ""]);
    }

    #[test]
    fn invalid_utf8_is_replaced() {
        let mut repaired = String::new();
        let text: LaxText = parse(b"\"caf\xE9\"", &mut repaired).unwrap();
        assert_eq!(text.as_str(), "caf\u{fffd}");
    }
}
