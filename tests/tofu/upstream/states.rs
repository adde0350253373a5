//! Reports about imports and stored state.

use isthmus_translate::meta::Meta;
use serde_json::json;

use super::{Report, report};
use crate::features::changes::is_nothing;
use crate::features::life::{Life, Side};
use crate::features::outcome::{Fact, Outcome, When};
use crate::features::program::{Program, program};
use crate::features::stored::{begun, versioned};
use crate::kinds::Provider;
use crate::steps::Decision;

pub(super) const REPORTS: &[Report] = &[
    report!(
        "ptp#77",
        "an import of what has a password that no read returns fails, because inputs differ",
        unread_password
    ),
    report!(
        "bridge#2272",
        "an import of a framework resource fails, because a default differs",
        imported_default
    ),
    report!(
        "bridge#2436",
        "after an import, the defaults of the older SDK are changes",
        imported_legacy_default
    ),
    report!(
        "bridge#3008",
        "stored state of an older version stays as it is until a value changes",
        stored_version
    ),
    report!(
        "bridge#3009",
        "state of a newer version than the provider's is not refused",
        "state of a newer schema version than the provider's"
    ),
    report!(
        "bridge#3024, bridge#3027",
        "inputs of an older schema version are compared as they are after a refresh",
        older_inputs
    ),
    report!("bridge#2039 closed", "state of version 0 is not upgraded to version 1", version_zero),
    report!(
        "bridge#748 closed",
        "state of framework resources is not upgraded",
        "state of an older schema version, in a preview"
    ),
    report!(
        "bridge#3388, pulumi-mongodbatlas#991",
        "an alias to another type: the bridge does not call the provider to move the state, and it may panic",
        "a resource whose type changed (`moved`, an alias)"
    ),
    report!(
        "bridge#496 closed",
        "an update that fails leaves a state that is not what exists",
        "an update that fails half-way"
    ),
    report!(
        "pulumi#17881 closed, pulumi-terraform-module#251 closed",
        "what a failed creation has made is forgotten instead of replaced",
        "a create that fails half-way"
    ),
    report!("ptp#55 closed, ptp#58 closed", "a deletion that works in Terraform fails", deleted),
    report!("bridge#2383 closed", "an argument `id` that is required is lost", required_id),
    report!("bridge#2827 closed, ptp#60 closed", "an `id` that is a number is lost", number_id),
    report!(
        "bridge#3182 closed, lxc/terraform-provider-incus#431 closed, vercel/terraform-provider-vercel#430 closed, ovh/pulumi-ovh#183 closed",
        "resources without an `id` share one, or cannot be used",
        "a resource without an attribute `id`"
    ),
];

/// An import of what such a program has made, and the preview of the same program.
async fn imported(life: &mut Life, all: &Program, id: &str) -> Outcome {
    life.forget();
    let seen = life.import_and_preview(all, id).await;
    // OpenTofu imports and updates at once; an engine refuses an import that is a change.
    let right = is_nothing(&seen) || (life.side == Side::OpenTofu && seen.decision == Decision::Update);
    Outcome::whole_if(seen.is_good() && right, seen.facts_and_places())
}

async fn unread_password(life: &mut Life) -> Outcome {
    if let Err(text) = life.start(Provider::Sandbox, &[("SANDBOX_SENSITIVE", "withheld")]).await {
        return Outcome::missing([Fact::NotOffered(text)]);
    }
    let all = program("sandbox_note", json!({"title": life.name, "secret_hint": "mat"}));
    let made = life.up(&all).await;
    if let Some(refusal) = made.refusal() {
        return Outcome::missing([refusal]);
    }
    let id = life.state()["id"].as_str().map(str::to_owned);
    let id = life.stored.as_ref().map(|stored| stored.id.clone()).or(id).unwrap_or_default();
    imported(life, &all, &id).await
}

async fn imported_default(life: &mut Life) -> Outcome {
    let all = program("conformance_attribute_string", json!({"name": life.name, "plain": "a"}));
    life.up(&all).await;
    let id = format!("{}-1", life.name);
    imported(life, &all, &id).await
}

async fn imported_legacy_default(life: &mut Life) -> Outcome {
    let all = program("conformance_legacy_planned", json!({"name": life.name, "value": "a"}));
    life.up(&all).await;
    let id = format!("{}-1", life.name);
    imported(life, &all, &id).await
}

