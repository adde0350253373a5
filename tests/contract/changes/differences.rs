//! Diff: what changes, what does not, and what has to be replaced.

use crate::harness::{Json, Setup, json, on_one_protocol, secret};

on_one_protocol! {
    async fn a_set_in_another_order_is_the_same_set(session: conformance) {
        let record = session.record();
        let made = record.make(&json!({
            "name": "first", "labels": ["c", "a", "b"],
            "grants": [{"who": "bob", "level": "read"}, {"who": "ada"}],
        })).await?;
        let turned = json!({
            "name": "first", "labels": ["b", "c", "a"],
            "grants": [{"who": "ada"}, {"who": "bob", "level": "read"}],
        });
        let difference = record.diff(&made, &turned).await?;
        assert!(!difference.some, "{difference:?}");
    }

    async fn a_list_in_another_order_is_another_list(session: sandbox) {
        let server = session.resource("sandbox:index/server:Server", "server");
        let made = server.make(&json!({"name": "web", "disks": [{"mount": "/"}, {"mount": "/data"}]})).await?;
        let turned = json!({"name": "web", "disks": [{"mount": "/data"}, {"mount": "/"}]});
        let difference = server.diff(&made, &turned).await?;
        assert!(difference.some && difference.replaces.is_empty(), "{difference:?}");
    }

    async fn properties_come_and_go(session: sandbox) {
        let note = session.note();
        let made = note.make(&json!({"title": "Hello", "body": "World"})).await?;
        let difference = note.diff(&made, &json!({"title": "Hi", "tag": "x"})).await?;
        for change in ["add tag", "delete body", "update title"] {
            assert!(difference.changes.contains(&change.to_owned()), "{change} is not in {difference:?}");
        }
    }

    async fn what_cannot_be_changed_is_found_within_blocks(session: sandbox) {
        let server = session.resource("sandbox:index/server:Server", "server");
        let made = server.make(&json!({"name": "web", "limits": {"cpu": 1, "zone": "a"}})).await?;
        let difference = server.diff(&made, &json!({"name": "web", "limits": {"cpu": 1, "zone": "b"}})).await?;
        assert_eq!(difference.replaces, ["limits"]);
        assert_eq!(difference.changes, ["update status", "update-replace limits.zone"]);
    }

    async fn a_change_is_shown_as_deep_as_it_is(session: sandbox) {
        let server = session.resource("sandbox:index/server:Server", "server");
        let made = server.make(&json!({
            "name": "web",
            "disks": [{"mount": "/"}, {"mount": "/data"}],
            "rules": [{"port": 443}, {"port": 80, "cidr": "10.0.0.0/8"}, {"port": 22}],
        })).await?;
        let mut difference = server.diff(&made, &json!({
            "name": "web",
            "disks": [{"mount": "/"}, {"mount": "/srv"}],
            "rules": [{"port": 22}, {"port": 443}, {"port": 80, "cidr": "10.0.0.0/8"}, {"port": 25}],
        })).await?;
        difference.changes.retain(|change| change.contains("disks") || change.contains("rules"));
        assert_eq!(difference.changes, ["add rules[3]", "update disks[1].mount"]);
    }

    async fn keys_of_a_secret_map_are_not_told(session: sandbox) {
        let note = session.note();
        let (before, after) = (json!({"a": "1", "zaffre-one": "2"}), json!({"a": "3", "zaffre-two": "4"}));
        let made = note.make(&json!({"title": "Hello", "labels": before})).await?;
        let open = note.diff(&made, &json!({"title": "Hello", "labels": after})).await?;
        for change in ["update labels.a", "delete labels[\"zaffre-one\"]", "add labels[\"zaffre-two\"]"] {
            assert!(open.changes.contains(&change.to_owned()), "{change} is not in {open:?}");
        }
        // Marked in what was, in what will be, and in both.
        let hidden = note.make(&json!({"title": "Hello", "labels": secret(before)})).await?;
        for (stored, labels) in [(&hidden, after.clone()), (&made, secret(after.clone())), (&hidden, secret(after))] {
            let news = json!({"title": "Hello", "labels": labels});
            let difference = note.diff_in_full(stored, &news, &[]).await?;
            assert!(!format!("{difference:?}").contains("zaffre"), "{difference:?}");
            let change = difference.detailed_diff.get("labels").expect("the map itself is told");
            assert_eq!(change.kind(), isthmus_proto::pulumirpc::property_diff::Kind::Update);
            assert_eq!(difference.diffs.iter().filter(|name| *name == "labels").count(), 1, "{difference:?}");
        }
    }

    async fn what_becomes_secret_or_stops_being_secret_is_stored_so_without_an_apply(host, session: sandbox) {
        let server = session.resource("sandbox:index/server:Server", "server");
        let program = |mount: Json, cidr: Json| {
            json!({"name": "web", "disks": [{"mount": "/"}, {"mount": mount}], "rules": [{"port": 443, "cidr": cidr}]})
        };
        let (open, hidden) = (program(json!("/data"), json!("::1/128")), program(secret("/data"), secret("::1/128")));
        let made = server.make(&open).await?;
        assert!(!server.diff(&made, &open).await?.some);
        // No old value is shown of what is added, as the old one is in the clear. A set is secret as a whole.
        assert_eq!(server.diff(&made, &hidden).await?.changes, ["add disks[1].mount", "add rules"]);
        let marked = server.update(&made, &hidden).await?;
        let from_the_start = session.resource("sandbox:index/server:Server", "other").make(&hidden).await?;
        assert_eq!(marked.outputs["disks"][1]["mount"], secret("/data"));
        assert_eq!(marked.outputs["rules"], secret(made.outputs["rules"].clone()));
        assert_eq!(from_the_start.outputs["disks"], marked.outputs["disks"]);
        assert!(!server.diff(&marked, &hidden).await?.some);

        assert_eq!(server.diff(&marked, &open).await?.changes, ["update disks[1].mount", "update rules"]);
        let unmarked = server.update(&marked, &open).await?;
        assert_eq!(unmarked.outputs, made.outputs);
        let applied = host.count("ApplyResourceChange");
        assert_eq!(applied, 2, "the two creations");
    }

    async fn a_state_of_the_go_bridge_shows_no_secrets_within_lists_as_new(session: sandbox) {
        let server = session.resource("sandbox:index/server:Server", "server");
        let open = json!({"name": "web", "disks": [{"mount": "/data"}], "limits": {"zone": "a"}});
        let mut made = server.make(&open).await?;
        // It has no place for where a state comes from, and engines mark for it what is not in lists.
        let mut meta: Json = serde_json::from_str(made.outputs["__meta"].as_str().expect("a text")).expect("JSON");
        meta.as_object_mut().expect("an object").retain(|name, _| name == "schema_version");
        made.outputs["__meta"] = json!(meta.to_string());
        let hidden = json!({"name": "web", "disks": [{"mount": secret("/data")}], "limits": {"zone": "a"}});
        assert!(!server.diff(&made, &hidden).await?.some);
        let hidden = json!({"name": "web", "disks": [{"mount": "/data"}], "limits": {"zone": secret("a")}});
        assert_eq!(server.diff(&made, &hidden).await?.changes, ["add limits.zone"]);
    }

    async fn ignored_changes_are_none(session: sandbox) {
        let note = session.note();
        let made = note.make(&json!({"title": "Hello", "body": "World", "labels": {"a": "1", "b": "2"}})).await?;
        let news = json!({"title": "Hello", "body": "Moon", "labels": {"a": "3", "b": "2"}});
        let ignoring = note.diff_in_full(&made, &news, &["body", "labels.a"]).await?;
        assert!(ignoring.diffs.is_empty(), "{ignoring:?}");
        let halfway = note.diff_in_full(&made, &news, &["body"]).await?;
        assert!(halfway.diffs.contains(&"labels".to_owned()) && !halfway.diffs.contains(&"body".to_owned()));
    }

    async fn what_only_the_provider_sets_and_an_update_keeps_is_stable(protocol) {
        let setup = Setup::sandbox(protocol).with("SANDBOX_ODD", "usable");
        let (_host, session) = setup.session().await?;
        let numbers = session.resource("sandbox:index/oddNumbers:OddNumbers", "numbers");
        let made = numbers.make(&json!({"label": "a", "value": 1})).await?;
        let updated = numbers.diff_in_full(&made, &json!({"label": "b", "value": 1}), &[]).await?;
        assert_eq!((updated.diffs, updated.stables), (vec!["label".to_owned()], vec!["huge".to_owned()]));
        let none = numbers.diff_in_full(&made, &made.inputs, &[]).await?;
        assert_eq!(none.stables, [""; 0], "of nothing to do there is nothing to tell");
        // A note's checksum follows its text.
        let made = session.note().make(&json!({"title": "Hello"})).await?;
        let updated = session.note().diff_in_full(&made, &json!({"title": "Hi"}), &[]).await?;
        assert_eq!(updated.stables, [""; 0]);
        // An engine has no new value for it, and would show the old one as removed.
        assert!(updated.detailed_diff["checksum"].input_diff && !updated.detailed_diff["title"].input_diff);
        // A replacement keeps nothing.
        let odd = session.resource("sandbox:index/oddPair:OddPair", "pair");
        let made = odd.make(&json!({"zone": "z", "number": 1})).await?;
        let replaced = odd.diff_in_full(&made, &json!({"zone": "y", "number": 1}), &[]).await?;
        assert_eq!((replaced.replaces, replaced.stables), (vec!["zone".to_owned()], Vec::new()));
        // Created first, so that the engine has all outputs to compare.
        assert!(!replaced.has_detailed_diff && !replaced.delete_before_replace);
    }

    async fn every_change_is_under_a_property_that_is_named_as_changed(session: conformance) {
        let record = session.record();
        let made = record.make(&json!({
            "name": "first", "tags": {"a.b": "1"}, "labels": ["x"], "rules": [{"port": 1}],
        })).await?;
        let news = json!({"name": "first", "tags": {"a.b": "2"}, "labels": ["y"], "rules": [{"port": 2}]});
        let answer = record.diff_in_full(&made, &news, &[]).await?;
        assert!(answer.has_detailed_diff);
        let mut tops: Vec<&str> = answer
            .detailed_diff
            .keys()
            .map(|path| path.split(['.', '[']).next().expect("a path has a beginning"))
            .collect();
        tops.sort_unstable();
        tops.dedup();
        assert_eq!(answer.diffs, tops);
        for property in ["labels", "rules", "tags"] {
            assert!(answer.diffs.iter().any(|diff| diff == property), "{property}: {:?}", answer.diffs);
        }
    }
}
