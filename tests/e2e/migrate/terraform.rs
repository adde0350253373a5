//! A project of OpenTofu beside a Pulumi project, on the same providers and objects.

use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use serde_json::Value;

use crate::harness::project::create_directory;
use crate::harness::{Project, Provider, tools};

/// The providers, each with the address that configurations know it by.
pub(crate) const PROVIDERS: [(Provider, &str); 5] = [
    (Provider::Conformance, "isthmus/conformance"),
    (Provider::Local, "hashicorp/local"),
    (Provider::Random, "hashicorp/random"),
    (Provider::Time, "hashicorp/time"),
    (Provider::Tls, "hashicorp/tls"),
];

/// OpenTofu and `isthmus migrate`.
pub(crate) struct Migration {
    /// Where the stack is.
    pub(crate) project: Project,
    /// Where the configuration and the state are.
    directory: PathBuf,
}

/// What a program has said.
#[derive(Debug)]
pub(crate) struct Said {
    pub(crate) code: Option<i32>,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

impl Migration {
    /// A project without a stack, and a configuration, which is copied.
    pub(crate) fn new(name: &'static str, configuration: &str) -> Self {
        let project = Project::bare(name, &PROVIDERS.map(|(provider, _)| provider));
        project.switch_to(crate::harness::Bridge::Ours);
        let directory = project.path("").parent().expect("a project is in a directory").join("terraform");
        create_directory(&directory.join("files"));
        let from = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/e2e/migrate").join(configuration);
        let copied = Command::new("cp").arg("-r").arg(from.join(".")).arg(&directory).status();
        assert!(copied.expect("cp starts").success());
        let providers = project.provider(Provider::Random);
        let providers = providers.parent().expect("a provider is in a directory");
        let overrides: String =
            PROVIDERS.iter().map(|(_, address)| format!("    {address:?} = {providers:?}\n")).collect();
        let text =
            format!("provider_installation {{\n  dev_overrides {{\n{overrides}  }}\n  direct {{}}\n}}\n");
        std::fs::write(directory.join("tofu.tfrc"), text).expect("a file in a directory of ours");
        let migration = Self { project, directory };
        migration.tofu(&["get"]).well();
        migration
    }

    /// A file beside the configuration.
    pub(crate) fn path(&self, file: &str) -> PathBuf {
        self.directory.join(file)
    }

    /// Runs OpenTofu in its project.
    pub(crate) fn tofu(&self, arguments: &[&str]) -> Said {
        self.tofu_with(&[], arguments)
    }

    /// The same with variables in its environment.
    pub(crate) fn tofu_with(&self, variables: &[(&str, &str)], arguments: &[&str]) -> Said {
        let mut command = self.project.at_home(tools::directory().join("tofu"));
        command
            .args(arguments)
            .arg("-no-color")
            .current_dir(&self.directory)
            .env("TF_CLI_CONFIG_FILE", self.directory.join("tofu.tfrc"))
            .env("TF_VAR_directory", self.directory.join("files"))
            .env("CHECKPOINT_DISABLE", "1")
            .envs(variables.iter().copied());
        said(command.stdin(Stdio::null()))
    }

    /// Expects a plan without changes.
    #[track_caller]
    pub(crate) fn tofu_plans_nothing(&self) {
        self.tofu(&["plan", "-input=false", "-detailed-exitcode"]).well();
    }

    /// Runs `isthmus migrate` with the providers of this project, and these arguments besides.
    pub(crate) fn migrate(&self, arguments: &[&str]) -> Said {
        self.migrate_with(&[], arguments)
    }

    /// The same with variables in its environment.
    pub(crate) fn migrate_with(&self, variables: &[(&str, &str)], arguments: &[&str]) -> Said {
        let mut command = self.project.at_home(env!("CARGO_BIN_EXE_isthmus"));
        // The stack names files of these tests.
        command.args(["migrate", "--yes"]).args(arguments).envs(variables.iter().copied());
        for (provider, address) in PROVIDERS {
            let file = self.project.provider(provider);
            command.arg("--provider").arg(format!("registry.opentofu.org/{address}={}", file.display()));
        }
        said(command.stdin(Stdio::null()))
    }

    /// Makes the state the stack of the project: what a user does after `isthmus migrate`.
    #[track_caller]
    pub(crate) fn import_stack(&self) {
        self.project.run(&["stack", "init", "dev"]).succeeded();
        self.project.run(&["stack", "import", "--file", "stack.json"]).succeeded();
    }

    /// Sets the secrets of the program, as `isthmus migrate` tells its users to.
    #[track_caller]
    pub(crate) fn set_secrets(&self) {
        for (key, file) in self.secrets() {
            let mut set = self.project.at_home(tools::directory().join("pulumi"));
            set.args(["--non-interactive", "config", "set", "--secret", "--raw", &key]);
            said(set.stdin(std::fs::File::open(file).expect("a secret"))).well();
        }
    }

    /// The secrets that the program takes from the configuration: key and file.
    pub(crate) fn secrets(&self) -> Vec<(String, PathBuf)> {
        let Ok(entries) = std::fs::read_dir(self.project.path("secrets")) else { return Vec::new() };
        let files = entries.map(|entry| entry.expect("a directory of ours").path());
        let name = |file: &Path| file.file_name().expect("a file").to_string_lossy().into_owned();
        files.map(|file| (name(&file), file)).collect()
    }

    /// The state.
    pub(crate) fn state(&self) -> Value {
        let text = std::fs::read_to_string(self.path("terraform.tfstate")).expect("a state");
        serde_json::from_str(&text).expect("a state is JSON")
    }
}

fn said(command: &mut Command) -> Said {
    let Output { status, stdout, stderr } = command.output().expect("the program starts");
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    Said { code: status.code(), stdout: text(&stdout), stderr: text(&stderr) }
}

impl Said {
    /// What it has said, when it went well.
    #[track_caller]
    pub(crate) fn well(self) -> Self {
        self.with_code(0)
    }

    /// What it has said, when it ended with this code.
    #[track_caller]
    pub(crate) fn with_code(self, code: i32) -> Self {
        assert_eq!(self.code, Some(code), "{}\n{}", self.stdout, self.stderr);
        self
    }
}
