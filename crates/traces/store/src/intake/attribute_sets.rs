//! Sets of attributes that many open traces have in common.

use laggard_model::AttributeText;
use std::collections::{HashMap, HashSet};
use std::sync::Arc;

/// Sets and unions that are remembered; beyond it, all are forgotten, and traces keep their own.
const SETS_MAX: usize = 1 << 12;

/// Shares the texts of sets, and the unions of two of them, since the spans of a service have the same attributes in trace after trace.
/// What is remembered changes no result.
#[derive(Debug, Default)]
pub(super) struct AttributeSets {
    texts: HashSet<Arc<str>>,
    /// By the addresses of both sets, which their copies here reserve.
    unions: HashMap<(usize, usize), Union>,
}

#[derive(Debug)]
struct Union {
    _reserved: [Arc<str>; 2],
    text: Arc<str>,
}

impl AttributeSets {
    /// The set with a text, if it is remembered.
    pub(super) fn find(&self, text: &str) -> Option<Arc<str>> {
        self.texts.get(text).cloned()
    }

    /// A set that is shared with all that asked for the same text.
    pub(super) fn share(&mut self, text: &str) -> Arc<str> {
        if let Some(known) = self.find(text) {
            return known;
        }
        if self.texts.len() >= SETS_MAX {
            self.texts.clear();
        }
        let new: Arc<str> = text.into();
        self.texts.insert(Arc::clone(&new));
        new
    }

    /// The union of two sets, as [`AttributeText::union`].
    pub(super) fn union(&mut self, known: &Arc<str>, added: &Arc<str>) -> Arc<str> {
        if added.is_empty() || Arc::ptr_eq(known, added) {
            return Arc::clone(known);
        }
        if known.is_empty() {
            return Arc::clone(added);
        }
        let key = (known.as_ptr() as usize, added.as_ptr() as usize);
        if let Some(union) = self.unions.get(&key) {
            return Arc::clone(&union.text);
        }
        let text = self.share(AttributeText::union(known, added).as_str());
        if self.unions.len() >= SETS_MAX {
            self.unions.clear();
        }
        let reserved = [Arc::clone(known), Arc::clone(added)];
        self.unions.insert(key, Union { _reserved: reserved, text: Arc::clone(&text) });
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use laggard_model::Attribute;

    fn set(sets: &mut AttributeSets, values: &[&str]) -> Arc<str> {
        let mut text = AttributeText::default();
        for value in values {
            text.add(Attribute { key: "tenant", service: "", value });
        }
        sets.share(text.as_str())
    }

    #[test]
    fn equal_sets_and_unions_are_shared() {
        let mut sets = AttributeSets::default();
        let (a, b) = (set(&mut sets, &["a"]), set(&mut sets, &["b"]));
        assert!(Arc::ptr_eq(&a, &set(&mut sets, &["a"])));
        let union = sets.union(&a, &b);
        assert_eq!(*union, *set(&mut AttributeSets::default(), &["a", "b"]));
        assert!(Arc::ptr_eq(&union, &sets.union(&a, &b)));
        assert!(Arc::ptr_eq(&union, &sets.union(&union, &b)));
        let none: Arc<str> = "".into();
        assert!(Arc::ptr_eq(&sets.union(&none, &a), &a) && Arc::ptr_eq(&sets.union(&a, &none), &a));
    }

    #[test]
    fn forgotten_sets_are_united_as_before() {
        let mut sets = AttributeSets::default();
        let first = set(&mut sets, &["first"]);
        for number in 0..3 * SETS_MAX {
            let other = set(&mut sets, &[&number.to_string()]);
            let union = sets.union(&first, &other);
            assert_eq!(*union, *AttributeText::union(&first, &other).as_str());
        }
        assert!(sets.texts.len() <= SETS_MAX && sets.unions.len() <= SETS_MAX);
    }
}
