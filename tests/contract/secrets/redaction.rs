//! Texts that quote a secret: whatever a provider says, and however it writes the value, the engine gets `[secret]`.
//!
//! The provider is `sandbox_leak`, which quotes what it was given. Every secret here has the word `zaffre` in it, which is looked
//! for in everything that the engine gets: as it is, and in base64 at each of the three places that it may have there.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD_NO_PAD;
use isthmus_proto::pulumirpc::ErrorResourceInitFailed;

use crate::harness::resource::half_made;
use crate::harness::{Host, Json, Outcome, Protocol, Session, Setup, json, on_one_protocol, secret};

const LEAK: &str = "sandbox:index/leak:Leak";
const WORD: &str = "zaffre";
/// With something to escape in every form, and the word at its end, so that base64 has it at some place.
const SECRET: &str = "p\"ss/w&rd <1> zaffre";
const FORMS: [&str; 8] = ["plain", "json", "quoted", "query", "base64", "base64url", "basic", "hex"];

/// What `text` has of the word.
fn traces(text: &str) -> Vec<String> {
    let places = (0..3).map(|before| {
        let encoded = STANDARD_NO_PAD.encode(format!("{}{WORD}", "_".repeat(before)));
        // What depends on the characters beside it is left out.
        let first = [0, 2, 3][before];
        encoded[first..encoded.len() - 1].to_owned()
    });
    places.chain([WORD.to_owned()]).filter(|trace| text.contains(trace)).collect()
}

#[track_caller]
fn hides(what: &str, text: &str) {
    assert!(traces(text).is_empty(), "{what}: {:?} in {text}", traces(text));
}

/// The same, where something was quoted that is replaced.
#[track_caller]
fn redacts(what: &str, text: &str) {
    hides(what, text);
    assert!(text.contains("[secret]"), "{what}: nothing is replaced in {text}");
}

/// Nothing that the engine was told outside of answers has the secret.
#[track_caller]
fn hides_everywhere(host: &Host) {
    for line in host.engine.lines() {
        hides("a line", &line.message);
    }
    hides("standard error", &host.stderr());
}

async fn odd(protocol: Protocol) -> Result<(Host, Session), crate::harness::Status> {
    Setup::sandbox(protocol).with("SANDBOX_ODD", "usable").session().await
}

