//! Which fields read before a reference can mean.

use super::Slot;
use crate::ctf::class::{Mapping, Reference, SCOPES, Scope, plain};
use std::sync::Arc;

/// A field that others can refer to.
#[derive(Clone, Debug)]
pub(super) enum Entry {
    Number(Selector),
    /// A structure, or the choices of a variant.
    Group(Group),
}

/// A number that tells a length or makes a choice.
#[derive(Clone, Debug)]
pub(super) struct Selector {
    pub(super) slot: Slot,
    pub(super) signed: bool,
    pub(super) mapping: Option<Arc<Mapping>>,
}

pub(super) type Group = Vec<(String, Entry)>;

/// The scopes that are done, and the structures that are being worked out.
#[derive(Clone, Debug, Default)]
pub(super) struct Scopes {
    done: [Group; SCOPES],
    current: Option<Scope>,
    open: Vec<Group>,
}

impl Scopes {
    pub(super) fn begin(&mut self, scope: Scope) {
        self.current = Some(scope);
        self.open = vec![Group::new()];
    }

    pub(super) fn end(&mut self) {
        let fields = self.open.drain(..).next().unwrap_or_default();
        if let Some(scope) = self.current.take() {
            // A scope is one nameless structure.
            self.done[scope as usize] = match fields.into_iter().next() {
                Some((_, Entry::Group(fields))) => fields,
                _ => Group::new(),
            };
        }
    }

    pub(super) fn open(&mut self) {
        self.open.push(Group::new());
    }

    pub(super) fn close(&mut self, name: &str) {
        let fields = self.open.pop().unwrap_or_default();
        if !fields.is_empty() || self.open.len() == 1 {
            self.add(name, Entry::Group(fields));
        }
    }

    pub(super) fn add(&mut self, name: &str, entry: Entry) {
        if let Some(fields) = self.open.last_mut() {
            fields.push((name.to_owned(), entry));
        }
    }

    /// The number that a reference means: of those read before, the innermost and last.
    pub(super) fn find(&self, reference: &Reference) -> Result<Selector, String> {
        let path = &reference.path[..];
        let found = match reference.scope {
            Some(scope) if self.current != Some(scope) => within(&self.done[scope as usize], path),
            // The outermost structure that is open is a frame around the scope's own.
            Some(_) => self.open.get(1).and_then(|fields| within(fields, path)),
            None => {
                let inner = self.open.iter().rev().find_map(|fields| within(fields, path));
                inner.or_else(|| self.done.iter().rev().find_map(|fields| within(fields, path)))
            }
        };
        found.cloned().ok_or_else(|| format!("no field `{}` before the one that needs it", path.join(".")))
    }
}

fn within<'a>(fields: &'a Group, path: &[String]) -> Option<&'a Selector> {
    let (first, rest) = path.split_first()?;
    let named = |same: &dyn Fn(&str) -> bool| fields.iter().rev().find(|(name, _)| same(name));
    let (_, entry) = named(&|name| name == first).or_else(|| named(&|name| plain(name) == plain(first)))?;
    match entry {
        Entry::Number(selector) if rest.is_empty() => Some(selector),
        Entry::Group(fields) => within(fields, rest),
        Entry::Number(_) => None,
    }
}
