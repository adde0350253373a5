//! Reports about package schemas, names, and where providers come from.

use std::collections::BTreeSet;

use isthmus_proto::pulumirpc::parameterize_request::{Parameters, ParametersArgs};
use isthmus_proto::pulumirpc::{GetSchemaRequest, ParameterizeRequest};
use isthmus_test_engine::{Engine, Process};
use serde_json::{Value as Json, json};

use super::{Report, report};
use crate::daemon::said;
use crate::features::life::{Life, Side};
use crate::features::outcome::{Fact, Outcome};
use crate::kinds::Provider;

pub(super) const SCHEMAS: &[Report] = &[
    report!(
        "bridge#3583, pulumi-hcl#561",
        "nested types of two resources get one name, and one has the properties of the other",
        clash_of_resources
    ),
    report!(
        "bridge#3315",
        "a list and an object of one resource, one the plural of the other, get one nested type",
        clash_of_plural
    ),
    report!("bridge#773", "two properties that come to one name: one is lost", properties_of_one_name),
    report!("ptp#67, bridge#2904", "tokens that differ in capitals only: the package is refused", capitals),
    report!(
        "ptp#26, ptp#12 closed",
        "resources whose names do not begin with the provider's: the package is refused",
        prefixes
    ),
    report!(
        "bridge#3630, pulumi-gitlab#727 closed",
        "a list whose name is a plural already gets another plural",
        double_plural
    ),
    report!(
        "bridge#2606",
        "the nested type of a list gets a name in the singular, and you cannot choose another",
        singular_type
    ),
    report!(
        "bridge#4",
        "a property in the plural beside one in the singular loses its name",
        plural_and_singular
    ),
    report!("pulumi#21238", "a Go SDK does not compile: it names types that there are not", deep_collections),
    report!("ptp#70 closed", "two providers of one name cannot be used together", name_of_package),
    report!(
        "bridge#1955",
        "functions of providers cannot be called",
        "a function with any number of arguments"
    ),
    report!("bridge#3230", "actions of providers cannot be used", "an action"),
];

pub(super) const INSTALLATION: &[Report] = &[
    report!(
        "bridge#3334, bridge#3463, bridge#3553 closed, ptp#106 closed",
        "mirrors of the CLI configuration are not used",
        mirror
    ),
    report!("ptp#80", "`--help` behind the provider's name ends the plugin in a panic", help),
];

/// The package schema of the provider with a variant.
async fn schema(life: &mut Life, variant: &str) -> Result<Json, String> {
    life.start(Provider::Conformance, &[("CONFORMANCE_VARIANTS", variant)]).await?;
    let answer = life.bridge().await.client().get_schema(GetSchemaRequest::default()).await;
    let answer = answer.map_err(|status| said(&status))?.into_inner();
    Ok(serde_json::from_str(&answer.schema).expect("a schema is JSON"))
}

/// OpenTofu's answer: whether it creates these resources of the provider with a variant.
async fn created(life: &mut Life, variant: &str, resources: &Json) -> Outcome {
    life.start(Provider::Conformance, &[("CONFORMANCE_VARIANTS", variant)])
        .await
        .expect("nothing is started yet");
    match life.tofu_outputs(&json!({ "resource": resources })) {
        Ok(_) => Outcome::whole_if(true, [Fact::Is("created")]),
        Err(text) => Outcome::missing([Fact::NotOffered(text)]),
    }
}

/// The names of the properties of the nested type that a path of properties leads to, of a resource's inputs.
fn members(schema: &Json, token: &str, path: &[&str]) -> BTreeSet<String> {
    let mut properties = &schema["resources"][format!("conformance:index/{token}")]["inputProperties"];
    for name in path {
        let property = &properties[name];
        let item = property.get("items").unwrap_or(property);
        let reference = item["$ref"].as_str().unwrap_or_default();
        properties = &schema["types"][reference.trim_start_matches("#/types/")]["properties"];
    }
    properties.as_object().into_iter().flatten().map(|(name, _)| name.clone()).collect()
}

fn named(names: &BTreeSet<String>) -> String {
    names.iter().map(String::as_str).collect::<Vec<_>>().join(", ")
}

