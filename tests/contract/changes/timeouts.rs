//! `customTimeouts`: how they reach a provider that has timeouts, and what becomes of calls where it has none.

use crate::harness::resource::{Resource, half_made};
use crate::harness::{Code, Json, Protocol, Session, Setup, Status, Stored, json, on_one_protocol};

/// A resource with a block, one with an attribute, and one that keeps a block as HashiCorp's SDK does.
const TOKENS: [&str; 3] = ["sandbox:index/job:Job", "sandbox:index/task:Task", "sandbox:index/chore:Chore"];

fn jobs(session: &Session) -> [Resource; 3] {
    TOKENS.map(|token| session.resource(token, "it"))
}

/// What the SDK has put into the private bytes, by operation, in nanoseconds.
fn sdk_timeouts(stored: &Stored) -> Json {
    let meta: Json = serde_json::from_str(stored.outputs["__meta"].as_str().expect("a text")).expect("JSON");
    let private = meta["private_state"].as_str().expect("the SDK keeps something");
    let private = base64::Engine::decode(&base64::engine::general_purpose::STANDARD, private);
    let private: Json = serde_json::from_slice(&private.expect("base64")).expect("JSON");
    private["e2bfb730-ecaa-11e6-8f88-34363bc7c4c0"].clone()
}

/// The text of a status of that code, which has all these words in it.
#[track_caller]
fn assert_says(status: &Status, code: Code, words: &[&str]) {
    assert_eq!(status.code(), code, "{status}");
    for word in words {
        assert!(status.message().contains(word), "{word:?} is not in: {}", status.message());
    }
}

fn stop(protocol: Protocol) -> &'static str {
    if protocol == Protocol::V5 { "Stop" } else { "StopProvider" }
}

