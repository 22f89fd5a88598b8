//! The standard variables of OpenTelemetry's SDKs, for the server's own spans.
//! <https://opentelemetry.io/docs/specs/otel/configuration/sdk-environment-variables/>

use http::{HeaderName, HeaderValue};
use std::fmt;
use std::time::Duration;

/// What the variables `OTEL_…` say about exporting spans. What they say wrongly is left out, as the specification demands,
/// and listed.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct OtelVariables {
    /// URL that spans are sent to, unless the settings name one.
    pub(crate) endpoint: Option<String>,
    /// Share of requests that are traced, 0 to 1, if the endpoint is from these variables.
    pub(crate) share: Option<f64>,
    /// Longest time for sending.
    pub(crate) timeout: Option<Duration>,
    /// Headers of every message; their values may be secrets.
    pub(crate) headers: Vec<(HeaderName, HeaderValue)>,
    /// Attributes of the resource, `service.name` among them.
    pub(crate) resource: Vec<(String, String)>,
    /// Variables whose value cannot be used, each with the reason. The values are not repeated: they may be secrets.
    pub(crate) unusable: Vec<String>,
}

/// What the endpoint for all signals is completed with.
const TRACES_PATH: &str = "v1/traces";

impl OtelVariables {
    /// Reads them; `value` has the value of a variable. Empty values are those of variables that are not set.
    pub fn read(value: impl Fn(&str) -> Option<String>) -> OtelVariables {
        let set = |name: &str| value(name).map(|text| text.trim().to_owned()).filter(|text| !text.is_empty());
        let mut read = OtelVariables::default();
        if let Some(name) = set("OTEL_SERVICE_NAME") {
            read.resource.push(("service.name".to_owned(), name));
        }
        for (name, value) in read.pairs(&set, "OTEL_RESOURCE_ATTRIBUTES") {
            // OTEL_SERVICE_NAME comes first.
            if !read.resource.iter().any(|(known, _)| *known == name) {
                read.resource.push((name, value));
            }
        }
        let disabled = set("OTEL_SDK_DISABLED").is_some_and(|text| text.eq_ignore_ascii_case("true"));
        let exporter = set("OTEL_TRACES_EXPORTER");
        if disabled || exporter.as_deref() == Some("none") {
            return read;
        }
        if exporter.is_some_and(|name| !name.split(',').any(|name| name.trim() == "otlp")) {
            read.reject("OTEL_TRACES_EXPORTER", "only otlp and none are supported");
            return read;
        }
        read.exporter(&set);
        read.sampler(&set);
        read
    }

    fn exporter(&mut self, set: &impl Fn(&str) -> Option<String>) {
        let of_traces = |end: &str| set(&format!("OTEL_EXPORTER_OTLP_TRACES_{end}"));
        let either = |end: &str| of_traces(end).or_else(|| set(&format!("OTEL_EXPORTER_OTLP_{end}")));
        self.endpoint = of_traces("ENDPOINT").or_else(|| {
            let base = set("OTEL_EXPORTER_OTLP_ENDPOINT")?;
            Some(format!("{}/{TRACES_PATH}", base.trim_end_matches('/')))
        });
        if either("PROTOCOL").is_some_and(|protocol| !protocol.starts_with("http/")) {
            self.endpoint = None;
            self.reject("OTEL_EXPORTER_OTLP_PROTOCOL", "only OTLP over HTTP is supported");
        }
        if let Some(text) = either("TIMEOUT") {
            match text.parse() {
                Ok(ms) if ms > 0 => self.timeout = Some(Duration::from_millis(ms)),
                _ => self.reject("OTEL_EXPORTER_OTLP_TIMEOUT", "it is not a number of milliseconds"),
            }
        }
        let name = match of_traces("HEADERS") {
            Some(_) => "OTEL_EXPORTER_OTLP_TRACES_HEADERS",
            None => "OTEL_EXPORTER_OTLP_HEADERS",
        };
        for (header, value) in self.pairs(set, name) {
            match (HeaderName::try_from(header), HeaderValue::try_from(value)) {
                (Ok(header), Ok(mut value)) => {
                    value.set_sensitive(true);
                    self.headers.push((header, value));
                }
                _ => self.reject(name, "it has what is not a header"),
            }
        }
    }

    fn sampler(&mut self, set: &impl Fn(&str) -> Option<String>) {
        let Some(sampler) = set("OTEL_TRACES_SAMPLER") else { return };
        let ratio = set("OTEL_TRACES_SAMPLER_ARG").map_or(Ok(1.0), |text| text.parse::<f64>());
        match (sampler.trim_start_matches("parentbased_"), ratio) {
            ("always_on", _) => self.share = Some(1.0),
            ("always_off", _) => self.share = Some(0.0),
            ("traceidratio", Ok(ratio)) if (0.0..=1.0).contains(&ratio) => self.share = Some(ratio),
            ("traceidratio", _) => self.reject("OTEL_TRACES_SAMPLER_ARG", "it is not a number from 0 to 1"),
            _ => self.reject(
                "OTEL_TRACES_SAMPLER",
                "allowed: always_on, always_off, traceidratio, and these with parentbased_",
            ),
        }
    }

