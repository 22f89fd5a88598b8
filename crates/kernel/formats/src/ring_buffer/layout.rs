//! Where the parts of a page's head lie (`events/header_page`).

use crate::bytes::ByteOrder;
use crate::format_text::field;

/// The layout of pages of one trace.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct PageLayout {
    /// Byte order of the traced kernel.
    pub(crate) order: ByteOrder,
    /// Bytes of a page, its head included.
    pub(crate) page_bytes: usize,
    /// Offset of the word with the size and the flags.
    pub(super) commit_at: usize,
    /// Bytes of that word: those of the kernel's `long`.
    pub(super) long_bytes: usize,
    /// Where records begin.
    pub(super) data_at: usize,
}

/// Pages are at least this large, so that a file of any size gives few of them.
const PAGE_BYTES_MIN: usize = 256;

/// Pages are at most this large (sub-buffers of newer kernels may be larger than a page of memory).
const PAGE_BYTES_MAX: usize = 64 << 20;

impl PageLayout {
    /// From the text of `header_page`; `None` when it makes no sense.
    pub(crate) fn parse(header_page: &str, order: ByteOrder, page_bytes: usize) -> Option<PageLayout> {
        let field_named = |name: &str| header_page.lines().filter_map(field).find(|field| field.name == name);
        let (commit, data) = (field_named("commit")?, field_named("data")?);
        let layout = PageLayout {
            order,
            page_bytes,
            commit_at: commit.offset,
            long_bytes: commit.size,
            data_at: data.offset,
        };
        let sound = (PAGE_BYTES_MIN..=PAGE_BYTES_MAX).contains(&page_bytes)
            && matches!(commit.size, 4 | 8)
            && commit.offset <= 64
            && (8..=64).contains(&data.offset);
        sound.then_some(layout)
    }
}
