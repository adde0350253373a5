//! SDKs of large providers, whole: what their schemas have that no small provider does.
//!
//! Each language has one of them here. Every package in every language takes an hour of a processor; the ignored test does
//! that, and its table is in `tests/results/`:
//!
//!     ISTHMUS_SDK_TABLE=table.md cargo test --test sdks -- --ignored
//!
//! `ISTHMUS_SDK_PACKAGES` (names with commas) and `ISTHMUS_SDK_LANGUAGES` leave some of it out.

use std::fmt::Write as _;
use std::time::Instant;

use serde_json::Value;

use crate::packages::{self, Package};
use crate::workshop::Workshop;
use crate::{csharp, go, java, python, typescript};

const LANGUAGES: [&str; 5] = ["nodejs", "python", "go", "java", "dotnet"];

/// Generates the SDK of a package, and does with it what the language's other tests do with small ones.
fn compile(language: &str, package: &Package) -> Workshop {
    let packages = std::slice::from_ref(package);
    let workshop = Workshop::with_sdks("a large SDK", language, packages);
    match language {
        "nodejs" => typescript::compile_sdks(&workshop, packages, &[]),
        "python" => {
            let path = python::install(&workshop, packages);
            python::import(&workshop, &path);
        }
        "go" => go::check(&workshop, packages),
        "java" => java::compile(&workshop),
        "dotnet" => csharp::parse(&workshop),
        _ => panic!("there are no SDKs in {language}"),
    }
    workshop
}

#[track_caller]
fn expect_to_compile(language: &str, package: &str) {
    let large = packages::large();
    let package = large.iter().find(|large| large.name == package).expect("a large package");
    compile(language, package);
}

#[test]
fn a_large_typescript_sdk_compiles() {
    expect_to_compile("nodejs", "vault");
}

#[test]
fn a_large_python_sdk_is_imported() {
    expect_to_compile("python", "aws");
}

#[test]
fn a_large_go_sdk_compiles() {
    expect_to_compile("go", "vault");
}

#[test]
fn a_large_java_sdk_compiles() {
    expect_to_compile("java", "vault");
}

#[test]
fn a_large_csharp_sdk_is_parsed() {
    expect_to_compile("dotnet", "vault");
}

#[test]
#[ignore = "takes an hour of a processor; its table is in tests/results"]
fn every_sdk_compiles_in_every_language() {
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
            let workshop = compile(language, package);
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
