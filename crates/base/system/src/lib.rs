//! What programs need of the world around them: the clock, the number of processors, and an HTTP client.

mod clock;
pub mod http;
mod threads;

pub use clock::now;
pub use threads::available_threads;
