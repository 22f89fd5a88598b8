//! Threads, by the numbers of the kernel.

/// A thread's number as the kernel's root namespace knows it (`pid` in kernel records, `tid` in LTTng's).
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub struct Tid(pub u32);

impl Tid {
    /// The idle task of whichever CPU.
    pub const IDLE: Tid = Tid(0);
}
