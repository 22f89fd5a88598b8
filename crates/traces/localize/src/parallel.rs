//! Independent work on several threads, with an answer that does not depend on their number.

pub(crate) use laggard_numeric::parallel_map as map;
