//! Java: all SDKs compile.

use std::process::Command;

use crate::packages;
use crate::workshop::{Part, Workshop};

#[test]
fn sdks_compile() {
    let installed = Part::Java.installed();
    let workshop = Workshop::with_sdks("Java SDKs", "java", &packages::all_but(&packages::NOT_IN_JAVA));
    let sources = workshop.files("sdks/java", ".java");
    assert!(sources.len() > 100, "{sources:?}");
    let list = sources.iter().map(|file| format!("{}\n", file.display())).collect::<String>();
    workshop.project.write("sources.txt", &list);

    let mut compiler = Command::new("javac");
    compiler.current_dir(workshop.project.path("")).args(["-proc:none", "-implicit:none", "-d", "java"]);
    compiler.arg("-classpath").arg(installed.join("java/*")).arg("@sources.txt");
    workshop.run("javac", &mut compiler);
}
