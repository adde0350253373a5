//! Which plugin the command line takes, beside Go bridges of three releases: the table of `docs/tutorials/whole-company.md`.
//!
//! The Go bridges are scripts that write down their version before they become the Go bridge, so that the test sees what was
//! started. All three are the one release that the tests have: the command line looks at the directory's name alone.

use std::fs;
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::path::PathBuf;

use crate::harness::project::{PLUGIN, create_directory};
use crate::harness::{Bridge, Project, Provider, tools};
use crate::install::{name_in_sdk, plugin};

const PAGE: &str = include_str!("../../docs/tutorials/whole-company.md");

/// The Go bridges beside this program.
const RELEASES: [&str; 3] = ["1.1.3", "1.3.0", "1.4.0"];

/// How this program was put beside them.
#[derive(Clone, Copy, Debug)]
enum Setup {
    Forced,
    Everywhere,
    OnPath,
}

/// Who asks for the plugin, and for which version.
#[derive(Clone, Copy, Debug)]
enum Asking {
    PackageAdd,
    OlderHcl,
    Hcl,
    Sdk(&'static str),
    Packages(&'static str),
    Automation(&'static str),
}

const WAYS: [Asking; 8] = [
    Asking::PackageAdd,
    Asking::OlderHcl,
    Asking::Hcl,
    Asking::Sdk("1.1.3"),
    Asking::Sdk("1.3.0"),
    Asking::Sdk("1.4.0"),
    Asking::Packages("1.3.0"),
    Asking::Automation("1.3.0"),
];

impl Asking {
    /// The first cell of its row.
    fn shown(self) -> String {
        match self {
            Self::PackageAdd => "`pulumi package add terraform-provider`".to_owned(),
            Self::OlderHcl => "`pulumi install`, a host of HCL before 0.16.2: no version".to_owned(),
            Self::Hcl => "`pulumi install`, a host of HCL since then: 1.3.0".to_owned(),
            Self::Sdk(version) => format!("`pulumi up` with an SDK of {version}"),
            Self::Packages(version) => format!("`pulumi install`, `packages` with {version}"),
            Self::Automation(version) => format!("Automation API with an SDK of {version}"),
        }
    }
}

/// A machine with the Go bridges, a project, and this program in one of the ways.
struct Machine {
    project: Project,
    log: PathBuf,
}

impl Machine {
    fn new(setup: Setup) -> Self {
        let project = Project::bare("the plugin that is chosen", &[Provider::Random]);
        let log = project.path("../asked");
        for version in RELEASES {
            let file = plugin(&project, version);
            create_directory(file.parent().expect("it has a directory"));
            let bridge = Bridge::Go.executable();
            let script = format!("#!/bin/sh\necho {version} >> {log:?}\nexec {bridge:?} \"$@\"\n");
            fs::write(&file, script).expect("a file of ours");
            fs::set_permissions(&file, fs::Permissions::from_mode(0o755)).expect("a mode");
        }
        let machine = Self { project, log };
        // Nothing is replaced without being told to.
        let (succeeded, said) = machine.isthmus(&["install", "--plugin"]);
        assert!(
            !succeeded
                && said.contains("v1.4.0/pulumi-resource-terraform-provider was not installed by isthmus"),
            "{said}"
        );
        match setup {
            Setup::Forced => assert!(machine.isthmus(&["install", "--plugin", "--force"]).0),
            Setup::Everywhere => assert!(machine.isthmus(&["install", "--plugin", "--everywhere"]).0),
            Setup::OnPath => {
                let bin = machine.project.path("../bin");
                create_directory(&bin);
                let plugin = bin.join(format!("pulumi-resource-{PLUGIN}"));
                symlink(Bridge::Ours.executable(), plugin).expect("a link of ours");
                machine.project.set("PATH", &format!("{}:/usr/bin:/bin", bin.display()));
            }
        }
        machine.project.program("resources:\n  pet:\n    type: random:Pet\n");
        machine.project.create_stack();
        machine
    }

    /// Runs the command, which may start the Pulumi command line.
    fn isthmus(&self, words: &[&str]) -> (bool, String) {
        let mut command = self.project.at_home(Bridge::Ours.executable());
        let path = self.project.variable("PATH").unwrap_or_else(|| "/usr/bin:/bin".to_owned());
        command.env("PATH", format!("{path}:{}", tools::directory().display())).args(words);
        let output = command.output().expect("it starts");
        let said = [output.stdout, output.stderr].map(|said| String::from_utf8_lossy(&said).into_owned());
        (output.status.success(), said.concat())
    }

    /// Asks for the plugin, and returns the cell of the table.
    fn ask(&self, asking: Asking) -> String {
        let _ = fs::remove_file(&self.log);
        let _ = fs::remove_dir_all(self.project.path("sdks"));
        let project = &self.project;
        let provider = project.provider(Provider::Random).display().to_string();
        let program = "resources:\n  pet:\n    type: random:Pet\n";
        project.program(program);
        match asking {
            Asking::PackageAdd => drop(project.run(&["package", "add", PLUGIN, &provider]).succeeded()),
            Asking::OlderHcl => drop(project.run(&["package", "get-schema", PLUGIN, &provider]).succeeded()),
            Asking::Hcl => {
                let plugin = format!("{PLUGIN}@1.3.0");
                drop(project.run(&["package", "get-schema", &plugin, &provider]).succeeded());
                project.write("Pulumi.yaml", "name: e2e\nruntime: hcl\n");
            }
            Asking::Sdk(version) => {
                name_in_sdk(project, version);
                project.preview();
            }
            Asking::Packages(version) => {
                let package =
                    format!("random: {{source: {PLUGIN}, version: {version}, parameters: [{provider}]}}");
                project.program(&format!("{program}packages:\n  {package}\n"));
                project.run(&["install"]).succeeded();
            }
            Asking::Automation(version) => {
                name_in_sdk(project, version);
                let mut command = project.at_home(tools::directory().join("automation"));
                let path = project.variable("PATH").unwrap_or_else(|| "/usr/bin:/bin".to_owned());
                command.env("PATH", format!("{path}:{}", tools::directory().display()));
                let output =
                    command.arg("preview").arg(project.path("")).arg("dev").output().expect("it starts");
                assert!(output.status.success(), "{output:?}");
            }
        }
        let asked = fs::read_to_string(&self.log).unwrap_or_default();
        let Some(version) = asked.lines().next() else { return "isthmus".to_owned() };
        assert!(asked.lines().all(|line| line == version), "{asked:?}");
        // It is told, with the way out.
        let (_, said) = self.isthmus(&["doctor", "--only", "plugin"]);
        let told = format!("v{version}/pulumi-resource-terraform-provider is not isthmus");
        assert!(
            said.contains(&told) && said.contains("isthmus install --plugin"),
            "{asking:?} got {version}: {said}"
        );
        format!("the Go bridge {version}; `doctor` says so")
    }
}

#[test]
fn each_way_of_asking_gets_this_program_or_is_told() {
    let machines = [Setup::Forced, Setup::Everywhere, Setup::OnPath].map(Machine::new);
    let rows = WAYS.map(|way| {
        let cells = machines.each_ref().map(|machine| machine.ask(way));
        format!("| {} | {} |\n", way.shown(), cells.join(" | "))
    });
    let table = rows.concat();
    assert!(!PAGE.is_empty() && PAGE.contains(&table), "the page has another table than\n{table}");
    for machine in &machines {
        machine.project.expect_no_process();
    }
}
