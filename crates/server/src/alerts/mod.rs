//! Continuous detection, and whom it tells.
