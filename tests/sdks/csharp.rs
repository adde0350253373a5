//! C#: every file of the SDKs is C# by its grammar, and names each member and type as the language demands.

use std::process::Command;

use crate::packages;
use crate::python::interpreter;
use crate::workshop::{Part, Workshop, sources};

#[test]
fn sdks_are_generated_and_parsed() {
    fixtures::needs!(Python);
    let workshop = Workshop::with_sdks("C# SDKs", "dotnet", &packages::all());
    parse(&workshop);
}

/// Parses all SDKs.
pub(crate) fn parse(workshop: &Workshop) {
    let installed = Part::Python.installed();
    let mut parser = Command::new(interpreter(&installed));
    parser.arg(sources().join("programs/csharp.py")).arg(workshop.project.path("sdks/dotnet"));
    let parsed: u32 = workshop.run("parse", &mut parser).stdout.trim().parse().expect("a number of files");
    assert!(parsed > 5, "{parsed}");
}
