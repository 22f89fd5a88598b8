//! trace.dat, as trace-cmd writes it: versions 6 and 7 (trace-cmd.dat(5)).
//!
//! The head (format texts, options, names) is read when the file is opened; pages are read a few at a time by
//! position, so that a file of any size takes as much memory as a small one.

mod chunks;
mod head;
mod open;
mod options;
mod sections;
mod sequential;
mod stream;

pub(crate) use head::TraceHead;
pub(crate) use sequential::read_texts;

use crate::interface::{KernelFormat, SampleShape};

/// The row of [`KERNEL_FORMATS`](crate::KERNEL_FORMATS).
pub(crate) const FORMAT: KernelFormat = KernelFormat {
    name: "trace.dat",
    about: "trace-cmd record, versions 6 and 7",
    manual: "docs/manual/formats/trace-dat.md",
    sample: SampleShape::File(head::MAGIC),
    recognize: |_, head| head.starts_with(head::MAGIC),
    open: open::open,
};
