//! Sampling by a span's trace state and attributes: the manual's page on sampling states the
//! same rules for users.
//!
//! In this order, the first source counts: an attribute that the user named, OpenTelemetry's trace state,
//! Jaeger's `sampler.type` and `sampler.param`.

mod trace_state;

use crate::conventions::SelectedAttributes;
use crate::format::ReaderOptions;
use laggard_model::{AdjustedCount, Loss, Sampling, Sink, SpanId, TailSampler, WeightSource};
use std::borrow::Cow;
use std::sync::Arc;
use trace_state::StateWeight;

/// The tag in which Jaeger and Zipkin exporters store the trace state.
const TRACE_STATE_TAG: &[u8] = b"w3c.tracestate";

/// The attributes that the user named, and those that are retained.
#[derive(Clone, Debug, Default)]
pub(crate) struct WantedAttributes {
    count: Option<Arc<str>>,
    probability: Option<Arc<str>>,
    /// Attributes of requests and services that are retained.
    pub(crate) selected: SelectedAttributes,
}

impl WantedAttributes {
    pub(crate) fn new(options: &ReaderOptions) -> WantedAttributes {
        let shared = |name: &Option<String>| name.as_deref().map(Arc::from);
        WantedAttributes {
            count: shared(&options.weight_attribute),
            probability: shared(&options.probability_attribute),
            selected: options.attributes.clone(),
        }
    }

    /// Whether an attribute of this name is a sampling attribute.
    #[inline]
    pub(crate) fn is_relevant(&self, name: &[u8]) -> bool {
        self.meaning(name).is_some()
    }

    /// Whether JSON text of attributes may contain one that is needed; cheaper than reading it.
    pub(crate) fn may_occur_in(&self, json: &str) -> bool {
        let holds = |needle: &str| memchr::memmem::find(json.as_bytes(), needle.as_bytes()).is_some();
        holds("sampl") || holds("meta.refinery.") || self.named().any(holds)
    }

    fn named(&self) -> impl Iterator<Item = &str> {
        self.count.iter().chain(&self.probability).map(|name| &**name)
    }

    #[inline]
    fn meaning(&self, name: &[u8]) -> Option<AttributeMeaning> {
        let is = |configured: &Option<Arc<str>>| {
            configured.as_ref().is_some_and(|configured| configured.as_bytes() == name)
        };
        if is(&self.count) {
            return Some(AttributeMeaning::Count);
        }
        if is(&self.probability) {
            return Some(AttributeMeaning::Probability);
        }
        // Most names end here.
        if !matches!(name.first(), Some(b's' | b't' | b'm' | b'w')) {
            return None;
        }
        Some(match name {
            b"sampler.type" => AttributeMeaning::SamplerType,
            b"sampler.param" => AttributeMeaning::SamplerParam,
            b"tailsampling.policy" | b"tailsampling.composite_policy" | b"tailsampling.cached_decision" => {
                AttributeMeaning::Collector
            }
            b"meta.refinery.reason"
            | b"meta.refinery.send_reason"
            | b"meta.refinery.sample_key"
            | b"meta.refinery.original_sample_rate"
            | b"meta.refinery.local_hostname" => AttributeMeaning::Refinery,
            b"meta.refinery.dryrun.kept" => AttributeMeaning::RefineryDryRun,
            TRACE_STATE_TAG => AttributeMeaning::TraceState,
            _ => return None,
        })
    }
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum AttributeMeaning {
    Count,
    Probability,
    SamplerType,
    SamplerParam,
    TraceState,
    Collector,
    Refinery,
    /// Refinery in dry-run mode: everything was sampled, the decision is only recorded.
    RefineryDryRun,
}

/// The sampling attributes of one span.
#[derive(Debug, Default)]
pub(crate) struct SamplingAttributes<'a> {
    named: Option<(AttributeMeaning, Cow<'a, str>)>,
    sampler_type: Option<Cow<'a, str>>,
    sampler_param: Option<Cow<'a, str>>,
    trace_state: Option<Cow<'a, str>>,
    tail_sampler: Option<TailSampler>,
    is_dry_run: bool,
}

/// Which span it is, for examples of losses.
#[derive(Clone, Copy)]
pub(crate) struct SpanRef<'t> {
    pub(crate) trace_state: &'t str,
    pub(crate) span: SpanId,
}

