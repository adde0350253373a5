//! `isthmus version`: the versions that a report of a fault needs.

use std::process::ExitCode;

use clap::Args;
use isthmus_common::{Platform, TERRAFORM_VERSION};
use serde_json::{Value, json};

use super::json_root;
use super::output::print;
use isthmus_session::process_context::own_plugin_version;

const EXAMPLES: &str = "\
Examples:
  isthmus version
  isthmus version --json | jq -r .plugin

Packages refer to the plugin by its version.";

/// Print the versions of the program, the plugin and the protocols.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct Version {
    /// Write a JSON object.
    #[arg(long)]
    json: bool,
}

/// All versions, by name.
pub(super) fn versions() -> Value {
    json!({
        "isthmus": env!("CARGO_PKG_VERSION"),
        "plugin": own_plugin_version().to_string(),
        "platform": Platform::CURRENT.to_string(),
        "plugin_protocols": "5, 6",
        "terraform": TERRAFORM_VERSION,
    })
}

pub(super) fn run(version: &Version) -> ExitCode {
    let all = versions();
    if version.json {
        print(&json_root::document("version", all));
        return ExitCode::SUCCESS;
    }
    let shown = |name: &str| all[name].as_str().unwrap_or_default().to_owned();
    print(&format!(
        "isthmus {}\nplugin {}\nplatform {}\nTerraform plugin protocols {}\nTerraform version for providers {}\n",
        shown("isthmus"),
        shown("plugin"),
        shown("platform"),
        shown("plugin_protocols"),
        shown("terraform"),
    ));
    ExitCode::SUCCESS
}
