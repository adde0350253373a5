//! The examples in Node.js, Python and Go, on SDKs that are generated for them, and the one that runs Pulumi itself.
//!
//! The programs are the files of `examples/`. They run inline by the Automation API, because the tests have no language hosts.

use std::fs;
use std::path::PathBuf;
use std::process::Command;

use serde_json::{Value, json};

use crate::go;
use crate::harness::project::{Bridge, Provider};
use crate::life::{python_program, step};
use crate::packages::{Package, Source};
use crate::python;
use crate::typescript;
use crate::workshop::{Part, Workshop, sources};

/// The stack, the pet and its password.
const RESOURCES: u32 = 3;

/// The page whose program is that of an example.
const AUTOMATION_PAGE: &str = include_str!("../../docs/tutorials/automation-api.md");

fn random() -> [Package; 1] {
    [Package::local("random", "terraform-provider-random")]
}

/// A file of an example.
fn example(file: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("examples").join(file)
}

fn read(file: &str) -> String {
    fs::read_to_string(example(file)).unwrap_or_else(|error| panic!("{file}: {error}"))
}

/// Creates the example's resources, finds them unchanged, and destroys them.
#[track_caller]
fn comes_and_goes(workshop: &Workshop, program: impl Fn() -> Command) {
    let up = step(workshop, &mut program(), "up", &json!({ "create": RESOURCES }));
    let outputs = &up["outputs"];
    let name = outputs["name"]["value"].as_str().unwrap_or_else(|| panic!("no name: {outputs:#}"));
    assert_eq!(name.split('-').count(), 2, "{name}");
    assert_eq!(outputs["password"]["secret"], json!(true), "{outputs:#}");
    assert_eq!(outputs["password"]["value"].as_str().map(str::len), Some(20), "the password has its length");
    let password = workshop.project.resource("password");
    assert_eq!(password["inputs"]["keepers"]["pet"], *name, "{password:#}");
    step(workshop, &mut program(), "preview", &json!({ "same": RESOURCES }));
    workshop.project.destroy();
}

#[test]
fn the_typescript_example_creates_and_destroys_its_resources() {
    let workshop = Workshop::with_sdks("the example in TypeScript", "nodejs", &random());
    workshop.project.write("index.ts", &read("typescript/index.ts"));
    workshop.take("programs/engine.ts");
    workshop.take("programs/example.ts");
    typescript::compile(&workshop, &random(), &["index.ts", "example.ts"]);
    comes_and_goes(&workshop, || {
        let mut command = workshop.at_home("node");
        command.arg("js/example.js");
        command
    });
}

#[test]
fn the_python_example_creates_and_destroys_its_resources() {
    fixtures::needs!(Python);
    let workshop = Workshop::with_sdks("the example in Python", "python", &random());
    let path = python::install(&workshop, &random());
    comes_and_goes(&workshop, || {
        let mut command = python_program(&workshop, "example.py", &path);
        command.env("EXAMPLE", example("python/__main__.py"));
        command
    });
}

#[test]
fn the_go_example_creates_and_destroys_its_resources() {
    // The path of its module has the major version of the provider.
    let workshop = Workshop::new("the example in Go", Bridge::usual());
    workshop.project.place_in_cache(Provider::Random, "3.9.0");
    let random = [Package {
        source: Source::Remote("hashicorp/random"),
        arguments: vec!["3.9.0"],
        version: "3.9.0",
        ..Package::local("random", "")
    }];
    workshop.generate("go", &random);
    assert_eq!(read("go/go.mod").lines().filter(|line| line.contains(&random[0].go_module().0)).count(), 2);
    let module = workshop.project.path("sdks/go/program");
    let write = |main: String| {
        go::write_module(&workshop, &random);
        for (file, text) in [("main.go", main), ("pets.go", read("go/pets.go"))] {
            workshop.project.write(&format!("sdks/go/program/{file}"), &text);
        }
    };
    // As it is, then with the tests' way to run it.
    write(read("go/main.go"));
    workshop.run("go vet", go::go(&module).args(["vet", "-mod=readonly", "."]));
    write(fs::read_to_string(sources().join("programs/example.go")).expect("a file of these tests"));
    let executable = workshop.project.path("pets");
    workshop
        .run("go build", go::go(&module).args(["build", "-mod=readonly", "-o"]).arg(&executable).arg("."));
    comes_and_goes(&workshop, || workshop.at_home(&executable));
}

#[test]
fn the_automation_example_creates_and_destroys_its_stack() {
    fixtures::needs!(Python);
    let workshop = Workshop::with_sdks("the example of the Automation API", "python", &random());
    let path = python::install(&workshop, &random());
    let mut program = workshop.at_home(python::interpreter(&Part::Python.installed()));
    program.arg(example("automation-api/deploy.py"));
    program.env("PYTHONDONTWRITEBYTECODE", "1").env("PYTHONPATH", path);
    let ended = workshop.run("deploy.py", &mut program);
    let shown = fixtures::pages::blocks(AUTOMATION_PAGE)
        .into_iter()
        .find_map(|block| block.text.strip_prefix("$ python deploy.py\n"))
        .expect("the page shows what it prints");
    assert!(fixtures::pages::shows(shown, &ended.stdout), "{shown}\n{}", ended.stdout);
    workshop.project.expect_no_process();
}

#[test]
fn the_page_of_the_automation_api_has_the_program_of_the_example() {
    let block =
        fixtures::pages::blocks(AUTOMATION_PAGE).into_iter().find(|block| block.file == Some("deploy.py"));
    assert_eq!(block.expect("the program").text, read("automation-api/deploy.py"));
}

#[test]
fn examples_name_the_packages_of_the_plugin_that_the_tests_run() {
    for language in ["typescript", "python", "go", "yaml"] {
        let project = read(&format!("{language}/Pulumi.yaml"));
        let version = format!("    version: {}\n", crate::packages::PLUGIN_VERSION);
        assert!(
            project.contains("    source: terraform-provider\n") && project.contains(&version),
            "{project}"
        );
    }
    let manifest: Value = serde_json::from_str(&read("typescript/package.json")).expect("JSON");
    assert_eq!(manifest["dependencies"]["@pulumi/random"], "file:sdks/random");
    assert!(read("go/go.mod").contains("sdks/go/random/v3 => ./sdks/random\n"));
    assert!(read("python/requirements.txt").contains("./sdks/random\n"));
}