impl<'a> SamplingAttributes<'a> {
    /// Adds an attribute if it is a sampling attribute; returns the value otherwise.
    pub(crate) fn add(
        &mut self,
        names: &WantedAttributes,
        name: &[u8],
        value: Cow<'a, str>,
    ) -> Option<Cow<'a, str>> {
        let Some(meaning) = names.meaning(name) else {
            return Some(value);
        };
        match meaning {
            AttributeMeaning::Count | AttributeMeaning::Probability => self.named = Some((meaning, value)),
            AttributeMeaning::SamplerType => self.sampler_type = Some(value),
            AttributeMeaning::SamplerParam => self.sampler_param = Some(value),
            AttributeMeaning::TraceState => self.trace_state = Some(value),
            AttributeMeaning::Collector => self.tail_sampler = Some(TailSampler::Collector),
            AttributeMeaning::Refinery => _ = self.tail_sampler.get_or_insert(TailSampler::Refinery),
            AttributeMeaning::RefineryDryRun => self.is_dry_run = true,
        }
        None
    }

    /// The mark of a tail sampler.
    pub(crate) fn tail_sampler(&self) -> Option<TailSampler> {
        self.tail_sampler.filter(|&sampler| sampler != TailSampler::Refinery || !self.is_dry_run)
    }

    /// What all of it amounts to; what makes no sense is counted, and the count is unknown.
    pub(crate) fn settle(&self, span_ref: SpanRef<'_>, sink: &mut dyn Sink) -> Sampling {
        let tail_sampler = self.tail_sampler();
        if let Some((meaning, text)) = &self.named {
            let adjusted_count = read_number(*meaning, text);
            if adjusted_count.is_none() {
                lose(sink, span_ref.span, text);
            }
            let source = adjusted_count.map_or(WeightSource::Unknown, |_| WeightSource::Named);
            return Sampling { adjusted_count, source, tail_sampler };
        }
        let trace_state = self.trace_state.as_deref().unwrap_or(span_ref.trace_state);
        match settle_trace_state(trace_state, span_ref.span, sink) {
            Some((count, source)) => Sampling { adjusted_count: Some(count), source, tail_sampler },
            None => Sampling { tail_sampler, ..self.settle_jaeger(span_ref.span, sink) },
        }
    }

    fn settle_jaeger(&self, span: SpanId, sink: &mut dyn Sink) -> Sampling {
        let param = self.sampler_param.as_deref().unwrap_or_default();
        let (adjusted_count, source) = match self.sampler_type.as_deref() {
            None => return Sampling::default(),
            Some("probabilistic") => {
                (read_number(AttributeMeaning::Probability, param), WeightSource::JaegerProbabilistic)
            }
            Some("const") => {
                // `false` samples nothing: a span that exists anyway was forced.
                let keeps = matches!(param, "true" | "1");
                (keeps.then_some(AdjustedCount::ONE), WeightSource::JaegerConst)
            }
            // Rate limiters sample a number per second, so the probability is unknown.
            Some(_) => return Sampling { source: WeightSource::JaegerOther, ..Sampling::default() },
        };
        if adjusted_count.is_none() {
            lose(sink, span, param);
            return Sampling::default();
        }
        Sampling { adjusted_count, source, tail_sampler: None }
    }
}

/// What a trace state alone amounts to.
#[inline]
pub(crate) fn from_trace_state(trace_state: &str, span: SpanId, sink: &mut dyn Sink) -> Sampling {
    match settle_trace_state(trace_state, span, sink) {
        Some((count, source)) => Sampling { adjusted_count: Some(count), source, tail_sampler: None },
        None => Sampling::default(),
    }
}

#[inline]
fn settle_trace_state(
    trace_state: &str,
    span: SpanId,
    sink: &mut dyn Sink,
) -> Option<(AdjustedCount, WeightSource)> {
    if trace_state.is_empty() {
        return None;
    }
    match trace_state::read(trace_state) {
        StateWeight::Declared(count, source) => Some((count, source)),
        StateWeight::Unknown => None,
        StateWeight::Invalid => {
            lose(sink, span, trace_state);
            None
        }
    }
}

/// How a column of a table encodes wanted.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum WeightColumn {
    Count(WeightSource),
    Probability(WeightSource),
    TraceState,
}

impl WeightColumn {
    /// The weight of a field; unknown if empty.
    pub(crate) fn sampling(self, text: &str, span: SpanId, sink: &mut dyn Sink) -> Sampling {
        let (meaning, source) = match self {
            WeightColumn::TraceState => return from_trace_state(text, span, sink),
            WeightColumn::Count(source) => (AttributeMeaning::Count, source),
            WeightColumn::Probability(source) => (AttributeMeaning::Probability, source),
        };
        if text.is_empty() {
            return Sampling::default();
        }
        let Some(count) = read_number(meaning, text) else {
            lose(sink, span, text);
            return Sampling::default();
        };
        Sampling { adjusted_count: Some(count), source, tail_sampler: None }
    }
}

