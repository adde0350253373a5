//! C#: all SDKs compile, and faults in one of them do not.
//!
//! Pulumi's own package is not there: `csharp/Pulumi.cs` has its signatures.

use std::process::Command;

use crate::packages::{self, Package};
use crate::workshop::{Ended, Part, Workshop, sources};

/// Faults in the class of the resource `random_pet`: what stands there, what is planted instead, and the compiler's error.
const FAULTS: [(&str, &str, &str); 5] = [
    ("public Output<string?> Prefix {", "public Output<Missing> Prefix {", "CS0246"),
    ("public Output<string> Separator {", "public Output<string> Prefix {", "CS0102"),
    ("public Output<string?> Prefix {", "public Output<string?> Pet {", "CS0542"),
    ("MakeResourceOptions(options, \"\")", "MakeResourceOptions(options, 1)", "CS1503"),
    ("return new Pet(name, id, state, options);", "return state;", "CS0029"),
];

#[test]
fn sdks_compile() {
    fixtures::needs!(CSharp);
    let packages = packages::all();
    let workshop = Workshop::with_sdks("C# SDKs", "dotnet", &packages);
    compile(&workshop, &packages);
}

#[test]
fn faults_in_an_sdk_are_found() {
    fixtures::needs!(CSharp);
    let package = Package::local("random", "terraform-provider-random");
    let workshop = Workshop::with_sdks("faults in a C# SDK", "dotnet", std::slice::from_ref(&package));
    let project = &workshop.project;
    let sdk = project.path("sdks/dotnet/random");
    let mut expected = Vec::new();
    for (index, (text, fault, error)) in FAULTS.into_iter().enumerate() {
        let copy = format!("sdks/dotnet/fault{index}");
        for file in workshop.files("sdks/dotnet/random", ".cs") {
            let name = file.strip_prefix(&sdk).expect("it is below").to_str().expect("a plain name");
            let mut source = std::fs::read_to_string(&file).expect("a file of the SDK");
            if name == "Pet.cs" {
                let before =
                    source.find(text).unwrap_or_else(|| panic!("{text:?} is not in {name}:\n{source}"));
                let line = source[..before].lines().count();
                expected.push(format!("{copy}/{name}:{line}: error {error}: "));
                source = source.replacen(text, fault, 1);
            }
            let path = project.path(&format!("{copy}/{name}"));
            std::fs::create_dir_all(path.parent().expect("it is in a directory"))
                .expect("a directory of this test's own");
            std::fs::write(path, source).expect("a file of this test's own");
        }
    }

    let directories = (0..FAULTS.len()).map(|index| format!("fault{index}"));
    let (ended, succeeded) = try_compile(&workshop, directories.chain(["random".to_owned()]));
    assert!(!succeeded, "{}", ended.stdout);
    let errors: Vec<_> = ended.stderr.lines().collect();
    assert_eq!(errors.len(), expected.len(), "{errors:#?}");
    for (error, expected) in errors.iter().zip(&expected) {
        assert!(error.contains(expected), "{expected}…: {errors:#?}");
    }
}

/// Compiles the SDK of each package as a library.
#[track_caller]
pub(crate) fn compile(workshop: &Workshop, packages: &[Package]) {
    let (ended, succeeded) = try_compile(workshop, packages.iter().map(|package| package.name.to_owned()));
    assert!(succeeded, "{}", ended.stderr);
}

fn try_compile(workshop: &Workshop, directories: impl Iterator<Item = String>) -> (Ended, bool) {
    let installed = Part::CSharp.installed().join("csharp");
    let mut compiler = Command::new(installed.join("venv/bin/python"));
    compiler
        .arg(sources().join("programs/csharp.py"))
        .arg(installed.join("node_modules/@typespec/http-client-csharp/dist/generator"))
        .arg(sources().join("csharp/Pulumi.cs"))
        .args(directories.map(|name| workshop.project.path(&format!("sdks/dotnet/{name}"))));
    workshop.try_run("csharp.py", &mut compiler)
}
