//! What providers offer besides resources.

use std::time::Duration;

use isthmus_proto::pulumirpc::{ListRequest, list_response};
use isthmus_test_engine::{PATIENCE, SIGNATURE, bag, unknown};
use serde_json::{Value as Json, json};

use super::life::{Life, Side};
use super::outcome::{Fact, Grade, Outcome};
use super::program::program;
use super::{Feature, scenario};
use crate::daemon::said;
use crate::kinds::Provider;

pub(crate) const FEATURES: &[Feature] = &[
    scenario!(
        "a data source, one of whose arguments is unknown in a preview",
        "unknown arguments cannot be sent",
        unknown_argument
    ),
    scenario!("a function with any number of arguments", "providers have them", variadic_function),
    scenario!("a function that takes anything", "the same", dynamic_function),
    scenario!("a function that takes a tuple", "the same", tuple_function),
    scenario!(
        "a function that takes what is unknown, in a preview",
        "it may know the answer",
        unknown_function
    ),
    scenario!("an ephemeral resource", "a secret that is read, kept alive and never stored", ephemeral),
    scenario!("a list of what there is", "you can find and import existing objects", list),
    scenario!("an action", "a provider can do work without state", action),
    scenario!(
        "a resource that the provider puts off (deferral)",
        "a preview goes on without the missing object",
        deferral
    ),
    scenario!("provider metadata", "some providers record the module that uses them", metadata),
];

async fn unknown_argument(life: &mut Life) -> Outcome {
    if let Err(text) = life.start(Provider::Conformance, &[]).await {
        return Outcome::missing([Fact::NotOffered(text)]);
    }
    let result = if life.side == Side::OpenTofu {
        life.tofu_planned_outputs(&json!({
            "resource": {"terraform_data": {"later": {"input": "x"}}},
            "data": {"conformance_later": {"x": {"wait_for": "${terraform_data.later.output}"}}},
            "output": {"content": {"value": "${data.conformance_later.x.content}"}},
        }))
    } else {
        life.invoke("conformance:index/getLater:getLater", &json!({"waitFor": unknown()}), true).await
    };
    let asked = life.all_asked().iter().any(|asked| asked.method == "ReadDataSource");
    let mut facts = vec![Fact::Is(if asked {
        "the provider is called with unknown values"
    } else {
        "the provider is not called"
    })];
    let is_unknown = match result {
        Ok(result) => {
            let is_unknown = result["content"] == unknown() || result["content"].is_null();
            facts.push(Fact::Is(if is_unknown {
                "its results are unknown"
            } else {
                "its results are marked as known"
            }));
            is_unknown
        }
        Err(text) => {
            facts.push(Fact::Refuses(super::outcome::When::Preview, text));
            false
        }
    };
    Outcome::whole_if(!asked && is_unknown, facts)
}

/// A function by OpenTofu's expression, or by an invoke; the result, without what makes it a secret.
async fn function(life: &Life, expression: &str, name: &str, arguments: &Json) -> Result<Json, String> {
    if life.side == Side::OpenTofu {
        let value = format!("${{provider::conformance::{expression}}}");
        return Ok(life.tofu_outputs(&json!({"output": {"result": {"value": value}}}))?["result"].clone());
    }
    let result = life.invoke(&format!("conformance:index/{name}:{name}"), arguments, false).await?;
    Ok(result.get("result").cloned().unwrap_or(result))
}

fn called(result: Result<Json, String>, wanted: &Json) -> Outcome {
    match result {
        Ok(result) => Outcome::whole_if(result == *wanted, [Fact::Saw("returns", result.to_string())]),
        Err(text) => Outcome::missing([Fact::NotOffered(text)]),
    }
}

