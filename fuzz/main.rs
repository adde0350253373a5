//! Fuzzes every decoder of bytes from outside: one program for all targets, so that it is linked
//! once.
//!
//! `fuzz/run` builds and runs it. The variable `FUZZ_TARGET` selects the target; without it, the
//! targets are listed, each with the maximum length of its inputs. The arguments are libFuzzer's.
//!
//! To add a target, write a function in a file of `targets/` and name it in `targets.rs`. A decoder
//! that is private to its crate gets an entrance in the crate's module `fuzzing`.

#![no_main]

mod input;
mod targets;

use std::io::Write as _;
use std::sync::OnceLock;

use targets::{ALL, Target};

libfuzzer_sys::fuzz_target!(init: { chosen(); }, |bytes: &[u8]| {
    (chosen().run)(bytes);
});

/// The target of this process. Ends the process if there is none.
fn chosen() -> &'static Target {
    static CHOSEN: OnceLock<&Target> = OnceLock::new();
    CHOSEN.get_or_init(|| {
        let name = std::env::var("FUZZ_TARGET").unwrap_or_default();
        if let Some(target) = ALL.iter().find(|target| target.name == name) {
            return target;
        }
        let list: String = ALL.iter().map(|target| format!("{} {}\n", target.name, target.longest)).collect();
        #[expect(clippy::disallowed_methods, reason = "this program is not the daemon")]
        let _ = std::io::stdout().write_all(list.as_bytes());
        std::process::exit(if name.is_empty() { 0 } else { 2 });
    })
}
