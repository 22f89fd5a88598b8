//! Programs that measure speed, accuracy, and robustness of the product, one file or folder each in `examples/`:
//! `cargo run --release -p laggard-experiments --example NAME`. They are not part of the product, and the product's tests do
//! not build them.
