//! The executable, whose role depends on the name that it is started by.

use std::process::ExitCode;

fn main() -> ExitCode {
    // First, because guardian processes must stay small.
    if let Some(code) = isthmus_provider::plugin::guardian_role(std::env::args_os()) {
        return code;
    }
    isthmus::cli::run(std::env::args_os())
}
