//! Access to the operating system and the network, shared by all programs: the clock, the number of processors, an HTTP
//! client, and other programs' text.

mod clock;
mod credentials;
pub mod http;
mod printable;
mod retry;
mod threads;

pub use clock::now;
pub use credentials::{Credentials, CredentialsError};
pub use printable::printable;
pub use retry::{FailedAttempt, with_retries};
pub use threads::available_threads;
