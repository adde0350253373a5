//! Invoke: data sources and functions, and what else is carried out by it.

mod actions;
mod ephemeral;
mod functions;
mod lists;

use crate::harness::{Code, Setup, json, on_both_protocols, secret, unknown};

const GET_NOTE: &str = "sandbox:index/getNote:getNote";
const GREET: &str = "sandbox:index/greet:greet";
const TOKEN: &str = "sandbox:index/ephemeralToken:ephemeralToken";

on_both_protocols! {
    async fn a_data_source_is_read(session: sandbox) {
        let made = session.note().make(&json!({"title": "Hello", "body": "World", "secretHint": "mat"})).await?;
        let found = session.invoke(GET_NOTE, &json!({"title": "Hello"})).await?.expect("a note");
        assert_eq!(found["id"], made.id.as_str());
        assert_eq!(found["body"], "World");
        assert_eq!(found["secretHint"], secret("mat"), "what is sensitive is secret");
    }

    async fn a_data_source_that_finds_nothing_blames_the_property(session: sandbox) {
        let failures = session.invoke(GET_NOTE, &json!({"title": "Nowhere"})).await?.expect_err("no such note");
        let [(property, reason)] = &failures[..] else { panic!("one failure: {failures:?}") };
        assert_eq!(property, "title");
        assert!(reason.contains("No note has the title"), "{reason}");
    }

    async fn wrong_arguments_of_a_data_source_are_failures(session: sandbox) {
        for (arguments, property, wanted) in [
            (json!({"title": "Hello", "tilte": "x"}), "", "tilte: unknown property; did you mean `title`?"),
            (json!({"title": {"a": 1}}), "", "title: expected a string"),
            (json!({"title": ""}), "title", "No note has an empty title."),
            (json!({}), "title", "title"),
        ] {
            let failures = session.invoke(GET_NOTE, &arguments).await?.expect_err("wrong arguments");
            let [(at, reason)] = &failures[..] else { panic!("one failure of {arguments}: {failures:?}") };
            assert_eq!(at, property);
            assert!(reason.contains(wanted), "{reason}");
        }
    }

    async fn what_comes_of_a_secret_argument_is_secret(session: sandbox) {
        let made = session.note().make(&json!({"title": "Hello", "body": "World"})).await?;
        let found = session.invoke(GET_NOTE, &json!({"title": secret("Hello")})).await?.expect("a note");
        assert_eq!(found["id"], secret(made.id.as_str()));
        assert_eq!(found["body"], secret("World"));
        assert_eq!(found["title"], secret("Hello"));
        let greeting = session.invoke(GREET, &json!({"name": secret("Ada")})).await?;
        assert_eq!(greeting, Ok(json!({"result": secret("Hello, Ada!")})));
        let sum = session.invoke("sandbox:index/sum:sum", &json!({"numbers": [1, secret(2)]})).await?;
        assert_eq!(sum, Ok(json!({"result": secret(3)})));
    }

    async fn a_result_has_no_secrets_where_the_user_has_chosen_so(protocol) {
        let cases = [
            ("none", [false; 3]),
            ("*", [true, true, false]),
            ("data.sandbox_note", [true, false, false]),
            ("function.greet, ephemeral.sandbox_token", [false, true, true]),
        ];
        for (chosen, plain) in cases {
            let (host, session) = Setup::sandbox(protocol).with("ISTHMUS_PLAIN_RESULTS", chosen).session().await?;
            session.note().make(&json!({"title": "Hello", "body": "World", "secretHint": "mat"})).await?;
            let note = session.invoke(GET_NOTE, &json!({"title": secret("Hello")})).await?.expect("a note");
            let greeting = session.invoke(GREET, &json!({"name": secret("Ada")})).await?.expect("a greeting");
            let token = session.invoke(TOKEN, &json!({"audience": "me"})).await?.expect("a token");
            let found = [
                note["secretHint"] == "mat" && note["body"] == "World",
                greeting["result"] == "Hello, Ada!",
                token["audience"] == "me" && token["value"].is_string(),
            ];
            assert_eq!(found, plain, "{chosen}: {note} {greeting} {token}");
            assert!(host.engine.shown().is_empty(), "{:?}", host.engine.shown());
        }
    }

    async fn programs_in_go_are_warned_of_results_with_secrets_once(protocol) {
        let host = Setup::sandbox(protocol).start().await;
        let warnings = || {
            let shown = host.engine.shown();
            let texts = shown.iter().map(|line| line.message.clone());
            texts.filter(|text| text.contains("in Go")).collect::<Vec<_>>()
        };
        let value = json!({"local": {"path": host.provider()}}).to_string();
        for (runtime, expected) in [("nodejs", 0), ("python", 0), ("go", 1)] {
            let file = host.directory().join("Pulumi.yaml");
            std::fs::write(file, format!("name: test\nruntime: {runtime}\n")).expect("a file");
            let session = host.greeted().await?;
            session.parameterize_by_value(&value).await?;
            session.configure(&json!({})).await?;
            for _ in 0..2 {
                session.invoke(GREET, &json!({"name": "Ada"})).await?.expect("a greeting");
                session.invoke(TOKEN, &json!({"audience": "me"})).await?.expect("a token");
            }
            assert_eq!(warnings().len(), expected, "{runtime}: {:?}", warnings());
        }
        let shown = warnings();
        let [of_call] = &shown[..] else { panic!("one warning: {shown:?}") };
        assert!(of_call.starts_with("the result of ephemeral.sandbox_token has secrets"), "{of_call}");
        assert!(of_call.contains("set ISTHMUS_PLAIN_RESULTS to `ephemeral.sandbox_token`"), "{of_call}");

        // As by `pulumi package add`.
        host.parameterized().await?;
        let shown = warnings();
        let [_, of_package] = &shown[..] else { panic!("two warnings: {shown:?}") };
        for wanted in ["data.sandbox_note", "ephemeral.sandbox_token", "`plain-results` in isthmus.toml"] {
            assert!(of_package.contains(wanted), "{of_package}");
        }
        // Chosen, so that nobody needs to be warned.
        let choice = "[packages.sandbox]\nplain-results = [\"data.sandbox_note\"]\n";
        std::fs::write(host.directory().join("isthmus.toml"), choice).expect("a file");
        let session = host.session().await?;
        session.note().make(&json!({"title": "Hello", "secretHint": "mat"})).await?;
        let note = session.invoke(GET_NOTE, &json!({"title": "Hello"})).await?.expect("a note");
        assert_eq!(note["secretHint"], "mat");
        let greeting = session.invoke(GREET, &json!({"name": secret("Ada")})).await?;
        assert_eq!(greeting, Ok(json!({"result": secret("Hello, Ada!")})));
        assert_eq!(warnings().len(), 2, "{:?}", warnings());
    }

    async fn what_a_data_source_cannot_be_read_with_yet_is_a_failure(session: sandbox) {
        let failures = session.invoke(GET_NOTE, &json!({"title": unknown()})).await?.expect_err("not known");
        assert_eq!(failures, [("title".to_owned(), "the value is not known yet, but it is needed now".to_owned())]);
    }

    async fn what_there_is_not_is_named_with_what_was_meant(session: sandbox) {
        let status = session.invoke("sandbox:index/getNotes:getNotes", &json!({})).await.expect_err("no such function");
        assert_eq!(status.code(), Code::NotFound);
        assert!(status.message().contains(GET_NOTE), "{status}");
    }

    async fn functions_are_called_before_the_provider_is_configured(protocol) {
        let host = Setup::sandbox(protocol).start().await;
        let session = host.parameterized().await?;
        let greeting = session.invoke(GREET, &json!({"name": "Ada"})).await?;
        assert_eq!(greeting, Ok(json!({"result": "Hello, Ada!"})));
        let sum = session.invoke("sandbox:index/sum:sum", &json!({"numbers": [1, 2, 39]})).await?;
        assert_eq!(sum, Ok(json!({"result": 42})));
        let nothing = session.invoke("sandbox:index/sum:sum", &json!({})).await?;
        assert_eq!(nothing, Ok(json!({"result": 0})));
    }

    async fn an_argument_that_a_function_refuses_is_named(session: conformance) {
        let join = "conformance:index/joinWords:joinWords";
        let joined = session.invoke(join, &json!({"separator": "-", "words": ["a", "b"]})).await?;
        assert_eq!(joined, Ok(json!({"result": "a-b"})));

        for (arguments, property, wanted) in [
            (json!({"separator": "-", "words": ["a", ""]}), "words", "A word must not be empty."),
            (json!({"separator": "-", "word": ["a"]}), "", "word: unexpected argument"),
            (json!({"separator": null, "words": []}), "separator", "non-null"),
        ] {
            let failures = session.invoke(join, &arguments).await?.expect_err("wrong arguments");
            let [(at, reason)] = &failures[..] else { panic!("one failure of {arguments}: {failures:?}") };
            assert_eq!(at, property);
            assert!(reason.contains(wanted), "{reason}");
        }
    }

    async fn a_function_that_takes_null_gets_it(session: conformance) {
        let shout = "conformance:index/shout:shout";
        assert_eq!(session.invoke(shout, &json!({"text": "hey"})).await?, Ok(json!({"result": "HEY!"})));
        let null = session.invoke(shout, &json!({"text": null})).await?.expect("null is a text here");
        assert_eq!(null["result"], json!(null));
    }
}
