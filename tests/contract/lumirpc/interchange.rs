//! Objects go from the legacy engine to OpenTofu and back, and neither sees a change.

use std::path::Path;

use isthmus_cty::json::Json as Document;
use isthmus_proto::property::{Struct, Value};
use isthmus_state::tfstate::{Attributes, Instance, TfState};

use super::engine::{Engine, Goal, State, Step};
use super::tofu::{Project, isthmus, isthmus_with};
use super::{goal, text};
use crate::harness::{Json, json};

fn list(elements: impl IntoIterator<Item = Value>) -> Value {
    Value::List(elements.into_iter().collect())
}

fn bag(members: impl Into<Struct>) -> Value {
    Value::Struct(members.into())
}

/// What the conformance provider is told: where its objects are, and where it notes its calls.
fn conformance(directory: &Path) -> Vec<(&'static str, String)> {
    let inside = |name: &str| directory.join(name).to_str().expect("a path in UTF-8").to_owned();
    std::fs::create_dir_all(directory.join("objects")).expect("a directory");
    vec![("CONFORMANCE_DIR", inside("objects")), ("CONFORMANCE_LOG", inside("calls"))]
}

fn named(name: &str, mut goal: Goal) -> Goal {
    goal.inputs.insert("urnName", name);
    goal
}

fn state(file: &Path) -> TfState {
    TfState::parse(&std::fs::read(file).expect("a state")).unwrap_or_else(|error| panic!("{error}"))
}

fn instance<'a>(state: &'a TfState, address: &str) -> &'a Instance {
    let found = state.instances.iter().find(|instance| instance.address.to_string() == address);
    found.unwrap_or_else(|| panic!("no {address} in {state:?}"))
}

#[tokio::test]
async fn what_the_legacy_engine_has_made_is_planned_by_opentofu_without_a_change() {
    let directory = tempfile::tempdir().expect("a directory");
    let home = directory.path().join("home");
    let settings = conformance(directory.path());
    let greeting = directory.path().join("greeting");
    let greeting = greeting.to_str().expect("a path in UTF-8");
    let programs = [
        (
            "random",
            vec![
                named("dog", goal("random:pet:Pet", [("length", 2.0.into()), ("prefix", "big".into())])),
                named("one", goal("random:password:Password", [("length", 12.0.into())])),
                named("two", goal("random:password:Password", [("length", 12.0.into())])),
                named(
                    "number",
                    goal(
                        "random:integer:Integer",
                        [("min", 1.0.into()), ("max", 9_007_199_254_740_992.0.into())],
                    ),
                ),
            ],
        ),
        (
            "local",
            vec![named(
                "greeting",
                goal("local:file:File", [("filename", greeting.into()), ("content", "hello".into())]),
            )],
        ),
        ("time", vec![named("later", goal("time:offset:Offset", [("offsetDays", 7.0.into())]))]),
        ("conformance", vec![named("whole", goal("conformance:record:Record", record()))]),
    ];
    let mut ids = Vec::new();
    for (package, goals) in programs {
        let mut engine = Engine::with_tool(package).await.with_store_in(&home);
        for (name, value) in &settings {
            engine.set(name, value);
        }
        engine.deploy(&goals).await.unwrap_or_else(|error| panic!("{package}: {error}"));
        ids.extend(goals.iter().map(|goal| {
            let name = text(&goal.inputs, "urnName");
            let id = engine.resource(&name).id.clone();
            (name, id)
        }));
    }
    let id = |name: &str| &ids.iter().find(|(known, _)| known == name).expect("a resource").1;

    let listed = isthmus(&home, &["state", "list"]).well();
    assert_eq!(listed.lines().count(), 8, "{listed}");
    let addresses = json!({
        "random_pet.dog": format!("random_pet/{}", id("dog")),
        "random_password.one": format!("random_password/{}", id("one")),
        "random_password.two": format!("random_password/{}", id("two")),
        "random_integer.number": format!("random_integer/{}", id("number")),
        "local_file.greeting": format!("local_file/{}", id("greeting")),
        "time_offset.later": format!("time_offset/{}", id("later")),
        "conformance_record.whole": format!("conformance_record/{}", id("whole")),
    });
    let names = directory.path().join("names.json");
    std::fs::write(&names, addresses.to_string()).expect("a file");

    let project = Project::new(&directory.path().join("project"), settings).await;
    let file = project.state_file();
    let words = [
        "state",
        "export",
        "--provider",
        "conformance=isthmus/conformance",
        "--addresses",
        names.to_str().expect("a path in UTF-8"),
        "--output",
        file.to_str().expect("a path in UTF-8"),
    ];
    isthmus(&home, &words).succeeded();
    project.write(&json!({
        "random_pet": { "dog": { "length": 2, "prefix": "big" } },
        "random_password": { "one": { "length": 12 }, "two": { "length": 12 } },
        "random_integer": { "number": { "min": 1, "max": 9_007_199_254_740_992_i64 } },
        "local_file": { "greeting": { "filename": greeting, "content": "hello" } },
        "time_offset": { "later": { "offset_days": 7 } },
        "conformance_record": { "whole": record_of_opentofu() },
    }));
    for refresh in ["-refresh=true", "-refresh=false"] {
        let plan = project.tofu(&["plan", "-no-color", "-detailed-exitcode", refresh]);
        assert_eq!(plan.code, 0, "{}\n{}", plan.stdout, plan.stderr);
        assert!(plan.stdout.contains("No changes"), "{}", plan.stdout);
    }

    // An apply, which changes nothing, writes the state in OpenTofu's own way: all that we wrote is still there.
    let before = state(&file);
    project.tofu(&["apply", "-auto-approve", "-no-color", "-refresh=false"]).succeeded();
    let after = state(&file);
    for old in &before.instances {
        let new = instance(&after, &old.address.to_string());
        assert_eq!((&new.attributes, &new.private), (&old.attributes, &old.private), "{}", old.address);
        assert_eq!((new.schema_version, new.status), (old.schema_version, old.status), "{}", old.address);
        assert_eq!(sorted(new), sorted(old), "{}", old.address);
    }
    assert!(before.instances.iter().any(|instance| !instance.private.is_empty()), "private data are there");
    assert!(before.instances.iter().any(|instance| instance.schema_version > 0), "so are versions");
}

