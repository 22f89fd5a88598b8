//! Which fields read before a reference can mean.

use super::Slot;
use crate::ctf::class::{EnumMapping, FieldScope, Reference, SCOPES, plain};
use std::sync::Arc;

/// A field that others can refer to.
#[derive(Clone, Debug)]
pub(super) enum Entry {
    NumberPlan(Selector),
    /// A structure, or the choices of a variant.
    ScopeGroup(ScopeGroup),
}

/// A number that is a length or selector of other fields.
#[derive(Clone, Debug)]
pub(super) struct Selector {
    pub(super) slot: Slot,
    pub(super) signed: bool,
    pub(super) mapping: Option<Arc<EnumMapping>>,
}

pub(super) type ScopeGroup = Vec<(String, Entry)>;

/// The scopes that are done, and the structures that are being worked out.
#[derive(Clone, Debug, Default)]
pub(super) struct Scopes {
    done: [ScopeGroup; SCOPES],
    current: Option<FieldScope>,
    open: Vec<ScopeGroup>,
}

impl Scopes {
    pub(super) fn begin(&mut self, scope: FieldScope) {
        self.current = Some(scope);
        self.open = vec![ScopeGroup::new()];
    }

    pub(super) fn end(&mut self) {
        let fields = self.open.drain(..).next().unwrap_or_default();
        if let Some(scope) = self.current.take() {
            // A scope is one nameless structure.
            self.done[scope as usize] = match fields.into_iter().next() {
                Some((_, Entry::ScopeGroup(fields))) => fields,
                _ => ScopeGroup::new(),
            };
        }
    }

    pub(super) fn open(&mut self) {
        self.open.push(ScopeGroup::new());
    }

    pub(super) fn close(&mut self, name: &str) {
        let fields = self.open.pop().unwrap_or_default();
        if !fields.is_empty() || self.open.len() == 1 {
            self.add(name, Entry::ScopeGroup(fields));
        }
    }

    pub(super) fn add(&mut self, name: &str, entry: Entry) {
        if let Some(fields) = self.open.last_mut() {
            fields.push((name.to_owned(), entry));
        }
    }

    /// The number that a reference selects: the innermost and last of those read before.
    pub(super) fn find(&self, reference: &Reference) -> Result<Selector, String> {
        let path = &reference.path[..];
        let selector = match reference.scope {
            Some(scope) if self.current != Some(scope) => within(&self.done[scope as usize], path),
            // The outermost structure that is open is a frame around the scope's own.
            Some(_) => self.open.get(1).and_then(|fields| within(fields, path)),
            None => {
                let inner = self.open.iter().rev().find_map(|fields| within(fields, path));
                inner.or_else(|| self.done.iter().rev().find_map(|fields| within(fields, path)))
            }
        };
        selector.cloned().ok_or_else(|| format!("no field `{}` before the one that needs it", path.join(".")))
    }
}

fn within<'a>(fields: &'a ScopeGroup, path: &[String]) -> Option<&'a Selector> {
    let (first, rest) = path.split_first()?;
    let named = |same: &dyn Fn(&str) -> bool| fields.iter().rev().find(|(name, _)| same(name));
    let (_, entry) = named(&|name| name == first).or_else(|| named(&|name| plain(name) == plain(first)))?;
    match entry {
        Entry::NumberPlan(selector) if rest.is_empty() => Some(selector),
        Entry::ScopeGroup(fields) => within(fields, rest),
        Entry::NumberPlan(_) => None,
    }
}