on_one_protocol! {
    async fn an_error_that_quotes_a_secret_is_redacted_in_every_form(protocol) {
        let (host, session) = odd(protocol).await?;
        let leak = session.resource(LEAK, "leak");
        for form in FORMS {
            for (by, value) in [("secret", json!(SECRET)), ("open", secret(SECRET))] {
                for how in ["error", "status", "partial"] {
                    let inputs = json!({by: value, "how": how, "during": "create", "form": form});
                    let status = leak.make(&inputs).await.expect_err(how);
                    redacts(&format!("{how} {form} {by}"), status.message());
                    if let Some(ErrorResourceInitFailed { reasons, .. }) = half_made(&status) {
                        redacts("the reasons of what is kept", &reasons.join("\n"));
                    }
                }
            }
        }
        hides_everywhere(&host);
    }

    async fn every_operation_redacts_what_its_provider_says(protocol) {
        let (host, session) = odd(protocol).await?;
        let leak = session.resource(LEAK, "leak");
        let inputs = |during: &str| json!({"secret": SECRET, "how": "error", "during": during});
        let checked = leak.check(&inputs("validate")).await?;
        let [(property, reason)] = &checked.failures[..] else { panic!("one failure: {checked:?}") };
        assert_eq!(property, "");
        redacts("Check", reason);
        let status = leak.preview_create(&inputs("plan")).await.expect_err("a preview");
        redacts("a preview", status.message());
        let made = leak.make(&inputs("read+delete")).await?;
        let status = leak.refresh(&made).await.expect_err("a read");
        redacts("Read", status.message());
        let status = leak.delete(&made).await.expect_err("a deletion");
        redacts("Delete", status.message());
        let made = leak.make(&inputs("update")).await?;
        let mut news = inputs("update");
        news["size"] = json!(2);
        let status = leak.update(&made, &news).await.expect_err("an update");
        redacts("Update", status.message());
        let status = leak.diff(&made, &inputs("plan")).await.expect_err("a comparison");
        redacts("Diff", status.message());
        hides_everywhere(&host);
    }

    async fn an_imported_secret_is_redacted_before_the_engine_has_ever_seen_it(protocol) {
        let setup = Setup::sandbox(protocol).with("SANDBOX_ODD", "usable").with("LEAK_SECRET", SECRET);
        let (host, session) = setup.session().await?;
        for how in ["error", "status", "panic"] {
            let status = session.resource(LEAK, "leak").import(how).await.expect_err(how);
            redacts(how, status.message());
            if how == "panic" {
                break;
            }
        }
        hides_everywhere(&host);
    }

    async fn invokes_are_redacted(protocol) {
        let (host, session) = odd(protocol).await?;
        let arguments = json!({"title": secret(SECRET)});
        let failures = session.invoke("sandbox:index/getNote:getNote", &arguments).await?.expect_err("no such note");
        let [(property, reason)] = &failures[..] else { panic!("one failure: {failures:?}") };
        assert_eq!(property, "");
        assert!(reason.starts_with("title: "), "{reason}");
        redacts("a data source", reason);
        let arguments = json!({"value": secret(SECRET)});
        let failures =
            session.invoke("sandbox:index/oddRefuse:oddRefuse", &arguments).await?.expect_err("it refuses");
        let [(property, reason)] = &failures[..] else { panic!("one failure: {failures:?}") };
        assert_eq!(property, "");
        redacts("a function", reason);
        hides_everywhere(&host);
    }

    async fn files_of_lines_and_of_calls_are_redacted(protocol) {
        let directory = tempfile::tempdir().expect("a directory");
        let (lines, calls) = (directory.path().join("lines"), directory.path().join("calls"));
        let setup = Setup::sandbox(protocol)
            .with("SANDBOX_ODD", "usable")
            .with("TF_LOG", "TRACE")
            .with("TF_LOG_PATH", lines.to_str().expect("UTF-8"))
            .with("PULUMI_TF_DEBUG_GRPC", calls.to_str().expect("UTF-8"));
        let (host, session) = setup.session().await?;
        for how in ["log", "warning", "error", "status"] {
            let leak = session.resource(LEAK, how);
            let inputs = json!({"secret": SECRET, "how": how, "during": "create", "form": "quoted"});
            let made = leak.make(&inputs).await;
            assert_eq!(made.is_ok(), ["log", "warning"].contains(&how), "{how}");
        }
        host.engine.line("a line of the provider's", |line| line.message.contains("in detail")).await;
        for (what, file) in [("the lines", &lines), ("the calls", &calls)] {
            redacts(what, &std::fs::read_to_string(file).expect("the file was made"));
        }
    }

    async fn short_secrets_and_numbers_are_redacted_as_words_of_their_own(protocol) {
        let (_host, session) = odd(protocol).await?;
        let leak = session.resource(LEAK, "leak");
        for (short, is_hidden) in [("4711", true), ("abc", true), ("it", false), ("true", false)] {
            let inputs = json!({"secret": short, "how": "error", "during": "create"});
            let status = leak.make(&inputs).await.expect_err("it fails");
            let expected = if is_hidden { "<[secret]>".to_owned() } else { format!("<{short}>") };
            assert!(status.message().contains(&expected), "{short}: {status}");
            assert!(status.message().contains("The service did not like it"), "all else is there: {status}");
        }
        let inputs = json!({"pin": 271_828, "open": "PIN 271828, not 2718281", "how": "error", "during": "create"});
        let status = leak.make(&inputs).await.expect_err("it fails");
        assert!(status.message().contains("PIN [secret], not 2718281"), "{status}");
    }

    async fn what_is_no_secret_is_told_in_full(protocol) {
        let (_host, session) = odd(protocol).await?;
        let inputs = json!({"open": SECRET, "how": "error", "during": "create"});
        let status = session.resource(LEAK, "leak").make(&inputs).await.expect_err("it fails");
        assert!(status.message().contains(SECRET), "{status}");
    }

    async fn one_session_knows_nothing_of_the_secrets_of_another(protocol) {
        let (host, session) = odd(protocol).await?;
        let hidden = json!({"secret": SECRET, "how": "error", "during": "create"});
        session.resource(LEAK, "leak").make(&hidden).await.expect_err("it fails");
        let other = host.session().await?;
        let open = json!({"open": SECRET, "how": "error", "during": "create"});
        let status = other.resource(LEAK, "leak").make(&open).await.expect_err("it fails");
        assert!(status.message().contains(SECRET), "it is not marked there: {status}");
    }

    async fn a_failure_names_a_property_only_where_its_value_may_be_printed(protocol) {
        let (host, session) = odd(protocol).await?;
        let leak = session.resource(LEAK, "leak");
        let hidden = || secret(SECRET);
        let rows: Vec<(&str, Json, &str, &str)> = vec![
            ("a value of the wrong type that is no secret", json!({"size": "big"}), "size", "expected a number"),
            ("a secret of the wrong type", json!({"size": hidden()}), "", "size: expected a number"),
            ("an object for a text", json!({"open": {"a": SECRET}}), "", "open: expected a string"),
            ("a list for a text", json!({"open": [hidden()]}), "", "open: expected a string"),
            ("a sensitive attribute", json!({"secret": {"a": SECRET}}), "", "secret: expected a string"),
            ("a sensitive number", json!({"pin": SECRET}), "", "pin: expected a number"),
            ("an unknown property", json!({"sceret": SECRET}), "", "sceret: unknown property"),
            ("a secret in a map", json!({"options": {"a": [hidden()]}}), "", "options.a: expected a string"),
            ("a secret map", json!({"options": secret(json!({WORD: ["x"]}))}), "", "options: expected a string"),
            ("a map of secrets for a set", json!({"names": {"a": hidden()}}), "", "names: expected a list"),
            ("a secret in a set", json!({"names": [{"a": hidden()}]}), "", "names[0]: expected a string"),
            ("a secret in a block", json!({"logins": [{"user": [hidden()]}]}), "", "logins[0].user: expected"),
            ("a sensitive attribute of a block", json!({"logins": [{"password": [SECRET]}]}), "", "logins[0].password: expected"),
            ("an unknown property of the one block", json!({"logins": {"pasword": SECRET}}), "", "logins[0].pasword: unknown property"),
            ("an unknown property of a block", json!({"logins": [{"pasword": SECRET}]}), "", "logins[0].pasword: unknown property"),
            ("a text for a list of blocks", json!({"logins": SECRET}), "", "logins: expected a list"),
        ];
        for (what, inputs, property, beginning) in rows {
            let checked = leak.check(&inputs).await?;
            let [(told, reason)] = &checked.failures[..] else { panic!("{what}: one failure: {checked:?}") };
            assert_eq!(told, property, "{what}: {reason}");
            assert!(reason.starts_with(beginning), "{what}: {reason}");
            hides(what, reason);
        }
        // What the provider blames by name, beside a secret of the program's.
        for (value, property) in [(json!("usual"), "open"), (hidden(), "")] {
            let checked = leak.check(&json!({"open": value, "how": "attribute", "during": "validate"})).await?;
            let [(told, reason)] = &checked.failures[..] else { panic!("one failure: {checked:?}") };
            assert_eq!(told, property, "{reason}");
            assert!(reason.ends_with("Examine values at 'leak.open'."), "{reason}");
            hides("the provider's failure", reason);
        }
        assert_eq!(host.engine.shown(), []);
    }
}

