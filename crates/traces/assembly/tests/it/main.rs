//! Assembly, from drawings and from the reference call trees.

mod call_log;
mod path_time;
mod shapes;
mod traces;
