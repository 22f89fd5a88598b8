//! Attributes by trace: the union over the spans of each, as a handle of a set.

use laggard_model::{
    AttributeSetId, AttributeText, Loss, Losses, Names, SpanAttributes, TraceId, attributes_in,
};
use std::collections::{HashMap, HashSet};
use std::hash::{BuildHasherDefault, Hasher};

// Limit: distinct values of one attribute, of one service if it describes services | `attribute_limit`: left out
/// Most distinct values of one attribute. Attributes that identify single requests would fill the memory.
const VALUES_MAX: usize = 1000;

// Limit: distinct sets of attributes of requests | `attribute_limit`: left out
/// Most distinct sets.
const SETS_MAX: usize = 1 << 16;

type KeyAndService = (Box<str>, Box<str>);

/// Counts the distinct values of every attribute, and leaves out further ones at the limit.
#[derive(Clone, Debug, Default)]
pub struct AttributeLimit {
    /// By key and service.
    values: HashMap<KeyAndService, HashSet<Box<str>>>,
}

impl AttributeLimit {
    /// The attributes of a set without those whose value is one too many.
    pub fn admit(&mut self, text: &str, losses: &mut Losses) -> AttributeText {
        let mut admitted = AttributeText::default();
        for attribute in attributes_in(text) {
            let known = self.values.entry((attribute.key.into(), attribute.service.into())).or_default();
            if known.contains(attribute.value) || known.len() < VALUES_MAX {
                known.insert(attribute.value.into());
                admitted.add(attribute);
            } else {
                losses.add(Loss::AttributeLimit, || format!("{}={}", attribute.key, attribute.value));
            }
        }
        admitted
    }

    fn merge(&mut self, later: &AttributeLimit) {
        for (key, values) in &later.values {
            self.values.entry(key.clone()).or_default().extend(values.iter().cloned());
        }
    }
}

/// The set of attributes of each trace that has any, in handles of names that are passed to every call.
#[derive(Clone, Debug, Default)]
pub struct TraceAttributes {
    sets: HashMap<TraceId, AttributeSetId, BuildHasherDefault<TraceHasher>>,
    unions: HashMap<(AttributeSetId, AttributeSetId), AttributeSetId, BuildHasherDefault<TraceHasher>>,
    limit: AttributeLimit,
    /// The last text that was added, and its set: spans of one resource come in runs.
    last_text: (String, AttributeSetId),
    /// The last set that was added, and its trace.
    last: Option<(TraceId, AttributeSetId)>,
}

impl TraceAttributes {
    /// Adds the attributes of a span of a trace.
    #[inline]
    pub fn add_span(
        &mut self,
        trace: TraceId,
        attributes: SpanAttributes<'_>,
        names: &mut Names,
        losses: &mut Losses,
    ) {
        if !attributes.resource.is_empty() {
            self.add_text(trace, attributes.resource, names, losses);
        }
        if !attributes.span.is_empty() {
            self.add_text(trace, attributes.span, names, losses);
        }
    }

    /// Adds attributes, a text of [`AttributeText`], to those of a trace.
    pub fn add_text(&mut self, trace: TraceId, text: &str, names: &mut Names, losses: &mut Losses) {
        if self.last_text.0 != text {
            let set = match names.find_attribute_set(text) {
                Some(known) => known,
                None => self.admit(text, names, losses),
            };
            self.last_text.0.clear();
            self.last_text.0.push_str(text);
            self.last_text.1 = set;
        }
        let set = self.last_text.1;
        self.add(trace, set, names, losses);
    }

    /// Adds a set to that of a trace.
    pub fn add(&mut self, trace: TraceId, set: AttributeSetId, names: &mut Names, losses: &mut Losses) {
        if set == AttributeSetId::default() || self.last == Some((trace, set)) {
            return;
        }
        self.last = Some((trace, set));
        let known = self.sets.entry(trace).or_default();
        if *known == AttributeSetId::default() {
            *known = set;
        } else if *known != set {
            let unions = &mut self.unions;
            *known = *unions.entry((*known, set)).or_insert_with(|| union(*known, set, names, losses));
        }
    }

    /// Adds the sets of a later table; `map` translates its handles.
    pub(crate) fn merge(
        &mut self,
        later: &TraceAttributes,
        map: impl Fn(AttributeSetId) -> AttributeSetId,
        names: &mut Names,
        losses: &mut Losses,
    ) {
        for (&trace, &set) in &later.sets {
            self.add(trace, map(set), names, losses);
        }
        self.limit.merge(&later.limit);
    }