/// The legacy engine marks nothing; what the schema calls sensitive is redacted for it as well.
#[tokio::test]
async fn the_legacy_engine_gets_redacted_texts() -> Outcome {
    use isthmus_proto::lumirpc::resource_provider_client::ResourceProviderClient;
    use isthmus_proto::lumirpc::{CheckRequest, CreateRequest};

    use crate::harness::bag;

    let setup = Setup::sandbox(Protocol::V6).with("SANDBOX_ODD", "usable").named("lumi-resource-sandbox");
    let host = setup.start().await;
    let mut client = ResourceProviderClient::new(host.channel().await);
    let leak = |inputs: Json| (LEAK.to_owned(), Some(bag(&inputs)));
    let (r#type, properties) = leak(json!({"name": "leak", "pin": SECRET}));
    let checked = client.check(CheckRequest { r#type, properties }).await?.into_inner();
    assert_eq!(checked.failures.len(), 1, "{checked:?}");
    assert_eq!(checked.failures[0].property, "");
    hides("Check", &checked.failures[0].reason);
    let (r#type, properties) =
        leak(json!({"name": "leak", "secret": SECRET, "how": "error", "during": "create"}));
    let status = client.create(CreateRequest { r#type, properties }).await.expect_err("it fails");
    redacts("Create", status.message());
    hides_everywhere(&host);
    Ok(())
}
