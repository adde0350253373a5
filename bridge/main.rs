//! One executable, several names: what it does depends on the name that it was started by.

use std::process::ExitCode;

fn main() -> ExitCode {
    isthmus::cli::run(std::env::args_os())
}
