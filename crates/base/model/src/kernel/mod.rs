//! The third ground table: events of kernel traces.

mod clock;
mod event;
mod texts;

pub use clock::{ClockMap, KernelTime};
pub use event::{
    ContextFlags, Cpu, EventKind, IpiVector, KernelEvent, PrevState, Socket, StatedumpStatus, Tid,
};
pub use texts::{KernelTexts, TextId};
