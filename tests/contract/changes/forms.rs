//! Forms of inputs that programs bring along from Terraform and from other bridges.

use crate::harness::{json, on_one_protocol, secret};

/// Has a list block of at most one item, `network`, and others of several, `rules`.
const LEGACY: &str = "conformance:index/legacy:Legacy";
/// Has attributes of an object type with the members `text` and `level`.
const OBJECTS: &str = "conformance:index/attributeObject:AttributeObject";

on_one_protocol! {
    async fn the_one_block_may_be_given_as_a_list_of_one(session: conformance) {
        let legacy = session.resource(LEGACY, "it");
        let plain = json!({"name": "l", "network": {"cidr": "10.0.0.0/8"}});
        let listed = json!({"name": "l", "network": [{"cidr": "10.0.0.0/8"}]});
        assert_eq!(legacy.checked(&listed).await?, legacy.checked(&plain).await?);
        let made = legacy.make(&listed).await?;
        assert_eq!(made.outputs["network"]["cidr"], "10.0.0.0/8");
        let inputs = legacy.checked(&plain).await?;
        assert!(!legacy.diff(&made, &inputs).await?.some, "it is the same block");
        legacy.delete(&made).await?;

        let hidden = json!({"name": "l", "network": secret(json!([{"cidr": "10.0.0.0/8"}]))});
        let expected = json!({"name": "l", "network": secret(json!({"cidr": "10.0.0.0/8"}))});
        assert_eq!(legacy.checked(&hidden).await?["network"], expected["network"]);
        assert_eq!(legacy.checked(&json!({"name": "l", "network": []})).await?["network"], json!(null));
    }

    async fn blocks_may_be_given_as_one_object(session: conformance) {
        let legacy = session.resource(LEGACY, "it");
        let inputs = legacy.checked(&json!({"name": "l", "rules": {"port": 1}})).await?;
        assert_eq!(inputs["rules"], json!([{"port": 1}]));
        let made = legacy.make(&json!({"name": "l", "rules": {"port": 1}})).await?;
        assert_eq!(made.outputs["rules"][0]["port"], 1);
        legacy.delete(&made).await?;
    }

    async fn members_that_an_attributes_object_does_not_have_are_dropped_with_a_warning(host, session: conformance) {
        let objects = session.resource(OBJECTS, "it");
        let inputs = objects.checked(&json!({"plain": {"text": "x", "level": 1, "lvel": 2}})).await?;
        assert_eq!(inputs["plain"], json!({"text": "x", "level": 1}));
        let shown: Vec<String> = host.engine.shown().into_iter().map(|line| line.message).collect();
        assert_eq!(shown, ["`plain.lvel` has no effect: unknown property; did you mean `level`?"]);

        // The key may be part of what is secret.
        objects.checked(&json!({"plain": secret(json!({"text": "x", "hunter2": "y"}))})).await?;
        let shown: Vec<String> = host.engine.shown().into_iter().skip(1).map(|line| line.message).collect();
        let warning = "`plain` has no effect: unknown property; remove it, or look the name up in the package's \
                       documentation";
        assert_eq!(shown, [warning]);
    }

    async fn a_block_has_no_other_properties_than_its_schema(session: conformance) {
        let checked = session.resource(LEGACY, "it").check(&json!({"name": "l", "rules": {"prt": 1}})).await?;
        assert!(
            checked.failures.iter().any(|(_, reason)| reason.contains("rules[0].prt: unknown property")),
            "{checked:?}"
        );
    }
}
