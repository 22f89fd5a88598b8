//! A value for each category among some observations: there are many categories, and few of them call one site.

use crate::sites::table::{Observation, SiteRequest, SiteTable};
use std::ops::Deref;

/// Values by category, in the order in which categories are met.
pub(crate) struct PerCategory<T> {
    /// Place in `values`, by category; `NONE` if it was not met.
    place: Vec<u32>,
    /// Categories that were met.
    categories: Vec<u32>,
    values: Vec<T>,
}

const NONE: u32 = u32::MAX;

impl<T> PerCategory<T> {
    pub(crate) fn new(table: &Keyed<'_>) -> PerCategory<T> {
        PerCategory { place: vec![NONE; table.categories.len()], categories: vec![], values: vec![] }
    }

    /// The place of a category's value, which is made if the category is met for the first time.
    pub(crate) fn index_of(&mut self, category: u32, make: impl FnOnce() -> T) -> usize {
        let place = &mut self.place[category as usize];
        if *place == NONE {
            *place = self.values.len() as u32;
            self.values.push(make());
            self.categories.push(category);
        }
        *place as usize
    }

    /// The value of a category.
    pub(crate) fn value(&mut self, category: u32, make: impl FnOnce() -> T) -> &mut T {
        let place = self.index_of(category, make);
        &mut self.values[place]
    }

    /// All values, by place.
    pub(crate) fn values(&self) -> &[T] {
        &self.values
    }

    /// The same, to be changed.
    pub(crate) fn values_mut(&mut self) -> &mut [T] {
        &mut self.values
    }

    /// Categories with their values, in the order of their first observation.
    pub(crate) fn into_pairs(self) -> impl Iterator<Item = (u32, T)> {
        self.categories.into_iter().zip(self.values)
    }
}

/// A table with what every pass over its observations asks of their requests, close together: a whole request is
/// six times as much memory to go through for each site.
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
    /// How many requests it stands for.
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
