//! Plugin versions in the state of stacks.
//!
//! Only the Pulumi CLI can find and reach a project's stacks; so it is called, or the user passes
//! its export. No secret of a stack is needed.

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::io::{self, Read as _};
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;

use semver::Version;
use serde_json::Value;

use crate::cli::output::explain_missing;
use isthmus_common::file_fault::FileFault;
use isthmus_context::project::Project;
use isthmus_context::project::document::{PLUGIN, parse_version};

/// The largest export of a stack.
const LARGEST: u64 = 1 << 30;

/// Timeout for one call of the CLI, whose backend may be remote.
const PATIENCE: Duration = Duration::from_secs(60);

#[derive(Debug, thiserror::Error)]
pub(super) enum StackError {
    #[error("{path} cannot be read", path = .path.display())]
    Read {
        path: PathBuf,
        #[source]
        error: io::Error,
    },
    #[error("{place} is not an output of `pulumi stack export`")]
    NoExport {
        place: String,
        #[source]
        error: serde_json::Error,
    },
    #[error(
        "failed to list the stacks of {project}\nhelp: export them with `pulumi stack export`, and pass the files with --stack", project = .project.display()
    )]
    Ask {
        project: PathBuf,
        #[source]
        error: io::Error,
    },
    /// The CLI would send the access token there.
    #[error(
        "the stacks of {project} are not listed, because its project file chooses their backend\n\
         help: set PULUMI_BACKEND_URL if you trust it, or export the stacks with `pulumi stack export`, and pass the files with --stack",
        project = .project.display()
    )]
    Backend { project: PathBuf },
}

/// The versions in an export file, or on standard input (`-`).
pub(super) fn in_file(path: &Path) -> Result<BTreeSet<Version>, StackError> {
    let read = |error| StackError::Read { path: path.to_owned(), error: explain_missing(path, error) };
    let mut bytes = Vec::new();
    if path == Path::new("-") {
        io::stdin().take(LARGEST).read_to_end(&mut bytes).map_err(read)?;
    } else {
        std::fs::File::open(path).map_err(read)?.take(LARGEST).read_to_end(&mut bytes).map_err(read)?;
    }
    in_export(&bytes, &path.display().to_string())
}

/// The versions in all stacks of a project, by the Pulumi CLI. `step` is called before each call,
/// which may be slow. A backend on a server is not asked if only the project file chooses it: a
/// project may have been cloned from anybody.
pub(super) fn of_project(project: &Project, step: &dyn Fn(String)) -> Result<BTreeSet<Version>, StackError> {
    let is_on_a_server = |url: String| !url.starts_with("file:");
    // The CLI takes an empty variable for none.
    let is_chosen = std::env::var_os("PULUMI_BACKEND_URL").is_some_and(|url| !url.is_empty());
    if !is_chosen && project.backend_url().is_some_and(is_on_a_server) {
        return Err(StackError::Backend { project: project.directory.clone() });
    }
    let project = &*project.directory;
    let failed = |error| StackError::Ask { project: project.to_owned(), error };
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().map_err(failed)?;
    runtime.block_on(async {
        step(format!("listing the stacks of {}", project.display()));
        let listed = run_pulumi(project, &["stack", "ls", "--json"]).await.map_err(failed)?;
        let stacks: Vec<Value> = serde_json::from_slice(&listed)
            .map_err(|error| failed(io::Error::new(io::ErrorKind::InvalidData, FileFault::from(error))))?;
        let mut versions = BTreeSet::new();
        for (index, stack) in stacks.iter().enumerate() {
            let Some(name) = stack["name"].as_str() else { continue };
            step(format!("reading the stack {name} ({} of {})", index + 1, stacks.len()));
            let exported =
                run_pulumi(project, &["stack", "export", "--stack", name]).await.map_err(failed)?;
            versions.extend(in_export(&exported, &format!("the stack {name}"))?);
        }
        Ok(versions)
    })
}

