//! The rules of the repository as commands.

fn main() {}
