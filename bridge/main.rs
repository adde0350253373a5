//! One executable, several names: what it does depends on the name that it was started by.

use std::process::ExitCode;

fn main() -> ExitCode {
    // First of all, because such a process is to cost nothing.
    if let Some(code) = isthmus_provider::plugin::guardian_role(std::env::args_os()) {
        return code;
    }
    isthmus::cli::run(std::env::args_os())
}