async fn variadic_function(life: &mut Life) -> Outcome {
    let arguments = json!({"separator": "-", "words": ["a", "b", "c"]});
    called(
        function(life, r#"join_words("-", "a", "b", "c")"#, "joinWords", &arguments).await,
        &json!("a-b-c"),
    )
}

async fn dynamic_function(life: &mut Life) -> Outcome {
    let value = json!({"a": "x", "b": {"c": [true]}});
    let expression = r#"give_any({"a" = "x", "b" = {"c" = [true]}})"#;
    called(function(life, expression, "giveAny", &json!({"value": value})).await, &value)
}

async fn tuple_function(life: &mut Life) -> Outcome {
    if let Err(text) = life.start(Provider::Conformance, &[("CONFORMANCE_VARIANTS", "tuples")]).await {
        return Outcome::missing([Fact::NotOffered(text)]);
    }
    let arguments = json!({"row": ["a", 1, true]});
    let result = function(life, r#"tuple_parameter(["a", 1, true])"#, "tupleParameter", &arguments).await;
    match result {
        Ok(Json::String(text)) => Outcome::whole_if(text.contains("\"a\""), [Fact::Saw("returns", text)]),
        Ok(other) => Outcome::missing([Fact::Saw("returns", other.to_string())]),
        Err(text) => Outcome::missing([Fact::NotOffered(text)]),
    }
}

async fn unknown_function(life: &mut Life) -> Outcome {
    if let Err(text) = life.start(Provider::Sandbox, &[("SANDBOX_ODD", "usable")]).await {
        return Outcome::missing([Fact::NotOffered(text)]);
    }
    let result = if life.side == Side::OpenTofu {
        life.tofu_planned_outputs(&json!({
            "resource": {"terraform_data": {"later": {"input": "x"}}},
            "output": {"result": {"value": "${provider::sandbox::odd_known(terraform_data.later.output)}"}},
        }))
    } else {
        life.invoke("sandbox:index/oddKnown:oddKnown", &json!({"value": unknown()}), true).await
    };
    let asked = life.all_asked().iter().any(|asked| asked.method == "CallFunction");
    let mut facts = vec![Fact::Is(if asked { "it is called" } else { "it is not called" })];
    match &result {
        Ok(result) if result["result"] == unknown() => facts.push(Fact::Is("its result is unknown")),
        Ok(result) => facts.push(Fact::Saw("returns", result["result"].to_string())),
        Err(text) => facts.push(Fact::Refuses(super::outcome::When::Preview, text.clone())),
    }
    Outcome::whole_if(asked && result.is_ok(), facts)
}

async fn ephemeral(life: &mut Life) -> Outcome {
    if let Err(text) = life.start(Provider::Conformance, &[]).await {
        return Outcome::missing([Fact::NotOffered(text)]);
    }
    if life.side == Side::OpenTofu {
        // Long enough for a renewal.
        life.trouble(&json!({"create": "pause-1s"}));
        let more = json!({
            "ephemeral": {"conformance_session": {"x": {"user": life.name, "renew_every": 50}}},
            "resource": {"conformance_flaky": {life.name.as_str(): {
                "name": life.name, "parts": ["one"], "depends_on": ["ephemeral.conformance_session.x"],
            }}},
        });
        if let Err(text) = life.tofu_outputs(&more) {
            return Outcome::missing([Fact::NotOffered(text)]);
        }
    } else {
        let token = "conformance:index/ephemeralSession:ephemeralSession";
        let arguments = json!({"user": life.name, "renewEvery": 50});
        let opened = life.invoke(token, &arguments, false).await;
        let opened = match opened {
            Ok(opened) => opened,
            Err(text) => return Outcome::missing([Fact::NotOffered(text)]),
        };
        assert!(opened["token"].get(SIGNATURE).is_some(), "what is opened is a secret: {opened}");
        until(life, "renew").await;
        life.bridge().await.client().cancel(()).await.expect("it can be cancelled");
        until(life, "close").await;
    }
    let steps = ["open", "renew", "close"];
    let done: Vec<&str> = steps.into_iter().filter(|step| has_happened(life, step)).collect();
    Outcome::whole_if(done == steps, [Fact::Saw("done:", done.join(", "))])
}

fn has_happened(life: &Life, step: &str) -> bool {
    life.objects("session").iter().any(|session| session["events"].to_string().contains(step))
}

async fn until(life: &Life, step: &str) {
    let happening = async {
        while !has_happened(life, step) {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    };
    tokio::time::timeout(PATIENCE, happening)
        .await
        .unwrap_or_else(|_| panic!("no {step}: {:?}", life.objects("session")));
}

async fn list(life: &mut Life) -> Outcome {
    if life.side == Side::OpenTofu {
        let more = json!({"list": {"conformance_passport": {"x": {"provider": "conformance"}}}});
        return refused(life.tofu_outputs(&more));
    }
    let made = life.up(&program("conformance_passport", json!({"name": life.name}))).await;
    let request = ListRequest {
        token: life.shape("conformance_passport").token.clone(),
        query: Some(bag(&json!({"prefix": life.name}))),
        ..ListRequest::default()
    };
    let mut answers = match life.bridge().await.client().list(request).await {
        Ok(answers) => answers.into_inner(),
        Err(status) => return Outcome::missing([Fact::NotOffered(said(&status))]),
    };
    let mut found = Vec::new();
    loop {
        match answers.message().await {
            Ok(Some(answer)) => {
                if let Some(list_response::Response::Result(result)) = answer.response {
                    found.push(result.name);
                }
            }
            Ok(None) => break,
            Err(status) => return Outcome::missing([Fact::NotOffered(said(&status))]),
        }
    }
    let mut facts: Vec<Fact> = made.refusal().into_iter().collect();
    facts.push(Fact::Counted("objects found of 1", found.len()));
    Outcome::whole_if(made.is_good() && found.len() == 1, facts)
}

/// What OpenTofu says to a block that it does not know.
fn refused(answer: Result<Json, String>) -> Outcome {
    match answer {
        Ok(_) => Outcome::whole_if(true, [Fact::Is("done")]),
        Err(text) => Outcome::missing([Fact::NotOffered(text)]),
    }
}

async fn action(life: &mut Life) -> Outcome {
    if let Err(text) = life.start(Provider::Conformance, &[]).await {
        return Outcome::missing([Fact::NotOffered(text)]);
    }
    if life.side == Side::OpenTofu {
        let more = json!({"action": {"conformance_announce": {"x": {"config": {"message": life.name}}}}});
        return refused(life.tofu_outputs(&more));
    }
    let token = "conformance:index/actionAnnounce:actionAnnounce";
    let arguments = json!({"message": life.name, "steps": 2});
    let preview = life.invoke(token, &arguments, true).await;
    let before = life.objects_named("announcement", "").len();
    let update = life.invoke(token, &arguments, false).await;
    let done = life.objects_named("announcement", "").len();
    match (preview, update) {
        (_, Err(text)) => Outcome::missing([Fact::NotOffered(text)]),
        (preview, Ok(_)) => {
            let planned = preview.is_ok() && before == 0;
            let facts = [
                Fact::Is(if planned { "planned in a preview" } else { "not planned in a preview" }),
                Fact::Is(if done == 1 { "done in an update" } else { "not done in an update" }),
            ];
            Outcome::whole_if(planned && done == 1, facts)
        }
    }
}

async fn deferral(life: &mut Life) -> Outcome {
    let all = program(
        "conformance_deferred",
        json!({"name": life.name, "wait_for": format!("{}-absent", life.name)}),
    );
    let preview = life.preview(&all).await;
    let mut facts = preview.facts();
    if !preview.is_good() {
        return Outcome::missing(facts);
    }
    facts.push(Fact::Counted("warnings", preview.warnings.len()));
    let update = life.up(&all).await;
    let made = life.objects("deferred").len();
    facts.extend(update.refusal());
    facts.push(Fact::Counted("objects made", made));
    Outcome::whole_if(!preview.warnings.is_empty() && !update.is_good() && made == 0, facts)
}

async fn metadata(life: &mut Life) -> Outcome {
    let setting = json!({"conformance": {"module_name": "blueprint"}}).to_string();
    if let Err(text) = life.start(Provider::Conformance, &[("ISTHMUS_PROVIDER_META", &setting)]).await {
        return Outcome::missing([Fact::NotOffered(text)]);
    }
    let mut all = program("conformance_audited", json!({"name": life.name, "value": "a"}));
    all.beside = json!({"terraform": {"provider_meta": {"conformance": {"module_name": "blueprint"}}}});
    let seen = life.up(&all).await;
    if let Some(refusal) = seen.refusal() {
        return Outcome::missing([refusal]);
    }
    let module = life.state()["module"].clone();
    let grade = if module == "blueprint" { Grade::Whole } else { Grade::Missing };
    Outcome::new(grade, [Fact::Saw("the provider received", module.to_string())])
}
