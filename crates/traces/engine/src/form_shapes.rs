//! The shape of every form, computed once a form instead of once a request.

use crate::parallel::in_parallel;
use crate::requests::TreeForm;
use laggard_assembly::{Shape, ShapePosition, ShapeRule, Shaper};
use laggard_model::Fingerprint;
use std::collections::BTreeMap;
use std::num::NonZeroUsize;

/// Shapes of forms; forms of one shape make one category.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct FormShapes {
    /// By id.
    categories: Vec<FormCategory>,
    /// A place in `categories`, by form.
    category_of: Vec<u32>,
    /// By form: the position of each of its nodes.
    positions_of: Vec<Vec<u32>>,
}

/// What forms of one shape have in common.
#[derive(Clone, PartialEq, Debug)]
pub struct FormCategory {
    /// The shape's fingerprint, or the next free one where two shapes have the same.
    pub id: Fingerprint,
    /// The shape's positions in depth-first pre-order.
    pub positions: Vec<ShapePosition>,
}

/// Forms that one thread shapes at a time.
const FORMS_AT_ONCE: usize = 256;

impl FormShapes {
    pub(crate) fn of(
        forms: &[TreeForm],
        rule: ShapeRule,
        operations: &[Fingerprint],
        threads: NonZeroUsize,
    ) -> FormShapes {
        let pieces: Vec<&[TreeForm]> = forms.chunks(FORMS_AT_ONCE).collect();
        let shapes = in_parallel(&pieces, threads, |piece| {
            let mut shaper = Shaper::new(rule, operations);
            piece.iter().map(|form| shaper.shape_of(form.columns())).collect::<Vec<Shape>>()
        });
        let mut out = FormShapes::default();
        let mut by_id: BTreeMap<Fingerprint, u32> = BTreeMap::new();
        for shape in shapes.into_iter().flatten() {
            let category = out.file(&mut by_id, shape.fingerprint, shape.positions);
            out.category_of.push(category);
            out.positions_of.push(shape.position_of);
        }
        out.sort(by_id)
    }

    /// Two shapes with one fingerprint would be two categories: the positions are compared, and the later shape
    /// moves to the next free id.
    fn file(
        &mut self,
        by_id: &mut BTreeMap<Fingerprint, u32>,
        mut id: Fingerprint,
        positions: Vec<ShapePosition>,
    ) -> u32 {
        while let Some(&known) = by_id.get(&id) {
            if self.categories[known as usize].positions == positions {
                return known;
            }
            id = Fingerprint::from_value(id.value().wrapping_add(1));
        }
        let new = self.categories.len() as u32;
        by_id.insert(id, new);
        self.categories.push(FormCategory { id, positions });
        new
    }

    /// Numbers categories in the order of their ids.
    fn sort(mut self, by_id: BTreeMap<Fingerprint, u32>) -> FormShapes {
        let mut rank = vec![0; self.categories.len()];
        for (at, old) in by_id.into_values().enumerate() {
            rank[old as usize] = at as u32;
        }
        self.categories.sort_by_key(|category| category.id);
        self.category_of.iter_mut().for_each(|category| *category = rank[*category as usize]);
        self
    }

    /// Distinct shapes, by id.
    pub fn categories(&self) -> &[FormCategory] {
        &self.categories
    }

    /// The category of a form: a place in [`FormShapes::categories`].
    pub fn category_of(&self, form: usize) -> usize {
        self.category_of[form] as usize
    }

    /// The position of every node of a form in its category's tree.
    pub fn positions_of(&self, form: usize) -> &[u32] {
        &self.positions_of[form]
    }
}
