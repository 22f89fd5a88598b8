//! Assembly, from drawings and from the reference call trees.

mod call_log;
mod shapes;
mod traces;
