//! Go: all SDKs and a program on them pass the compiler and `go vet`.

use std::process::Command;

use crate::packages;
use crate::workshop::{Workshop, sources};

#[test]
fn sdks_compile_and_show_their_types() {
    let all = packages::all_but(&packages::NOT_IN_GO);
    let workshop = Workshop::with_sdks("Go SDKs", "go", &all);
    let module = workshop.project.path("sdks/go");
    for file in ["go.mod", "go.sum", "program.go"] {
        let from = sources().join("go").join(file);
        std::fs::copy(&from, module.join(file)).unwrap_or_else(|error| panic!("{}: {error}", from.display()));
    }
    let mut vet = Command::new("go");
    vet.current_dir(&module).args(["vet", "-mod=readonly", "./..."]);
    vet.args(
        all.iter().map(|package| {
            format!("github.com/pulumi/pulumi-terraform-provider/sdks/go/{}/...", package.name)
        }),
    );
    // The same everywhere: no C compiler, no toolchain fetched behind one's back, no workspace file from outside.
    vet.env("CGO_ENABLED", "0").env("GOTOOLCHAIN", "local").env("GOWORK", "off").env("GOFLAGS", "");
    workshop.run("go vet", &mut vet);
}
