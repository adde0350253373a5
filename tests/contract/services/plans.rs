//! Rules about plans: what a provider may plan, what replaces, and what becomes of a plan that is not applied.

use super::driver::{At, Client, Service};
use super::{Legacy, Rule, rules};
use crate::harness::{Code, Json, Outcome, Protocol, Setup, json, unknown};

/// The private data of each plan of a new object.
fn private_of_creations(client: &Client) -> Vec<String> {
    let plans = client
        .host
        .calls()
        .into_iter()
        .filter(|call| call["call"] == "PlanResourceChange" && call["prior_null"] == true);
    plans.map(|call| call["private"].as_str().expect("a text").to_owned()).collect()
}

rules! {
    "A plan that contradicts the configuration fails, and nothing is applied" in ["rules/plan_check"],
    legacy: Legacy::Same,
    async fn a_plan_that_contradicts_the_configuration_fails(at) {
        let client = at.sandbox().await?;
        let status = client.faulty().make(&json!({"mode": "inconsistent", "during": "plan"})).await.expect_err("invalid");
        assert!(status.message().contains("produced an invalid plan for sandbox_faulty"), "{status}");
        assert_eq!((status.code(), client.applied()), (Code::Aborted, 0));
    }

    "Computed values of the prior state are carried over to the proposed new state" in ["rules/proposed_new"],
    legacy: Legacy::Same,
    async fn computed_values_are_carried_over(at) {
        let client = at.sandbox().await?;
        let disks = |size: u32| json!({"name": "web", "disks": [{"mount": "/"}, {"mount": "/data", "size": size}]});
        let made = client.server().make(&disks(20)).await?;
        let changed = client.server().update(&made, &disks(30)).await?;
        assert_eq!(changed.outputs["disks"][1], json!({"mount": "/data", "size": 30, "device": "/dev/disk1"}));
        assert_eq!(changed.outputs["disks"], {
            let mut disks = made.outputs["disks"].clone();
            disks[1]["size"] = json!(30);
            disks
        });
    }

    "Dynamic attributes keep their values and types" in ["rules/proposed_new"],
    legacy: Legacy::Same,
    async fn dynamic_attributes_keep_their_types(at) {
        let client = at.start(Setup::sandbox(at.protocol).with("SANDBOX_ODD", "usable")).await?;
        let metadata = |owner: &str| json!({"owner": owner, "tags": ["x", 1, true]});
        let made = client.server().make(&json!({"name": "web", "metadata": metadata("ada")})).await?;
        assert_eq!(made.outputs["metadata"], metadata("ada"));
        let news = json!({"name": "web", "metadata": metadata("bob")});
        let changed = client.server().update(&made, &news).await?;
        assert_eq!(changed.outputs["metadata"], metadata("bob"));
    }

    "Blocks with dynamic attributes keep each value's own type" in ["rules/dynamic_blocks"],
    legacy: Legacy::Same,
    async fn blocks_with_dynamic_attributes_keep_their_types(at) {
        let client = at.conformance().await?;
        let blocks = client.resource("conformance:index/blockDynamic:BlockDynamic");
        let program = |last: Json| json!({
            "entries": [{"key": "a", "value": "text"}, {"key": "b", "value": last}],
            "setting": {"x": {"value": true}, "y": {"value": [1, "two"]}},
        });
        let made = blocks.make(&program(json!(1))).await?;
        assert_eq!(made.outputs["entries"], program(json!(1))["entries"]);
        assert_eq!(made.outputs["setting"]["y"]["value"], json!([1, "two"]));
        // Another type in one of them changes nothing about the others.
        assert_eq!(blocks.replaces(&made, &program(json!({"k": "v"}))).await?, [""; 0]);
        let changed = blocks.update(&made, &program(json!({"k": "v"}))).await?;
        assert_eq!(changed.outputs["entries"], program(json!({"k": "v"}))["entries"]);
        assert_eq!(changed.outputs["setting"], made.outputs["setting"]);
    }

    "Diff returns the changed properties that require a replacement" in ["rules/replacement", "resource/diff"],
    legacy: Legacy::Same,
    async fn a_replacement_is_for_what_changes(at) {
        let client = at.sandbox().await?;
        let note = client.note();
        let made = note.make(&json!({"title": "Hello", "color": "red"})).await?;
        let replaces = |news: Json| {
            let (note, made) = (&note, &made);
            async move { note.replaces(made, &news).await }
        };
        assert_eq!(replaces(json!({"title": "Hello", "color": "blue"})).await?, ["color"]);
        assert_eq!(replaces(json!({"title": "Bye", "color": "red"})).await?, [""; 0]);
        assert_eq!(replaces(json!({"title": unknown(), "color": "red"})).await?, [""; 0]);
        assert_eq!(replaces(json!({"title": "Hello", "color": unknown()})).await?, ["color"]);
    }

    "An Update whose plan is not the one of its Diff fails before it is applied" in ["rules/final_plan", "resource/plan_memory"],
    legacy: Legacy::Same,
    async fn an_update_that_is_not_what_diff_planned_is_not_applied(at) {
        let client = at.sandbox().await?;
        let faulty = client.faulty();
        let made = faulty.make(&json!({"mode": "none"})).await?;
        let news = json!({"mode": "fickle", "during": "plan"});
        assert_eq!(faulty.replaces(&made, &news).await?, [""; 0]);
        let status = faulty.update(&made, &news).await.expect_err("the provider has planned something else");
        assert_eq!(status.code(), Code::Aborted, "nothing has happened: {status}");
        for words in ["inconsistent final plan", "sandbox_faulty", "payload"] {
            assert!(status.message().contains(words), "{words}: {status}");
        }
        assert_eq!(client.applied(), 1, "the creation");
        // The plan of Diff is forgotten with the failure.
        faulty.update(&made, &news).await?;
    }

    "A plan for other inputs is not compared" in ["rules/final_plan", "resource/plan_memory"],
    legacy: Legacy::Same,
    async fn a_plan_for_other_inputs_is_not_compared(at) {
        let client = at.sandbox().await?;
        let faulty = client.faulty();
        let made = faulty.make(&json!({"mode": "none"})).await?;
        faulty.replaces(&made, &json!({"mode": "fickle", "during": "plan", "size": 2})).await?;
        faulty.update(&made, &json!({"mode": "fickle", "during": "plan", "size": 3})).await?;
    }

    "The new object of a replacement is planned with the private data of the plan that required it, once"
    in ["resource/plan_memory", "resource/create"],
    legacy: Legacy::Same,
    async fn a_replacement_goes_on_from_its_diff(at) {
        let client = at.sandbox().await?;
        let server = client.server();
        let inputs = |image: &str| json!({"name": "web", "image": image});
        let made = server.make(&inputs("one")).await?;
        assert_eq!(server.replaces(&made, &inputs("two")).await?, ["image"]);
        let second = server.make(&inputs("two")).await?;
        server.delete(&made).await?;
        let seal = json!({"sandbox_seal": made.id}).to_string();
        assert_eq!(private_of_creations(&client), [String::new(), seal]);
        server.make(&inputs("two")).await?;
        assert_eq!(private_of_creations(&client).last(), Some(&String::new()));
        // The same where the old object is deleted first.
        assert_eq!(server.replaces(&second, &inputs("three")).await?, ["image"]);
        server.delete(&second).await?;
        server.make(&inputs("three")).await?;
        assert_eq!(private_of_creations(&client).last(), Some(&json!({"sandbox_seal": second.id}).to_string()));
    }

    "A Diff that replaces nothing withdraws that" in ["resource/plan_memory"],
    legacy: Legacy::Same,
    async fn nothing_is_handed_on_by_a_diff_that_replaces_nothing(at) {
        let client = at.sandbox().await?;
        let server = client.server();
        let made = server.make(&json!({"name": "web", "image": "one"})).await?;
        assert_eq!(server.replaces(&made, &json!({"name": "web", "image": "two"})).await?, ["image"]);
        assert_eq!(server.replaces(&made, &json!({"name": "db", "image": "one"})).await?, [""; 0]);
        server.make(&json!({"name": "db", "image": "one"})).await?;
        assert_eq!(private_of_creations(&client), ["", ""]);
    }

    "A deferred plan is a warning in Diff, and fails Create and Update before they are applied" in ["resource/warnings"],
    legacy: Legacy::Same,
    async fn a_deferred_plan_warns_and_is_not_applied(at) {
        let first = at.sandbox().await?;
        let made = first.note().make(&json!({"title": "Hello"})).await?;
        let before = first.host.objects();
        let setup = Setup::sandbox(at.protocol).beside(&first.host).with("SANDBOX_DEFER", "plan:resource-config");
        let client = at.start(setup).await?;
        let note = client.note();
        let news = json!({"title": "Bye"});
        assert_eq!(note.replaces(&made, &news).await?, [""; 0]);
        let [warning] = &client.warnings()[..] else { panic!("one warning: {:?}", client.warnings()) };
        assert!(warning.contains("The provider deferred this sandbox_note"), "{warning}");
        assert!(warning.contains("all of its inputs must be known"), "{warning}");
        for (status, words) in [
            (note.update(&made, &news).await.expect_err("it has to wait"), "sandbox_note cannot be changed yet"),
            (note.make(&json!({"title": "New"})).await.expect_err("it has to wait"), "sandbox_note cannot be created yet"),
        ] {
            assert_eq!(status.code(), Code::Aborted, "{status}");
            assert!(status.message().contains(words), "{status}");
        }
        assert_eq!(client.host.objects(), before);
    }

    "A replacement that the provider defers is reported as an update, so that nothing is deleted" in ["resource/diff"],
    legacy: Legacy::Same,
    async fn a_deferred_replacement_is_an_update(at) {
        let client = at.conformance().await?;
        let deferred = client.resource("conformance:index/deferred:Deferred");
        let made = deferred.make(&json!({"name": "first"})).await?;
        let before = client.host.objects();
        assert_eq!(deferred.replaces(&made, &json!({"name": "second"})).await?, ["name"]);
        let news = json!({"name": "second", "waitFor": "absent"});
        assert_eq!(deferred.replaces(&made, &news).await?, [""; 0]);
        let status = deferred.update(&made, &news).await.expect_err("it has to wait");
        assert!(status.message().contains("conformance_deferred cannot be changed yet"), "{status}");
        assert_eq!(client.host.objects(), before);
    }

    "Null in place of absent blocks, from a provider on the legacy SDK, is read as no blocks" in ["rules/normalise"],
    legacy: Legacy::Same,
    async fn null_in_place_of_blocks_is_read_as_none(at) {
        let client = at.start(Setup::sandbox(at.protocol).with("SANDBOX_LEGACY", "true")).await?;
        let firewall = client.resource("sandbox:index/firewall:Firewall");
        let made = firewall.make(&json!({"ports": [22]})).await?;
        let read = firewall.read(&made).await?.expect("it is there");
        assert_eq!(read["rules"], json!([]), "{read}");
    }

    "`ignoreChanges`" in ["rules/ignored"],
    legacy: Legacy::Inexpressible("the engine has no such option"),
    async fn ignored_changes_are_not_planned(at) {
        let client = at.conformance().await?;
        let planned = client.resource("conformance:index/legacyPlanned:LegacyPlanned");
        let made = planned.make(&json!({"name": "one", "fixed": "a", "tier": 2})).await?;
        let news = json!({"name": "one", "fixed": "b", "tier": 1});
        let difference = planned.today().ignoring(&["tier"]).diff(&made, &news).await?;
        assert_eq!(difference.replaces, ["fixed"]);
    }

    "A preview of Create and Update returns the planned properties" in ["resource/create", "resource/update"],
    legacy: Legacy::Inexpressible("the engine has no previews; its plan calls Check and Diff"),
    async fn a_preview_returns_the_planned_properties(at) {
        let client = at.sandbox().await?;
        let planned = client.note().today().preview_create(&json!({"title": "Hello"})).await?;
        assert_eq!((&planned["title"], &planned["id"]), (&json!("Hello"), &unknown()));
        assert_eq!(client.applied(), 0);
    }

    "Nothing unknown is created or updated" in ["resource/create", "resource/update"],
    legacy: Legacy::Same,
    async fn nothing_unknown_is_applied(at) {
        let client = at.sandbox().await?;
        let status = client.note().create(&json!({"title": unknown()})).await.expect_err("it is unknown");
        assert_eq!(status.code(), Code::InvalidArgument, "{status}");
        let made = client.note().make(&json!({"title": "Hello"})).await?;
        let status = client.note().update(&made, &json!({"title": unknown()})).await.expect_err("it is unknown");
        assert_eq!(status.code(), Code::InvalidArgument, "{status}");
        assert_eq!(client.applied(), 1);
    }

    "An Update without a difference calls the provider for no change" in ["resource/update"],
    legacy: Legacy::Same,
    async fn an_update_without_a_difference_is_not_applied(at) {
        let client = at.sandbox().await?;
        let made = client.note().make(&json!({"title": "Hello"})).await?;
        let same = client.note().update(&made, &json!({"title": "Hello"})).await?;
        assert_eq!((same.outputs == made.outputs, client.applied()), (true, 1));
    }

    "An Update that needs a replacement fails" in ["resource/update"],
    legacy: Legacy::Same,
    async fn an_update_that_needs_a_replacement_fails(at) {
        let client = at.sandbox().await?;
        let made = client.note().make(&json!({"title": "Hello", "color": "red"})).await?;
        let status = client.note().update(&made, &json!({"title": "Hello", "color": "blue"})).await.expect_err("no");
        assert!(status.message().contains("can only replace this resource, because of a change to `color`"), "{status}");
        assert_eq!((status.code(), client.applied()), (Code::FailedPrecondition, 1));
    }

    "An object whose creation has failed half-way is replaced" in ["resource/diff", "resource/error"],
    legacy: Legacy::Differs("there is none, because it was deleted again"),
    async fn a_tainted_object_is_replaced(at) {
        let client = at.sandbox().await?;
        let server = client.server();
        let news = json!({"name": "web", "bootTime": "1h", "timeouts": {"create": "10ms"}});
        let status = server.make(&news).await.expect_err("it does not boot in time");
        let partial = crate::harness::resource::half_made(&status);
        match at.service {
            Service::Today => {
                let partial = partial.expect("what exists");
                let outputs = crate::harness::json_of(&partial.properties.expect("its properties"));
                let stored = crate::harness::Stored { id: partial.id, inputs: news.clone(), outputs };
                assert!(!server.replaces(&stored, &news).await?.is_empty());
                server.delete(&stored).await?;
            }
            Service::Legacy => {
                assert!(partial.is_none(), "the engine does not read it");
                assert!(status.message().contains("object was deleted"), "{status}");
            }
        }
        assert!(client.host.objects().is_empty());
    }
}