/// Two nested types of a variant's schema, and whether both have the properties that they should.
async fn two_types(life: &mut Life, variant: &str, places: [(&str, &[&str], &[&str]); 2]) -> Outcome {
    let schema = match schema(life, variant).await {
        Ok(schema) => schema,
        Err(text) => return Outcome::missing([Fact::NotOffered(text)]),
    };
    let mut facts = Vec::new();
    let mut right = true;
    for (token, path, wanted) in places {
        let members = members(&schema, token, path);
        right &= members.iter().map(String::as_str).eq(wanted.iter().copied());
        facts.push(Fact::Saw("a type has", named(&members)));
    }
    Outcome::whole_if(right, facts)
}

async fn clash_of_resources(life: &mut Life) -> Outcome {
    const VARIANT: &str = "conformance_clash_rule";
    if life.side == Side::OpenTofu {
        let resources = json!({
            "conformance_clash": {"x": {"rule": [{"part": [{"label": "a"}]}]}},
            "conformance_clash_rule": {"x": {"part": [{"number": 1}]}},
        });
        return created(life, VARIANT, &resources).await;
    }
    let places: [(&str, &[&str], &[&str]); 2] = [
        ("clash:Clash", &["rules", "parts"], &["label", "serial"]),
        ("clashRule:ClashRule", &["parts"], &["number"]),
    ];
    two_types(life, VARIANT, places).await
}

async fn clash_of_plural(life: &mut Life) -> Outcome {
    const VARIANT: &str = "conformance_clash_plural";
    if life.side == Side::OpenTofu {
        let block = json!({"restrictions": [{"day": "a"}], "restriction": {"hour": 1}});
        return created(life, VARIANT, &json!({"conformance_clash_plural": {"x": block}})).await;
    }
    let places: [(&str, &[&str], &[&str]); 2] = [
        ("clashPlural:ClashPlural", &["restrictions"], &["day"]),
        ("clashPlural:ClashPlural", &["restriction"], &["hour"]),
    ];
    two_types(life, VARIANT, places).await
}

async fn properties_of_one_name(life: &mut Life) -> Outcome {
    const VARIANT: &str = "conformance_properties_underscored";
    if life.side == Side::OpenTofu {
        return created(life, VARIANT, &json!({VARIANT: {"x": {"one_name": "a", "one__name": 1}}})).await;
    }
    match schema(life, VARIANT).await {
        Ok(schema) => {
            let mut names = members(&schema, "propertiesUnderscored:PropertiesUnderscored", &[]);
            names.retain(|name| name.starts_with("one"));
            Outcome::whole_if(names.len() == 2, [Fact::Saw("of two properties there are", named(&names))])
        }
        Err(text) => Outcome::missing([Fact::NotOffered(text)]),
    }
}

async fn capitals(life: &mut Life) -> Outcome {
    // Always there: `conformance_foo_bar`, `conformance_foobar` and more.
    if life.side == Side::OpenTofu {
        let resources = json!({"conformance_foo_bar": {"x": {"label": "a"}}, "conformance_foobar": {"x": {"label": "a"}}});
        return created(life, "", &resources).await;
    }
    match schema(life, "").await {
        Ok(schema) => {
            let tokens = schema["resources"].as_object().expect("there are resources").keys();
            let mut seen = BTreeSet::new();
            let twice = tokens.filter(|token| !seen.insert(token.to_lowercase())).count();
            Outcome::whole_if(twice == 0, [Fact::Counted("tokens that another has but for capitals", twice)])
        }
        Err(text) => Outcome::missing([Fact::NotOffered(text)]),
    }
}

async fn prefixes(life: &mut Life) -> Outcome {
    if life.side == Side::OpenTofu {
        let block = json!({"x": {"label": "a", "provider": "conformance"}});
        return created(life, "prefixes", &json!({"elsewhere_thing": block, "word": block})).await;
    }
    match schema(life, "prefixes").await {
        Ok(schema) => {
            let tokens = schema["resources"].as_object().expect("there are resources").keys();
            let there = tokens.filter(|token| token.ends_with("Thing") || token.ends_with(":Word")).count();
            Outcome::whole_if(there == 3, [Fact::Counted("of 3 resources there are", there)])
        }
        Err(text) => Outcome::missing([Fact::NotOffered(text)]),
    }
}

/// Schemas by default, and of a project that chooses names without plurals.
async fn with_names_chosen(life: &mut Life, variant: &str) -> Result<[Json; 2], String> {
    let by_default = schema(life, variant).await?;
    life.place("Pulumi.yaml", "name: test\nruntime: yaml\n");
    life.place("isthmus.toml", "[packages.conformance]\nproperty-names = \"singular\"\n");
    Ok([by_default, schema(life, variant).await?])
}

