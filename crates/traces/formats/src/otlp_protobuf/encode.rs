//! Just enough of an encoder to write messages that no library writes.

/// A message under construction.
#[derive(Clone, Default)]
pub(crate) struct Encoder(pub(crate) Vec<u8>);

impl Encoder {
    pub(crate) fn raw_varint(mut self, mut value: u64) -> Encoder {
        while value >= 0x80 {
            self.0.push(value as u8 | 0x80);
            value >>= 7;
        }
        self.0.push(value as u8);
        self
    }

    pub(crate) fn tag(self, field: u64, wire_type: u64) -> Encoder {
        self.raw_varint(field << 3 | wire_type)
    }

    pub(crate) fn bytes(self, field: u64, contents: impl AsRef<[u8]>) -> Encoder {
        let contents = contents.as_ref();
        let mut out = self.tag(field, 2).raw_varint(contents.len() as u64);
        out.0.extend_from_slice(contents);
        out
    }

    pub(crate) fn message(self, field: u64, contents: Encoder) -> Encoder {
        self.bytes(field, contents.0)
    }

    pub(crate) fn varint(self, field: u64, value: u64) -> Encoder {
        self.tag(field, 0).raw_varint(value)
    }

    pub(crate) fn fixed64(self, field: u64, value: u64) -> Encoder {
        let mut out = self.tag(field, 1);
        out.0.extend_from_slice(&value.to_le_bytes());
        out
    }

    pub(crate) fn attribute(self, field: u64, key: &str, value: &str) -> Encoder {
        let value = Encoder::default().bytes(1, value);
        self.message(field, Encoder::default().bytes(1, key).message(2, value))
    }
}

/// A resource of this service.
pub(crate) fn resource(service: &str) -> Encoder {
    Encoder::default().attribute(1, "service.name", service)
}

/// A span with this id and name.
pub(crate) fn span(id: u64, name: &str) -> Encoder {
    let ids = Encoder::default().bytes(1, [7; 16]).bytes(2, id.to_be_bytes());
    ids.bytes(5, name).fixed64(7, 10).fixed64(8, 30)
}
