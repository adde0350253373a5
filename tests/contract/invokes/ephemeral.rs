//! Ephemeral resources: opened by an invoke, renewed while the session lives, and closed once.

use crate::harness::processes::Signal;
use isthmus_proto::pulumirpc::ConfigureRequest;
use tokio::task::JoinSet;

use crate::harness::engine::Severity;
use crate::harness::processes;
use crate::harness::{Code, Host, Json, Session, Setup, Status, bag, json, on_one_protocol, secret, unknown};

const TOKEN: &str = "sandbox:index/ephemeralToken:ephemeralToken";
const LEASE: &str = "conformance:index/ephemeralLease:ephemeralLease";

const OPEN: &str = "OpenEphemeralResource";
const RENEW: &str = "RenewEphemeralResource";
const CLOSE: &str = "CloseEphemeralResource";

/// Opens a token, and returns its value.
async fn open(session: &Session, arguments: &Json) -> Result<String, Status> {
    let opened = session.invoke(TOKEN, arguments).await?.expect("a token");
    let value = opened["value"]["value"].as_str();
    Ok(value.unwrap_or_else(|| panic!("{opened} has no secret value")).to_owned())
}

/// The private bytes that a call brought along each time.
fn private(host: &Host, call: &str) -> Vec<Json> {
    let private = |line: &Json| serde_json::from_str(line["private"].as_str()?).ok();
    host.calls().iter().filter(|line| line["call"] == call).filter_map(private).collect()
}

