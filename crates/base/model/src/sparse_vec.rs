//! Values by small dense numbers, of which only some have one.

/// Values by number: four bytes for each number up to the largest in use, and the values themselves. For the parts of a computation,
/// of which each meets few of very many names.
#[derive(Clone, PartialEq, Debug)]
pub struct SparseVec<T> {
    /// By number: the index of its value, from 1 on; 0 if there is none.
    indices: Vec<u32>,
    /// Numbers and their values, in order of first use.
    values: Vec<(u32, T)>,
}

impl<T> Default for SparseVec<T> {
    fn default() -> SparseVec<T> {
        SparseVec { indices: Vec::new(), values: Vec::new() }
    }
}

impl<T: Default> SparseVec<T> {
    /// The value of a number, which gets the default one if it has none.
    pub fn entry(&mut self, number: u32) -> &mut T {
        let position = number as usize;
        if self.indices.len() <= position {
            self.indices.resize(position + 1, 0);
        }
        let index = &mut self.indices[position];
        if *index == 0 {
            self.values.push((number, T::default()));
            *index = self.values.len() as u32;
        }
        &mut self.values[*index as usize - 1].1
    }
}

impl<T> SparseVec<T> {
    /// Numbers that have a value, with it, in order of first use.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = (u32, &T)> {
        self.values.iter().map(|(number, value)| (*number, value))
    }
}

impl<T> IntoIterator for SparseVec<T> {
    type Item = (u32, T);
    type IntoIter = std::vec::IntoIter<(u32, T)>;

    fn into_iter(self) -> Self::IntoIter {
        self.values.into_iter()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_have_values_in_order_of_first_use() {
        let mut values: SparseVec<Vec<char>> = SparseVec::default();
        for (number, letter) in [(7, 'a'), (2, 'b'), (7, 'c'), (0, 'd')] {
            values.entry(number).push(letter);
        }
        let all: Vec<(u32, String)> =
            values.iter().map(|(number, value)| (number, value.iter().collect())).collect();
        assert_eq!(all, [(7, "ac".to_owned()), (2, "b".to_owned()), (0, "d".to_owned())]);
        assert_eq!(values.into_iter().len(), 3);
    }
}
