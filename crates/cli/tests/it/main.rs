//! The program as people run it: arguments in; bytes, exit status and files out.

mod answers;
mod determinism;
mod exits;
mod inputs;
mod lists;
mod losses;
mod outcome;
mod real_data;
mod terminal;
mod windows;
mod workshop;
