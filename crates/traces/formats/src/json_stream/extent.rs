//! Finds the end of a JSON value without parsing it, across chunks.

use memchr::memchr3;

/// Finds the end of a value whose first byte has been consumed.
#[derive(Clone, Copy, Debug)]
pub(super) struct Extent {
    /// Brackets open.
    depth: u64,
    /// The last byte outside strings that is not white space.
    last: u8,
    inside: Inside,
}

#[derive(Clone, Copy, Debug)]
enum Inside {
    /// A container, outside strings.
    Container,
    /// A string.
    Text,
    /// A string, after a backslash.
    Escape,
    /// A number or a literal that is the complete value.
    Bare,
}

pub(super) enum ValueProgress {
    /// The value ends before this index.
    Ended(usize),
    /// It continues in the next chunk.
    More,
    /// It cannot be a value from this index on.
    WireError(usize),
}

impl Extent {
    pub(super) fn starting(byte: u8) -> Extent {
        match byte {
            b'{' | b'[' => Extent { depth: 1, last: byte, inside: Inside::Container },
            b'"' => Extent { depth: 0, last: byte, inside: Inside::Text },
            _ => Extent { depth: 0, last: byte, inside: Inside::Bare },
        }
    }

    pub(super) fn scan(&mut self, chunk: &[u8], mut position: usize) -> ValueProgress {
        while position < chunk.len() {
            match self.inside {
                Inside::Container => {
                    let Some(end) = self.scan_container(chunk, &mut position) else {
                        continue;
                    };
                    return end;
                }
                Inside::Text => match find_in_text(&chunk[position..]) {
                    None => return ValueProgress::More,
                    Some(found) => {
                        position += found;
                        match chunk[position] {
                            b'\n' => return ValueProgress::WireError(position),
                            b'\\' => self.inside = Inside::Escape,
                            _ if self.depth == 0 => return ValueProgress::Ended(position + 1),
                            _ => (self.last, self.inside) = (b'"', Inside::Container),
                        }
                        position += 1;
                    }
                },
                Inside::Escape => {
                    self.inside = Inside::Text;
                    position += 1;
                }
                Inside::Bare => {
                    let ends = |&byte: &u8| !matches!(byte, b'+' | b'-' | b'.' | b'0'..=b'9' | b'a'..=b'z' | b'A'..=b'Z');
                    return match chunk[position..].iter().position(ends) {
                        Some(found) => ValueProgress::Ended(position + found),
                        None => ValueProgress::More,
                    };
                }
            }
        }
        ValueProgress::More
    }

    /// Advances to the next string that needs parsing, or to the end; `None` when it is a string.
    fn scan_container(&mut self, chunk: &[u8], position: &mut usize) -> Option<ValueProgress> {
        while let Some(&byte) = chunk.get(*position) {
            match byte {
                b'"' => {
                    let text = &chunk[*position + 1..];
                    match find_in_text(text) {
                        // A string without escapes that ends here.
                        Some(end) if text[end] == b'"' => *position += end + 2,
                        _ => {
                            self.inside = Inside::Text;
                            *position += 1;
                            return None;
                        }
                    }
                    self.last = byte;
                    continue;
                }
                b' ' | b'\n' | b'\r' | b'\t' => {
                    *position += 1;
                    continue;
                }
                // A line that is cut off is followed by the next document: a bracket cannot occur there.
                b'{' | b'[' if !matches!(self.last, b',' | b':' | b'[' | b'{') => {
                    return Some(ValueProgress::WireError(*position));
                }
                b'{' | b'[' => self.depth += 1,
                b'}' | b']' => self.depth -= 1,
                _ => {}
            }
            self.last = byte;
            *position += 1;
            if self.depth == 0 {
                return Some(ValueProgress::Ended(*position));
            }
        }
        Some(ValueProgress::More)
    }
}

/// The next byte that means something in a string: a quotation mark, a backslash, a line feed.
///
/// Most strings are shorter than a vectorized search takes to start, so the first bytes are looked at eight at
/// a time in one register.
fn find_in_text(text: &[u8]) -> Option<usize> {
    const WORDS: usize = 4;
    let (words, rest) = text.as_chunks::<8>();
    for (index, word) in words.iter().take(WORDS).enumerate() {
        let word = u64::from_le_bytes(*word);
        let found = marks(word, b'"') | marks(word, b'\\') | marks(word, b'\n');
        if found != 0 {
            return Some(index * 8 + found.trailing_zeros() as usize / 8);
        }
    }
    if words.len() > WORDS {
        return memchr3(b'"', b'\\', b'\n', &text[WORDS * 8..]).map(|offset| offset + WORDS * 8);
    }
    let is_found = |byte: &u8| matches!(byte, b'"' | b'\\' | b'\n');
    rest.iter().position(is_found).map(|position| position + words.len() * 8)
}

/// The top bit of every byte of `word` that equals `byte`. Bytes above the lowest such byte may be marked
/// wrongly (the borrow of a subtraction); the lowest mark is right.
fn marks(word: u64, byte: u8) -> u64 {
    const ONES: u64 = u64::from_le_bytes([1; 8]);
    let difference = word ^ (ONES * u64::from(byte));
    difference.wrapping_sub(ONES) & !difference & (ONES << 7)
}
