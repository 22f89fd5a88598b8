//! Names of threads, interrupts and events, and the texts of markers.

use crate::names::Interner;

/// The handle of a text in the [`KernelTexts`] that made it.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub struct TextId(u32);

impl TextId {
    /// The empty text: not known.
    pub const EMPTY: TextId = TextId(0);

    /// Position in arrays indexed by this handle.
    pub const fn index(self) -> usize {
        self.0 as usize
    }
}

/// The texts of one kernel trace, each once. Handles are dense, in order of first appearance after the empty
/// text, which is always there.
#[derive(Clone, Debug)]
pub struct KernelTexts {
    texts: Interner,
}

impl Default for KernelTexts {
    fn default() -> KernelTexts {
        let mut texts = Interner::default();
        texts.intern("");
        KernelTexts { texts }
    }
}

impl KernelTexts {
    /// The handle of a text, made on first sight.
    ///
    /// # Panics
    /// Beyond 2³² distinct texts.
    pub fn intern(&mut self, text: &str) -> TextId {
        TextId(self.texts.intern(text))
    }

    /// The handle of a text, if it has one.
    pub fn find(&self, text: &str) -> Option<TextId> {
        self.texts.find(text).map(TextId)
    }

    /// The text of a handle.
    ///
    /// # Panics
    /// When the handle is another table's and out of range.
    pub fn text(&self, id: TextId) -> &str {
        self.texts.text(id.0)
    }

    /// Number of texts, the empty one included.
    pub fn len(&self) -> usize {
        self.texts.len()
    }

    /// Never: the empty text is always there.
    pub fn is_empty(&self) -> bool {
        self.texts.len() == 0
    }
}
