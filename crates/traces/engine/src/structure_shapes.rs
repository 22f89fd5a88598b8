//! The shape of every tree structure, computed once per structure instead of once per request.

use crate::slice::TreeStructure;
use laggard_assembly::{Shape, ShapePosition, ShapeRule, Shaper};
use laggard_model::Fingerprint;
use laggard_parallel::parallel_map;
use std::collections::BTreeMap;
use std::num::NonZeroUsize;

/// Shapes of tree structures; the requests whose structures have one shape are a category.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct StructureShapes {
    /// By id.
    categories: Vec<ShapeCategory>,
    /// Index into `categories`, by structure.
    category_of: Vec<u32>,
    /// By structure: the position of each of its nodes.
    positions_of: Vec<Vec<u32>>,
}

/// A category: all requests of one shape.
#[derive(Clone, PartialEq, Debug)]
pub struct ShapeCategory {
    /// The shape's fingerprint, or the next free one where two shapes have the same.
    pub id: Fingerprint,
    /// The shape's positions in depth-first pre-order.
    pub positions: Vec<ShapePosition>,
}

/// Structures that one thread processes at a time.
const STRUCTURES_AT_ONCE: usize = 256;

impl StructureShapes {
    pub(crate) fn from_structures(
        structures: &[TreeStructure],
        rule: ShapeRule,
        operations: &[Fingerprint],
        threads: NonZeroUsize,
    ) -> StructureShapes {
        let items: Vec<&[TreeStructure]> = structures.chunks(STRUCTURES_AT_ONCE).collect();
        let shapes = parallel_map(&items, threads, |item| {
            let mut shaper = Shaper::new(rule, operations);
            item.iter().map(|structure| shaper.shape_of(structure.columns())).collect::<Vec<Shape>>()
        });
        let mut out = StructureShapes::default();
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
        self.categories.push(ShapeCategory { id, positions });
        new
    }

    /// Numbers categories in the order of their ids.
    fn sort(mut self, by_id: BTreeMap<Fingerprint, u32>) -> StructureShapes {
        let mut rank = vec![0; self.categories.len()];
        for (index, old) in by_id.into_values().enumerate() {
            rank[old as usize] = index as u32;
        }
        self.categories.sort_by_key(|category| category.id);
        self.category_of.iter_mut().for_each(|category| *category = rank[*category as usize]);
        self
    }

    /// Distinct shapes, by id.
    pub fn categories(&self) -> &[ShapeCategory] {
        &self.categories
    }

    /// The category of a structure: an index into [`StructureShapes::categories`].
    pub fn category_of(&self, structure: usize) -> usize {
        self.category_of[structure] as usize
    }

    /// The position of every node of a structure in its category's tree.
    pub fn positions_of(&self, structure: usize) -> &[u32] {
        &self.positions_of[structure]
    }
}