fn sorted(instance: &Instance) -> Vec<String> {
    let mut paths: Vec<String> = instance.sensitive_paths.iter().map(ToString::to_string).collect();
    paths.sort();
    paths
}

/// One of everything, for the legacy engine.
fn record() -> Struct {
    let rule = |port: f64| bag([("port", Value::from(port))]);
    let grant = |who: &str| bag([("who", Value::from(who)), ("level", "all".into())]);
    [
        ("name", Value::from("whole")),
        ("title", "größe".into()),
        ("size", 3.0.into()),
        ("tags", bag([("a", Value::from("1")), ("b c", "2".into())])),
        ("labels", list(["x".into(), "y".into()])),
        ("secret", "hunter2".into()),
        ("extra", bag([("a", Value::from("b")), ("c", true.into())])),
        ("rules", list([rule(80.0), rule(443.0)])),
        ("grants", list([grant("me"), grant("you")])),
        ("settings", bag([("mode", Value::from("fast")), ("verbose", true.into()), ("quota", 0.5.into())])),
    ]
    .into()
}

/// The same, for OpenTofu.
fn record_of_opentofu() -> Json {
    json!({
        "name": "whole",
        "title": "größe",
        "size": 3,
        "tags": { "a": "1", "b c": "2" },
        "labels": ["x", "y"],
        "secret": "hunter2",
        "extra": { "a": "b", "c": true },
        "rule": [{ "port": 80 }, { "port": 443 }],
        "grant": [{ "who": "me", "level": "all" }, { "who": "you", "level": "all" }],
        "settings": { "mode": "fast", "verbose": true, "quota": 0.5 },
    })
}

