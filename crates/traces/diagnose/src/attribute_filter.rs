//! Limits a question to requests with an attribute.

use laggard_model::attributes_in;
use std::fmt;
use std::str::FromStr;

/// `tenant=acme`, or `version@checkout=1.4.3` for an attribute of one service only.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct AttributeFilter {
    key: String,
    /// The service that the attribute describes; any if `None`.
    service: Option<String>,
    value: String,
}

impl AttributeFilter {
    /// Whether a set of attributes has one for every filter. `text` is of `laggard_model::AttributeText`.
    pub(crate) fn all_match(filters: &[AttributeFilter], text: &str) -> bool {
        filters.iter().all(|filter| {
            attributes_in(text).any(|attribute| {
                attribute.key == filter.key
                    && attribute.value == filter.value
                    && filter.service.as_deref().is_none_or(|service| service == attribute.service)
            })
        })
    }
}

impl FromStr for AttributeFilter {
    type Err = String;

    fn from_str(text: &str) -> Result<AttributeFilter, String> {
        let error = || format!("{text:?} is not KEY=VALUE or KEY@SERVICE=VALUE");
        let (name, value) = text.split_once('=').ok_or_else(error)?;
        let (key, service) = match name.split_once('@') {
            Some((key, service)) => (key, Some(service.trim().to_owned())),
            None => (name, None),
        };
        let (key, value) = (key.trim(), value.trim());
        if key.is_empty() || value.is_empty() {
            return Err(error());
        }
        Ok(AttributeFilter { key: key.to_owned(), service, value: value.to_owned() })
    }
}

impl fmt::Display for AttributeFilter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.service {
            Some(service) => write!(f, "{}@{service}={}", self.key, self.value),
            None => write!(f, "{}={}", self.key, self.value),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use laggard_model::{Attribute, AttributeText};

    #[test]
    fn filters_match_by_key_value_and_service() {
        let mut text = AttributeText::default();
        text.add(Attribute { key: "tenant", service: "", value: "acme" });
        text.add(Attribute { key: "version", service: "cart", value: "1" });
        let matches = |filters: &[&str]| {
            let filters: Vec<AttributeFilter> = filters.iter().map(|text| text.parse().unwrap()).collect();
            AttributeFilter::all_match(&filters, text.as_str())
        };
        assert!(matches(&[]) && matches(&["tenant=acme", "version=1"]) && matches(&["version@cart=1"]));
        assert!(
            !matches(&["tenant=acme", "version=2"]) && !matches(&["version@pay=1"]) && !matches(&["zone=a"])
        );
        assert!("tenant".parse::<AttributeFilter>().is_err() && "=a".parse::<AttributeFilter>().is_err());
        assert_eq!("version@cart=1=2".parse::<AttributeFilter>().unwrap().to_string(), "version@cart=1=2");
    }
}
