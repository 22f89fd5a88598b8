//! `laggard mcp`: assistants' questions over standard input and output.

mod assistant;
mod files;
mod of_server;