#[tokio::test]
async fn what_opentofu_has_applied_is_known_to_the_legacy_service_without_a_change() {
    let directory = tempfile::tempdir().expect("a directory");
    let home = directory.path().join("home");
    let settings = conformance(directory.path());
    let project = Project::new(&directory.path().join("project"), settings.clone()).await;
    let greeting = directory.path().join("greeting");
    let greeting = greeting.to_str().expect("a path in UTF-8");
    let mut whole = record_of_opentofu();
    whole["settings"]["quota"] = json!("12345678901234567890123.45");
    project.write(&json!({
        "random_pet": { "dog": { "count": 2, "length": 2 } },
        "random_password": { "word": { "for_each": { "a b": "", "c": "" }, "length": 12 } },
        "local_file": { "greeting": {
            "filename": greeting,
            "content": "${random_pet.dog[0].id}",
            "lifecycle": { "create_before_destroy": true },
        } },
        "time_offset": { "later": { "offset_days": 7 } },
        "conformance_record": { "whole": whole },
        "conformance_passport": { "mine": { "name": "mine" } },
    }));
    project.tofu(&["apply", "-auto-approve", "-no-color"]).succeeded();
    let file = project.state_file();
    let applied = state(&file);

    let options: Vec<String> = super::tofu::PROVIDERS
        .map(|(name, _)| format!("--provider={name}={}", project.provider(name).display()))
        .to_vec();
    let mut words = vec!["state", "import", file.to_str().expect("a path in UTF-8")];
    words.extend(options.iter().map(String::as_str));
    let imported = isthmus_with(&home, &words, &settings).well();
    assert!(imported.ends_with("8 added, 0 already there, 0 replaced, 0 not imported\n"), "{imported}");
    let again = isthmus_with(&home, &words, &settings).well();
    assert!(again.ends_with("0 added, 8 already there, 0 replaced, 0 not imported\n"), "{again}");

    // What goes out again is what came in.
    let exported = directory.path().join("exported.tfstate");
    isthmus(&home, &["state", "export", "--output", exported.to_str().expect("a path in UTF-8")]).succeeded();
    for new in state(&exported).instances {
        let old = instance(&applied, &new.address.to_string()).clone();
        assert_eq!(sorted(&new), sorted(&old), "{}", old.address);
        let no_paths = |instance: Instance| Instance { sensitive_paths: Vec::new(), ..instance };
        assert_eq!(no_paths(new), no_paths(old));
    }
    let Attributes::Json(value) = &instance(&applied, "conformance_record.whole").attributes else {
        panic!("JSON")
    };
    let quota = value.member("settings").and_then(|settings| settings.member("quota"));
    assert_eq!(quota, Some(&Document::Number("12345678901234567890123.45".to_owned())));

    let listed = isthmus(&home, &["state", "list", "--json"]).well();
    let listed: Json = serde_json::from_str(&listed).expect("JSON");
    let listed = listed["records"].as_array().expect("an array");
    let id = |address: &str| {
        let record = listed.iter().find(|record| record["address"] == address);
        record.unwrap_or_else(|| panic!("no {address} in {listed:?}"))["id"]
            .as_str()
            .expect("text")
            .to_owned()
    };
    let calls = directory.path().join("calls");
    std::fs::remove_file(&calls).expect("the provider was called");
    let mut whole = record();
    whole.insert(
        "settings",
        bag([
            ("mode", Value::from("fast")),
            ("verbose", true.into()),
            ("quota", "12345678901234567890123.45".into()),
        ]),
    );
    let known = [
        ("random", goal("random:pet:Pet", [("length", 2.0.into())]), id("random_pet.dog[1]")),
        (
            "random",
            goal("random:password:Password", [("length", 12.0.into())]),
            id("random_password.word[\"a b\"]"),
        ),
        (
            "random",
            goal("random:password:Password", [("length", 12.0.into())]),
            id("random_password.word[\"c\"]"),
        ),
        (
            "local",
            goal(
                "local:file:File",
                [("filename", greeting.into()), ("content", id("random_pet.dog[0]").into())],
            ),
            id("local_file.greeting"),
        ),
        ("time", goal("time:offset:Offset", [("offsetDays", 7.0.into())]), id("time_offset.later")),
        ("conformance", goal("conformance:record:Record", whole), id("conformance_record.whole")),
        (
            "conformance",
            goal("conformance:passport:Passport", [("name", Value::from("mine"))]),
            id("conformance_passport.mine"),
        ),
    ];
    for (package, goal, id) in known {
        let mut engine = Engine::with_tool(package).await.with_store_in(&home);
        for (name, value) in &settings {
            engine.set(name, value);
        }
        let found = engine.get(&goal.type_token, &id).await.expect("an answer").expect("it is there");
        for (name, value) in goal.inputs.iter() {
            let is_same = |found: &Value| {
                format!("{found:?}") == format!("{value:?}")
                    || name == "settings"
                    || name == "rules"
                    || name == "grants"
            };
            assert!(found.get(name).is_some_and(is_same), "{name} of {}: {found:?}", goal.type_token);
        }
        // To this engine each difference of inputs is a change, which the provider then has to find to be none.
        let old = State { type_token: goal.type_token.clone(), id: id.clone(), ..State::default() };
        engine.knows("it", old);
        let goals = [named("it", goal)];
        let planned = engine.plan(&goals).await.expect("a plan");
        assert_eq!(planned, [("it".to_owned(), Step::Update)], "{id} is not to be replaced");
        engine.deploy(&goals).await.unwrap_or_else(|error| panic!("{id}: {error}"));
        let outputs = &engine.resource("it").outputs;
        assert_eq!(outputs, &found, "{id} is what it was");
        assert_eq!(engine.plan(&goals).await.expect("a plan"), [("it".to_owned(), Step::Same)]);
    }
    let called = std::fs::read_to_string(&calls).expect("the provider was called");
    assert!(called.contains("ReadResource") && !called.contains("ApplyResourceChange"), "{called}");

    // Nor has OpenTofu anything to do after that.
    let plan = project.tofu(&["plan", "-no-color", "-detailed-exitcode"]);
    assert_eq!(plan.code, 0, "{}\n{}", plan.stdout, plan.stderr);
}
