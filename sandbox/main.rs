//! The executable `terraform-provider-sandbox`.

use std::process::ExitCode;

fn main() -> ExitCode {
    isthmus_sandbox::main_from_environment()
}
