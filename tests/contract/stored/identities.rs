//! What resources are known by: ids of every kind, resources without one, and identities.

use crate::harness::resource::{Resource, half_made};
use crate::harness::{Json, Session, Setup, Stored, json, json_of, on_one_protocol};

fn odd(session: &Session, name: &str) -> Resource {
    session.resource(&format!("sandbox:index/odd{name}:Odd{name}"), "odd")
}

/// The same resource through refresh, update and refresh: its id is the engine's, and nothing differs in between.
async fn lives_on(resource: &Resource, made: Stored) -> Result<Stored, tonic::Status> {
    assert!(!resource.diff(&made, &made.inputs).await?.some, "nothing has changed");
    let read = resource.refresh(&made).await?.expect("it is there");
    assert_eq!((&read.id, &read.outputs), (&made.id, &made.outputs));
    let mut news = read.inputs.clone();
    news["label"] = json!("another");
    let changed = resource.update(&read, &news).await?;
    assert_eq!(changed.outputs["label"], "another");
    let read = resource.refresh(&changed).await?.expect("it is there");
    assert_eq!(read, changed);
    assert!(!resource.diff(&read, &read.inputs).await?.some, "nothing has changed");
    Ok(read)
}

on_one_protocol! {
    async fn an_id_that_is_no_text_is_written_as_text(protocol) {
        let (host, session) = Setup::sandbox(protocol).with("SANDBOX_ODD", "true").session().await?;
        for (name, inputs, id) in [
            ("NumberId", json!({"label": "a"}), "9007199254740993"),
            ("ObjectId", json!({"label": "a"}), r#"{"number":9007199254740993,"zone":"z"}"#),
            ("GivenId", json!({"oddGivenIdId": "18446744073709551615"}), "18446744073709551615"),
            ("GivenId", json!({"oddGivenIdId": 7}), "7"),
            ("OptionalId", json!({"oddOptionalIdId": "mine"}), "mine"),
        ] {
            let resource = odd(&session, name);
            let made = resource.make(&inputs).await?;
            assert_eq!(made.id, id, "{name}");
            let last = lives_on(&resource, made).await?;
            resource.delete(&last).await?;
        }
        let others: Vec<String> =
            host.engine.warnings().into_iter().filter(|warning| !warning.contains("numbers of programs hold")).collect();
        assert_eq!(others, [""; 0]);
    }

    async fn a_resource_without_an_id_gets_one_and_keeps_it(protocol) {
        let (host, session) = Setup::sandbox(protocol).with("SANDBOX_ODD", "true").session().await?;
        for name in ["Bare", "OptionalId"] {
            let resource = odd(&session, name);
            assert_eq!(resource.preview_create(&json!({"label": "a"})).await?, json!({"label": "a"}));
            let first = resource.make(&json!({"label": "a"})).await?;
            let second = resource.make(&json!({"label": "a"})).await?;
            assert_ne!(first.id, second.id, "each has its own");
            assert_eq!(first.id.len(), 32, "{}", first.id);
            let last = lives_on(&resource, first).await?;
            resource.delete(&last).await?;
        }
        assert_eq!(host.engine.warnings(), [""; 0]);
    }

    async fn a_state_of_the_go_bridge_goes_on_with_the_id_that_it_has(protocol) {
        let (_host, session) = Setup::sandbox(protocol).with("SANDBOX_ODD", "true").session().await?;
        for (name, inputs) in [
            ("Bare", json!({"label": "a"})),
            ("NumberId", json!({"label": "a"})),
            ("OptionalId", json!({"oddOptionalIdId": "mine"})),
            ("Pair", json!({"zone": "a", "number": 1})),
        ] {
            let resource = odd(&session, name);
            let made = resource.make(&inputs).await?;
            let of_the_go_bridge = Stored { id: "missing ID".to_owned(), ..made };
            let last = lives_on(&resource, of_the_go_bridge).await?;
            assert_eq!(last.id, "missing ID", "{name}");
            resource.delete(&last).await?;
        }
    }

    async fn a_secret_id_is_given_in_the_clear_with_a_warning(protocol) {
        let (host, session) = Setup::sandbox(protocol).with("SANDBOX_ODD", "true").session().await?;
        let resource = odd(&session, "SecretId");
        let made = resource.make(&json!({"label": "a"})).await?;
        assert!(!made.id.is_empty() && !made.id.contains("4dabf"), "{}", made.id);
        lives_on(&resource, made).await?;
        let [warning] = &*host.engine.warnings() else { panic!("one warning, not {:?}", host.engine.warnings()) };
        assert!(warning.contains("Property `id` is secret"), "{warning}");
    }

    async fn an_id_that_the_provider_forgot_loses_nothing(protocol) {
        let (host, session) = Setup::sandbox(protocol).with("SANDBOX_ODD", "true").session().await?;
        let resource = odd(&session, "MissingId");
        let made = resource.make(&json!({"label": "a"})).await?;
        assert_eq!(made.id.len(), 32, "{}", made.id);
        let [warning] = &*host.engine.warnings() else { panic!("one warning, not {:?}", host.engine.warnings()) };
        assert!(warning.contains("given the resource no id") && warning.contains(&made.id), "{warning}");
        let last = lives_on(&resource, made).await?;
        resource.delete(&last).await?;
    }

    async fn a_resource_without_an_id_is_known_by_its_identity(protocol) {
        let (host, session) = Setup::sandbox(protocol).with("SANDBOX_ODD", "true").session().await?;
        let pair = odd(&session, "Pair");
        let made = pair.make(&json!({"zone": "north", "number": "9007199254740993"})).await?;
        assert_eq!(made.id, r#"{"number":9007199254740993,"zone":"north"}"#);
        let meta: Json = serde_json::from_str(made.outputs["__meta"].as_str().expect("a text")).expect("JSON");
        assert_eq!(meta["isthmus"]["identity"]["json"], made.id.as_str());

        let imported = pair.import(&made.id).await?.expect("the provider takes any pair");
        assert_eq!(imported.id, made.id);
        assert_eq!(imported.outputs["zone"], "north");
        assert_eq!(imported.inputs, json!({"zone": "north", "number": "9007199254740993"}));
        lives_on(&pair, made).await?;
        let asked = host.count("GetResourceIdentitySchemas");
        assert_eq!(asked, 1, "a process is asked for its identity schemas once");
    }

    async fn a_wrong_identity_is_told_by_its_attributes(protocol) {
        let (_host, session) = Setup::sandbox(protocol).with("SANDBOX_ODD", "true").session().await?;
        let pair = odd(&session, "Pair");
        for (id, words) in [
            (r#"{"zone": "north"}"#, r#""number" must be given"#),
            (r#"{"zone": "north", "number": 1, "nr": 2}"#, r#"it has no attribute "nr""#),
            (r#"{"zone": "north", "number": "one"}"#, "a number is required"),
            ("{}", r#""zone", "number" must be given"#),
        ] {
            let status = pair.import(id).await.expect_err(id);
            assert!(status.message().contains(words), "{id}: {status}");
            assert!(status.message().contains("sandbox_odd_pair"), "{id}: {status}");
        }
        // What is no JSON object is an id, and the provider says what it makes of it.
        let status = pair.import("north/1").await.expect_err("there is no import by an id");
        assert!(status.message().contains("cannot be imported by an id"), "{status}");
    }

    async fn providers_from_before_identities_take_json_for_an_id(protocol) {
        let minor = format!("{protocol}.3");
        let setup = Setup::sandbox(protocol).with("SANDBOX_MINOR", &minor).with("SANDBOX_ODD", "true");
        let (host, session) = setup.session().await?;
        let made = odd(&session, "Pair").make(&json!({"zone": "north", "number": 1})).await?;
        assert_eq!(made.id.len(), 32, "nothing but a random id is left: {}", made.id);
        let meta: Json = serde_json::from_str(made.outputs["__meta"].as_str().expect("a text")).expect("JSON");
        assert_eq!(meta["isthmus"].get("identity"), None);
        let bare = odd(&session, "Bare").import("{}").await?.expect("any id will do");
        assert_eq!((bare.id.as_str(), &bare.outputs["label"]), ("{}", &json!("{}")));
        assert_eq!(host.engine.warnings(), [""; 0]);
    }

    async fn what_is_imported_without_an_id_is_known_by_what_it_was_imported_by(protocol) {
        let (_host, session) = Setup::sandbox(protocol).with("SANDBOX_ODD", "true").session().await?;
        let bare = odd(&session, "Bare").import("some/where").await?.expect("any id will do");
        assert_eq!((bare.id.as_str(), &bare.outputs["label"]), ("some/where", &json!("some/where")));
        lives_on(&odd(&session, "Bare"), bare).await?;
    }

    async fn a_place_of_the_framework_keeps_its_identity_and_is_imported_by_it(protocol) {
        let host = Setup::conformance(protocol).start().await;
        let session = host.parameterized().await?;
        session.configure(&json!({"region": "north"})).await?;
        let place = session.resource("conformance:index/place:Place", "place");
        let made = place.make(&json!({"name": "first", "note": "One"})).await?;
        assert_eq!(made.id, "first-1", "attribute id comes before the identity");
        let meta: Json = serde_json::from_str(made.outputs["__meta"].as_str().expect("a text")).expect("JSON");
        assert_eq!(meta["isthmus"]["identity"]["json"], r#"{"id":"first-1","region":"north"}"#);
        let read = place.refresh(&made).await?.expect("it is there");
        assert_eq!(read.outputs, made.outputs);
        let mut news = read.inputs.clone();
        news["note"] = json!("Two");
        let changed = place.update(&read, &news).await?;
        assert_eq!(changed.outputs["__meta"], made.outputs["__meta"]);

        for identity in [r#"{"id":"first-1","region":"north"}"#, r#"{"id":"first-1"}"#] {
            let imported = place.import(identity).await?.expect("it is there");
            assert_eq!(imported.id, "first-1", "{identity}");
            assert_eq!(imported.inputs["note"], "Two");
        }
        let status = place.import(r#"{"region":"north"}"#).await.expect_err("the id is required");
        assert!(status.message().contains(r#""id" must be given"#), "{status}");
        place.delete(&changed).await?;
    }

    async fn what_cannot_be_shown_is_kept_all_the_same(protocol) {
        let (_host, session) = Setup::sandbox(protocol).with("SANDBOX_ODD", "true").session().await?;
        let twice = odd(&session, "Twice");
        let inputs = json!({"once": {"value": 1}});
        let status = twice.make(&inputs).await.expect_err("the provider has made two of one");
        let kept = half_made(&status).expect("the engine is told what exists");
        assert!(!kept.id.is_empty());
        assert!(kept.reasons.iter().any(|reason| reason.contains("2 blocks at `once`")), "{:?}", kept.reasons);

        let outputs = json_of(&kept.properties.expect("what it takes to rebuild the state"));
        let stored = Stored { id: kept.id, inputs, outputs };
        twice.delete(&stored).await?;
    }
}
