//! Every shape of schema that the conformance provider has, those included that the Go bridge refuses.

use std::collections::BTreeSet;

use crate::harness::{Host, Json, Protocol, Session, Setup, Status, json, on_both_protocols};

/// All that the provider has only on request.
const VARIANTS: &str = "collisions,prefixes,tuples,properties,grammar,reserved,faulty";

async fn everything(protocol: Protocol) -> Result<(Host, Session, Json), Status> {
    let setup = Setup::conformance(protocol).with("CONFORMANCE_VARIANTS", VARIANTS);
    let (host, session) = setup.session().await?;
    let schema = session.schema().await?;
    Ok((host, session, schema))
}

fn members(of: &Json) -> impl Iterator<Item = (&String, &Json)> {
    of.as_object().into_iter().flatten()
}

on_both_protocols! {
    async fn every_resource_that_needs_no_inputs_lives_and_dies(protocol) {
        let (_host, session, schema) = everything(protocol).await?;
        let mut ids = BTreeSet::new();
        // One of its properties is needed, which a schema cannot say.
        let constrained = "conformance:index/legacyConstrained:LegacyConstrained";
        let needless = members(&schema["resources"])
            .filter(|(token, of)| *token != constrained && of.get("requiredInputs").is_none());
        for (token, described) in needless {
            let thing = session.resource(token, "thing");
            // A name is not required, because one is made up; here it is given.
            let has_name = described["inputProperties"]["name"]["type"] == "string";
            let inputs = if has_name { json!({"name": "thing"}) } else { json!({}) };
            let made = thing.make(&inputs).await.unwrap_or_else(|status| panic!("{token}: {status}"));
            assert!(!made.id.is_empty() && made.id != "missing ID", "{token}: {}", made.id);
            assert!(ids.insert((token.clone(), made.id.clone())), "{token}: {} stands for two", made.id);
            let difference = thing.diff(&made, &made.inputs).await?;
            assert!(!difference.some, "{token}: {difference:?}");
            let read = thing.refresh(&made).await?.unwrap_or_else(|| panic!("{token} is there"));
            assert_eq!(read.id, made.id, "{token}");
            // The old SDK's resources come back with other nulls than they were made with; that is no difference.
            let difference = thing.diff(&read, &made.inputs).await?;
            assert!(!difference.some, "{token}: {difference:?}");
            thing.delete(&read).await.unwrap_or_else(|status| panic!("{token}: {status}"));
        }
        assert!(ids.len() > 30, "only {ids:?}");
    }

    async fn things_that_the_go_bridge_refuses_have_names(protocol) {
        let (_host, _session, schema) = everything(protocol).await?;
        for token in [
            "conformance:index/elsewhereThing:ElsewhereThing",
            "conformance:index/word:Word",
            "conformance:index/propertiesCamel:PropertiesCamel",
            "conformance:index/grammarUnicode:GrammarUnicode",
            "conformance:index/reservedId:ReservedId",
            "conformance:index/faultless:Faultless",
        ] {
            assert!(schema["resources"][token].is_object(), "{token} is missing");
        }
        let inputs = |name: &str| {
            let token = format!("conformance:index/{}{}:{name}", name[..1].to_lowercase(), &name[1..]);
            let names = members(&schema["resources"][token.as_str()]["inputProperties"]);
            names.map(|(name, _)| name.clone()).collect::<Vec<_>>().join(" ")
        };
        assert_eq!(inputs("PropertiesUnderscored"), "label oneName oneName2 parts");
        assert_eq!(inputs("PropertiesCamel"), "label oneName oneName2 parts");
        assert_eq!(inputs("GrammarDash"), "label parts with-dash");
        let functions = &schema["functions"];
        assert!(functions["conformance:index/getThing:getThing"].is_object());
        assert!(functions["conformance:index/getThingV2:getThingV2"].is_object());
    }

    async fn an_id_of_each_kind_is_what_the_object_says(protocol) {
        let (_host, session, _) = everything(protocol).await?;
        for (name, inputs, expected) in [
            ("IdRequired", json!({"idRequiredId": "mine"}), Some("mine")),
            ("IdOptional", json!({"idOptionalId": "mine"}), Some("mine")),
            ("IdOptional", json!({"label": "a"}), None),
            ("IdAbsent", json!({"label": "a"}), None),
            ("IdBlock", json!({"label": "a"}), None),
        ] {
            let token = format!("conformance:index/i{}:{name}", &name[1..]);
            let resource = session.resource(&token, "thing");
            let made = resource.make(&inputs).await?;
            match expected {
                Some(id) => assert_eq!(made.id, id, "{name}"),
                None => assert!(made.id.len() == 32, "{name}: a random one, not {}", made.id),
            }
            let read = resource.refresh(&made).await?.expect("it is there");
            assert_eq!(read.id, made.id, "{name}");
            resource.delete(&read).await?;
        }
        for (name, property) in [("IdNumber", "idNumberId"), ("IdObject", "idObjectId")] {
            let token = format!("conformance:index/i{}:{name}", &name[1..]);
            let resource = session.resource(&token, "thing");
            let made = resource.make(&json!({"label": "a"})).await?;
            let id: Json = serde_json::from_str(&made.id).expect("a number, or an object");
            assert_eq!(id, made.outputs[property], "{name}");
            resource.delete(&made).await?;
        }
    }

    async fn a_resource_with_an_identity_of_every_type_is_imported_by_it(protocol) {
        let (_host, session, _) = everything(protocol).await?;
        let identified = session.resource("conformance:index/identified:Identified", "thing");
        let made = identified.make(&json!({"name": "one", "zones": ["a", "b"], "port": 80})).await?;
        let meta: Json = serde_json::from_str(made.outputs["__meta"].as_str().expect("a text")).expect("JSON");
        let identity = &meta["isthmus"]["identity"];
        assert_eq!(identity["schema_version"], 2);
        let imported = identified.import(identity["json"].as_str().expect("a text")).await?.expect("it is there");
        assert_eq!((&imported.id, &imported.outputs["zones"]), (&made.id, &json!(["a", "b"])));
        identified.delete(&imported).await?;
    }
}
