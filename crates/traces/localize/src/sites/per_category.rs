//! A value for each category of some observations: there are many categories, and few of them call one site.

use crate::sites::table::{Observation, SiteRequest, SiteTable};
use std::ops::Deref;

/// Values by category, in the order of their first observation.
pub(crate) struct PerCategory<T> {
    /// Index into `values`, by category; `NONE` for a category without a value.
    index: Vec<u32>,
    /// Categories with a value.
    categories: Vec<u32>,
    values: Vec<T>,
}

const NONE: u32 = u32::MAX;

impl<T> PerCategory<T> {
    pub(crate) fn new(table: &Keyed<'_>) -> PerCategory<T> {
        PerCategory { index: vec![NONE; table.categories.len()], categories: vec![], values: vec![] }
    }

    /// The index of a category's value, which is created if the category has none.
    pub(crate) fn index_of(&mut self, category: u32, make: impl FnOnce() -> T) -> usize {
        let index = &mut self.index[category as usize];
        if *index == NONE {
            *index = self.values.len() as u32;
            self.values.push(make());
            self.categories.push(category);
        }
        *index as usize
    }

    /// The value of a category.
    pub(crate) fn value(&mut self, category: u32, make: impl FnOnce() -> T) -> &mut T {
        let index = self.index_of(category, make);
        &mut self.values[index]
    }

    /// All values, by index.
    pub(crate) fn values(&self) -> &[T] {
        &self.values
    }

    /// All values, mutable.
    pub(crate) fn values_mut(&mut self) -> &mut [T] {
        &mut self.values
    }

    /// Categories with their values, in the order of their first observation.
    pub(crate) fn into_pairs(self) -> impl Iterator<Item = (u32, T)> {
        self.categories.into_iter().zip(self.values)
    }
}

/// A table with the two properties of a request that every pass over its observations reads, stored densely: reading
/// whole requests would touch six times as much memory for each site.
pub(crate) struct Keyed<'a> {
    table: &'a SiteTable,
    /// By request.
    keys: Vec<Key>,
}

/// See [`Keyed`].
#[derive(Clone, Copy)]
pub(crate) struct Key {
    /// Index into [`SiteTable::categories`].
    pub(crate) category: u32,
    /// Weight of the request.
    pub(crate) weight: f32,
}

impl<'a> Keyed<'a> {
    pub(crate) fn new(table: &'a SiteTable) -> Keyed<'a> {
        let key = |request: &SiteRequest| Key { category: request.category, weight: request.weight };
        Keyed { table, keys: table.requests.iter().map(key).collect() }
    }

    /// Category and weight of an observation's request.
    pub(crate) fn key(&self, row: &Observation) -> Key {
        self.keys[row.request as usize]
    }
}

impl Deref for Keyed<'_> {
    type Target = SiteTable;

    fn deref(&self) -> &SiteTable {
        self.table
    }
}
