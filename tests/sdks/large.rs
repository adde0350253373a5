//! SDKs of large providers, whole: what their schemas have that no small provider does.
//!
//! Each language has one of them here. Every package in every language takes an hour of a processor, which is a program of
//! its own (`matrix.rs`).

use crate::packages::{self, Package};
use crate::workshop::Workshop;
use crate::{csharp, go, java, python, typescript};

/// Generates the SDK of a package, and does with it what the language's other tests do with small ones.
pub(crate) fn compile(language: &str, package: &Package) -> Workshop {
    let packages = std::slice::from_ref(package);
    let workshop = Workshop::with_sdks("a large SDK", language, packages);
    match language {
        "nodejs" => typescript::compile(&workshop, packages, &[]),
        "python" => {
            let path = python::install(&workshop, packages);
            python::import(&workshop, &path);
        }
        "go" => go::check(&workshop, packages),
        "java" => java::compile(&workshop),
        "dotnet" => csharp::compile(&workshop, packages),
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
    fixtures::needs!(Python);
    expect_to_compile("python", "aws");
}

#[test]
fn a_large_go_sdk_compiles() {
    expect_to_compile("go", "vault");
}

#[test]
fn a_large_java_sdk_compiles() {
    fixtures::needs!(Java);
    expect_to_compile("java", "vault");
}

#[test]
fn a_large_csharp_sdk_compiles() {
    fixtures::needs!(CSharp);
    expect_to_compile("dotnet", "vault");
}