/// Whether a name can be had by choice.
fn chosen(names: Result<[String; 2], String>, wanted: &str) -> Outcome {
    match names {
        Ok([by_default, chosen]) => {
            let right = chosen == wanted;
            let facts = [
                Fact::Saw("by default", by_default),
                Fact::Saw("with `property-names` in isthmus.toml", chosen),
            ];
            Outcome::whole_if(right, facts)
        }
        Err(text) => Outcome::missing([Fact::NotOffered(text)]),
    }
}

async fn double_plural(life: &mut Life) -> Outcome {
    const VARIANT: &str = "conformance_clash_plural";
    if life.side == Side::OpenTofu {
        let block = json!({"x": {"scopes_supported": ["a"]}});
        return created(life, VARIANT, &json!({VARIANT: block})).await;
    }
    let name_of = |schema: Json| {
        let names = members(&schema, "clashPlural:ClashPlural", &[]);
        names.into_iter().find(|name| name.starts_with("scopes")).unwrap_or_default()
    };
    chosen(with_names_chosen(life, VARIANT).await.map(|schemas| schemas.map(name_of)), "scopesSupported")
}

async fn singular_type(life: &mut Life) -> Outcome {
    const VARIANT: &str = "conformance_clash_plural";
    if life.side == Side::OpenTofu {
        return created(life, VARIANT, &json!({VARIANT: {"x": {"restrictions": [{"day": "a"}]}}})).await;
    }
    let name_of = |schema: Json| {
        let properties = &schema["resources"]["conformance:index/clashPlural:ClashPlural"]["inputProperties"];
        let reference = properties["restrictions"]["items"]["$ref"].as_str().unwrap_or_default();
        reference.rsplit(':').next().unwrap_or_default().to_owned()
    };
    let names = with_names_chosen(life, VARIANT).await.map(|schemas| schemas.map(name_of));
    chosen(names, "ClashPluralRestrictions")
}

async fn plural_and_singular(life: &mut Life) -> Outcome {
    if life.side == Side::OpenTofu {
        let block = json!({"x": {"tag": ["a"], "tags": {"b": "c"}}});
        return created(life, "", &json!({"conformance_plurals": block})).await;
    }
    match schema(life, "").await {
        Ok(schema) => {
            let mut names = members(&schema, "plurals:Plurals", &[]);
            names.retain(|name| name.starts_with("tag"));
            Outcome::whole_if(names.len() == 2, [Fact::Saw("of two properties there are", named(&names))])
        }
        Err(text) => Outcome::missing([Fact::NotOffered(text)]),
    }
}

/// How deep collections are nested in a type; what is not is 0.
fn depth(of: &Json) -> usize {
    let inner = of.get("items").or_else(|| of.get("additionalProperties"));
    inner.map_or(0, |inner| 1 + depth(inner))
}

async fn deep_collections(life: &mut Life) -> Outcome {
    // Pulumi's Go SDK has names for maps in collections, not for maps in lists of lists.
    const MOST: usize = 2;
    if life.side == Side::OpenTofu {
        return created(life, "", &json!({"conformance_deep": {"x": {"list_of_set_maps": [[{"a": true}]]}}}))
            .await;
    }
    match schema(life, "").await {
        Ok(schema) => {
            let properties = &schema["resources"]["conformance:index/deep:Deep"]["inputProperties"];
            let depth = depth(&properties["listOfSetMaps"]);
            Outcome::whole_if(
                depth <= MOST,
                [Fact::Counted("collections in each other, in the type of a list of sets of maps", depth)],
            )
        }
        Err(text) => Outcome::missing([Fact::NotOffered(text)]),
    }
}

/// What a bridge answers to `pulumi package add terraform-provider` with these words: the package, or what is wrong; and whether
/// it runs on.
async fn add(life: &Life, words: &[String], variables: &[(&str, &str)]) -> (Result<String, String>, bool) {
    let home = life.next_home();
    std::fs::create_dir_all(&home).expect("a directory in a directory of ours");
    let engine = Engine::start().await;
    let variables: Vec<_> =
        variables.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
    let mut process = Process::start(&life.side.program(), &home, engine.address(), &variables);
    let mut client = process.client().await;
    let parameters = Some(Parameters::Args(ParametersArgs { args: words.to_vec() }));
    let answer = client.parameterize(ParameterizeRequest { parameters }).await;
    let answer = answer.map(|answer| format!("{} {}", answer.get_ref().name, answer.get_ref().version));
    (answer.map_err(|status| said(&status)), client.get_plugin_info(()).await.is_ok())
}