async fn stored_version(life: &mut Life) -> Outcome {
    let mut facts = Vec::new();
    for version in [1, 3] {
        if let Err(text) = begun(life, version).await {
            return Outcome::missing([Fact::NotOffered(text)]);
        }
        let seen = life.up(&versioned(life, version, "a")).await;
        if version == 3 || !seen.is_good() {
            facts.extend(seen.facts());
        }
    }
    let version = match (&life.stored, life.side) {
        (Some(stored), _) => Meta::from_properties(&stored.outputs).map_or(-1, |meta| meta.schema_version),
        (None, Side::OpenTofu) => {
            life.tofu().state().get(&life.name).map_or(-1, |state| state.schema_version)
        }
        (None, _) => -1,
    };
    facts.push(Fact::Saw("the state is of version", version.to_string()));
    Outcome::whole_if(version == 3, facts)
}

async fn older_inputs(life: &mut Life) -> Outcome {
    // In version 1, `size` is a text.
    let (before, after) = (versioned(life, 1, "a"), versioned(life, 3, "a"));
    if let Err(text) = begun(life, 1).await {
        return Outcome::missing([Fact::NotOffered(text)]);
    }
    life.up(&before).await;
    let inputs = life.stored.as_ref().map(|stored| stored.inputs.clone());
    if let Err(text) = begun(life, 3).await {
        return Outcome::missing([Fact::NotOffered(text)]);
    }
    let seen = life.refresh_and_preview(&after).await;
    let (Some(inputs), Some(stored)) = (inputs, life.stored.clone()) else {
        return Outcome::whole_if(is_nothing(&seen), seen.facts_and_places());
    };
    // What `pulumi refresh --run-program` compares: the inputs that were stored before.
    match life.bridge().await.diff(&life.named(&after), &stored, &inputs).await {
        Ok(difference) => {
            let same = difference.diffs.is_empty() && difference.replaces.is_empty();
            Outcome::whole_if(
                same,
                [if same { Fact::Decides(Decision::Nothing) } else { Fact::Shows(difference.diffs) }],
            )
        }
        Err(text) => Outcome::missing([Fact::Refuses(When::Refresh, text)]),
    }
}

async fn version_zero(life: &mut Life) -> Outcome {
    let all = program("conformance_legacy_versioned", json!({"name": life.name}));
    for version in ["0", "1"] {
        if let Err(text) = life.start(Provider::Conformance, &[("CONFORMANCE_SCHEMA_VERSION", version)]).await
        {
            return Outcome::missing([Fact::NotOffered(text)]);
        }
        life.asked();
        let seen = life.up(&all).await;
        if version == "1" || !seen.is_good() {
            let upgraded = life.asked().iter().any(|asked| asked.method == "UpgradeResourceState");
            let mut facts = seen.facts();
            facts.push(Fact::Is(if upgraded {
                "the state is upgraded"
            } else {
                "the state is not upgraded"
            }));
            return Outcome::whole_if(is_nothing(&seen) && upgraded, facts);
        }
    }
    unreachable!("the second version ends it")
}

async fn deleted(life: &mut Life) -> Outcome {
    let mut facts = Vec::new();
    let mut good = true;
    for (type_name, kind) in
        [("conformance_record", "record"), ("conformance_legacy", "legacy"), ("conformance_nested", "nested")]
    {
        life.up(&program(type_name, json!({"name": life.name}))).await;
        let seen = life.remove().await;
        facts.extend(seen.refusal());
        good &= seen.is_good() && life.objects(kind).is_empty();
    }
    facts.push(Fact::Is(if good { "deleted" } else { "not deleted" }));
    Outcome::whole_if(good, facts)
}

async fn required_id(life: &mut Life) -> Outcome {
    let seen = life.up(&program("conformance_id_required", json!({"id": life.name, "label": "a"}))).await;
    // Of bridges, the program has it by another name.
    let state = life.state();
    let there = state.as_object().into_iter().flatten().any(|(_, value)| *value == life.name.as_str());
    let mut facts: Vec<Fact> = seen.refusal().into_iter().collect();
    facts.push(Fact::Is(if there { "the argument arrives" } else { "the argument is lost" }));
    Outcome::whole_if(seen.is_good() && there, facts)
}

async fn number_id(life: &mut Life) -> Outcome {
    let seen = life.up(&program("conformance_id_number", json!({"label": life.name}))).await;
    if let Some(refusal) = seen.refusal() {
        return Outcome::missing([refusal]);
    }
    // Of bridges, the program has it by another name.
    let state = life.state();
    let own = state.as_object().into_iter().flatten();
    let found = own.filter(|(name, value)| !name.starts_with("__") && value.is_number()).count();
    Outcome::whole_if(
        found == 1,
        [Fact::Is(if found == 1 { "the number can be read" } else { "the number is lost" })],
    )
}
