//! Bits one after another, in either order.

/// Writes from the first bit of a packet on.
pub(super) struct BitWriter {
    pub(super) bytes: Vec<u8>,
    /// Bits written.
    pub(super) at: usize,
    big_endian: bool,
}

impl BitWriter {
    pub(super) fn new(big_endian: bool) -> BitWriter {
        BitWriter { bytes: Vec::new(), at: 0, big_endian }
    }

    pub(super) fn align(&mut self, align: u32) {
        self.at = self.at.next_multiple_of(align as usize);
        self.bytes.resize(self.at.div_ceil(8), 0);
    }

    /// The low `bits` bits of a number, in the packet's byte order.
    pub(super) fn put(&mut self, value: u64, bits: u32, align: u32) {
        self.put_in(value, bits, align, self.big_endian);
    }

    /// The same in a byte order of its own.
    pub(super) fn put_in(&mut self, value: u64, bits: u32, align: u32, big_endian: bool) {
        self.align(align);
        if self.at.is_multiple_of(8) && bits.is_multiple_of(8) {
            let bytes = (bits / 8) as usize;
            match big_endian {
                false => self.bytes.extend(&value.to_le_bytes()[..bytes]),
                true => self.bytes.extend(&value.to_be_bytes()[8 - bytes..]),
            }
            self.at += bits as usize;
            return;
        }
        for index in 0..bits {
            let (from, to) = match big_endian {
                false => (index, self.at % 8),
                true => (bits - 1 - index, 7 - self.at % 8),
            };
            if self.at.is_multiple_of(8) {
                self.bytes.push(0);
            }
            self.bytes[self.at / 8] |= ((value >> from & 1) as u8) << to;
            self.at += 1;
        }
    }

    /// LEB128.
    pub(super) fn put_variable(&mut self, value: i64) {
        self.align(8);
        let mut rest = value;
        loop {
            let low = (rest & 0x7f) as u8;
            rest >>= 7;
            let last = (rest == 0 && low & 0x40 == 0) || (rest == -1 && low & 0x40 != 0);
            self.put(u64::from(if last { low } else { low | 0x80 }), 8, 8);
            if last {
                return;
            }
        }
    }
}