    /// The sets of some traces, as texts of [`AttributeText`]; their number is bounded by the writer.
    pub fn from_texts<T: AsRef<str>>(texts: &[(TraceId, T)], names: &mut Names) -> TraceAttributes {
        let sets = texts.iter().map(|(trace, text)| (*trace, names.attribute_set(text.as_ref())));
        TraceAttributes { sets: sets.collect(), ..TraceAttributes::default() }
    }

    /// The set of a trace.
    pub fn of(&self, trace: TraceId) -> AttributeSetId {
        if self.sets.is_empty() {
            AttributeSetId::default()
        } else {
            self.sets.get(&trace).copied().unwrap_or_default()
        }
    }

    /// Forgets the traces for which `retain` is false.
    pub(crate) fn retain(&mut self, retain: impl Fn(TraceId) -> bool) {
        self.sets.retain(|&trace, _| retain(trace));
    }

    /// Bytes in use by the traces, about.
    pub(crate) fn bytes(&self) -> usize {
        self.sets.len() * (2 * size_of::<(TraceId, AttributeSetId)>())
    }

    /// The handle of a new set, without the values that exceed the limit.
    #[cold]
    fn admit(&mut self, text: &str, names: &mut Names, losses: &mut Losses) -> AttributeSetId {
        let admitted = self.limit.admit(text, losses);
        let is_known = names.find_attribute_set(admitted.as_str()).is_some();
        if !is_known && names.attribute_sets() > SETS_MAX {
            losses.add(Loss::AttributeLimit, || "too many combinations".to_owned());
            return AttributeSetId::default();
        }
        names.attribute_set(admitted.as_str())
    }
}

/// The union of two sets; at the limit, the first.
#[cold]
fn union(
    first: AttributeSetId,
    second: AttributeSetId,
    names: &mut Names,
    losses: &mut Losses,
) -> AttributeSetId {
    let union = AttributeText::union(names.attribute_set_text(first), names.attribute_set_text(second));
    let is_known = names.find_attribute_set(union.as_str()).is_some();
    if !is_known && names.attribute_sets() > SETS_MAX {
        losses.add(Loss::AttributeLimit, || "too many combinations".to_owned());
        return first;
    }
    names.attribute_set(union.as_str())
}

/// Trace ids are mixed as for the buckets: they need not be random. Handles are small dense numbers.
#[derive(Clone, Copy, Default)]
struct TraceHasher(u64);

impl Hasher for TraceHasher {
    fn finish(&self) -> u64 {
        self.0 ^ (self.0 >> 29)
    }

    fn write(&mut self, bytes: &[u8]) {
        bytes.iter().for_each(|&byte| self.0 = self.0.rotate_left(8) ^ u64::from(byte));
    }

    fn write_u32(&mut self, handle: u32) {
        self.0 = (self.0.rotate_left(5) ^ u64::from(handle)).wrapping_mul(0x9E37_79B9_7F4A_7C15);
    }

    fn write_u128(&mut self, trace: u128) {
        self.0 = crate::thin::hash(TraceId::from_value(trace));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use laggard_model::Attribute;

    fn text(key: &str, value: &str) -> AttributeText {
        let mut text = AttributeText::default();
        text.add(Attribute { key, service: "", value });
        text
    }

    #[test]
    fn a_trace_has_the_attributes_of_all_its_spans() {
        let (mut names, mut losses) = (Names::new(), Losses::none());
        let mut attributes = TraceAttributes::default();
        let trace = TraceId::from_value;
        for (number, key, value) in
            [(1, "tenant", "acme"), (2, "tenant", "zeta"), (1, "zone", "a"), (1, "tenant", "acme")]
        {
            attributes.add_text(trace(number), text(key, value).as_str(), &mut names, &mut losses);
        }
        let values = |number| {
            let text = names.attribute_set_text(attributes.of(trace(number)));
            attributes_in(text).map(|attribute| attribute.value).collect::<Vec<_>>()
        };
        assert_eq!((values(1), values(2), values(3)), (vec!["acme", "a"], vec!["zeta"], vec![]));
        assert!(losses.is_empty());
    }

    #[test]
    fn values_beyond_the_limit_are_counted_and_dropped() {
        let (mut names, mut losses) = (Names::new(), Losses::none());
        let mut attributes = TraceAttributes::default();
        for number in 1..=1500_u128 {
            let trace = TraceId::from_value(number);
            attributes.add_text(trace, text("tenant", &number.to_string()).as_str(), &mut names, &mut losses);
            attributes.add_text(trace, text("zone", "a").as_str(), &mut names, &mut losses);
        }
        assert_eq!(losses.count(Loss::AttributeLimit), 500);
        let last = names.attribute_set_text(attributes.of(TraceId::from_value(1500)));
        assert_eq!(attributes_in(last).map(|attribute| attribute.value).collect::<Vec<_>>(), ["a"]);
        assert!(names.attribute_sets() < 2100);
    }
}
