//! Commands of the real Pulumi CLI, from their start to their end, as a user waits for them.
//!
//! The project is a YAML program with pets of the provider `random`, its state is in files, and nothing is asked of the network.
//! The Pulumi home is new in each turn, with the contestant as the only plugin.

use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::{Duration, Instant};

use anyhow::{Context as _, bail};
use base64::Engine as _;
use serde::Serialize;
use tempfile::TempDir;
use tokio::process::Command;

use crate::options::Contestant;
use crate::tools::{self, PLUGIN_VERSION, Tools};

/// When a command counts as hanging.
const LIMIT: Duration = Duration::from_mins(10);

/// How long the commands took, in seconds.
#[derive(Clone, Copy, Debug, Serialize)]
pub(crate) struct CliSeconds {
    /// `pulumi up` that creates the resources, preview included.
    pub(crate) up: f64,
    /// `pulumi up` that finds them unchanged.
    pub(crate) unchanged: f64,
    /// `pulumi destroy`.
    pub(crate) destroy: f64,
}

/// Takes a stack of so many resources from its first `up` to its `destroy`.
pub(crate) async fn measure(
    contestant: Contestant,
    resources: usize,
    tools: &Tools,
) -> anyhow::Result<CliSeconds> {
    let bridge = tools.bridge(contestant).context("the Pulumi CLI needs a bridge")?;
    let project = Project::create(bridge, resources, tools)?;
    project.run(&["stack", "init", "dev"]).await?;
    // The stack is a resource as well.
    let all = resources + 1;
    Ok(CliSeconds {
        up: project.time(&["up", "--yes"], &format!("{all} created")).await?,
        unchanged: project.time(&["up", "--yes"], &format!("{all} unchanged")).await?,
        destroy: project.time(&["destroy", "--yes"], &format!("{all} deleted")).await?,
    })
}

/// A project, its state, and its Pulumi home.
#[derive(Debug)]
struct Project {
    directory: TempDir,
    pulumi: PathBuf,
}

impl Project {
    fn create(bridge: &Path, resources: usize, tools: &Tools) -> anyhow::Result<Self> {
        let directory = TempDir::with_prefix("isthmus-benches-cli-").context("no temporary directory")?;
        let project = Self { directory, pulumi: tools.pulumi.clone() };
        let packages = project.path("program/sdks/random");
        for directory in [&project.path("home/plugins"), &project.path("backend"), &packages] {
            fs::create_dir_all(directory)
                .with_context(|| format!("{} cannot be made", directory.display()))?;
        }
        tools::place_plugin(bridge, &project.path("home/plugins"))?;
        save(&project.path("program/Pulumi.yaml"), &program(resources))?;
        save(&packages.join("random-0.0.0.yaml"), &package(&tools.random))?;
        Ok(project)
    }

    fn path(&self, file: &str) -> PathBuf {
        self.directory.path().join(file)
    }

    /// Runs a command of the CLI, whose output must contain `expected`, and returns how many seconds it took.
    async fn time(&self, arguments: &[&str], expected: &str) -> anyhow::Result<f64> {
        let began = Instant::now();
        let output = self.run(arguments).await?;
        let seconds = began.elapsed().as_secs_f64();
        if !output.contains(expected) {
            bail!("pulumi {} has not {expected}:\n{output}", arguments.join(" "));
        }
        Ok(seconds)
    }

    /// Runs a command of the CLI, and returns its standard output.
    async fn run(&self, arguments: &[&str]) -> anyhow::Result<String> {
        let home = self.path("home");
        let mut command = Command::new(&self.pulumi);
        command
            .args(["--non-interactive", "--color", "never"])
            .args(arguments)
            .current_dir(self.path("program"))
            .env_clear()
            // The YAML host is found beside the CLI. No plugin is found here, hence none by accident.
            .env("PATH", "/usr/bin:/bin")
            .env("HOME", &home)
            .env("TMPDIR", self.directory.path())
            .env("PULUMI_HOME", &home)
            .env("PULUMI_BACKEND_URL", format!("file://{}", self.path("backend").display()))
            .env("PULUMI_CONFIG_PASSPHRASE", "correct horse")
            .stdin(Stdio::null())
            .kill_on_drop(true);
        for switch in [
            "ISTHMUS_OFFLINE",
            "PULUMI_SKIP_UPDATE_CHECK",
            "PULUMI_DISABLE_AUTOMATIC_PLUGIN_ACQUISITION",
            "PULUMI_DISABLE_REGISTRY_RESOLVE",
            "PULUMI_SKIP_CONFIRMATIONS",
        ] {
            command.env(switch, "true");
        }
        let name = format!("pulumi {}", arguments.join(" "));
        let output = tokio::time::timeout(LIMIT, command.output()).await;
        let output = output.with_context(|| format!("{name} takes longer than {} s", LIMIT.as_secs()))?;
        let output = output.with_context(|| format!("{} cannot be started", self.pulumi.display()))?;
        let stdout = String::from_utf8_lossy(&output.stdout).into_owned();
        if !output.status.success() {
            bail!("{name} failed: {}\n{stdout}{}", output.status, String::from_utf8_lossy(&output.stderr));
        }
        Ok(stdout)
    }
}

fn program(resources: usize) -> String {
    let mut text = "name: budgets\nruntime: yaml\nresources:\n".to_owned();
    for number in 0..resources {
        // Writing to a text cannot fail.
        let _ = writeln!(text, "  pet-{number}: {{ type: 'random:Pet', properties: {{ length: 2 }} }}");
    }
    text
}

/// What `pulumi package add` writes for a YAML program and a provider on disk.
fn package(provider: &Path) -> String {
    let parameter = serde_json::json!({ "local": { "path": provider } }).to_string();
    format!(
        "packageDeclarationVersion: 1\nname: terraform-provider\nversion: {PLUGIN_VERSION}\n\
         parameterization:\n  name: random\n  version: 0.0.0\n  value: {}\n",
        base64::engine::general_purpose::STANDARD.encode(parameter)
    )
}

fn save(path: &Path, text: &str) -> anyhow::Result<()> {
    fs::write(path, text).with_context(|| format!("{} cannot be written", path.display()))
}
