//! The evaluation over folders made for the purpose, and over the measured data where they are.

mod folders;
mod measured;
