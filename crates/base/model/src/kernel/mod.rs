//! The third ground table: events of kernel traces.

mod clock;
mod event;
mod texts;
mod tid;

pub use clock::{ClockMap, KernelTime};
pub use event::{ContextFlags, Cpu, EventKind, IpiVector, KernelEvent, PrevState, Socket, StatedumpStatus};
pub use texts::{KernelTexts, TextId};
pub use tid::Tid;
