//! Go: all SDKs, a program on them and the examples of `isthmus docs` pass the compiler and `go vet`.

use std::fmt::Write as _;
use std::fs;
use std::process::Command;

use crate::harness::project::create_directory;
use crate::packages::{self, Package};
use crate::reference;
use crate::workshop::{Workshop, sources};

/// What comes before an SDK's package name in its module.
pub(crate) const MODULES: &str = "github.com/pulumi/pulumi-terraform-provider/sdks/go";

#[test]
fn sdks_compile_with_a_program_and_every_example() {
    let all = packages::all();
    let workshop = Workshop::with_sdks("Go SDKs", "go", &all);
    let module = workshop.project.path("sdks/go");
    copy_module(&module);
    for (name, code) in reference::programs(&workshop, &all, "go") {
        create_directory(&module.join("examples").join(&name));
        workshop.project.write(&format!("sdks/go/examples/{name}/main.go"), &code);
    }
    let mut vet = go(&module);
    vet.args(["vet", "-mod=readonly", "./..."]).args(all.iter().map(pattern));
    workshop.run("go vet", &mut vet);
    // Their form is the one that Go has for programs.
    let mut format = Command::new("gofmt");
    let ended = workshop.run("gofmt", format.arg("-l").arg(module.join("examples")));
    assert_eq!(ended.stdout, "");
}

/// Makes the directory of the SDKs a module, with the program that uses them.
fn copy_module(module: &std::path::Path) {
    for file in ["go.mod", "go.sum", "program.go"] {
        let from = sources().join("go").join(file);
        fs::copy(&from, module.join(file)).unwrap_or_else(|error| panic!("{}: {error}", from.display()));
    }
}

/// Checks SDKs that no program here uses, as the compiler does before it generates code. For that it takes more than twenty
/// gigabytes for the largest, all of whose resources are in one Go package.
pub(crate) fn check(workshop: &Workshop, packages: &[Package]) {
    let module = workshop.project.path("sdks/go/program");
    write_module(workshop, packages);
    workshop.project.write("sdks/go/program/program.go", "package program\n");
    let mut vet = go(&module);
    // One check is enough to have all types checked.
    vet.args(["vet", "-atomic", "-mod=readonly"]).args(packages.iter().map(pattern));
    workshop.run("go vet", &mut vet);
}

/// Makes `sdks/go/program` a module that can use the SDKs beside it.
pub(crate) fn write_module(workshop: &Workshop, packages: &[Package]) {
    create_directory(&workshop.project.path("sdks/go/program"));
    let read = |file| fs::read_to_string(sources().join("go").join(file)).expect("a file of these tests");
    // The same versions of the libraries, and these SDKs in the place of those.
    let mut text: String = read("go.mod")
        .lines()
        .filter(|line| !line.contains(MODULES))
        .map(|line| line.to_owned() + "\n")
        .collect();
    for package in packages {
        let (module, version) = package.go_module();
        writeln!(text, "require {module} {version}\nreplace {module} => ../{}", package.name)
            .expect("a string");
    }
    for (file, text) in [("go.mod", text), ("go.sum", read("go.sum"))] {
        workshop.project.write(&format!("sdks/go/program/{file}"), &text);
    }
}

fn pattern(package: &Package) -> String {
    format!("{MODULES}/{}/...", package.name)
}

/// The same everywhere: no C compiler, no toolchain fetched behind one's back, no workspace file from outside. The flag is that of
/// `tests/tools/build`: what both use is compiled once, whatever the directory.
pub(crate) fn go(module: &std::path::Path) -> Command {
    let mut command = Command::new("go");
    command.current_dir(module);
    command
        .env("CGO_ENABLED", "0")
        .env("GOTOOLCHAIN", "local")
        .env("GOWORK", "off")
        .env("GOFLAGS", "-trimpath");
    command
}