fn provider() -> String {
    fixtures::tools::tool("terraform-provider-conformance").display().to_string()
}

async fn name_of_package(life: &mut Life) -> Outcome {
    if life.side == Side::OpenTofu {
        let more = json!({
            "terraform": {"required_providers": {"other": {"source": "isthmus/conformance"}}},
            "provider": {"other": {}},
            "resource": {"conformance_foobar": {"x": {"label": "a", "provider": "other"}}},
        });
        return match life.tofu_outputs(&more) {
            Ok(_) => Outcome::whole_if(true, [Fact::Is("it has a name of its own in the program")]),
            Err(text) => Outcome::missing([Fact::NotOffered(text)]),
        };
    }
    let words = [provider(), "--provider-name=other".to_owned()];
    match add(life, &words, &[]).await.0 {
        Ok(package) => {
            Outcome::whole_if(package.starts_with("other "), [Fact::Saw("the package is", package)])
        }
        Err(text) => Outcome::missing([Fact::NotOffered(text)]),
    }
}

async fn help(life: &mut Life) -> Outcome {
    if life.side == Side::OpenTofu {
        let output = tokio::task::block_in_place(|| life.tofu().output(&["init", "-help"]));
        return Outcome::whole_if(output.stdout.starts_with(b"Usage"), [Fact::Is("prints its usage")]);
    }
    let (answer, runs_on) = add(life, &[provider(), "--help".to_owned()], &[]).await;
    let facts = [
        Fact::Is(if runs_on { "the plugin runs on" } else { "the plugin ends" }),
        match answer {
            Ok(package) => Fact::Saw("the package is", package),
            Err(text) => Fact::NotOffered(text),
        },
    ];
    Outcome::whole_if(runs_on, facts)
}

/// A directory with a provider as mirrors have it unpacked.
fn unpacked(life: &Life) -> std::path::PathBuf {
    let system = match std::env::consts::ARCH {
        "aarch64" => "linux_arm64",
        _ => "linux_amd64",
    };
    let directory = life.next_home().join("unpacked");
    let place = directory.join("registry.example.com/isthmus/conformance/1.2.3").join(system);
    std::fs::create_dir_all(&place).expect("directories in a directory of ours");
    std::fs::copy(provider(), place.join("terraform-provider-conformance_v1.2.3")).expect("it can be copied");
    directory
}

/// Whether there is a network must not matter: nothing listens here.
const NO_NETWORK: (&str, &str) = ("HTTPS_PROXY", "http://127.0.0.1:1");

/// A provider by its address, where the CLI configuration is this one.
async fn by_address(life: &Life, configuration: &str) -> Outcome {
    life.place("tofu.tfrc", configuration);
    let settings = life.next_home().join("tofu.tfrc").display().to_string();
    let outcome = if life.side == Side::OpenTofu {
        let project = life.next_home().join("project");
        std::fs::create_dir_all(&project).expect("a directory of ours");
        let required = json!({"terraform": {"required_providers": {"conformance": {
            "source": "registry.example.com/isthmus/conformance", "version": "1.2.3",
        }}}});
        std::fs::write(project.join("main.tf.json"), required.to_string()).expect("a file of ours");
        let mut command = life.tofu().command(&["init", "-no-color"]);
        let output = tokio::task::block_in_place(|| {
            command
                .env("TF_CLI_CONFIG_FILE", &settings)
                .env(NO_NETWORK.0, NO_NETWORK.1)
                .current_dir(&project)
                .output()
                .expect("OpenTofu starts")
        });
        let text = String::from_utf8_lossy(&output.stderr).into_owned();
        if output.status.success() { Ok("conformance 1.2.3".to_owned()) } else { Err(text) }
    } else {
        let words = ["registry.example.com/isthmus/conformance".to_owned(), "1.2.3".to_owned()];
        add(life, &words, &[("TF_CLI_CONFIG_FILE", &*settings), NO_NETWORK]).await.0
    };
    match outcome {
        Ok(package) => Outcome::whole_if(package == "conformance 1.2.3", [Fact::Saw("installed:", package)]),
        Err(text) => Outcome::missing([Fact::NotOffered(text)]),
    }
}

async fn mirror(life: &mut Life) -> Outcome {
    let directory = unpacked(life);
    let configuration =
        format!("provider_installation {{\n  filesystem_mirror {{\n    path = {directory:?}\n  }}\n}}\n");
    by_address(life, &configuration).await
}
