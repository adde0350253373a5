//! Plain forms of functions whose results have secrets: by programs on generated SDKs and the real engine.

use std::fs;
use std::process::Command;

use serde_json::{Value, json};

use crate::go;
use crate::life::{python_program, step};
use crate::packages::Package;
use crate::python;
use crate::typescript;
use crate::workshop::{Workshop, sources};

const FUNCTION: &str = "data.local_sensitive_file";

fn local() -> [Package; 1] {
    [Package::local("local", "terraform-provider-local")]
}

/// The outputs that a program exports: the content by the plain form, the content by the output form, and its id.
#[track_caller]
fn exported(workshop: &Workshop, mut command: Command, chosen: &str) -> [Value; 3] {
    command.env("ISTHMUS_PLAIN_RESULTS", chosen);
    let up = step(workshop, &mut command, "up", &json!({ "create": 1 }));
    let exported = ["plain", "output", "id"].map(|name| up["outputs"][name].clone());
    workshop.project.destroy();
    exported
}

/// A library that takes secrets in plain forms: the values there are unmarked, those of output forms are secret as a whole.
#[track_caller]
fn takes_secrets(workshop: &Workshop, program: impl Fn() -> Command) {
    workshop.project.write("secret.txt", "sesame");
    let [plain, output, id] = exported(workshop, program(), "");
    assert_eq!(plain, json!({"value": "sesame", "secret": false}));
    assert_eq!(output, json!({"value": "sesame", "secret": true}));
    // No library marks single members of a result.
    assert_eq!(id["secret"], true);
    let [_, output, id] = exported(workshop, program(), FUNCTION);
    assert_eq!(output, json!({"value": "sesame", "secret": false}));
    assert_eq!(id["secret"], false);
}

#[test]
fn the_plain_form_works_in_go_where_the_user_has_chosen_so() {
    let workshop = Workshop::with_sdks("plain forms in Go", "go", &local());
    go::write_module(&workshop, &local());
    for (file, source) in [("main.go", "example.go"), ("plain.go", "plain.go")] {
        let text =
            fs::read_to_string(sources().join("programs").join(source)).expect("a file of these tests");
        workshop.project.write(&format!("sdks/go/program/{file}"), &text);
    }
    let executable = workshop.project.path("plain");
    let module = workshop.project.path("sdks/go/program");
    workshop
        .run("go build", go::go(&module).args(["build", "-mod=readonly", "-o"]).arg(&executable).arg("."));
    workshop.project.write("Pulumi.yaml", "name: e2e\nruntime: go\n");
    workshop.project.write("secret.txt", "sesame");

    let (failed, succeeded) = workshop.try_run("up", workshop.at_home(&executable).arg("up"));
    assert!(!succeeded, "{}", failed.stdout);
    for wanted in ["unexpected secret result returned to invoke call", "set ISTHMUS_PLAIN_RESULTS to"] {
        assert!(failed.stderr.contains(wanted), "{wanted:?} is missing: {}", failed.stderr);
    }
    workshop.project.destroy();
    let without = |marks: bool| {
        let mut command = workshop.at_home(&executable);
        if marks {
            command.env("WITHOUT_PLAIN_FORM", "true");
        }
        command
    };
    let [plain, output, id] = exported(&workshop, without(false), FUNCTION);
    let open = json!({"value": "sesame", "secret": false});
    assert_eq!((&plain, &output, &id["secret"]), (&open, &open, &json!(false)));
    let [_, output, id] = exported(&workshop, without(true), "none");
    assert_eq!((output["secret"].as_bool(), id["secret"].as_bool()), (Some(true), Some(true)));
}

#[test]
fn the_plain_form_works_in_python() {
    fixtures::needs!(Python);
    let workshop = Workshop::with_sdks("plain forms in Python", "python", &local());
    let path = python::install(&workshop, &local());
    takes_secrets(&workshop, || python_program(&workshop, "plain.py", &path));
}

#[test]
fn the_plain_form_works_in_typescript() {
    let workshop = Workshop::with_sdks("plain forms in TypeScript", "nodejs", &local());
    workshop.take("programs/engine.ts");
    workshop.take("programs/plain.ts");
    typescript::compile(&workshop, &local(), &["plain.ts"]);
    takes_secrets(&workshop, || {
        let mut command = workshop.at_home("node");
        command.arg("js/plain.js");
        command
    });
}
