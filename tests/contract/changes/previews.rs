//! Previews: what is not known yet stays unknown, and nothing happens.

use crate::harness::{Json, Protocol, Setup, json, on_both_protocols, unknown};

on_both_protocols! {
    async fn a_preview_of_a_creation_shows_what_is_known(host, session: sandbox) {
        let note = session.note();
        let inputs = note.checked(&json!({"title": "Hello", "labels": {"a": "b"}})).await?;
        let planned = note.preview_create(&inputs).await?;
        assert_eq!(planned["title"], "Hello");
        assert_eq!(planned["labels"], json!({"a": "b"}));
        assert_eq!(planned["priority"], 3, "a default of the provider's");
        for computed in ["id", "checksum", "revision", "locked"] {
            assert_eq!(planned[computed], unknown(), "{computed} is not known before it is made");
        }
        assert_eq!(host.objects(), [Json::Null; 0]);
        assert!(!host.call_names().contains(&"ApplyResourceChange".to_owned()));
    }

    async fn unknown_blocks_stay_unknown(session: sandbox) {
        let server = session.resource("sandbox:index/server:Server", "server");
        let inputs = server.checked(&json!({"name": "web", "disks": unknown(), "metadata": unknown()})).await?;
        let planned = server.preview_create(&inputs).await?;
        assert_eq!(planned["metadata"], unknown());
        let disks = planned["disks"].to_string();
        assert!(disks.contains(unknown().as_str().expect("a text")), "{disks}");
    }

    async fn what_only_applying_tells_is_unknown_at_every_depth(protocol) {
        let (_host, session) = Setup::sandbox(protocol).session().await?;
        let server = session.resource("sandbox:index/server:Server", "server");
        let mut news = json!({
            "name": "web",
            "disks": [{"mount": "/"}, {"mount": unknown(), "size": 20}],
            "rules": [{"port": 443, "cidr": unknown()}, {"port": 80}],
            "limits": {"cpu": unknown(), "zone": "a"},
            "metadata": {"owner": unknown(), "tags": ["x", unknown()]},
        });
        if protocol == Protocol::V6 {
            news["network"] = json!({"name": unknown()});
            news["interfaces"] = json!([{"name": "eth0"}]);
            news["volumes"] = json!({"a": {"size": unknown()}});
        }
        let inputs = server.checked(&news).await?;
        let planned = server.preview_create(&inputs).await?;
        assert_eq!(planned["disks"], json!([
            {"mount": "/", "size": 10, "device": unknown()}, {"mount": unknown(), "size": 20, "device": unknown()},
        ]));
        assert_eq!(planned["rules"], json!([
            {"port": 443, "cidr": unknown(), "id": unknown()}, {"port": 80, "id": unknown()},
        ]), "a set, as the program wrote it");
        assert_eq!(planned["limits"], json!({"cpu": unknown(), "zone": "a"}));
        assert_eq!(planned["metadata"], json!({"owner": unknown(), "tags": ["x", unknown()]}));
        assert_eq!((&planned["id"], &planned["status"]), (&unknown(), &unknown()));
        if protocol == Protocol::V6 {
            assert_eq!(planned["network"], json!({"name": unknown(), "mtu": 1500, "address": unknown()}));
            assert_eq!(planned["interfaces"], json!([{"name": "eth0", "mac": unknown()}]));
            assert_eq!(planned["volumes"], json!({"a": {"size": unknown()}}));
        }

        // Of what is there, only what changes is open.
        let made = server.make(&json!({
            "name": "web", "disks": [{"mount": "/"}], "rules": [{"port": 443}, {"port": 80}],
        })).await?;
        let news = json!({
            "name": "web", "disks": [{"mount": "/"}, {"mount": "/data"}], "rules": [{"port": 22}, {"port": 80}],
        });
        let planned = server.preview_update(&made, &server.check_again(&made.inputs, &news).await?.inputs).await?;
        assert_eq!(planned["disks"][0], made.outputs["disks"][0]);
        assert_eq!(planned["disks"][1], json!({"mount": "/data", "size": 10, "device": unknown()}));
        assert_eq!(planned["rules"], json!([{"port": 22, "id": unknown()}, made.outputs["rules"][1]]));
        assert_eq!((&planned["id"], &planned["status"]), (&json!(made.id), &unknown()));
    }

    async fn a_preview_of_an_update_shows_what_stays(host, session: sandbox) {
        let note = session.note();
        let made = note.make(&json!({"title": "Hello", "body": "World"})).await?;
        let planned = note.preview_update(&made, &json!({"title": "Hello", "body": unknown()})).await?;
        assert_eq!(planned["id"], made.id.as_str(), "the id stays");
        assert_eq!(planned["title"], "Hello");
        assert_eq!(planned["body"], unknown());
        assert_eq!(planned["revision"], unknown());
        assert_eq!(host.objects()[0]["revision"], 1, "nothing has happened");
    }

    async fn a_diff_with_something_unknown_is_a_change(session: sandbox) {
        let note = session.note();
        let made = note.make(&json!({"title": "Hello", "body": "World"})).await?;
        let difference = note.diff(&made, &json!({"title": "Hello", "body": unknown()})).await?;
        assert!(difference.some);
        assert!(difference.changes.contains(&"update body".to_owned()), "{difference:?}");
    }
}
