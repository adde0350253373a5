//! Exports the functions of the C library that `system.rs` has its own of: some crates look them up by their names.

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rustc-link-arg-bins=-Wl,--export-dynamic-symbol=getrandom");
}
