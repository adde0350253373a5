//! Build script of the executable: has the linker place side by side the functions that a plugin runs.
//!
//! A run of an engine executes a sixth of the code, which linkers spread over three quarters of the blocks that the kernel
//! makes resident. `deploy/function-order/functions` names these functions, and `deploy/function-order/renew` writes it. Only
//! releases for Linux are linked so: elsewhere linkers take other lists, and in tests memory is not measured.

use std::error::Error;
use std::fmt::Write as _;
use std::path::Path;
use std::{env, fs};

const FUNCTIONS: &str = "deploy/function-order/functions";

/// Linkers without GNU's scripts, by a part of their names.
const OTHER_LINKERS: [&str; 3] = ["gold", "mold", "wild"];

/// Where they are named.
const CHOICES: [&str; 3] = ["CARGO_ENCODED_RUSTFLAGS", "LD_PRELOAD", "RUSTC_LINKER"];

fn main() -> Result<(), Box<dyn Error>> {
    println!("cargo:rerun-if-changed={FUNCTIONS}");
    CHOICES.iter().for_each(|choice| println!("cargo:rerun-if-env-changed={choice}"));
    let is = |variable: &str, value: &str| env::var(variable).is_ok_and(|found| found == value);
    let is_other = CHOICES
        .iter()
        .filter_map(|choice| env::var(choice).ok())
        .any(|choice| OTHER_LINKERS.iter().any(|linker| choice.contains(linker)));
    if !is("PROFILE", "release") || !is("CARGO_CFG_TARGET_OS", "linux") || is_other {
        return Ok(());
    }
    let mut script = String::from("SECTIONS\n{\n  .text.first : {\n");
    for name in fs::read_to_string(FUNCTIONS)?.lines() {
        // What the compiler takes for unlikely, as the growth of a table, is in a section apart.
        writeln!(script, "    *(.text.{name} .text.unlikely.{name})")?;
    }
    // Beside the linker's own layout, not in place of it.
    script.push_str("  }\n}\nINSERT BEFORE .text;\n");
    let path = Path::new(&env::var("OUT_DIR")?).join("function-order.ld");
    fs::write(&path, script)?;
    println!("cargo:rustc-link-arg-bin=isthmus=-T");
    println!("cargo:rustc-link-arg-bin=isthmus={}", path.display());
    Ok(())
}
