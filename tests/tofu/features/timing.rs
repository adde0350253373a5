//! Timeouts that a user sets, and cancellation.

use std::process::Stdio;
use std::time::Duration;

use isthmus_test_engine::PATIENCE;
use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value as Json, json};

use super::life::{Life, Side};
use super::outcome::{Fact, Outcome};
use super::program::{Program, program};
use super::{Feature, scenario};
use crate::kinds::Provider;

pub(crate) const FEATURES: &[Feature] = &[
    scenario!(
        "`customTimeouts` of a resource with a block `timeouts`",
        "in OpenTofu's program the block has it",
        in_a_block
    ),
    scenario!("`customTimeouts` of a resource with an attribute `timeouts`", "the same", in_an_attribute),
    scenario!(
        "`customTimeouts` of a resource of the older SDK",
        "the same; the SDK keeps them in private data",
        in_private_data
    ),
    scenario!(
        "`customTimeouts` of a resource that has no `timeouts`",
        "a call must not wait for ever",
        nowhere
    ),
    scenario!(
        "cancellation while a provider creates",
        "a provider with a stop request can end cleanly",
        cancelled
    ),
];

/// With a timeout for all operations, in the words of the side: an option, or `timeouts` in the program.
fn timed(life: &Life, type_name: &'static str, seconds: u32) -> Program {
    let mut timed = program(type_name, json!({"name": life.name}));
    if life.side == Side::OpenTofu {
        let text = format!("{seconds}s");
        timed.body["timeouts"] = json!({"create": text, "update": text, "delete": text});
    } else {
        timed.options.timeout = f64::from(seconds);
    }
    timed
}

/// What a creation and a deletion were given.
async fn granted(life: &mut Life, type_name: &'static str) -> Outcome {
    let kind = type_name.trim_start_matches("conformance_");
    let seen = life.up(&timed(life, type_name, 77)).await;
    if let Some(refusal) = seen.refusal() {
        return Outcome::missing([refusal]);
    }
    let granted = life.objects(kind)[0]["state"]["granted"].as_str().unwrap_or_default().to_owned();
    let gone = life.remove().await;
    let deleted = life.objects(&format!("{kind}_deleted"));
    let deletion = deleted.first().map_or(Json::Null, |deleted| deleted["delete"].clone());
    let mut facts = vec![Fact::Saw("given to create:", granted.trim_start_matches("create ").to_owned())];
    if let Json::String(text) = &deletion {
        facts.push(Fact::Saw("given to delete:", text.clone()));
    }
    facts.extend(gone.refusal());
    Outcome::whole_if(granted == "create 1m17s" && deletion == "1m17s", facts)
}

async fn in_a_block(life: &mut Life) -> Outcome {
    granted(life, "conformance_timed_block").await
}

async fn in_an_attribute(life: &mut Life) -> Outcome {
    granted(life, "conformance_timed_attribute").await
}

async fn in_private_data(life: &mut Life) -> Outcome {
    granted(life, "conformance_legacy_timed").await
}

async fn nowhere(life: &mut Life) -> Outcome {
    if let Err(text) = life.start(Provider::Conformance, &[]).await {
        return Outcome::missing([Fact::NotOffered(text)]);
    }
    life.trouble(&json!({"create": "pause-3s"}));
    let mut all = timed(life, "conformance_flaky", 1);
    all.body["parts"] = json!(["one"]);
    let seen = life.up(&all).await;
    if let (Side::OpenTofu, Some((_, text))) = (life.side, &seen.refused) {
        return Outcome::missing([Fact::NotOffered(text.clone())]);
    }
    // A provider that is told may still answer in time.
    let is_ended = !seen.is_good() || was_stopped(life);
    Outcome::whole_if(
        is_ended,
        [Fact::Is(if is_ended {
            "it is ended when the time is up"
        } else {
            "no effect: it takes as long as it takes"
        })],
    )
}

/// Whether the provider received a stop request.
fn was_stopped(life: &Life) -> bool {
    life.all_asked().iter().any(|asked| asked.method == "StopProvider")
}

async fn cancelled(life: &mut Life) -> Outcome {
    if let Err(text) = life.start(Provider::Conformance, &[]).await {
        return Outcome::missing([Fact::NotOffered(text)]);
    }
    life.trouble(&json!({"create": "pause-3s"}));
    let all = program("conformance_flaky", json!({"name": life.name, "parts": ["one"]}));
    if life.side == Side::OpenTofu {
        // The program is there from a preview.
        life.preview(&all).await;
        let mut child = life.tofu().command(&["apply", "-input=false", "plan"]);
        let mut child = child.stdout(Stdio::null()).stderr(Stdio::null()).spawn().expect("OpenTofu starts");
        until_applying(life).await;
        let id = i32::try_from(child.id()).ok().and_then(Pid::from_raw).expect("a process id");
        kill_process(id, Signal::INT).expect("it runs");
        tokio::task::block_in_place(|| child.wait()).expect("it ends");
    } else {
        let bridge = life.bridge().await;
        let mut client = bridge.client();
        let cancelling = async {
            until_applying(life).await;
            client.cancel(()).await
        };
        let named = crate::daemon::Named {
            token: life.shape(all.type_name).token.clone(),
            name: life.name.clone(),
            options: crate::daemon::Options::default(),
        };
        let inputs = isthmus_test_engine::bag(&json!({"name": life.name, "parts": ["one"]}));
        let (created, cancelled) = tokio::join!(bridge.create(&named, &inputs, false), cancelling);
        drop((created, cancelled));
    }
    let stopped = was_stopped(life);
    Outcome::whole_if(
        stopped,
        [Fact::Is(if stopped {
            "the provider receives a stop request"
        } else {
            "the provider receives no stop request; it goes on to the end"
        })],
    )
}

/// Waits until the provider was asked to change something.
async fn until_applying(life: &Life) {
    let applying = async {
        while !life.all_asked().iter().any(|asked| asked.method == "ApplyResourceChange") {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    };
    tokio::time::timeout(PATIENCE, applying).await.expect("the provider is asked to create something");
}
