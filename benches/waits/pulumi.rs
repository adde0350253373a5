//! Commands of the real Pulumi CLI with a bridge as the only plugin.
//!
//! The project is a YAML program, whose state is in files, and nothing is asked of the network.

use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Stdio;

use anyhow::Context as _;
use base64::Engine as _;
use isthmus_proto::property::Struct;
use prost::Message as _;
use tempfile::TempDir;
use tokio::process::Command;

use super::{Stack, Wait, Waits, null, time};
use crate::bridge::{Bridge, BridgeSpec};
use crate::engine::Engine;
use crate::options::Contestant;
use crate::tools::{self, PLUGIN_VERSION, Tools};

/// Takes a stack of so many resources from its first `up` to its `destroy`.
pub(super) async fn measure(
    contestant: Contestant,
    stack: Stack,
    resources: usize,
    tools: &Tools,
    engine: &Engine,
) -> anyhow::Result<Waits> {
    let project = Project::create(contestant, stack, resources, tools, engine).await?;
    project.run("program", &["stack", "init", "dev"], "").await?;
    // The stack is a resource as well.
    let all = resources + 1;
    let package = format!("terraform-provider@{PLUGIN_VERSION}");
    let provider = tools.provider(stack.suite()).to_string_lossy();
    let run = async |arguments: &[&str], expected: &str| project.run("program", arguments, expected).await;
    Ok(Waits {
        package_add: Some(project.run("added", &["package", "add", &package, &provider], "").await?),
        up: run(&["up", "--yes"], &format!("{all} created")).await?,
        unchanged: run(&["up", "--yes"], &format!("{all} unchanged")).await?,
        refresh: run(&["refresh", "--yes"], &format!("{all} unchanged")).await?,
        destroy: run(&["destroy", "--yes"], &format!("{all} deleted")).await?,
    })
}

/// A project, its state, and its Pulumi home.
#[derive(Debug)]
struct Project<'a> {
    directory: TempDir,
    pulumi: &'a Path,
    stack: Stack,
}

impl<'a> Project<'a> {
    async fn create(
        contestant: Contestant,
        stack: Stack,
        resources: usize,
        tools: &'a Tools,
        engine: &Engine,
    ) -> anyhow::Result<Self> {
        let directory = TempDir::with_prefix("isthmus-benches-cli-").context("no temporary directory")?;
        let project = Self { directory, pulumi: &tools.pulumi, stack };
        let (plugins, packages) = (project.path("home/plugins"), project.path("program/sdks"));
        for directory in [&plugins, &project.path("backend"), &packages, &project.path("added")] {
            fs::create_dir_all(directory)
                .with_context(|| format!("{} cannot be made", directory.display()))?;
        }
        let bridge = tools.bridge(contestant).context("the Pulumi CLI needs a bridge")?;
        let plugin = tools::place_plugin(bridge, &plugins)?;
        let package = stack.suite().package();
        if contestant == Contestant::Null {
            let (schema, outputs) =
                project.recorded(tools, engine).await.context("what the plugin has to answer")?;
            save(&plugin.with_file_name(null::SCHEMA), &schema)?;
            save(&plugin.with_file_name(null::OUTPUTS), &outputs.encode_to_vec())?;
        }
        save(&project.path("program/Pulumi.yaml"), &program(stack, resources))?;
        save(&project.path("added/Pulumi.yaml"), &program(stack, 0))?;
        let declaration = declaration(package, tools.provider(stack.suite()));
        save(&packages.join(format!("{package}/{package}-0.0.0.yaml")), &declaration)?;
        Ok(project)
    }

    /// The package's schema, and the outputs of a resource, by isthmus.
    async fn recorded(&self, tools: &Tools, engine: &Engine) -> anyhow::Result<(String, Struct)> {
        let home = self.path("recorded");
        fs::create_dir(&home)?;
        let mut variables: Vec<_> =
            self.stack.variables().iter().map(|(name, value)| (*name, (*value).to_owned())).collect();
        variables.push(("SANDBOX_DIR", home.to_string_lossy().into_owned()));
        let spec = BridgeSpec { executable: tools.isthmus.clone(), home, variables };
        let provider = tools.provider(self.stack.suite());
        let mut bridge = Bridge::open(&spec, engine).await?;
        let package = bridge.parameterize(provider).await?;
        let (schema, _) = bridge.schema(&package).await?;
        bridge.end().await?;
        let bridge = Bridge::of_stack(&spec, engine, "recorded", provider, Struct::new()).await?;
        let (_, argument, value) = self.stack.resource();
        let mut inputs = Struct::new();
        inputs.insert(argument, f64::from(value));
        let outputs = bridge.client().create_first("recorded", self.stack.token(), inputs).await?;
        bridge.end().await?;
        Ok((schema, outputs))
    }

    fn path(&self, file: &str) -> PathBuf {
        self.directory.path().join(file)
    }

    /// Runs a command of the CLI in a program's directory.
    async fn run(&self, program: &str, arguments: &[&str], expected: &str) -> anyhow::Result<Wait> {
        let home = self.path("home");
        let mut command = Command::new(self.pulumi);
        command
            .args(["--non-interactive", "--color", "never"])
            .args(arguments)
            .current_dir(self.path(program))
            .env_clear()
            // The YAML host is found beside the CLI. No plugin is found here, hence none by accident.
            .env("PATH", "/usr/bin:/bin")
            .env("HOME", &home)
            .env("TMPDIR", self.directory.path())
            .env("PULUMI_HOME", &home)
            .env("PULUMI_BACKEND_URL", format!("file://{}", self.path("backend").display()))
            .env("PULUMI_CONFIG_PASSPHRASE", "correct horse")
            .env("SANDBOX_DIR", &home)
            .envs(self.stack.variables().iter().copied())
            .stdin(Stdio::null());
        for switch in [
            "ISTHMUS_OFFLINE",
            "PULUMI_SKIP_UPDATE_CHECK",
            "PULUMI_DISABLE_AUTOMATIC_PLUGIN_ACQUISITION",
            "PULUMI_DISABLE_REGISTRY_RESOLVE",
            "PULUMI_SKIP_CONFIRMATIONS",
        ] {
            command.env(switch, "true");
        }
        time(command, &format!("pulumi {}", arguments.join(" ")), expected).await
    }
}

fn program(stack: Stack, resources: usize) -> String {
    let mut text = "name: waits\nruntime: yaml\n".to_owned();
    let ((_, argument, value), token) = (stack.resource(), stack.token());
    if resources > 0 {
        text += "resources:\n";
    }
    for number in 0..resources {
        // Writing to a text cannot fail.
        let _ = writeln!(
            text,
            "  resource-{number}: {{ type: '{token}', properties: {{ {argument}: {value} }} }}"
        );
    }
    text
}

/// What `pulumi package add` writes for a YAML program and a provider on disk.
fn declaration(package: &str, provider: &Path) -> String {
    let parameter = serde_json::json!({ "local": { "path": provider } }).to_string();
    format!(
        "packageDeclarationVersion: 1\nname: terraform-provider\nversion: {PLUGIN_VERSION}\n\
         parameterization:\n  name: {package}\n  version: 0.0.0\n  value: {}\n",
        base64::engine::general_purpose::STANDARD.encode(parameter)
    )
}

fn save(path: &Path, contents: &(impl AsRef<[u8]> + ?Sized)) -> anyhow::Result<()> {
    let directory = path.parent().map_or(Ok(()), fs::create_dir_all);
    directory
        .and_then(|()| fs::write(path, contents))
        .with_context(|| format!("{} cannot be written", path.display()))
}
