//! The JSON responses of a Prometheus server.

use crate::PrometheusError;
use crate::error::quoted;
use serde::Deserialize;
use std::collections::BTreeMap;

/// One series of a matrix.
#[derive(Clone, PartialEq, Debug, Deserialize)]
pub(crate) struct MatrixSeries {
    /// Its labels, the name of the metric as `__name__`.
    #[serde(default)]
    pub(crate) metric: BTreeMap<String, String>,
    /// Seconds since the epoch and a number as text.
    #[serde(default)]
    values: Vec<(f64, String)>,
    /// Native histograms, which are no numbers.
    #[serde(default)]
    pub(crate) histograms: Vec<serde::de::IgnoredAny>,
}

/// A point of a series.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) struct MatrixPoint {
    /// Nanoseconds since the epoch; in whole milliseconds, as in Prometheus.
    pub(crate) ns: i64,
    /// The value; NaN for text that is not a number.
    pub(crate) value: f64,
}

impl MatrixSeries {
    /// Its points, in the order of the answer.
    pub(crate) fn points(&self) -> impl Iterator<Item = MatrixPoint> + '_ {
        self.values.iter().map(|(seconds, value)| MatrixPoint {
            ns: ((seconds * 1e3).round() as i64).saturating_mul(1_000_000),
            value: number(value),
        })
    }
}

fn number(text: &str) -> f64 {
    match text {
        "+Inf" => f64::INFINITY,
        "-Inf" => f64::NEG_INFINITY,
        text => text.parse().unwrap_or(f64::NAN),
    }
}

/// The result of a range query.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct Matrix {
    pub(crate) series: Vec<MatrixSeries>,
    /// Warnings of the server about its answer.
    pub(crate) warnings: Vec<String>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct QueryResponse {
    status: String,
    data: Option<ResponseData>,
    error_type: Option<String>,
    error: Option<String>,
    #[serde(default)]
    warnings: Option<Vec<String>>,
    #[serde(default)]
    infos: Option<Vec<String>>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct ResponseData {
    result_type: String,
    result: serde_json::Value,
}

#[derive(Deserialize)]
struct LabelResponse {
    status: String,
    #[serde(default)]
    data: Vec<String>,
}

/// The values of a label in a response.
pub(crate) fn label_values(body: &[u8], url: &str) -> Result<Vec<String>, PrometheusError> {
    match serde_json::from_slice::<LabelResponse>(body) {
        Ok(answer) if answer.status == "success" => Ok(answer.data),
        _ => Err(PrometheusError::Unexpected { url: url.to_owned(), reason: "no list of names".to_owned() }),
    }
}

/// The server's error, if the body is a Prometheus error response.
pub(crate) fn response_error(body: &[u8], query: &str) -> Option<PrometheusError> {
    let answer: QueryResponse = serde_json::from_slice(body).ok()?;
    (answer.status == "error").then(|| PrometheusError::Refused {
        query: query.to_owned(),
        kind: quoted(&answer.error_type.unwrap_or_else(|| "error".to_owned())),
        message: quoted(&answer.error.unwrap_or_default()),
    })
}

/// Reads the body of an answer.
pub(crate) fn matrix(body: &[u8], url: &str, query: &str) -> Result<Matrix, PrometheusError> {
    let unexpected = |reason: String| PrometheusError::Unexpected { url: url.to_owned(), reason };
    if let Some(refused) = response_error(body, query) {
        return Err(refused);
    }
    let answer: QueryResponse = serde_json::from_slice(body).map_err(|error| {
        let start = String::from_utf8_lossy(&body[..body.len().min(80)]);
        unexpected(format!("{error}; it begins with {:?}", quoted(&start)))
    })?;
    let data = answer.data.ok_or_else(|| unexpected("there is no data in it".to_owned()))?;
    if data.result_type != "matrix" {
        return Err(unexpected(format!("a {:?} instead of a matrix", quoted(&data.result_type))));
    }
    let series = serde_json::from_value(data.result).map_err(|error| unexpected(error.to_string()))?;
    let error_message = answer.warnings.into_iter().chain(answer.infos).flatten();
    Ok(Matrix { series, warnings: error_message.map(|text| quoted(&text)).collect() })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_strings_and_may_be_nan() {
        let body = br#"{"status":"success","data":{"resultType":"matrix","result":[{"metric":{"__name__":"up"},
            "values":[[1768208400.123,"1.5"],[1768208401,"NaN"],[1768208402,"+Inf"],[1768208403,"-Inf"],[1768208404,"x"]]}]},
            "warnings":["half\u0007 an answer"]}"#;
        let matrix = matrix(body, "u", "q").unwrap();
        let points: Vec<MatrixPoint> = matrix.series[0].points().collect();
        assert_eq!(points[0], MatrixPoint { ns: 1_768_208_400_123_000_000, value: 1.5 });
        assert!(points[1].value.is_nan() && points[4].value.is_nan());
        assert_eq!((points[2].value, points[3].value), (f64::INFINITY, f64::NEG_INFINITY));
        assert_eq!(matrix.warnings, ["half  an answer"]);
    }

    #[test]
    fn other_answers_than_a_matrix_are_errors() {
        let error_message = |body: &str| matrix(body.as_bytes(), "u", "q").unwrap_err().to_string();
        assert!(error_message("<html>login</html>").contains("<html>login"));
        assert!(error_message(r#"{"status":"success"}"#).contains("no data"));
        assert!(
            error_message(r#"{"status":"success","data":{"resultType":"vector","result":[]}}"#)
                .contains("vector")
        );
        assert!(
            error_message(r#"{"status":"success","data":{"resultType":"matrix","result":[{"values":[1]}]}}"#)
                .contains("Prometheus")
        );
        let refused = error_message(r#"{"status":"error","errorType":"bad_data","error":"parse error"}"#);
        assert!(refused.contains("bad_data") && refused.contains("parse error"), "{refused}");
    }
}
