//! `ignoreChanges` where the provider plans something else all the same, as those on the older SDK may.

use crate::harness::{json, on_one_protocol, secret};

const PLANNED: &str = "conformance:index/legacyPlanned:LegacyPlanned";

on_one_protocol! {
    /// The state has the hash of what is configured. It is what core configures when it is to stay as it is, and the provider
    /// plans the hash of that.
    async fn what_the_provider_plans_anew_from_what_it_had_stays_as_it_was(session: conformance) {
        let planned = session.resource(PLANNED, "planned");
        let made = planned.make(&json!({"name": "one", "hashed": "plain", "value": "a"})).await?;
        let hash = made.outputs["hashed"].clone();
        assert_ne!(hash, "plain");
        let ignoring = planned.ignoring(&["hashed"]);

        let news = json!({"name": "one", "hashed": "other", "value": "a"});
        assert_eq!(planned.diff(&made, &news).await?.changes, ["update hashed"]);
        let difference = ignoring.diff(&made, &news).await?;
        assert!(!difference.some, "{difference:?}");
        let updated = ignoring.update(&made, &news).await?;
        assert_eq!(updated.outputs, made.outputs, "nothing is left to do");

        let news = json!({"name": "one", "hashed": "other", "value": "b"});
        let mut changes = ignoring.diff(&made, &news).await?.changes;
        changes.sort();
        assert_eq!(changes, ["update summary", "update value"]);
        assert_eq!(ignoring.preview_update(&made, &news).await?["hashed"], hash);
        let updated = ignoring.update(&made, &news).await?;
        assert_eq!((&updated.outputs["hashed"], &updated.outputs["value"]), (&hash, &json!("b")));
    }

    /// What a document is changed from was read from the server, which knows nothing of the program's secrets.
    async fn what_a_program_keeps_secret_and_ignores_in_a_document_stays_secret(session: conformance) {
        let dynamic = session.resource("conformance:index/attributeDynamic:AttributeDynamic", "dynamic");
        let made = dynamic.make(&json!({"name": "x", "plain": secret("hush"), "kept": "a"})).await?;
        let ignoring = dynamic.ignoring(&["plain"]);
        // As the engine sends it: with the stored input.
        let news = json!({"name": "x", "plain": secret("hush"), "kept": "b"});
        let planned = ignoring.preview_update(&made, &news).await?;
        let updated = ignoring.update(&made, &news).await?;
        for outputs in [planned, updated.outputs] {
            assert_eq!((&outputs["plain"], &outputs["kept"]), (&secret("hush"), &json!("b")));
        }
    }

    async fn nothing_is_replaced_for_what_is_ignored(session: conformance) {
        let planned = session.resource(PLANNED, "planned");
        let made = planned.make(&json!({"name": "one", "fixed": "a", "tier": 2})).await?;
        let news = json!({"name": "one", "fixed": "b", "tier": 1});
        let mut replaces = planned.diff(&made, &news).await?.replaces;
        replaces.sort();
        assert_eq!(replaces, ["fixed", "tier"]);
        assert_eq!(planned.ignoring(&["tier"]).diff(&made, &news).await?.replaces, ["fixed"]);
        for all in [&["fixed", "tier"][..], &["*"], &["[*]"]] {
            let difference = planned.ignoring(all).diff(&made, &news).await?;
            assert!(!difference.some, "{all:?}: {difference:?}");
        }
    }
}
