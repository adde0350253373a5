//! Python: every module can be imported, and type checkers find what they should in a program, and nothing in the examples of
//! `isthmus docs` (`life.rs`).

use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::json;

use crate::harness::project::create_directory;
use crate::packages::Package;
use crate::workshop::{Part, Workshop, sources};

/// Installs the SDKs of these packages, from their directories and nowhere else, and returns where Python has to look for them and for
/// the modules that programs share.
///
/// They have to be installed: an SDK reads its own version from what the installation leaves.
pub(crate) fn install(workshop: &Workshop, packages: &[Package]) -> OsString {
    let site = workshop.project.path("site");
    let mut pip = Command::new(interpreter(&Part::Python.installed()));
    pip.args(["-m", "pip", "install", "--disable-pip-version-check", "--quiet"]);
    pip.args(["--no-index", "--no-deps", "--no-build-isolation", "--no-compile"]).arg("--target").arg(&site);
    pip.args(packages.iter().map(|package| workshop.project.path(&format!("sdks/python/{}", package.name))));
    workshop.run("pip", &mut pip);
    std::env::join_paths([site, sources().join("programs")]).expect("test directories have plain names")
}

/// The interpreter that has Pulumi's library.
pub(crate) fn interpreter(installed: &Path) -> PathBuf {
    installed.join("venv/bin/python")
}

/// Checks the types of the installed SDKs of `packages`, and of a program on them.
pub(crate) fn check_types(workshop: &Workshop, path: &OsStr, packages: &[Package]) {
    let python = |arguments: &[&str]| python(workshop, path, arguments);
    // What the generator writes into every SDK (a text where one may be missing; properties called like methods of dictionaries;
    // no type for nothing) is not what this is about.
    let tolerated = ["arg-type", "assignment", "return-value", "override", "var-annotated", "return"];
    let mut sdks = python(&["-m", "mypy", "--no-incremental", "--no-error-summary"]);
    sdks.args(tolerated.iter().flat_map(|code| ["--disable-error-code", code]));
    sdks.args(packages.iter().flat_map(|package| ["-p".to_owned(), format!("pulumi_{}", package.name)]));
    workshop.run("mypy of the SDKs", &mut sdks);

    // A program is judged without such leniency, and says itself what has to be refused.
    let mut program = python(&["-m", "mypy", "--no-incremental", "--no-error-summary"]);
    program.args(["--strict", "--follow-imports=silent"]);
    program.arg(sources().join("programs/life.py"));
    workshop.run("mypy of a program", &mut program);
}

/// Checks the types of programs on the installed SDKs, each with a name for its file.
pub(crate) fn check_types_of(workshop: &Workshop, path: &OsStr, programs: &[(String, String)]) {
    create_directory(&workshop.project.path("examples"));
    for (name, code) in programs {
        workshop.project.write(&format!("examples/{name}.py"), code);
    }
    let extra: Vec<PathBuf> = std::env::split_paths(path).collect();
    workshop.project.write(
        "pyrightconfig.json",
        &json!({ "include": ["examples"], "extraPaths": extra, "typeCheckingMode": "standard" }).to_string(),
    );
    let mut pyright = Command::new("node");
    pyright
        .current_dir(workshop.project.path(""))
        .arg(Part::Node.installed().join("node_modules/pyright/index.js"))
        .arg("--pythonpath")
        .arg(interpreter(&Part::Python.installed()));
    let ended = workshop.run("pyright", &mut pyright);
    assert!(ended.stdout.contains("0 errors, 0 warnings"), "{}", ended.stdout);
}

/// Imports every module of the installed SDKs.
pub(crate) fn import(workshop: &Workshop, path: &OsStr) {
    let mut modules: Vec<String> =
        workshop.files("site", ".py").iter().filter_map(|file| module(file)).collect();
    // A package before what is in it.
    modules.sort_unstable();
    assert!(modules.len() > 5, "{modules:?}");
    // Some modules are loaded only when something of theirs is asked for.
    let import = |name: &String| format!("import {name}\n{name}.__doc__\n");
    workshop.project.write("imports.py", &modules.iter().map(import).collect::<String>());
    workshop.run("import", &mut python(workshop, path, &["imports.py"]));
}

fn python(workshop: &Workshop, path: &OsStr, arguments: &[&str]) -> Command {
    let mut command = Command::new(interpreter(&Part::Python.installed()));
    command.current_dir(workshop.project.path("")).args(arguments);
    command.env("PYTHONDONTWRITEBYTECODE", "1").env("PYTHONPATH", path).env("MYPYPATH", path);
    command
}

/// `pulumi_random.pet` for `…/site/pulumi_random/pet.py`.
fn module(file: &Path) -> Option<String> {
    let parts: Vec<_> =
        file.with_extension("").iter().filter_map(|part| part.to_str().map(str::to_owned)).collect();
    let first = parts.iter().rposition(|part| part == "site")? + 1;
    if !parts.get(first)?.starts_with("pulumi_") {
        return None;
    }
    let parts: Vec<_> = parts[first..].iter().filter(|part| *part != "__init__").cloned().collect();
    Some(parts.join("."))
}