/// A count or a probability as text. Honeycomb writes a rate of 0 for "not sampled", which is a count of 1.
fn read_number(meaning: AttributeMeaning, text: &str) -> Option<AdjustedCount> {
    let number: f64 = text.trim().parse().ok()?;
    match meaning {
        AttributeMeaning::Probability => AdjustedCount::from_probability(number),
        _ if number == 0.0 => Some(AdjustedCount::ONE),
        _ => AdjustedCount::new(number),
    }
}

#[cold]
fn lose(sink: &mut dyn Sink, span: SpanId, text: &str) {
    let text = crate::columns::shorten(text);
    sink.lose(Loss::InvalidSampling, &|| format!("span {span}: {text:?}"));
}

#[cfg(test)]
mod tests {
    use super::*;
    use laggard_model::Collect;

    fn names() -> WantedAttributes {
        WantedAttributes {
            count: Some("SampleRate".into()),
            probability: Some("_sample_rate".into()),
            ..WantedAttributes::default()
        }
    }

    fn settled(trace_state: &str, attributes: &[(&str, &'static str)]) -> (Sampling, u64) {
        let mut selected = SamplingAttributes::default();
        for &(name, value) in attributes {
            assert_eq!(selected.add(&names(), name.as_bytes(), value.into()), None, "{name} is wanted");
        }
        let mut sink = Collect::default();
        let span_ref = SpanRef { trace_state, span: SpanId::ZERO_TEXT };
        let sampling = selected.settle(span_ref, &mut sink);
        (sampling, sink.losses.count(Loss::InvalidSampling))
    }

    #[track_caller]
    fn check(trace_state: &str, attributes: &[(&str, &'static str)], count: f32, source: WeightSource) {
        let (sampling, lost) = settled(trace_state, attributes);
        assert_eq!((sampling.adjusted_count.map(AdjustedCount::get), sampling.source), (Some(count), source));
        assert_eq!(lost, 0);
    }

    #[test]
    fn sampling_tags_of_jaeger() {
        let tags = |kind, param| [("sampler.type", kind), ("sampler.param", param)];
        check("", &tags("probabilistic", "0.001"), 1000.0, WeightSource::JaegerProbabilistic);
        check("", &tags("const", "true"), 1.0, WeightSource::JaegerConst);
        for kind in ["ratelimiting", "lowerbound", "remote", "?"] {
            let (sampling, lost) = settled("", &tags(kind, "2"));
            let expected = Sampling { source: WeightSource::JaegerOther, ..Sampling::default() };
            assert_eq!((sampling, lost), (expected, 0), "{kind}");
        }
        for (kind, param) in
            [("probabilistic", "0"), ("probabilistic", "10"), ("probabilistic", ""), ("const", "false")]
        {
            assert_eq!(settled("", &tags(kind, param)), (Sampling::default(), 1), "{kind} {param}");
        }
    }

    #[test]
    fn user_attributes_override_trace_state_and_trace_state_overrides_jaeger() {
        let jaeger = [("sampler.type", "probabilistic"), ("sampler.param", "0.5")];
        check("ot=th:c", &jaeger, 4.0, WeightSource::Threshold);
        check("", &[("w3c.tracestate", "ot=p:3")], 8.0, WeightSource::PowerOfTwo);
        check("ot=th:c", &[("SampleRate", "20")], 20.0, WeightSource::Named);
        check("", &[("_sample_rate", "0.25")], 4.0, WeightSource::Named);
        check("", &[("SampleRate", "0")], 1.0, WeightSource::Named);
        assert_eq!(settled("ot=th:c", &[("SampleRate", "often")]).1, 1);
        assert_eq!(settled("ot=th:zz", &[]), (Sampling::default(), 1));
    }

    #[test]
    fn tail_samplers_leave_marks() {
        let sampler = |attributes| settled("", attributes).0.tail_sampler;
        assert_eq!(sampler(&[("tailsampling.policy", "errors")]), Some(TailSampler::Collector));
        assert_eq!(sampler(&[("meta.refinery.reason", "rules/trace/errors")]), Some(TailSampler::Refinery));
        let dry = &[("meta.refinery.reason", "x"), ("meta.refinery.dryrun.kept", "false")];
        assert_eq!(sampler(dry), None, "a dry run drops nothing");
        assert_eq!(sampler(&[]), None);
    }

    #[test]
    fn non_empty_json_is_recognized_by_its_text() {
        let names = names();
        for key in
            ["sampler.type", "tailsampling.policy", "meta.refinery.reason", "SampleRate", "_sample_rate"]
        {
            assert!(
                names.is_relevant(key.as_bytes()) && names.may_occur_in(&format!("[{{\"key\":\"{key}\"}}]")),
                "{key}"
            );
        }
        for key in ["http.route", "service.name", "server.address", "meta.refinery", "w3c"] {
            assert!(!names.is_relevant(key.as_bytes()), "{key}");
        }
    }
}
