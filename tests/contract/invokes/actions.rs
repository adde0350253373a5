//! Actions: carried out by an invoke, never in a preview, and told as they go.

use crate::harness::engine::{Line, Severity};
use crate::harness::processes::ended;
use crate::harness::{Code, Json, Protocol, Setup, json, on_one_protocol, secret, unknown};

const BROADCAST: &str = "sandbox:index/actionBroadcast:actionBroadcast";
const INVOKE: &str = "InvokeAction";

fn info(text: &str) -> Line {
    Line { severity: Severity::Info, message: format!("{BROADCAST}: {text}"), urn: String::new() }
}

/// What an action answers: SDKs take the first value of it, and there has to be one.
fn nothing() -> Json {
    json!({"result": {}})
}

on_one_protocol! {
    async fn an_action_is_carried_out_and_tells_how_far_it_is(host, session: sandbox) {
        let arguments =
            json!({"message": "Hello", "times": 3, "password": secret("hush"), "listeners": [{"name": "Ada"}]});
        let done = session.invoke(BROADCAST, &arguments).await?;
        assert_eq!(done, Ok(json!({"result": secret(nothing()["result"].clone())})), "as secret as its arguments");
        assert_eq!(host.engine.shown(), [info("1 of 3: Hello"), info("2 of 3: Hello"), info("3 of 3: Hello")]);
        let calls = host.call_names();
        assert_eq!(calls[calls.len() - 3..], ["ValidateActionConfig", "PlanAction", INVOKE]);
        let [kept] = &host.objects()[..] else { panic!("it leaves one file: {:?}", host.objects()) };
        assert_eq!((&kept["message"], &kept["password"]), (&json!("Hello"), &json!("hush")));
        assert_eq!(kept["listener"], json!([{"name": "Ada"}]));
    }

    async fn the_schema_says_what_goes_in_and_that_nothing_comes_out(protocol) {
        let host = Setup::sandbox(protocol).start().await;
        let schema = host.parameterized().await?.schema().await?;
        let action = &schema["functions"][BROADCAST];
        assert_eq!(action["description"], "Says something to everybody.\n");
        assert_eq!(action["inputs"]["required"], json!(["message"]));
        assert_eq!(action["inputs"]["properties"]["password"]["secret"], true);
        let listener = "sandbox:index/actionBroadcastListener:actionBroadcastListener";
        let items = &action["inputs"]["properties"]["listeners"]["items"];
        assert_eq!(items["$ref"], format!("#/types/{listener}"));
        assert_eq!(schema["types"][listener]["required"], json!(["name"]));
        assert_eq!((&action["outputs"]["type"], &action["outputs"]["properties"]), (&json!("object"), &Json::Null));
    }

    async fn a_preview_carries_nothing_out(host, session: sandbox) {
        for message in [json!("Hello"), unknown()] {
            let planned = session.preview_invoke(BROADCAST, &json!({"message": message})).await?;
            assert_eq!(planned, Ok(nothing()));
        }
        assert_eq!((host.count("ValidateActionConfig"), host.count("PlanAction"), host.count(INVOKE)), (2, 2, 0));
        assert_eq!(host.objects(), [] as [Json; 0]);
    }

    async fn a_preview_says_what_the_provider_refuses_or_defers(host, session: sandbox) {
        for (arguments, wanted) in [
            (json!({"message": ""}), "The message is empty"),
            (json!({"message": "Hello", "fault": "plan"}), "Nobody could hear it"),
        ] {
            let failures = session.preview_invoke(BROADCAST, &arguments).await?.expect_err("it is refused");
            let [(at, reason)] = &failures[..] else { panic!("one failure of {arguments}: {failures:?}") };
            assert!(at == "message" && reason.contains(wanted), "{at}: {reason}");
        }
        let deferred = session.preview_invoke(BROADCAST, &json!({"message": "Hello", "fault": "deferred"})).await?;
        assert_eq!(deferred, Ok(nothing()));
        let warning = "The provider deferred the action sandbox_broadcast";
        host.engine.line(warning, |line| line.message.starts_with(warning)).await;
        assert_eq!(host.count(INVOKE), 0);
    }

    async fn an_engine_that_does_not_tell_previews_gets_no_action(protocol) {
        let host = Setup::sandbox(protocol).start().await;
        let session = host.connect().await;
        session.parameterize(&[&host.provider()]).await?;
        let status = session.invoke(BROADCAST, &json!({"message": "Hello"})).await.expect_err("it may be a preview");
        assert_eq!(status.code(), Code::FailedPrecondition);
        assert!(status.message().contains("does not mark previews"), "{status}");
        assert_eq!(host.count(INVOKE), 0);
    }

    async fn arguments_that_are_refused_are_named_and_nothing_is_done(host, session: sandbox) {
        for (arguments, property, wanted) in [
            (json!({"message": ""}), "message", "The message is empty"),
            (json!({"message": "Hello", "fault": "plan"}), "message", "Nobody could hear it"),
            (json!({"message": "Hello", "time": 3}), "", "time: "),
            (json!({"times": 3}), "message", "Missing required property 'message'"),
            (json!({"message": "Hello", "listeners": [{}]}), "", "listeners[0].name"),
            (json!({"message": unknown()}), "message", "the value is not known yet, but it is needed now"),
        ] {
            let failures = session.invoke(BROADCAST, &arguments).await?.expect_err("wrong arguments");
            let [(at, reason)] = &failures[..] else { panic!("one failure of {arguments}: {failures:?}") };
            assert_eq!(at, property);
            assert!(reason.contains(wanted), "{reason}");
        }
        assert_eq!(host.count(INVOKE), 0);
    }

    async fn a_deferral_that_was_not_asked_for_names_the_provider(host, session: sandbox) {
        let arguments = json!({"message": "Hello", "fault": "deferred"});
        let status = session.invoke(BROADCAST, &arguments).await.expect_err("nobody asked for it");
        for words in ["the provider sandbox answered PlanAction of sandbox_broadcast", "deferred"] {
            assert!(status.message().contains(words), "{words:?} is not in: {status}");
        }
        assert_eq!(host.count(INVOKE), 0);
    }

    async fn an_action_that_fails_says_why_after_what_it_has_told(host, session: sandbox) {
        let arguments = json!({"message": "Hello", "fault": "invoke"});
        let status = session.invoke(BROADCAST, &arguments).await.expect_err("it fails");
        assert_eq!(status.code(), Code::Aborted, "{status}");
        assert_eq!(status.message(), "Nobody has heard it: It was asked to fail. (at property `message`)");
        assert_eq!(host.engine.shown(), [info("1 of 1: Hello")]);
    }

    async fn an_action_that_warns_is_done(host, session: sandbox) {
        let done = session.invoke(BROADCAST, &json!({"message": "Hello", "fault": "warn"})).await?;
        assert_eq!(done, Ok(nothing()));
        let shown = host.engine.shown();
        let [progress, warning] = &shown[..] else { panic!("two lines: {shown:?}") };
        assert_eq!((progress, warning.severity), (&info("1 of 1: Hello"), Severity::Warning));
        assert!(warning.message.starts_with("Few have heard it"), "{warning:?}");
    }

    async fn an_action_that_breaks_off_may_have_been_carried_out(protocol) {
        for (fault, reason) in [
            ("break", "the line is dead"),
            ("silence", "it ended its answer without saying so"),
            ("crash", "exit status 2"),
        ] {
            let (host, session) = Setup::sandbox(protocol).session().await?;
            let arguments = json!({"message": "Hello", "fault": fault});
            let status = session.invoke(BROADCAST, &arguments).await.expect_err("nobody knows how it ended");
            assert_eq!(status.code(), Code::Unknown, "{fault}: {status}");
            for words in ["the provider sandbox interrupted InvokeAction of sandbox_broadcast", reason, "it is unknown"] {
                assert!(status.message().contains(words), "{fault}: {words:?} is not in: {status}");
            }
            assert_eq!(host.objects().len(), 1, "this one was");
        }
    }

    async fn cancelling_stops_an_action_whose_outcome_is_then_unknown(host, session: sandbox) {
        let arguments = json!({"message": "Hello", "fault": "hang"});
        let (done, cancelled) = tokio::join!(session.invoke(BROADCAST, &arguments), async {
            // Progress comes while the action goes on.
            host.engine.line("how far it is", |line| *line == info("1 of 1: Hello")).await;
            session.cancel().await
        });
        cancelled?;
        let status = done.expect_err("it was stopped");
        assert_eq!(status.code(), Code::Unknown, "{status}");
        assert!(status.message().contains("the provider was stopped"), "{status}");
    }

    async fn an_engine_that_goes_away_does_not_break_an_action_off(protocol) {
        let (host, session) = Setup::sandbox(protocol).session().await?;
        let invoking = tokio::spawn({
            let session = session.clone();
            async move { session.invoke(BROADCAST, &json!({"message": "Hello", "fault": "hang"})).await }
        });
        host.provider_is_in(INVOKE, 1).await;
        invoking.abort();
        drop(invoking.await);
        let stop = if protocol == Protocol::V5 { "Stop" } else { "StopProvider" };
        assert_eq!(host.count(stop), 0);
        // The connection's end is another matter: then it is stopped as everything is, and waited for.
        drop(session);
        host.provider_is_in(stop, 1).await;
        ended(host.provider_process()).await;
    }

    async fn an_action_on_hashicorps_library_is_carried_out(host, session: conformance) {
        let arguments = json!({"times": 3, "bell": "big", "pinWo": secret("1234"), "pauses": [{"seconds": 0.5}]});
        let ring = "conformance:index/actionRing:actionRing";
        let done = session.invoke(ring, &arguments).await?;
        assert_eq!(done, Ok(json!({"result": secret(nothing()["result"].clone())})));
        let shown: Vec<String> = host.engine.shown().into_iter().map(|line| line.message).collect();
        let said = ["bell is set.", "pin_wo is set.", "times is set."];
        assert_eq!(shown.len(), said.len(), "{shown:?}");
        for text in said {
            assert!(shown.contains(&format!("{ring}: {text}")), "{text} is not in {shown:?}");
        }
        let failures = session.invoke(ring, &json!({"bell": "big"})).await?.expect_err("times is missing");
        assert_eq!(failures[0].0, "times", "{failures:?}");
        let rung = host.count(INVOKE);
        assert_eq!(session.preview_invoke(ring, &arguments).await?, Ok(json!({"result": secret(nothing()["result"].clone())})));
        assert_eq!(host.count(INVOKE), rung, "a preview plans only");
    }

    async fn an_older_provider_has_no_actions(protocol) {
        let minor = format!("{protocol}.9");
        let host = Setup::sandbox(protocol).with("SANDBOX_MINOR", &minor).start().await;
        let session = host.parameterized().await?;
        let schema = session.schema().await?;
        assert_eq!(schema["functions"][BROADCAST], Json::Null);
        assert!(schema["functions"]["sandbox:index/ephemeralToken:ephemeralToken"].is_object());
    }

    async fn a_provider_of_the_future_has_them_all(protocol) {
        let (_host, session) = Setup::sandbox(protocol).with("SANDBOX_MINOR", "future").session().await?;
        assert_eq!(session.invoke(BROADCAST, &json!({"message": "Hello"})).await?, Ok(nothing()));
        let token = "sandbox:index/ephemeralToken:ephemeralToken";
        let opened = session.invoke(token, &json!({"audience": "me", "lifetime": "1h"})).await?.expect("a token");
        assert_eq!(opened["audience"], secret("me"));
    }
}
