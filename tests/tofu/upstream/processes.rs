//! Reports about processes and what they print, and others.

use std::path::PathBuf;
use std::time::Duration;

use isthmus_proto::tfplugin6;
use prost::Message as _;
use serde_json::json;

use super::{Report, report};
use crate::features::life::{Life, Side};
use crate::features::outcome::{Fact, Outcome};
use crate::features::program::program;
use crate::kinds::Provider;

pub(super) const PROCESSES: &[Report] = &[
    report!(
        "bridge#3349, bridge#210 closed",
        "the provider's process stays when the plugin has ended",
        orphans
    ),
    report!(
        "pulumi#20101, ptp#79, ptp#87",
        "the plugin ends by itself, and its log lines on standard error look like a crash",
        silence
    ),
    report!(
        "bridge#3514 closed",
        "a provider that reads the version of Terraform ends, because it gets none",
        terraform_version
    ),
    report!(
        "bridge#1298, bridge#1135 closed",
        "what a provider logs for information or debugging is shown to users",
        logs
    ),
];

pub(super) const OTHER: &[Report] = &[
    report!(
        "bridge#827",
        "`customTimeouts` do not reach framework resources",
        "`customTimeouts` of a resource with a block `timeouts`"
    ),
    report!(
        "bridge#2411",
        "`customTimeouts` do not reach a provider as Terraform sends them",
        "`customTimeouts` of a resource of the older SDK"
    ),
    report!(
        "bridge#2284 closed, pulumi#14242",
        "whole numbers beyond 2^53 that a program gives are rounded",
        "a whole number beyond 2^53"
    ),
    report!(
        "bridge#1342, pulumi#24608 closed",
        "whole numbers beyond 2^53 that a provider gives are rounded on their way back to it",
        "a whole number beyond 2^53 that the provider made"
    ),
    report!(
        "bridge#1373 closed",
        "warnings of framework providers are lost",
        "a warning of the provider, in the preview"
    ),
];

/// Starts a provider, of which there is a resource then.
async fn begun(life: &mut Life, provider: Provider) -> Result<(), Outcome> {
    let started = life.start(provider, &[]).await;
    started.map_err(|text| Outcome::missing([Fact::NotOffered(text)]))?;
    let all = match provider {
        Provider::Conformance => program("conformance_record", json!({"name": life.name})),
        Provider::Sandbox => program("sandbox_note", json!({"title": life.name})),
    };
    let seen = life.up(&all).await;
    seen.refusal().map_or(Ok(()), |refusal| Err(Outcome::missing([refusal])))
}

/// Whether a process runs. One that has ended, and that nobody has waited for, does not.
fn runs(process: u32) -> bool {
    let status = std::fs::read_to_string(PathBuf::from(format!("/proc/{process}/stat"))).unwrap_or_default();
    status.rsplit_once(") ").is_some_and(|(_, state)| !state.starts_with('Z'))
}

async fn orphans(life: &mut Life) -> Outcome {
    if let Err(outcome) = begun(life, Provider::Conformance).await {
        return outcome;
    }
    let processes = life.provider_processes();
    life.kill();
    let ending = async {
        while processes.iter().any(|process| runs(*process)) {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    };
    // Long after a provider that is told to end has ended.
    let ended = tokio::time::timeout(Duration::from_secs(5), ending).await.is_ok();
    Outcome::whole_if(
        ended && !processes.is_empty(),
        [Fact::Is(if ended { "the provider has ended" } else { "the provider runs on" })],
    )
}

async fn silence(life: &mut Life) -> Outcome {
    // It logs that it has started, for information.
    if let Err(outcome) = begun(life, Provider::Sandbox).await {
        return outcome;
    }
    let (text, runs_on) = if life.side == Side::OpenTofu {
        let output = tokio::task::block_in_place(|| life.tofu().output(&["plan", "-no-color"]));
        (String::from_utf8_lossy(&output.stderr).into_owned(), output.status.success())
    } else {
        let bridge = life.bridge().await;
        (bridge.stderr(), bridge.client().get_plugin_info(()).await.is_ok())
    };
    let facts = [
        Fact::Counted("lines on standard error", text.lines().count()),
        Fact::Is(if runs_on { "it ends when it is ended" } else { "it ends by itself" }),
    ];
    Outcome::whole_if(text.is_empty() && runs_on, facts)
}

async fn terraform_version(life: &mut Life) -> Outcome {
    if let Err(outcome) = begun(life, Provider::Conformance).await {
        return outcome;
    }
    let asked = life.all_asked().into_iter().find(|asked| asked.method == "ConfigureProvider");
    let request = tfplugin6::configure_provider::Request::decode(asked.expect("it was configured").message)
        .expect("a message of the protocol");
    let version = request.terraform_version;
    Outcome::whole_if(semver::Version::parse(&version).is_ok(), [Fact::Saw("the provider receives", version)])
}

async fn logs(life: &mut Life) -> Outcome {
    if let Err(outcome) = begun(life, Provider::Sandbox).await {
        return outcome;
    }
    if life.side == Side::OpenTofu {
        let output = tokio::task::block_in_place(|| life.tofu().output(&["plan", "-no-color"]));
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        let shown = text.lines().filter(|line| line.contains("[INFO]") || line.contains("[DEBUG]")).count();
        return Outcome::whole_if(shown == 0, [Fact::Counted("lines shown", shown)]);
    }
    let shown = life.bridge().await.all_told().len();
    Outcome::whole_if(shown == 0, [Fact::Counted("lines shown", shown)])
}
