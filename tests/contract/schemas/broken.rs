//! Things whose schemas break Terraform's rules: they cannot be used, and everything else can.

use crate::harness::{Json, Protocol, Setup, json, on_both_protocols};

/// The resources that are broken, by the end of their names.
fn broken(protocol: Protocol) -> Vec<&'static str> {
    let mut all = vec!["Bytes", "Type", "Typeless", "Twice", "Nesting"];
    if protocol == Protocol::V6 {
        all.extend(["Both", "Attributes"]);
    }
    all
}

fn terraform_name(name: &str) -> String {
    format!("sandbox_broken_{}", name.to_lowercase())
}

on_both_protocols! {
    async fn what_is_broken_is_left_out_of_the_package_with_a_warning(protocol) {
        let host = Setup::sandbox(protocol).with("SANDBOX_ODD", "true").start().await;
        let session = host.parameterized().await?;
        let schema = session.schema().await?.to_string();
        let mapping = session.mapping("terraform", "").await?;
        let mapping: Json = serde_json::from_slice(&mapping.data).expect("a mapping is JSON");
        for name in broken(protocol) {
            let terraform = terraform_name(name);
            assert!(!schema.contains(&format!("broken{name}")), "{name} is in the schema");
            for side in [&mapping["resources"], &mapping["provider"]["resources"]] {
                assert_eq!(side.get(&terraform), None, "{name} is in the mapping");
            }
            let named = format!("resource {terraform} cannot be used");
            host.engine.line(&named, |line| line.message.contains(&named)).await;
        }
        assert!(!schema.contains("getBrokenType") && !schema.contains("index/broken:broken"));
        assert_eq!(mapping["dataSources"].get("sandbox_broken_type"), None);
        assert_eq!(mapping["functions"].get("broken"), None);
        assert!(!schema.contains("ephemeralBroken") && !schema.contains("actionBroken"));
        for named in [
            "data source sandbox_broken_type cannot be used",
            "function broken cannot be used",
            "ephemeral resource sandbox_broken_type cannot be used",
            "action sandbox_broken_type cannot be used",
            "action sandbox_broken_bound cannot be used: it belongs to resources",
            "action sandbox_broken_linked cannot be used: it belongs to resources",
        ] {
            host.engine.line(named, |line| line.message.contains(named)).await;
        }
        // The rest is there.
        assert!(schema.contains("sandbox:index/note:Note") && schema.contains("sandbox:index/oddPair:OddPair"));
        assert_eq!(mapping["resources"]["sandbox_note"]["tok"], "sandbox:index/note:Note");
    }

    async fn whatever_is_asked_of_what_is_broken_names_it_and_says_why(protocol) {
        let (_host, session) = Setup::sandbox(protocol).with("SANDBOX_ODD", "true").session().await?;
        for name in broken(protocol) {
            let resource = session.resource(&format!("sandbox:index/broken{name}:Broken{name}"), "broken");
            let inputs = json!({"x": "y"});
            for failed in [
                resource.check(&inputs).await.expect_err(name),
                resource.create(&inputs).await.expect_err(name),
                resource.import("id").await.expect_err(name),
            ] {
                let words = format!("resource {} cannot be used: ", terraform_name(name));
                let reason = failed.message().split_once(&words).map(|(_, reason)| reason);
                assert!(reason.is_some_and(|reason| !reason.is_empty()), "{name}: {failed}");
            }
        }
        for (token, words) in [
            ("sandbox:index/getBrokenType:getBrokenType", "data source sandbox_broken_type cannot be used: at x: "),
            ("sandbox:index/broken:broken", "function broken cannot be used: "),
            ("sandbox:index/ephemeralBrokenType:ephemeralBrokenType", "resource sandbox_broken_type cannot be used: at x: "),
            ("sandbox:index/actionBrokenType:actionBrokenType", "action sandbox_broken_type cannot be used: at x: "),
            ("sandbox:index/actionBrokenBound:actionBrokenBound", "action sandbox_broken_bound cannot be used: it belongs"),
        ] {
            let failed = session.invoke(token, &json!({})).await.expect_err(token);
            assert!(failed.message().contains(words), "{token}: {failed}");
        }
        let made = session.note().make(&json!({"title": "Hello"})).await?;
        session.note().delete(&made).await?;
    }
}
