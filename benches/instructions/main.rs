//! Executes one of the pure paths: translation, codecs, rules, names, schemas, redaction.
//!
//! `run` beside this file builds it, and counts the instructions of each path with callgrind. Without
//! arguments, the paths are listed; with the name of one and a number, it is executed so many times
//! within [`counted_executions`], the only part that is counted. What a path needs is prepared
//! before that, and its result is checked.

mod paths;
mod sample;

use std::io::Write as _;
use std::process::ExitCode;

use paths::ALL;

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [name, times] = &arguments[..] else {
        let list: String = ALL.iter().map(|path| format!("{} {}\n", path.name, path.times)).collect();
        #[expect(clippy::disallowed_methods, reason = "this program is not the daemon")]
        let _ = std::io::stdout().write_all(list.as_bytes());
        return ExitCode::SUCCESS;
    };
    let path = ALL.iter().find(|path| path.name == name).zip(times.parse().ok());
    let Some((path, times)) = path else { return ExitCode::from(2) };
    let execute = (path.prepare)();
    // What is created on first use is there, and the allocator has memory at hand.
    execute();
    counted_executions(&*execute, times);
    ExitCode::SUCCESS
}

/// Callgrind counts what happens in this function. `run` knows its name.
#[inline(never)]
fn counted_executions(execute: &dyn Fn(), times: usize) {
    for _ in 0..times {
        execute();
    }
}
