//! OpenTofu with the same provider, as the floor of what people had before.

use std::fs;
use std::path::Path;
use std::process::Stdio;

use anyhow::Context as _;
use serde_json::{Map, Value as Json, json};
use tempfile::TempDir;
use tokio::process::Command;

use super::{Stack, Wait, Waits, time};
use crate::tools::Tools;

/// The provider's namespace, which no registry knows.
const NAMESPACE: &str = "measured";

/// Takes a project of so many resources from its first `apply` to its `destroy`.
pub(super) async fn measure(stack: Stack, resources: usize, tools: &Tools) -> anyhow::Result<Waits> {
    let directory = TempDir::with_prefix("isthmus-benches-tofu-").context("no temporary directory")?;
    prepare(directory.path(), stack, resources, tools)
        .with_context(|| format!("{} cannot be filled", directory.path().display()))?;
    let run = async |arguments: &[&str], expected: String| -> anyhow::Result<Wait> {
        let mut command = Command::new(&tools.tofu);
        command
            .args(arguments)
            .args(["-auto-approve", "-input=false", "-no-color"])
            .current_dir(directory.path())
            .env_clear()
            .env("PATH", "/usr/bin:/bin")
            .env("HOME", directory.path())
            .env("TMPDIR", directory.path())
            .env("TF_CLI_CONFIG_FILE", directory.path().join("tofu.tfrc"))
            .env("CHECKPOINT_DISABLE", "true")
            .env("SANDBOX_DIR", directory.path())
            .envs(stack.variables().iter().copied())
            .stdin(Stdio::null());
        time(command, &format!("tofu {}", arguments.join(" ")), &expected).await
    };
    Ok(Waits {
        package_add: None,
        up: run(&["apply"], format!("Resources: {resources} added")).await?,
        unchanged: run(&["apply"], "No changes.".to_owned()).await?,
        refresh: run(&["apply", "-refresh-only"], "No changes.".to_owned()).await?,
        destroy: run(&["destroy"], format!("Resources: {resources} destroyed")).await?,
    })
}

fn prepare(directory: &Path, stack: Stack, resources: usize, tools: &Tools) -> anyhow::Result<()> {
    let package = stack.suite().package();
    let source = format!("{NAMESPACE}/{package}");
    let providers = directory.join("providers");
    fs::create_dir(&providers)?;
    let name = format!("terraform-provider-{package}");
    std::os::unix::fs::symlink(tools.provider(stack.suite()), providers.join(name))?;
    let settings = format!(
        "provider_installation {{\n  dev_overrides {{\n    {source:?} = {providers:?}\n  }}\n  direct {{}}\n}}\n"
    );
    fs::write(directory.join("tofu.tfrc"), settings)?;
    let (type_name, argument, value) = stack.resource();
    let all: Map<String, Json> =
        (0..resources).map(|number| (format!("resource-{number}"), json!({ argument: value }))).collect();
    let program = json!({
        "terraform": { "required_providers": { package: { "source": source } } },
        "resource": { type_name: all },
    });
    fs::write(directory.join("main.tf.json"), program.to_string())?;
    Ok(())
}
