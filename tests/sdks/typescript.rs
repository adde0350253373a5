//! TypeScript: all SDKs, a program on them and the examples of `isthmus docs` are compiled, strictly, in one run (`life.rs`).

use std::os::unix::fs::symlink;
use std::process::Command;

use serde_json::json;

use crate::harness::project::create_directory;
use crate::packages::Package;
use crate::workshop::{Part, Workshop};

/// Compiles the SDKs of `packages`, and programs that use them, which then can be run: `js/life.js`.
///
/// An SDK's own `npm install` would compile it alone, by the options that it brings. Here one run of the compiler serves them
/// all, by the same options; `node_modules` then shows each SDK as an installed one would be seen.
pub(crate) fn compile(workshop: &Workshop, packages: &[Package], programs: &[&str]) {
    let installed = Part::Node.installed();
    let project = &workshop.project;
    create_directory(&project.path("node_modules/@pulumi"));
    for library in ["@pulumi/pulumi", "@types", "typescript"] {
        link(installed.join("node_modules").join(library), project.path(&format!("node_modules/{library}")));
    }
    let paths = packages.iter().map(|package| {
        (format!("@pulumi/{}", package.name), json!([format!("./sdks/nodejs/{}/index.ts", package.name)]))
    });
    let options = json!({
        "extends": format!("./sdks/nodejs/{}/tsconfig.json", packages[0].name),
        "compilerOptions": {
            "outDir": "js", "rootDir": ".", "baseUrl": ".", "declaration": false, "declarationMap": false, "sourceMap": false,
            "paths": paths.collect::<serde_json::Map<_, _>>(),
        },
        "files": programs,
        "include": ["sdks/nodejs/**/*.ts"],
    });
    project.write("tsconfig.json", &options.to_string());

    let mut compiler = Command::new("node");
    compiler
        .current_dir(project.path(""))
        .arg("--max-old-space-size=8192")
        .arg(installed.join("node_modules/typescript/bin/tsc"));
    workshop.run("tsc", &mut compiler);
    let compiled = workshop.files("js", ".js");
    assert!(compiled.len() > 5, "{compiled:?}");

    for package in packages {
        let compiled = project.path(&format!("js/sdks/nodejs/{}", package.name));
        let description = project.path(&format!("sdks/nodejs/{}/package.json", package.name));
        std::fs::copy(description, compiled.join("package.json")).expect("each SDK has a description");
        // Its main file is said to be in `bin`.
        link(".".into(), compiled.join("bin"));
        link(compiled, project.path(&format!("node_modules/@pulumi/{}", package.name)));
    }
}

fn link(to: std::path::PathBuf, from: std::path::PathBuf) {
    symlink(&to, &from).unwrap_or_else(|error| panic!("{}: {error}", from.display()));
}
