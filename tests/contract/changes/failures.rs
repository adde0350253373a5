//! Operations that fail: what the engine is told, and what becomes of what was half made.

use crate::harness::engine::Severity;
use crate::harness::resource::half_made;
use crate::harness::{Code, Stored, json, json_of, on_both_protocols, secret};

const LEGACY_FLAKY: &str = "conformance:index/legacyFlaky:LegacyFlaky";

/// How a creation can go wrong, and what the engine is told: the code (UNKNOWN means that something may have been made),
/// words of the text, and whether something is known to exist.
const CREATIONS: [(&str, Code, &str, bool); 9] = [
    ("error", Code::Aborted, "sandbox_faulty failed", false),
    ("partial", Code::Unknown, "sandbox_faulty failed half way", true),
    ("inconsistent", Code::Unknown, "inconsistent", true),
    ("unknown", Code::Unknown, "unknown", true),
    ("nothing", Code::Aborted, "absent", false),
    ("refusal", Code::Unknown, "sandbox_faulty was asked to refuse", false),
    ("garbage", Code::Unknown, "fault of the provider", false),
    ("absent", Code::Unknown, "", false),
    ("wrong-type", Code::Unknown, "fault of the provider", false),
];

on_both_protocols! {
    async fn every_failed_creation_says_whether_something_may_exist(session: sandbox) {
        for (mode, code, words, exists) in CREATIONS {
            let status = session.faulty().make(&json!({"mode": mode})).await.expect_err(mode);
            assert_eq!(status.code(), code, "{mode}: {status}");
            assert!(status.message().contains(words), "{mode}: {status}");
            assert_eq!(half_made(&status).is_some(), exists, "{mode}: {status}");
        }
    }

    async fn what_is_odd_but_right_is_no_failure(host, session: sandbox) {
        for mode in ["none", "json", "flood", "huge", "panic-text", "print", "warning", "unknown-severity"] {
            let made = session.faulty().make(&json!({"mode": mode})).await?;
            assert_eq!(made.outputs["mode"], mode);
            session.faulty().delete(&made).await?;
        }
        let mut shown = host.engine.shown();
        shown.retain(|line| line.severity == Severity::Warning);
        let texts: Vec<&str> = shown.iter().map(|line| line.message.as_str()).collect();
        assert!(texts.iter().any(|text| text.contains("sandbox_faulty warns")), "{texts:?}");
        assert!(texts.iter().any(|text| text.contains("sandbox_faulty mumbles")), "{texts:?}");
    }

    async fn what_is_half_made_is_kept_and_replaced(host, session: sandbox) {
        let server = session.resource("sandbox:index/server:Server", "server");
        let inputs = server.checked(&json!({
            "name": "web", "bootTime": "1h", "timeouts": {"create": "10ms"},
        })).await?;

        let status = server.create(&inputs).await.expect_err("it does not boot in time");
        assert!(status.message().contains("The server did not boot within 10ms"), "{status}");
        let kept = half_made(&status).expect("the engine is told what exists");
        assert!(kept.reasons.iter().any(|reason| reason.contains("did not boot")), "{:?}", kept.reasons);
        let outputs = json_of(&kept.properties.expect("with its properties"));
        assert_eq!(outputs["status"], "booting");
        assert_eq!(host.objects()[0]["id"], kept.id.as_str());

        let stored = Stored { id: kept.id, inputs: inputs.clone(), outputs };
        let difference = server.diff(&stored, &inputs).await?;
        assert!(difference.some && !difference.replaces.is_empty(), "what is tainted is replaced: {difference:?}");
        assert!(difference.delete_before_replace);

        let read = server.refresh(&stored).await?.expect("the half of it is there");
        assert!(!server.diff(&read, &inputs).await?.replaces.is_empty(), "reading does not mend it");

        server.delete(&read).await?;
        assert!(host.objects().is_empty());
    }

    async fn what_could_not_be_read_after_a_failed_change_is_marked_until_it_is(host, session: conformance) {
        let flaky = session.resource(LEGACY_FLAKY, "flaky");
        let made = flaky.make(&json!({"name": "x", "parts": ["a"]})).await?;
        host.trouble("x", &json!({"update": "unmarked", "read": "error"}));
        let status = flaky.update(&made, &json!({"name": "x", "parts": ["b"]})).await.expect_err("it is refused");
        assert!(status.message().contains("the update failed, as was asked for"), "{status}");
        let kept = half_made(&status).expect("the engine is told what exists");
        assert!(kept.refresh_before_update, "an engine that can reads it first");
        assert!(!kept.reasons.iter().any(|reason| reason.contains("the read failed")), "{:?}", kept.reasons);
        let shown = host.engine.shown();
        assert!(shown.iter().any(|line| line.message.contains("could not be read after its update")), "{shown:?}");
        let stored = Stored { outputs: json_of(&kept.properties.expect("a bag")), ..made };
        assert_eq!(stored.outputs["parts"], json!(["a"]));
        let is_marked = |stored: &Stored| stored.outputs["__meta"].to_string().contains("unrefreshed");
        assert!(is_marked(&stored));

        let status = flaky.diff(&stored, &stored.inputs).await.expect_err("nothing is known of it");
        assert!(status.message().contains("the read failed"), "{status}");
        host.trouble("x", &json!({}));
        let difference = flaky.diff(&stored, &stored.inputs).await?;
        assert!(difference.some && difference.replaces.is_empty(), "an update stores what was read: {difference:?}");
        let updated = flaky.update(&stored, &stored.inputs).await?;
        assert!(!is_marked(&updated) && !flaky.diff(&updated, &stored.inputs).await?.some);
        let read = flaky.refresh(&stored).await?.expect("it is there");
        assert!(!is_marked(&read));

        host.trouble("x", &json!({"read": "forget"}));
        let status = flaky.diff(&stored, &stored.inputs).await.expect_err("an engine cannot be told by Diff");
        assert!(status.message().contains("does not exist any more\nhelp: `pulumi refresh`"), "{status}");
        assert!(flaky.refresh(&stored).await?.is_none());
        flaky.delete(&stored).await?;
    }

    async fn a_cancelled_change_is_not_held_up_by_the_read_after_it(host, session: conformance) {
        let flaky = session.resource(LEGACY_FLAKY, "flaky");
        let made = flaky.make(&json!({"name": "x", "parts": ["a"]})).await?;
        host.trouble("x", &json!({"update": "wait", "read": "wait"}));
        let news = json!({"name": "x", "parts": ["b"]});
        let (updated, cancelled) = tokio::join!(flaky.update(&made, &news), async {
            host.provider_is_in("ApplyResourceChange", 2).await;
            session.cancel().await
        });
        cancelled?;
        let status = updated.expect_err("it was asked to stop");
        assert!(status.message().contains("the update failed, as was asked for"), "{status}");
        assert!(half_made(&status).expect("the engine is told what exists").refresh_before_update);
    }

    async fn what_the_provider_may_choose_may_have_changed_before_an_update(session: conformance) {
        let planner = session.resource("conformance:index/planner:Planner", "planner");
        let made = planner.make(&json!({"name": "x", "value": "a"})).await?;
        // What was planned to stay as it was is not compared with a state that no read has renewed.
        let news = json!({"name": "x", "value": "a", "onApply": "contradict-summary"});
        let updated = planner.update(&made, &news).await?;
        assert_eq!(updated.outputs["summary"], "contradicted");

        let news = json!({"name": "x", "value": "b", "onApply": "contradict-summary"});
        let status = planner.update(&updated, &news).await.expect_err("another summary was planned");
        for words in ["inconsistent result after apply", "\nhelp: ", "`pulumi up --refresh`"] {
            assert!(status.message().contains(words), "{status}");
        }
        let kept = half_made(&status).expect("the engine is told what exists");
        let stored = Stored { outputs: json_of(&kept.properties.expect("a bag")), ..updated };
        assert_eq!((&stored.outputs["value"], &stored.outputs["summary"]), (&json!("b"), &json!("contradicted")));
        planner.update(&stored, &json!({"name": "x", "value": "b"})).await?;
    }

    async fn a_change_of_a_document_begins_with_what_the_server_has(host, session: conformance) {
        let dynamic = session.resource("conformance:index/attributeDynamic:AttributeDynamic", "dynamic");
        let inputs = dynamic.checked(&json!({"name": "x", "plain": "a"})).await?;
        let made = dynamic.create(&inputs).await?;
        let news = dynamic.check_again(&inputs, &json!({"name": "x", "plain": "b"})).await?.inputs;
        let count = |call: &str| host.count(call);
        host.tamper(|object| object["state"]["kept"] = json!({"type": "string", "value": "of the server"}));

        let (reads, plans) = (count("ReadResource"), count("PlanResourceChange"));
        assert!(!dynamic.diff(&made, &inputs).await?.some);
        assert_eq!((count("ReadResource"), count("PlanResourceChange")), (reads, plans + 1), "as of any resource");
        assert!(dynamic.diff(&made, &news).await?.some);
        assert_eq!((count("ReadResource"), count("PlanResourceChange")), (reads + 1, plans + 3));
        let updated = dynamic.update(&made, &news).await?;
        assert_eq!((count("ReadResource"), count("PlanResourceChange")), (reads + 2, plans + 4));
        assert_eq!((&updated.outputs["plain"], &updated.outputs["kept"]), (&json!("b"), &json!("of the server")));

        // One that is gone is the provider's business.
        host.lose_object();
        assert!(dynamic.diff(&updated, &inputs).await?.some);
    }

    async fn a_failed_deletion_is_an_error_that_names_what_stays(session: sandbox) {
        for (mode, words) in [
            ("error", "sandbox_faulty failed"),
            ("partial", "sandbox_faulty failed half way"),
            // The object is still there, so that the engine can go on.
            ("leftover", "it has deleted the object without an error, and answered with one that is still there"),
            ("garbage", "ApplyResourceChange of sandbox_faulty with something invalid"),
            ("wrong-type", "ApplyResourceChange of sandbox_faulty with something invalid"),
        ] {
            let made = session.faulty().make(&json!({"mode": mode, "during": "delete"})).await?;
            let status = session.faulty().delete(&made).await.expect_err(mode);
            assert!(status.message().contains(words), "{mode}: {status}");
        }
    }

    async fn every_failed_change_says_what_is_wrong_and_whether_it_may_have_happened(session: sandbox) {
        let faulty = session.faulty();
        for (mode, code, words, exists) in CREATIONS {
            let made = faulty.make(&json!({"mode": "none", "during": "update"})).await?;
            let news = json!({"mode": mode, "during": "update"});
            let status = faulty.update(&made, &news).await.expect_err(mode);
            assert_eq!(status.code(), code, "{mode}: {status}");
            assert!(status.message().contains(words), "{mode}: {status}");
            assert_eq!(half_made(&status).is_some(), exists, "{mode}: {status}");
        }
    }

    async fn an_import_that_cannot_be_used_says_why(session: sandbox) {
        let invalid = "ImportResourceState of sandbox_faulty with something invalid";
        for (mode, words) in [
            ("error", "sandbox_faulty failed"),
            ("misplaced", "sandbox_faulty failed somewhere"),
            ("refusal", "sandbox_faulty was asked to refuse"),
            ("garbage", invalid),
            ("wrong-type", invalid),
            ("unknown", "some values are unknown, which only plans may have"),
            ("nothing", "the imported object is null"),
            ("empty", "the imported object is null"),
            ("absent", "the imported object is null"),
        ] {
            let status = session.faulty().import(mode).await.expect_err(mode);
            assert!(status.message().contains(words), "{mode}: {status}");
            assert_eq!(status.code(), Code::Aborted, "{mode}: {status}");
        }
        let imported = session.faulty().import("json").await?.expect("what is odd but right is no failure");
        assert_eq!(imported.outputs["mode"], "none");
    }

    async fn a_failed_plan_means_that_nothing_happened(session: sandbox) {
        for mode in ["error", "refusal", "garbage", "absent", "inconsistent", "wrong-type", "deferred"] {
            let status = session.faulty().make(&json!({"mode": mode, "during": "plan"})).await.expect_err(mode);
            let code = status.code();
            assert!(![Code::Unknown, Code::Internal, Code::DataLoss].contains(&code), "{mode}: {status}");
            assert!(half_made(&status).is_none(), "{mode}: {status}");
        }
    }

    async fn errors_name_properties_and_not_attributes(session: sandbox) {
        let status = session.faulty().make(&json!({"mode": "error"})).await.expect_err("it fails");
        assert!(status.message().contains("`mode`"), "{status}");
        assert!(status.message().contains("It was asked to."), "{status}");
    }

    async fn a_place_that_there_is_not_is_cut_to_where_it_leaves_the_schema(session: sandbox) {
        let faulty = session.faulty();
        let status = faulty.make(&json!({"mode": "misplaced"})).await.expect_err("it fails");
        assert!(status.message().contains("sandbox_faulty failed somewhere: It was asked to. (at property `mode`)"), "{status}");
        let checked = faulty.check(&json!({"mode": "misplaced", "during": "validate"})).await?;
        let [(property, reason)] = &*checked.failures else { panic!("one failure: {checked:?}") };
        assert_eq!(property, "mode");
        assert!(reason.ends_with("Examine values at 'faulty.mode'."), "{reason}");
    }

    async fn what_the_provider_breaks_is_named_with_resource_and_property(session: sandbox) {
        for (mode, during, words) in [
            ("inconsistent", "plan", &["produced an invalid plan for sandbox_faulty", "mode"][..]),
            ("wrong-type", "plan", &["PlanResourceChange of sandbox_faulty", "id"]),
            ("garbage", "plan", &["PlanResourceChange of sandbox_faulty"]),
            ("nothing", "plan", &["PlanResourceChange of sandbox_faulty", "nothing is planned"]),
            ("inconsistent", "create", &["inconsistent result after apply for sandbox_faulty", "mode"]),
            ("unknown", "create", &["ApplyResourceChange of sandbox_faulty", "still unknown"]),
            ("wrong-type", "create", &["ApplyResourceChange of sandbox_faulty", "id"]),
            ("garbage", "create", &["ApplyResourceChange of sandbox_faulty"]),
            ("absent", "create", &["ApplyResourceChange of sandbox_faulty", "what exists now"]),
        ] {
            let inputs = json!({"mode": mode, "during": during});
            let status = session.faulty().make(&inputs).await.expect_err(mode);
            for word in words.iter().chain(&["provider sandbox", "fault of the provider"]) {
                assert!(status.message().contains(word), "{mode} during {during}: {word:?} is not in {status}");
            }
        }
        // When something is made, core does not look at what would replace it.
        let made = session.faulty().make(&json!({"mode": "none", "during": "plan"})).await?;
        let wrong = json!({"mode": "wrong-path", "during": "plan"});
        let status = session.faulty().diff(&made, &wrong).await.expect_err("there is no such attribute");
        assert!(status.message().contains("no_such_attribute"), "{status}");
        for (mode, words) in [
            ("unknown", "ReadResource of sandbox_faulty with something invalid: some values are unknown"),
            ("wrong-type", "ReadResource of sandbox_faulty with something invalid"),
            ("garbage", "ReadResource of sandbox_faulty with something invalid"),
        ] {
            let made = session.faulty().make(&json!({"mode": mode, "during": "read"})).await?;
            let status = session.faulty().refresh(&made).await.expect_err(mode);
            assert!(status.message().contains(words), "{status}");
        }
    }

    async fn a_resource_that_vanished_between_plan_and_apply_is_an_error_that_keeps_the_state(host, session: sandbox) {
        let note = session.note();
        let made = note.make(&json!({"title": "Hello"})).await?;
        let news = json!({"title": "Hi"});
        assert!(note.diff(&made, &news).await?.some);
        host.lose_object();
        let status = note.update(&made, &news).await.expect_err("there is nothing to change");
        assert!(status.message().contains("note"), "{status}");
        assert!(host.objects().is_empty(), "and nothing was made");
        if let Some(kept) = half_made(&status) {
            assert_eq!(json_of(&kept.properties.expect("a bag"))["title"], "Hello");
        }
        assert_eq!(note.refresh(&made).await?, None, "a refresh finds out");
    }

    async fn secret_values_are_in_no_text_that_a_failure_makes(host, session: sandbox) {
        let faulty = session.faulty();
        // The provider answers with another mode than was planned; mode and size are secret here.
        let inputs = json!({"mode": secret("inconsistent"), "size": secret(271_828_182)});
        let status = faulty.create(&inputs).await.expect_err("the answer is not what was planned");
        assert!(!status.message().contains("271828182"), "{status}");
        let kept = half_made(&status).expect("something exists");
        assert!(kept.reasons.iter().all(|reason| !reason.contains("271828182")), "{kept:?}");
        let note = session.note();
        let checked = note.check(&json!({"title": "Hello", "priority": secret("hunter2-hunter2")})).await?;
        assert_eq!(checked.failures.len(), 1);
        assert!(!checked.failures[0].1.contains("hunter2"), "{checked:?}");
        for line in host.engine.lines() {
            assert!(!line.message.contains("hunter2") && !line.message.contains("271828182"), "{line:?}");
        }
    }
}