/// Runs the Pulumi CLI in a project's directory and returns its output.
async fn run_pulumi(project: &Path, arguments: &[&str]) -> io::Result<Vec<u8>> {
    let mut command = tokio::process::Command::new("pulumi");
    command.args(["--non-interactive", "--color", "never"]).args(arguments).current_dir(project);
    for name in isthmus_common::own_variables() {
        command.env_remove(name);
    }
    command.env("PULUMI_SKIP_UPDATE_CHECK", "true").stdin(Stdio::null()).kill_on_drop(true);
    let invocation = format!("`pulumi {}`", arguments.join(" "));
    let output = tokio::time::timeout(PATIENCE, command.output()).await.map_err(|_| {
        let text = format!("{invocation} did not answer within {} seconds", PATIENCE.as_secs());
        io::Error::new(io::ErrorKind::TimedOut, text)
    })?;
    let output = output.map_err(|error| match error.kind() {
        io::ErrorKind::NotFound => io::Error::new(error.kind(), "`pulumi` is not on PATH"),
        _ => error,
    })?;
    if output.status.success() {
        return Ok(output.stdout);
    }
    let reason = String::from_utf8_lossy(&output.stderr);
    let reason: Vec<&str> = reason.lines().map(str::trim).filter(|line| !line.is_empty()).collect();
    Err(io::Error::other(format!("{invocation} failed: {}", reason.join(" "))))
}

fn in_export(bytes: &[u8], place: &str) -> Result<BTreeSet<Version>, StackError> {
    let document: Value = serde_json::from_slice(bytes)
        .map_err(|error| StackError::NoExport { place: place.to_owned(), error })?;
    let mut versions = BTreeSet::new();
    collect(&document, &mut versions);
    Ok(versions)
}

/// Collects provider resources at any depth: export formats differ between versions.
fn collect(value: &Value, versions: &mut BTreeSet<Version>) {
    // The JSON parser limits the depth.
    match value {
        Value::Array(values) => values.iter().for_each(|value| collect(value, versions)),
        Value::Object(members) => {
            let kind = members.get("type").and_then(Value::as_str).unwrap_or_default();
            if let Some(package) = kind.strip_prefix("pulumi:providers:") {
                versions.extend(version_of_provider(package, &value["inputs"]));
            }
            members.values().for_each(|value| collect(value, versions));
        }
        _ => {}
    }
}

/// The plugin's version is beside the parameter, if there is one; then the resource's own version
/// is the package's.
fn version_of_provider(package: &str, inputs: &Value) -> Option<Version> {
    let internal = &inputs["__internal"];
    let name = internal["name"].as_str().unwrap_or(package);
    let version =
        if internal["parameterization"].is_null() { &inputs["version"] } else { &internal["version"] };
    (OsStr::new(name) == OsStr::new(PLUGIN))
        .then(|| version.as_str().and_then(|version| parse_version(version).ok()))
        .flatten()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_stack_names_the_plugins_of_its_providers() {
        let provider = |kind: &str, inputs: Value| json!({"urn": "u", "type": kind, "inputs": inputs});
        let stack = json!({"version": 3, "deployment": {"resources": [
            provider("pulumi:providers:random", json!({
                "version": "3.7.2",
                "__internal": {"name": "terraform-provider", "version": "1.0.0", "parameterization": "e30="},
            })),
            provider("pulumi:providers:terraform-provider", json!({"version": "1.1.0"})),
            provider("pulumi:providers:aws", json!({"version": "9.9.1"})),
            provider("random:index/pet:Pet", json!({"version": "9.9.2", "__internal": {"name": "terraform-provider"}})),
        ]}});
        let file = tempfile::NamedTempFile::new().expect("a file");
        std::fs::write(file.path(), stack.to_string()).expect("a file");
        let versions = in_file(file.path()).expect("an export");
        let versions: Vec<String> = versions.iter().map(Version::to_string).collect();
        assert_eq!(versions, ["1.0.0", "1.1.0"]);
        std::fs::write(file.path(), "{\n").expect("a file");
        let error = in_file(file.path()).expect_err("no JSON");
        let invocation = isthmus_common::error_chain(&error);
        assert!(
            invocation.contains("is not an output of `pulumi stack export`: ")
                && invocation.contains("line 2"),
            "{invocation}"
        );
        let missing = in_file(Path::new("/nowhere/stack.json")).expect_err("it is not there");
        assert!(missing.to_string().starts_with("/nowhere/stack.json cannot be read"), "{missing}");
    }
}
