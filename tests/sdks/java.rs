//! Java: all SDKs compile.

use std::process::Command;

use crate::packages;
use crate::workshop::{Part, Workshop};

#[test]
fn sdks_compile() {
    fixtures::needs!(Java);
    let workshop = Workshop::with_sdks("Java SDKs", "java", &packages::all());
    compile(&workshop);
}

/// Compiles all SDKs in one run.
pub(crate) fn compile(workshop: &Workshop) {
    let installed = Part::Java.installed();
    let sources = workshop.files("sdks/java", ".java");
    assert!(sources.len() > 5, "{sources:?}");
    let list = sources.iter().map(|file| format!("{}\n", file.display())).collect::<String>();
    workshop.project.write("sources.txt", &list);

    let mut compiler = Command::new("javac");
    compiler.current_dir(workshop.project.path(""));
    compiler.args(["-J-Xmx6g", "-proc:none", "-implicit:none", "-d", "java"]);
    compiler.arg("-classpath").arg(installed.join("java/*")).arg("@sources.txt");
    workshop.run("javac", &mut compiler);
}