on_one_protocol! {
    async fn they_are_told_to_a_resource_that_has_timeouts_and_show_as_no_difference(session: sandbox) {
        for job in jobs(&session) {
            let preview = job.within(5400.0).preview_create(&json!({})).await?;
            assert_eq!(preview["timeouts"]["create"], "1h30m0s", "{preview}");
            let made = job.within(5400.0).make(&json!({})).await?;
            assert_eq!(made.inputs, json!({}));
            assert_eq!(made.outputs["allowed"], "1h30m0s");
            assert_eq!(made.outputs["timeouts"], json!({"create": "1h30m0s"}));
            assert!(!job.diff(&made, &json!({})).await?.some);
            assert_eq!(job.within(60.0).refresh(&made).await?, Some(made.clone()), "reading leaves no trace");

            let news = json!({"size": 1});
            assert_eq!(job.diff(&made, &news).await?.changes, ["add size", "update allowed"]);
            let preview = job.within(90.1).preview_update(&made, &news).await?;
            let timeouts = json!({"create": "1h30m0s", "update": "1m30.1s"});
            assert_eq!(preview["timeouts"], timeouts);
            let updated = job.within(90.1).update(&made, &news).await?;
            assert_eq!((&updated.outputs["timeouts"], &updated.outputs["allowed"]), (&timeouts, &json!("1m30.1s")));
            assert!(!job.diff(&updated, &news).await?.some);

            // The option is taken back.
            let again = job.update(&updated, &json!({"size": 2})).await?;
            assert_eq!(again.outputs["timeouts"], json!({"create": "1h30m0s"}));
            assert_eq!(again.outputs["allowed"], "");
            assert!(!job.diff(&again, &json!({"size": 2})).await?.some);
            job.within(60.0).delete(&again).await?;
        }
    }

    async fn without_them_there_are_no_timeouts(session: sandbox) {
        for job in jobs(&session) {
            let made = job.make(&json!({})).await?;
            assert_eq!(made.outputs.get("timeouts"), None);
            let updated = job.within(60.0).update(&made, &json!({"size": 1})).await?;
            assert_eq!(updated.outputs["timeouts"], json!({"update": "1m0s"}));
            let again = job.update(&updated, &json!({"size": 2})).await?;
            assert_eq!(again.outputs.get("timeouts"), None, "nothing is left of it");
            assert!(!job.diff(&again, &json!({"size": 2})).await?.some);
        }
    }

    async fn another_timeout_is_nothing_to_update_for(host, session: sandbox) {
        for job in jobs(&session) {
            let made = job.make(&json!({})).await?;
            let before = host.count("ApplyResourceChange");
            // As an engine does after an update that failed.
            let updated = job.within(60.0).update(&made, &json!({})).await?;
            assert_eq!(updated.outputs, made.outputs);
            let after = host.count("ApplyResourceChange");
            assert_eq!(after, before);
        }
    }

    async fn the_provider_itself_ends_what_takes_longer(protocol) {
        let (host, session) = Setup::sandbox(protocol).session().await?;
        for job in jobs(&session) {
            let slow = job.within(0.2).make(&json!({"takes": "1h"})).await.expect_err("it takes longer");
            assert_says(&slow, Code::Unknown, &["To create the job took too long", "The timeout of create is 200ms"]);
            let kept = half_made(&slow).expect("the provider knows what there is");
            assert!(!kept.id.is_empty());

            let inputs = json!({"takes": "1h", "during": "update"});
            let made = job.make(&inputs).await?;
            let news = json!({"takes": "1h", "during": "update", "size": 1});
            let slow = job.within(0.2).update(&made, &news).await.expect_err("it takes longer");
            assert_says(&slow, Code::Unknown, &["The timeout of update is 200ms"]);
            assert!(half_made(&slow).is_some());
        }
        assert!(!host.call_names().iter().any(|call| call == stop(protocol)), "nobody else ended anything");
    }

    async fn deleting_and_reading_find_theirs_where_the_provider_looks(session: sandbox) {
        let told = ["200ms", "200ms", "200000000ns"];
        for (job, told) in jobs(&session).into_iter().zip(told) {
            let made = job.make(&json!({"takes": "1h", "during": "delete"})).await?;
            let slow = job.within(0.2).delete(&made).await.expect_err("it takes longer");
            let told = |operation| format!("The timeout of {operation} is {told}");
            assert!(slow.message().contains(&told("delete")), "{slow}");

            let made = job.make(&json!({"takes": "1h", "during": "read"})).await?;
            let slow = job.within(0.2).refresh(&made).await.expect_err("it takes longer");
            assert!(slow.message().contains(&told("read")), "{slow}");
        }
    }

    async fn the_programs_own_timeouts_win(session: sandbox) {
        let told = ["150ms", "150ms", "150000000ns"];
        for (job, told) in jobs(&session).into_iter().zip(told) {
            let own = json!({"create": "2m", "update": "3m", "delete": "150ms"});
            let inputs = json!({"timeouts": own, "takes": "1h", "during": "delete"});
            let made = job.within(5400.0).make(&inputs).await?;
            assert_eq!((&made.outputs["timeouts"], &made.outputs["allowed"]), (&own, &json!("2m")));
            assert!(!job.diff(&made, &inputs).await?.some);
            let news = json!({"timeouts": own, "takes": "1h", "during": "delete", "size": 1});
            let updated = job.within(5400.0).update(&made, &news).await?;
            assert_eq!((&updated.outputs["timeouts"], &updated.outputs["allowed"]), (&own, &json!("3m")));
            let slow = job.within(5400.0).delete(&updated).await.expect_err("it takes longer");
            assert!(slow.message().contains(&format!("The timeout of delete is {told}")), "{slow}");
        }
    }

    async fn a_program_adds_to_them_and_takes_back_its_own_alone(session: sandbox) {
        for job in jobs(&session) {
            let made = job.within(60.0).make(&json!({})).await?;
            let own = json!({"timeouts": {"delete": "1m"}});
            let difference = job.diff(&made, &own).await?;
            assert!(difference.changes.contains(&"add timeouts.delete".to_owned()), "{difference:?}");
            let updated = job.update(&made, &own).await?;
            assert_eq!(updated.outputs["timeouts"], json!({"create": "1m0s", "delete": "1m"}));
            assert!(!job.diff(&updated, &own).await?.some);

            let difference = job.diff(&updated, &json!({})).await?;
            assert!(difference.changes.contains(&"delete timeouts.delete".to_owned()), "{difference:?}");
            let again = job.update(&updated, &json!({})).await?;
            assert_eq!(again.outputs["timeouts"], json!({"create": "1m0s"}));
            assert!(!job.diff(&again, &json!({})).await?.some);
        }
    }

    async fn the_frameworks_timeouts_are_set(session: conformance) {
        let record = session.record();
        let slow = record.within(0.3).make(&json!({"name": "slow-one"})).await.expect_err("it waits for ever");
        assert!(slow.message().contains("the wait ended: context deadline exceeded"), "{slow}");

        let made = record.within(5400.0).make(&json!({"name": "one"})).await?;
        assert_eq!(made.outputs["timeouts"], json!({"create": "1h30m0s"}));
        assert!(!record.diff(&made, &made.inputs).await?.some);
        assert_eq!(record.within(60.0).refresh(&made).await?, Some(made.clone()));
        let news = json!({"name": "one", "title": "Hello"});
        let updated = record.within(90.0).update(&made, &news).await?;
        assert_eq!(updated.outputs["timeouts"], json!({"create": "1h30m0s", "update": "1m30s"}));
        assert!(!record.diff(&updated, &news).await?.some);
        record.within(60.0).delete(&updated).await?;
    }

    async fn the_sdk_keeps_them_among_its_private_bytes(session: conformance) {
        let legacy = session.resource("conformance:index/legacy:Legacy", "legacy");
        let (minute, default) = (60_000_000_000_u64, 600_000_000_000_u64);
        let made = legacy.within(60.0).make(&json!({"name": "one"})).await?;
        assert_eq!(made.outputs["timeouts"], json!({"create": "1m0s"}));
        assert_eq!(sdk_timeouts(&made), json!({"create": minute, "update": default, "delete": default}));
        assert!(!legacy.diff(&made, &made.inputs).await?.some);
        let read = legacy.within(60.0).refresh(&made).await?.expect("it is there");
        assert_eq!(sdk_timeouts(&read), sdk_timeouts(&made), "reading has no timeout there");
        let news = json!({"name": "one", "title": "Hello"});
        let updated = legacy.within(90.0).update(&made, &news).await?;
        assert_eq!(updated.outputs["timeouts"], json!({"create": "1m0s", "update": "1m30s"}));
        assert_eq!(
            sdk_timeouts(&updated),
            json!({"create": minute, "update": 90_000_000_000_u64, "delete": default})
        );
        assert!(!legacy.diff(&updated, &news).await?.some);
        legacy.within(60.0).delete(&updated).await?;
    }

    /// What is deleted has no configuration: the time stands in the state, and for this SDK in the private bytes too.
    async fn the_sdk_itself_ends_what_takes_longer_than_it_may(protocol) {
        let (host, session) = Setup::conformance(protocol).session().await?;
        let timed = session.resource("conformance:index/legacyTimed:LegacyTimed", "timed");
        for (operation, name) in [("delete", "one"), ("read", "two")] {
            let made = timed.make(&json!({"name": name, "waitIn": operation})).await?;
            assert_eq!(made.outputs.get("timeouts"), None, "the program has set none");
            let slow = match operation {
                "delete" => timed.within(0.3).delete(&made).await.expect_err("it waits"),
                _ => timed.within(0.3).refresh(&made).await.map(|_| ()).expect_err("it waits"),
            };
            for words in [&*format!("this {operation} waited for ever"), "context deadline exceeded"] {
                assert!(slow.message().contains(words), "{words:?} is not in: {slow}");
            }
            assert!(!slow.message().contains("a stop request"), "the provider has ended it: {slow}");
            let updated = timed.update(&made, &json!({"name": name})).await?;
            timed.within(60.0).delete(&updated).await?;
            let file = host.directory().join(format!("objects/legacy_timed_deleted/{name}-1.json"));
            let told: Json = serde_json::from_slice(&std::fs::read(file).expect("it is told")).expect("JSON");
            assert_eq!(told, json!({"delete": "1m0s"}));
        }
        assert!(!host.call_names().iter().any(|call| call == stop(protocol)), "nobody else ended anything");
    }

    async fn a_resource_without_timeouts_is_bound_by_them_and_its_provider_asked_to_stop(protocol) {
        let (host, session) = Setup::sandbox(protocol).session().await?;
        let faulty = session.faulty();
        let slow = faulty.within(1.0).make(&json!({"mode": "hang"})).await.expect_err("it hangs");
        assert_says(&slow, Code::Unknown, &[
            "creating this resource took longer than the 1s that `customTimeouts.create` allows",
            "a stop request", "Whether there is a new sandbox_faulty now is unknown", "`pulumi import`",
        ]);
        assert_eq!(host.count(stop(protocol)), 1);

        let inputs = json!({"mode": "hang", "during": "update+delete"});
        let made = faulty.within(60.0).make(&inputs).await?;
        let news = json!({"mode": "hang", "during": "update+delete", "size": 1});
        let slow = faulty.within(1.0).update(&made, &news).await.expect_err("it hangs");
        assert_says(&slow, Code::Unknown, &["updating", "`customTimeouts.update`", "`pulumi refresh`"]);
        let slow = faulty.within(1.0).delete(&made).await.expect_err("it hangs");
        assert_says(&slow, Code::Unknown, &["deleting", "`customTimeouts.delete`", "`pulumi refresh`"]);
        assert_eq!(host.count(stop(protocol)), 3);
        session.note().make(&json!({"title": "Hello"})).await?;
    }

    async fn a_provider_that_does_not_stop_is_left_to_itself_after_the_grace(protocol) {
        let (_host, session) = Setup::sandbox(protocol).with("ISTHMUS_STOP_GRACE_PERIOD", "0.2").session().await?;
        let faulty = session.faulty();
        let slow = faulty.within(0.3).make(&json!({"mode": "hang-forever"})).await.expect_err("it hangs");
        assert_says(&slow, Code::Unknown, &["did not obey a stop request", "ApplyResourceChange was interrupted"]);
        session.note().make(&json!({"title": "Hello"})).await?;
    }

    async fn what_a_provider_says_of_a_half_made_object_when_it_stops_is_kept(session: sandbox) {
        let slow = session.faulty().within(0.3).make(&json!({"mode": "interrupted"})).await.expect_err("it waits");
        let kept = half_made(&slow).expect("the provider told what there is");
        assert!(!kept.id.is_empty());
        assert!(kept.reasons[0].contains("took longer than the 300ms"), "{:?}", kept.reasons);
        assert!(kept.reasons[1].contains("sandbox_faulty was interrupted"), "{:?}", kept.reasons);
    }

    async fn a_provider_that_does_something_else_is_not_asked_to_stop(protocol) {
        let (host, session) = Setup::sandbox(protocol).session().await?;
        let (first, second) = (session.resource("sandbox:index/faulty:Faulty", "first"), session.faulty());
        let inputs = json!({"mode": "hang"});
        let (other, ()) = tokio::join!(first.create(&inputs), async {
            host.provider_is_in("ApplyResourceChange", 1).await;
            let slow = second.within(0.3).create(&inputs).await.expect_err("it hangs");
            assert_says(&slow, Code::Unknown, &["busy with other resources", "ApplyResourceChange was interrupted"]);
            assert!(!host.call_names().iter().any(|call| call == stop(protocol)), "{:?}", host.call_names());
            session.cancel().await.expect("only now the other one is to end");
        });
        other.expect_err("it was cancelled");
        assert!(host.call_names().iter().any(|call| call == stop(protocol)));
    }

    async fn a_plan_or_a_read_that_takes_longer_has_changed_nothing(protocol) {
        for mode in ["hang", "hang-forever"] {
            let (_host, session) = Setup::sandbox(protocol).with("ISTHMUS_STOP_GRACE_PERIOD", "0.2").session().await?;
            let faulty = session.faulty();
            let planned = json!({"mode": mode, "during": "plan"});
            let slow = [
                faulty.within(0.3).preview_create(&planned).await.expect_err("it hangs"),
                faulty.within(0.3).create(&planned).await.expect_err("it hangs"),
            ];
            for slow in slow {
                assert_says(&slow, Code::DeadlineExceeded, &["`customTimeouts.create`", "Nothing was changed"]);
            }
            let made = faulty.make(&json!({"mode": mode, "during": "read"})).await?;
            let slow = faulty.within(0.3).refresh(&made).await.expect_err("it hangs");
            assert_says(&slow, Code::DeadlineExceeded, &["reading", "`customTimeouts.read`"]);
        }
    }
}
