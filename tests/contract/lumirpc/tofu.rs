//! OpenTofu on a project of its own, and `isthmus state` beside it.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

pub(crate) use crate::harness::said::Said;
use crate::harness::{Json, json};

/// The providers, each with the address that projects know it by.
pub(crate) const PROVIDERS: [(&str, &str); 4] = [
    ("random", "hashicorp/random"),
    ("local", "hashicorp/local"),
    ("time", "hashicorp/time"),
    ("conformance", "isthmus/conformance"),
];

/// A project.
pub(crate) struct Project {
    tofu: PathBuf,
    directory: PathBuf,
    /// What the conformance provider is told by its environment.
    settings: Vec<(&'static str, String)>,
}

impl Project {
    /// An empty project in a directory. Building OpenTofu, where it is missing, takes minutes.
    pub(crate) async fn new(directory: &Path, settings: Vec<(&'static str, String)>) -> Self {
        let directory = directory.to_owned();
        std::fs::create_dir_all(directory.join("providers")).expect("a directory");
        let link = |file: PathBuf, name: &str| {
            let link = directory.join("providers").join(name);
            isthmus_platform::files::symlink(file, link).expect("a link in a new directory");
        };
        let tools = tokio::task::spawn_blocking(|| {
            let provider = |name: &str| fixtures::tools::tool(&format!("terraform-provider-{name}"));
            (fixtures::tools::tool("tofu"), PROVIDERS.map(|(name, _)| provider(name)))
        });
        let (tofu, files) = tools.await.expect("tools");
        for (file, (name, _)) in files.into_iter().zip(PROVIDERS) {
            link(file, &format!("terraform-provider-{name}"));
        }
        let here = directory.join("providers");
        let overrides: String =
            PROVIDERS.iter().map(|(_, address)| format!("    {address:?} = {here:?}\n")).collect();
        let text =
            format!("provider_installation {{\n  dev_overrides {{\n{overrides}  }}\n  direct {{}}\n}}\n");
        std::fs::write(directory.join("tofu.tfrc"), text).expect("a file");
        Self { tofu, directory, settings }
    }

    /// Where a provider's program is.
    pub(crate) fn provider(&self, name: &str) -> PathBuf {
        self.directory.join("providers").join(format!("terraform-provider-{name}"))
    }

    pub(crate) fn state_file(&self) -> PathBuf {
        self.directory.join("terraform.tfstate")
    }

    /// Writes the program: its resources, by type and name.
    pub(crate) fn write(&self, resources: &Json) {
        let required: serde_json::Map<String, Json> = PROVIDERS
            .iter()
            .map(|(name, address)| ((*name).to_owned(), json!({ "source": address })))
            .collect();
        let program = json!({ "terraform": { "required_providers": required }, "resource": resources });
        std::fs::write(self.directory.join("main.tf.json"), program.to_string()).expect("a file");
    }

    /// Runs `tofu`. A plan with `-detailed-exitcode` says by 0 that there are no changes, and by 2 that there are.
    pub(crate) fn tofu(&self, words: &[&str]) -> Said {
        let mut command = Command::new(&self.tofu);
        command
            .args(words)
            .env_clear()
            .env("PATH", std::env::var_os("PATH").unwrap_or_default())
            .env(isthmus_platform::HOME, &self.directory)
            .env("TF_CLI_CONFIG_FILE", self.directory.join("tofu.tfrc"))
            .env("CHECKPOINT_DISABLE", "1")
            .envs(self.settings.iter().map(|(name, value)| (name, value)))
            .current_dir(&self.directory)
            .stdin(Stdio::null());
        Said::of(&mut command)
    }
}

/// Runs `isthmus` on a store.
pub(crate) fn isthmus(home: &Path, words: &[&str]) -> Said {
    isthmus_with(home, words, &[])
}

/// Runs `isthmus` on a store, with variables.
pub(crate) fn isthmus_with(home: &Path, words: &[&str], variables: &[(&'static str, String)]) -> Said {
    let mut command = Command::new(env!("CARGO_BIN_EXE_isthmus"));
    command
        .args(words)
        .env_clear()
        .env("ISTHMUS_HOME", home)
        .env(isthmus_platform::HOME, home)
        .envs(variables.iter().map(|(name, value)| (name, value)))
        .stdin(Stdio::null());
    Said::of(&mut command)
}
