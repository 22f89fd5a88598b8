//! Access to the operating system and the network, shared by all programs: the clock, the number of processors, an HTTP
//! client, and other programs' text.

mod clock;
pub mod http;
mod printable;
mod threads;

pub use clock::now;
pub use printable::printable;
pub use threads::available_threads;
