//! Programs on generated SDKs live by the real engine: everything is created, stays as it is, and is gone in the end. Compilers and
//! type checkers judge the SDKs and all examples on them here as well, because generating SDKs takes as long as that.

use std::ffi::OsStr;
use std::fs;
use std::process::Command;

use serde_json::{Value, json};

use crate::harness::project::create_directory;
use crate::packages::{self, Package};
use crate::python;
use crate::reference;
use crate::typescript;
use crate::workshop::{Part, Workshop, sources};

/// Runs one step of a program, which has to change just so many resources, and returns what the program has printed.
#[track_caller]
pub(crate) fn step(workshop: &Workshop, command: &mut Command, step: &str, changes: &Value) -> Value {
    let ended = workshop.run(step, command.arg(step));
    let printed: Value = serde_json::from_str(ended.stdout.trim())
        .unwrap_or_else(|error| panic!("this is no JSON: {error}\n{}\n{}", ended.stdout, ended.stderr));
    assert_eq!(printed["changes"], *changes, "{}", ended.stderr);
    printed
}

/// A program in Python, with what [`python::install`] has given.
pub(crate) fn python_program(workshop: &Workshop, program: &str, path: &OsStr) -> Command {
    let mut command = workshop.at_home(python::interpreter(&Part::Python.installed()));
    command.arg(sources().join("programs").join(program));
    command.env("PYTHONDONTWRITEBYTECODE", "1").env("PYTHONPATH", path);
    command
}

/// What the programs export, whatever their language.
#[track_caller]
fn expect_everything_made(workshop: &Workshop, up: &Value) {
    let outputs = &up["outputs"];
    let value = |name: &str| &outputs[name]["value"];
    let text = |name: &str| value(name).as_str().unwrap_or_else(|| panic!("{name} is no text: {outputs:#}"));

    let named = outputs.as_object().into_iter().flatten();
    let mut secrets: Vec<_> =
        named.filter(|(_, output)| output["secret"] == true).map(|(name, _)| name.as_str()).collect();
    secrets.sort_unstable();
    assert_eq!(secrets, ["key", "password", "record's secret"], "{outputs:#}");

    let pet = text("pet");
    assert_eq!(pet.split('-').count(), 2, "{pet}");
    assert_eq!(text("password").len(), 20);
    assert_eq!(text("record's secret"), text("password"));
    assert!(text("key").starts_with("-----BEGIN PRIVATE KEY-----"));
    assert!(text("certificate").starts_with("-----BEGIN CERTIFICATE-----"));
    assert!(text("public key").starts_with("ssh-ed25519 "));
    assert_eq!(value("public key read"), value("public key"));
    assert_eq!(text("later"), "2026-11-30T00:00:00Z");
    assert_eq!(text("month"), "November");
    assert_eq!(*value("folder exists"), json!(true));
    assert_eq!(text("record"), "record-1");
    assert_eq!(
        *value("record's extra"),
        json!({ "list": [1, true, "x"], "snakeCase": { "deep_down": "x" } })
    );
    assert_eq!(*value("protocols"), json!(["tcp", "udp"]));
    assert_eq!(*value("zones"), json!(["First_Zone"]));
    assert_eq!(text("words"), format!("a-{pet}"));
    assert_eq!(text("shouted"), "TEXT!");

    assert_eq!(workshop.project.read("pet.txt"), pet);
    let record: Value =
        serde_json::from_str(&workshop.project.read("objects/record/record-1.json")).expect("JSON");
    assert_eq!(record["tags"], json!({ "pet": pet, "snake_case": "stays" }), "{record:#}");
    assert_eq!(record["password"], "not kept", "{record:#}");

    // A secret is one in the state as well.
    let state = workshop.project.export().to_string();
    assert!(!state.contains(text("password")), "the state shows the password");
    assert!(!state.contains("BEGIN PRIVATE KEY"), "the state shows the key");
}

#[track_caller]
fn expect_nothing_left(workshop: &Workshop) {
    workshop.project.destroy();
    assert!(!workshop.project.path("pet.txt").exists(), "the file is left");
    for kind in ["record", "nested"] {
        let left =
            fs::read_dir(workshop.project.path(&format!("objects/{kind}"))).expect("objects were made there");
        assert_eq!(left.count(), 0, "an object of kind {kind} is left");
    }
}

/// Eight resources and the stack.
const EVERYTHING: u32 = 9;

/// A project with all SDKs of a language, whose stack tells the conformance provider where its objects lie.
fn workshop(name: &'static str, language: &str, packages: &[Package]) -> Workshop {
    let workshop = Workshop::with_sdks(name, language, packages);
    let objects = workshop.project.path("objects");
    create_directory(&objects);
    let objects = objects.to_str().expect("test directories have plain names");
    workshop.project.run(&["config", "set", "conformance:directory", objects]).succeeded();
    workshop.project.run(&["config", "set", "--secret", "conformance:token", "open"]).succeeded();
    workshop
}

#[test]
fn a_python_program_lives_and_all_modules_and_examples_have_their_types() {
    fixtures::needs!(Python);
    let all = packages::all();
    let workshop = workshop("a Python program", "python", &all);
    let path = python::install(&workshop, &all);
    python::import(&workshop, &path);
    python::check_types(&workshop, &path, &all);
    python::check_types_of(&workshop, &path, &reference::programs(&workshop, &all, "python"));

    let program = || python_program(&workshop, "life.py", &path);

    let up = step(&workshop, &mut program(), "up", &json!({ "create": EVERYTHING }));
    expect_everything_made(&workshop, &up);
    step(&workshop, &mut program(), "preview", &json!({ "same": EVERYTHING }));
    expect_nothing_left(&workshop);
}

#[test]
fn a_typescript_program_lives_and_is_compiled_with_all_modules_and_examples() {
    let all = packages::all();
    let workshop = workshop("a TypeScript program", "nodejs", &all);
    workshop.take("programs/life.ts");
    workshop.take("programs/engine.ts");
    create_directory(&workshop.project.path("examples"));
    let mut programs = vec!["life.ts".to_owned()];
    for (name, code) in reference::programs(&workshop, &all, "typescript") {
        programs.push(format!("examples/{name}.ts"));
        workshop.project.write(&programs[programs.len() - 1], &code);
    }
    typescript::compile(&workshop, &all, &programs.iter().map(String::as_str).collect::<Vec<_>>());

    let program = || {
        let mut command = workshop.at_home("node");
        command.arg("js/life.js");
        command
    };

    let up = step(&workshop, &mut program(), "up", &json!({ "create": EVERYTHING }));
    expect_everything_made(&workshop, &up);
    step(&workshop, &mut program(), "preview", &json!({ "same": EVERYTHING }));
    expect_nothing_left(&workshop);
}
