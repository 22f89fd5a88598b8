//! Parameters of `laggard signature`.

use crate::{FromParams, ParamsError, RawParams};
use clap::Args;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// What a signature is of, and how many transaction types it has.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize, Args, ToSchema)]
#[group(skip)]
#[serde(rename_all = "kebab-case", default)]
pub struct SignatureParams {
    /// What the signature is of, for reports: a version, a commit
    #[arg(long, value_name = "TEXT", default_value = "")]
    pub label: String,
    /// Most transaction types; the rarest are pooled
    #[arg(long, value_name = "N", default_value_t = 100, value_parser = clap::value_parser!(u16).range(1..=1000))]
    pub types_max: u16,
}

impl Default for SignatureParams {
    fn default() -> SignatureParams {
        SignatureParams { label: String::new(), types_max: 100 }
    }
}

impl FromParams for SignatureParams {
    fn from_raw(raw: &mut RawParams) -> Result<SignatureParams, ParamsError> {
        let params: SignatureParams = raw.group()?;
        match (1..=1000).contains(&params.types_max) {
            true => Ok(params),
            false => Err(ParamsError::new("types-max: write a whole number from 1 to 1000")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn types_have_a_range() {
        let read = SignatureParams::from_json(json!({"label": "v2", "types-max": 5})).unwrap();
        assert_eq!((read.label.as_str(), read.types_max), ("v2", 5));
        for number in [0, 1001] {
            assert!(SignatureParams::from_json(json!({"types-max": number})).is_err(), "{number}");
        }
    }
}
