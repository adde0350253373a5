//! Every package in every language: the table in `tests/results/`. It takes an hour of a processor, so it is no part of
//! `cargo test`:
//!
//!     ISTHMUS_SDK_TABLE=table.md cargo test --test sdk-matrix
//!
//! `ISTHMUS_SDK_PACKAGES` and `ISTHMUS_SDK_LANGUAGES` (names with commas) choose some of it. It ends with a panic at the first SDK
//! that does not compile.

#![allow(dead_code, unused_imports, reason = "the modules are those of the tests, which are not run here")]

#[path = "../e2e/harness"]
mod harness {
    pub(crate) mod command;
    pub(crate) mod outcome;
    pub(crate) mod processes;
    pub(crate) mod project;
    pub(crate) mod tools;
}

mod names;
mod packages;
mod workshop;

mod csharp;
mod go;
mod java;
mod large;
mod python;
mod reference;
mod typescript;

use std::fmt::Write as _;
use std::time::Instant;

use packages::Package;
use serde_json::Value;

const LANGUAGES: [&str; 5] = ["nodejs", "python", "go", "java", "dotnet"];

#[expect(clippy::print_stdout, reason = "it is a program, whose result this is")]
fn main() {
    let chosen = |variable: &str, name: &str| {
        std::env::var(variable).is_ok_and(|names| !names.is_empty() && !names.split(',').any(|it| it == name))
    };
    let mut table = "| provider | version | resources | functions | left out | Node.js, s | Python, s | Go, s | Java, s | C#, s |\n\
                     |---|---|---|---|---|---|---|---|---|---|\n"
        .to_owned();
    for package in packages::all().iter().chain(&packages::large()) {
        if chosen("ISTHMUS_SDK_PACKAGES", package.name) {
            continue;
        }
        let (mut counts, mut left_out, mut seconds) = ((0, 0), Vec::new(), String::new());
        for language in LANGUAGES {
            if chosen("ISTHMUS_SDK_LANGUAGES", language) {
                seconds += " – |";
                continue;
            }
            let begin = Instant::now();
            let workshop = large::compile(language, package);
            write!(seconds, " {} |", begin.elapsed().as_secs()).expect("a string");
            let schema: Value =
                serde_json::from_str(&workshop.project.read(&format!("schemas/{}.json", package.name)))
                    .expect("a schema is JSON");
            let count = |kind: &str| schema[kind].as_object().map_or(0, serde_json::Map::len);
            counts = counts.max((count("resources"), count("functions")));
            let missing = packages::left_out(language, package.name).len();
            if missing > 0 {
                left_out.push(format!("{missing} ({language})"));
            }
        }
        let left_out = if left_out.is_empty() { "none".to_owned() } else { left_out.join(", ") };
        let Package { name, version, .. } = package;
        writeln!(table, "| {name} | {version} | {} | {} | {left_out} |{seconds}", counts.0, counts.1)
            .expect("a string");
        if let Some(file) = std::env::var_os("ISTHMUS_SDK_TABLE") {
            std::fs::write(&file, &table).expect("the table can be written");
        }
    }
    println!("{table}");
}