on_one_protocol! {
    async fn opening_yields_secrets_and_nothing_else(host, session: sandbox) {
        let opened = session.invoke(TOKEN, &json!({"audience": "me"})).await?.expect("a token");
        assert_eq!(opened["audience"], secret("me"), "nothing of it may be stored in the clear");
        let value = opened["value"]["value"].as_str().unwrap_or_else(|| panic!("{opened}"));
        assert_eq!((value.len(), &opened["value"]), (32, &secret(value)));
        assert_eq!(opened.as_object().map(|opened| opened.len()), Some(2), "{opened}");
        let calls = host.call_names();
        assert_eq!(calls[calls.len() - 2..], ["ValidateEphemeralResourceConfig", OPEN]);
    }

    async fn an_engine_that_takes_no_secrets_gets_plain_values(protocol) {
        let host = Setup::sandbox(protocol).start().await;
        let session = host.connect().await;
        session.parameterize(&[&host.provider()]).await?;
        let configuration = ConfigureRequest { args: Some(bag(&json!({}))), ..Default::default() };
        session.call("Configure", configuration, async |mut client, request| client.configure(request).await).await?;
        let opened = session.invoke(TOKEN, &json!({"audience": "me"})).await?.expect("a token");
        assert_eq!(opened["audience"], "me");
    }

    async fn the_schema_says_what_goes_in_and_that_what_comes_out_is_secret(protocol) {
        let host = Setup::sandbox(protocol).start().await;
        let schema = host.parameterized().await?.schema().await?;
        let token = &schema["functions"][TOKEN];
        assert_eq!(token["description"], "A token that is never stored.\n");
        assert_eq!(token["inputs"]["required"], json!(["audience"]));
        assert_eq!(token["inputs"]["properties"]["value"], Json::Null, "what is computed is no input");
        assert_eq!(token["inputs"]["properties"]["audience"]["secret"], Json::Null);
        assert_eq!(token["outputs"]["required"], json!(["audience", "value"]));
        for property in ["audience", "fault", "lifetime", "value"] {
            assert_eq!(token["outputs"]["properties"][property]["secret"], true, "{property}: {token}");
        }
    }

    async fn what_is_left_out_is_not_there(protocol) {
        let host = Setup::sandbox(protocol).start().await;
        let session = host.greeted().await?;
        session.parameterize(&["--exclude=sandbox_token,sandbox_broadcast", &host.provider()]).await?;
        assert_eq!(host.engine.shown(), [], "both names are known");
        let schema = session.schema().await?;
        assert_eq!(schema["functions"][TOKEN], Json::Null);
        assert!(schema["functions"]["sandbox:index/getNote:getNote"].is_object());
        let status = session.invoke(TOKEN, &json!({"audience": "me"})).await.expect_err("it is left out");
        assert_eq!(status.code(), Code::NotFound, "{status}");
        assert_eq!(host.count(OPEN), 0);

        let only = host.greeted().await?;
        only.parameterize(&["--include=sandbox_token", &host.provider()]).await?;
        let schema = only.schema().await?;
        let functions: Vec<&String> = schema["functions"].as_object().expect("functions").keys().collect();
        assert_eq!(functions, ["pulumi:providers:sandbox/terraformConfig", TOKEN]);
    }

    async fn a_misspelt_token_is_told_with_what_was_meant(session: sandbox) {
        let misspelt = "sandbox:index/ephemeralTokens:ephemeralTokens";
        let status = session.invoke(misspelt, &json!({})).await.expect_err("there is none");
        assert!(status.message().contains(TOKEN), "{status}");
    }

    async fn arguments_that_are_refused_are_named_and_open_nothing(host, session: sandbox) {
        for (arguments, property, wanted) in [
            (json!({"audience": "me", "lifetime": "long"}), "lifetime", "\"long\" is not a duration"),
            (json!({"audience": "me", "lifetme": "5s"}), "", "lifetme: unknown property; did you mean `lifetime`?"),
            (json!({"audience": {"a": 1}}), "", "audience: expected a string"),
            (json!({}), "audience", "Missing required property 'audience'"),
        ] {
            let failures = session.invoke(TOKEN, &arguments).await?.expect_err("wrong arguments");
            let [(at, reason)] = &failures[..] else { panic!("one failure of {arguments}: {failures:?}") };
            assert_eq!(at, property);
            assert!(reason.contains(wanted), "{reason}");
        }
        assert_eq!(host.count(OPEN), 0);
        let failures = session.invoke(TOKEN, &json!({"audience": "me", "fault": "open"})).await?;
        let failures = failures.expect_err("the provider refuses");
        assert_eq!(failures[0].0, "audience");
        assert!(failures[0].1.contains("The token refuses: Open"), "{failures:?}");
        assert_eq!(host.count(OPEN), 1);
    }

    async fn warnings_are_shown_before_the_answer(host, session: sandbox) {
        open(&session, &json!({"audience": "everybody"})).await?;
        let [line] = &host.engine.shown()[..] else { panic!("one line: {:?}", host.engine.shown()) };
        assert_eq!(line.severity, Severity::Warning);
        assert!(line.message.starts_with("A wide audience") && line.message.contains("`audience`"), "{line:?}");
    }

    async fn a_preview_opens_what_is_known_as_terraform_does(host, session: sandbox) {
        let opened = session.preview_invoke(TOKEN, &json!({"audience": "me"})).await?.expect("a token");
        assert_eq!(opened["audience"], secret("me"));
        assert_eq!(host.count(OPEN), 1);
    }

    async fn what_is_not_known_is_validated_and_not_opened(host, session: sandbox) {
        let arguments = json!({"audience": unknown()});
        let opened = session.preview_invoke(TOKEN, &arguments).await?.expect("nothing is wrong so far");
        for property in ["audience", "fault", "lifetime", "value"] {
            assert_eq!(opened[property], unknown(), "{property}: {opened}");
        }
        let arguments = json!({"audience": unknown(), "lifetime": "long"});
        let failures = session.preview_invoke(TOKEN, &arguments).await?.expect_err("a wrong lifetime");
        assert_eq!(failures[0].0, "lifetime");
        assert_eq!((host.count("ValidateEphemeralResourceConfig"), host.count(OPEN)), (2, 0));
    }

    async fn a_deferral_that_was_not_asked_for_names_the_provider(host, session: sandbox) {
        let status = session.invoke(TOKEN, &json!({"audience": "me", "fault": "deferred"})).await;
        let status = status.expect_err("nobody asked for it");
        for words in ["the provider sandbox answered OpenEphemeralResource of sandbox_token", "deferred"] {
            assert!(status.message().contains(words), "{words:?} is not in: {status}");
        }
        session.cancel().await?;
        host.end_of(session).await;
        assert_eq!(host.count(CLOSE), 0, "nothing was opened");
    }

    async fn what_opens_as_something_unknown_is_an_error_and_closed_at_once(host, session: sandbox) {
        let status = session.invoke(TOKEN, &json!({"audience": "me", "fault": "unknown"})).await;
        let status = status.expect_err("it is of no use");
        assert!(status.message().contains("not known"), "{status}");
        assert_eq!(host.count(CLOSE), 1);
        host.end_of(session).await;
        assert_eq!(host.count(CLOSE), 1);
    }

    async fn a_provider_that_refuses_its_configuration_opens_nothing(protocol) {
        let host = Setup::sandbox(protocol).with("SANDBOX_CONFIGURE", "refuse").start().await;
        let session = host.parameterized().await?;
        let status = session.configure(&json!({})).await.expect_err("it refuses");
        assert!(status.message().contains("The sandbox refuses to be configured"), "{status}");
        let status = session.invoke(TOKEN, &json!({"audience": "me"})).await.expect_err("it is not configured");
        assert!(status.message().contains("the provider sandbox is not configured"), "{status}");
        assert_eq!(host.count(OPEN), 0);
    }

    async fn a_lease_is_renewed_in_time_with_the_newest_private_bytes_and_closed_with_them(host, session: sandbox) {
        open(&session, &json!({"audience": "me", "lifetime": "3s"})).await?;
        host.provider_is_in(RENEW, 2).await;
        session.cancel().await?;
        host.provider_is_in(CLOSE, 1).await;
        host.end_of(session).await;

        let renewals: Vec<Json> =
            private(&host, RENEW).iter().map(|private| private["renewals"].clone()).collect();
        assert_eq!(renewals, (0..renewals.len()).map(|renewal| json!(renewal)).collect::<Vec<_>>());
        let [closed] = &private(&host, CLOSE)[..] else { panic!("it is closed once") };
        assert_eq!(closed["renewals"], renewals.len());
        assert_eq!(host.engine.shown(), [], "the provider has nothing to complain of");
    }

    async fn leases_of_many_lifetimes_do_not_disturb_each_other(host, session: sandbox) {
        let mut values = Vec::new();
        for lifetime in ["2s", "4s", "1h"] {
            values.push(open(&session, &json!({"audience": lifetime, "lifetime": lifetime})).await?);
        }
        values.push(open(&session, &json!({"audience": "for ever"})).await?);
        values.sort();
        values.dedup();
        assert_eq!(values.len(), 4, "each is another");
        host.provider_is_in(RENEW, 3).await;
        session.cancel().await?;
        host.provider_is_in(CLOSE, 4).await;
        host.end_of(session).await;
        let mut closed: Vec<String> =
            private(&host, CLOSE).iter().map(|private| private["token"].to_string()).collect();
        closed.sort();
        closed.dedup();
        assert_eq!((closed.len(), host.count(CLOSE)), (4, 4), "each is closed, and once");
        let renewed = private(&host, RENEW);
        for private in &renewed {
            let lifetime = private["lifetime_milliseconds"].as_u64().expect("it has a lifetime");
            assert!(lifetime <= 4000, "{private} was renewed far too early");
        }
        assert_eq!(host.engine.shown(), []);
    }

    async fn a_renewal_that_fails_is_told_with_the_token_and_not_tried_again(host, session: sandbox) {
        open(&session, &json!({"audience": "me", "lifetime": "300ms", "fault": "renew"})).await?;
        let line = host.engine.line("that a renewal failed", |line| line.message.contains("renewed")).await;
        assert_eq!(line.severity, Severity::Warning);
        assert!(line.message.starts_with(TOKEN) && line.message.contains("The token refuses: Renew"), "{line:?}");
        // The session goes on, and what is left of the lease is closed.
        session.note().make(&json!({"title": "Hello"})).await?;
        session.cancel().await?;
        host.provider_is_in(CLOSE, 1).await;
        host.end_of(session).await;
        assert_eq!((host.count(RENEW), host.count(CLOSE)), (1, 1));
    }

    async fn cancelling_closes_what_is_open_and_nothing_that_is_opened_later(host, session: sandbox) {
        open(&session, &json!({"audience": "first run"})).await?;
        session.cancel().await?;
        host.provider_is_in(CLOSE, 1).await;
        // An engine that is attached goes on with another run.
        open(&session, &json!({"audience": "second run"})).await?;
        assert_eq!(host.count(CLOSE), 1);
        session.cancel().await?;
        session.cancel().await?;
        host.provider_is_in(CLOSE, 2).await;
        host.end_of(session).await;
        assert_eq!(host.count(CLOSE), 2);
    }

    async fn a_lease_outlives_the_calls_that_may_use_it(host, session: sandbox) {
        open(&session, &json!({"audience": "me"})).await?;
        let server = session.resource("sandbox:index/server:Server", "server");
        let inputs = json!({"name": "web", "bootTime": "1h"});
        let (created, cancelled) = tokio::join!(server.create(&inputs), async {
            host.provider_is_in("ApplyResourceChange", 1).await;
            session.cancel().await
        });
        cancelled?;
        created.expect_err("it was stopped");
        host.provider_is_in(CLOSE, 1).await;
        let calls = host.call_names();
        let place = |call: &str| calls.iter().position(|name| name.starts_with(call));
        assert!(place("Stop") < place(CLOSE), "{calls:?}");
    }

    async fn the_end_of_the_connection_closes_what_is_open(host, session: sandbox) {
        for audience in ["one", "two", "three"] {
            open(&session, &json!({"audience": audience})).await?;
        }
        host.end_of(session).await;
        assert_eq!(host.count(CLOSE), 3);
    }

    async fn the_end_of_the_daemon_closes_what_is_open(protocol) {
        let (mut host, session) = Setup::sandbox(protocol).session().await?;
        let other = host.session().await?;
        open(&session, &json!({"audience": "one"})).await?;
        open(&other, &json!({"audience": "two"})).await?;
        host.signal(Signal::INT);
        assert_eq!(host.exit().await.code(), Some(0));
        assert_eq!(host.count(CLOSE), 2);
        drop((session, other));
    }

    async fn what_an_engine_leaves_behind_while_it_opens_is_closed(host, session: sandbox) {
        // Many at once, all of which the engine gives up.
        let opening: Vec<_> = (0..20)
            .map(|_| {
                let session = session.clone();
                tokio::spawn(async move { session.invoke(TOKEN, &json!({"audience": "me"})).await })
            })
            .collect();
        host.provider_is_in(OPEN, 1).await;
        for opening in opening {
            opening.abort();
            // Whether it was quicker does not matter.
            drop(opening.await);
        }
        host.end_of(session).await;
        assert_eq!(host.count(OPEN), host.count(CLOSE));
    }

    async fn a_lease_that_cannot_be_closed_is_told(host, session: sandbox) {
        open(&session, &json!({"audience": "me", "fault": "close"})).await?;
        session.cancel().await?;
        let line = host.engine.line("that it stays", |line| line.message.contains("could not be closed")).await;
        assert!(line.message.starts_with(TOKEN) && line.message.contains("The token refuses: Close"), "{line:?}");
        host.end_of(session).await;
        assert_eq!(host.count(CLOSE), 1, "once is all that it is asked");
    }

    async fn a_provider_that_is_killed_takes_its_leases_with_it(protocol) {
        let (mut host, session) = Setup::sandbox(protocol).session().await?;
        open(&session, &json!({"audience": "me", "lifetime": "1h"})).await?;
        open(&session, &json!({"audience": "you"})).await?;
        processes::signal(host.provider_process(), Signal::KILL);
        let lost = |line: &crate::harness::engine::Line| line.message.starts_with(TOKEN) && line.message.contains("is lost");
        host.engine.line("that a lease is lost", lost).await;
        session.cancel().await?;
        drop(session);
        host.signal(Signal::INT);
        assert_eq!(host.exit().await.code(), Some(0));
        assert_eq!(host.engine.shown().into_iter().filter(lost).count(), 2, "each is told once");
        assert_eq!(host.count(CLOSE), 0);
    }

    async fn a_program_that_opens_without_an_end_is_stopped(host, session: sandbox) {
        let mut opening = JoinSet::new();
        for _ in 0..600 {
            let session = session.clone();
            opening.spawn(async move { open(&session, &json!({"audience": "me"})).await });
        }
        let opened = opening.join_all().await;
        let refused: Vec<&Status> = opened.iter().filter_map(|opened| opened.as_ref().err()).collect();
        assert_eq!(refused.len(), 100);
        for status in refused {
            assert_eq!(status.code(), Code::ResourceExhausted, "{status}");
            assert!(status.message().contains("500 ephemeral resources of this provider are open already"), "{status}");
        }
        session.cancel().await?;
        host.provider_is_in(CLOSE, 500).await;
        host.end_of(session).await;
        assert_eq!((host.count(OPEN), host.count(CLOSE)), (500, 500));
    }

    async fn a_lease_of_the_framework_is_renewed_and_closed(host, session: conformance) {
        let opened = session.invoke(LEASE, &json!({"holder": "me", "renewAfter": 1})).await?.expect("a lease");
        assert_eq!((&opened["holder"], &opened["renewAfter"]), (&secret("me"), &secret(1)));
        let token = opened["token"]["value"].as_str().unwrap_or_else(|| panic!("{opened}"));
        assert!(token.starts_with("token-of-"), "{opened}");
        assert_eq!(host.objects().len(), 1, "it is open");
        host.provider_is_in(RENEW, 2).await;
        let forever = session.invoke(LEASE, &json!({"holder": "you"})).await?.expect("a lease");
        assert_eq!(forever["renewAfter"], Json::Null);
        assert_eq!(host.objects().len(), 2);
        session.cancel().await?;
        host.provider_is_in(CLOSE, 2).await;
        host.end_of(session).await;
        assert_eq!(host.objects(), [] as [Json; 0]);
        assert_eq!(host.count(CLOSE), 2);
        assert_eq!(host.engine.shown(), []);
    }

    async fn an_ephemeral_resource_of_many_shapes_is_opened(session: conformance) {
        let arguments = json!({
            "audiences": ["a", "b"],
            "claims": {"admin": true},
            "issuer": {"name": "me"},
            "scopes": [{"name": "read"}],
        });
        let ticket = "conformance:index/ephemeralTicket:ephemeralTicket";
        let opened = session.invoke(ticket, &arguments).await?.expect("a ticket");
        assert_eq!(opened["audiences"], secret(json!(["a", "b"])));
        assert_eq!(opened["scopes"], secret(json!([{"name": "read"}])));
        assert_eq!(opened["issuer"], secret(json!({"name": "me"})));
        assert!(opened["ticket"]["value"].is_string(), "{opened}");
    }
}