    /// Pairs like `key1=value1,key2=value2`, percent-encoded.
    fn pairs(&mut self, set: &impl Fn(&str) -> Option<String>, name: &str) -> Vec<(String, String)> {
        let Some(text) = set(name) else { return Vec::new() };
        let pair = |text: &str| {
            let (key, value) = text.split_once('=')?;
            Some((decoded(key.trim())?, decoded(value.trim())?)).filter(|(key, _)| !key.is_empty())
        };
        let pairs: Vec<_> = text.split(',').filter(|pair| !pair.trim().is_empty()).map(pair).collect();
        if pairs.iter().any(Option::is_none) {
            self.reject(name, "it is not of the form key1=value1,key2=value2");
        }
        pairs.into_iter().flatten().collect()
    }

    fn reject(&mut self, name: &str, reason: impl fmt::Display) {
        self.unusable.push(format!("{name}: {reason}"));
    }
}

/// Text without percent-encoding; `None` if it is encoded wrongly.
fn decoded(text: &str) -> Option<String> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let Some((&first, further)) = rest.split_first() {
        rest = further;
        if first != b'%' {
            bytes.push(first);
            continue;
        }
        let (digits, further) = rest.split_at_checked(2)?;
        let digits = std::str::from_utf8(digits).ok().filter(|text| !text.starts_with('+'))?;
        bytes.push(u8::from_str_radix(digits, 16).ok()?);
        rest = further;
    }
    String::from_utf8(bytes).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(variables: &[(&str, &str)]) -> OtelVariables {
        OtelVariables::read(|name| {
            let known = variables.iter().find(|(known, _)| *known == name);
            known.map(|(_, value)| (*value).to_owned())
        })
    }

    #[test]
    fn the_variables_of_sdks_are_read() {
        let all = read(&[
            ("OTEL_EXPORTER_OTLP_ENDPOINT", "http://collector:4318/"),
            ("OTEL_EXPORTER_OTLP_HEADERS", "Authorization=Bearer%20abc, X-Scope-OrgID=shop"),
            ("OTEL_EXPORTER_OTLP_TIMEOUT", "2500"),
            ("OTEL_SERVICE_NAME", "laggard-east"),
            ("OTEL_RESOURCE_ATTRIBUTES", "service.name=other,deployment.environment.name=pro%2Cd"),
            ("OTEL_TRACES_SAMPLER", "parentbased_traceidratio"),
            ("OTEL_TRACES_SAMPLER_ARG", "0.25"),
        ]);
        assert_eq!(all.unusable, Vec::<String>::new());
        assert_eq!(all.endpoint.as_deref(), Some("http://collector:4318/v1/traces"));
        assert_eq!((all.share, all.timeout), (Some(0.25), Some(Duration::from_millis(2500))));
        assert_eq!(all.headers[0], (http::header::AUTHORIZATION, HeaderValue::from_static("Bearer abc")));
        assert_eq!(all.headers[1].0, "x-scope-orgid");
        assert!(!format!("{all:?}").contains("abc"), "headers may be secrets");
        let pair = |name: &str, value: &str| (name.to_owned(), value.to_owned());
        assert_eq!(
            all.resource,
            [pair("service.name", "laggard-east"), pair("deployment.environment.name", "pro,d")]
        );
        let traces = read(&[
            ("OTEL_EXPORTER_OTLP_ENDPOINT", "http://a"),
            ("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "http://b/x"),
        ]);
        assert_eq!(traces.endpoint.as_deref(), Some("http://b/x"));
    }

    #[test]
    fn spans_may_be_switched_off() {
        let endpoint = ("OTEL_EXPORTER_OTLP_ENDPOINT", "http://a");
        assert_eq!(read(&[]), OtelVariables::default());
        assert_eq!(read(&[endpoint, ("OTEL_SDK_DISABLED", "TRUE")]).endpoint, None);
        assert_eq!(read(&[endpoint, ("OTEL_TRACES_EXPORTER", "none")]).endpoint, None);
        assert_eq!(read(&[("OTEL_TRACES_SAMPLER", "always_off")]).share, Some(0.0));
    }

    #[test]
    fn what_cannot_be_used_is_listed_without_its_value() {
        for (name, value) in [
            ("OTEL_TRACES_EXPORTER", "zipkin"),
            ("OTEL_EXPORTER_OTLP_PROTOCOL", "grpc"),
            ("OTEL_EXPORTER_OTLP_TIMEOUT", "soon"),
            ("OTEL_EXPORTER_OTLP_HEADERS", "secret"),
            ("OTEL_EXPORTER_OTLP_HEADERS", "a b=secret"),
            ("OTEL_RESOURCE_ATTRIBUTES", "a=%zz"),
            ("OTEL_RESOURCE_ATTRIBUTES", "a=%+1"),
            ("OTEL_TRACES_SAMPLER", "sometimes"),
        ] {
            let unusable = read(&[(name, value)]).unusable;
            assert!(unusable.len() == 1 && unusable[0].starts_with(name), "{name}={value}: {unusable:?}");
            assert!(!unusable[0].contains("secret"), "{unusable:?}");
        }
        let unusable =
            read(&[("OTEL_TRACES_SAMPLER", "traceidratio"), ("OTEL_TRACES_SAMPLER_ARG", "7")]).unusable;
        assert!(unusable[0].starts_with("OTEL_TRACES_SAMPLER_ARG"), "{unusable:?}");
    }
}
