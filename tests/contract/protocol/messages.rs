//! What the user is told, and about which resource.

use crate::harness::engine::{Line, Severity};
use crate::harness::resource::half_made;
use crate::harness::{Setup, json, json_of, on_one_protocol};

on_one_protocol! {
    async fn a_warning_is_shown_once_with_its_resource(host, session: sandbox) {
        let note = session.note();
        // The provider says it when it validates; so it does in Check, in the preview and in Create.
        let inputs = note.checked(&json!({"title": "warn"})).await?;
        note.preview_create(&inputs).await?;
        let made = note.create(&inputs).await?;
        note.check_again(&made.inputs, &inputs).await?;
        let [warning] = &host.engine.shown()[..] else { panic!("one line: {:?}", host.engine.shown()) };
        assert_eq!(warning.severity, Severity::Warning);
        assert_eq!(warning.urn, note.urn());
        assert!(warning.message.contains("A questionable title"), "{warning:?}");
        assert!(warning.message.contains("`title`"), "the property is named: {warning:?}");
    }

    async fn a_line_that_the_engine_refuses_does_not_end_the_log(protocol) {
        let (host, session) = Setup::sandbox(protocol).with("SANDBOX_ODD", "usable").session().await?;
        host.engine.refuse_lines("A questionable title");
        session.note().checked(&json!({"title": "warn"})).await?;
        let reason = "did not answer Log: as the test wants it";
        host.prints(reason).await;
        let leak = session.resource("sandbox:index/leak:Leak", "it");
        let how = json!({"open": "x", "how": "panic", "during": "create"});
        leak.make(&how).await.expect_err("the provider panics");
        host.engine.line("the panic", |line| line.message.contains("panic")).await;
    }

    async fn a_long_error_is_cut_and_the_engine_gets_the_whole_of_it_before(protocol) {
        let (host, session) = Setup::sandbox(protocol).with("SANDBOX_ODD", "usable").session().await?;
        for how in ["error", "status", "partial"] {
            let long = format!("what went wr\u{f6}ng with {how}, ").repeat(8_000);
            let leak = session.resource("sandbox:index/leak:Leak", how);
            let inputs = json!({"open": &long, "how": how, "during": "create"});
            let status = leak.make(&inputs).await.expect_err(how);
            let says = "bytes are left out; the whole text is in the log before this error]";
            assert!(status.message().len() < 8 << 10 && status.message().ends_with(says), "{how}: {status}");
            let is_whole = |line: &Line| line.severity == Severity::Info && line.message.contains(&long);
            assert_eq!(host.engine.shown().iter().filter(|line| is_whole(line)).count(), 1, "{how}");
            let made = half_made(&status);
            assert_eq!(made.is_some(), how == "partial", "{how}");
            if let Some(made) = made {
                assert!(made.reasons.iter().all(|reason| reason.len() < 4 << 10), "{:?}", made.reasons);
                let properties = json_of(made.properties.as_ref().expect("properties"));
                assert_eq!(properties["open"], json!(long), "the engine stores the whole object");
            }
        }
    }

    async fn a_terraform_name_in_place_of_a_token_is_answered_with_the_token(session: sandbox) {
        for token in [
            "sandbox:index/sandbox_note:sandbox_note",
            "sandbox:index/sandboxNote:SandboxNote",
            "sandbox:index/note:note",
            "sandbox:notes/note:Note",
            "sandbox_note",
            "sandbox.Note",
        ] {
            let resource = session.resource(token, "it");
            let checked = resource.check(&json!({"title": "Hello"})).await.expect_err(token);
            let imported = resource.import("some-id").await.expect_err(token);
            for status in [checked, imported] {
                let wanted = format!("no resource {token:?}; did you mean \"sandbox:index/note:Note\"?");
                assert!(status.message().contains(&wanted), "{token}: {status}");
            }
        }
        for token in ["sandbox:index/sandbox_note:sandbox_note", "sandbox:index/note:getNote", "sandbox_note"] {
            let status = session.invoke(token, &json!({"title": "Hello"})).await.expect_err(token);
            let wanted = format!("{token:?}; did you mean \"sandbox:index/getNote:getNote\"?");
            assert!(status.message().contains(&wanted), "{token}: {status}");
        }
    }

    async fn the_providers_own_lines_are_for_debugging_and_have_the_resource(protocol) {
        let (host, session) = Setup::sandbox(protocol).with("TF_LOG_SDK", "debug").session().await?;
        let faulty = session.faulty();
        faulty.make(&json!({"mode": "flood", "size": 3})).await?;
        let line = host.engine.line("a line of the provider's", |line| line.message.contains("one of many")).await;
        assert_eq!(line.severity, Severity::Debug);
        assert_eq!(line.urn, faulty.urn());
        assert_eq!(host.engine.shown(), []);
    }

    async fn the_providers_lines_go_to_a_file_where_the_user_asked(protocol) {
        let directory = tempfile::tempdir().expect("a directory");
        let path = directory.path().join("provider.log");
        let file = path.to_str().expect("a path in UTF-8");
        for (level, wanted) in [("DEBUG", "[DEBUG] provider.terraform-provider-sandbox"), ("JSON", "{\"@level\":\"debug\"")] {
            let setup = Setup::sandbox(protocol).with("TF_LOG", level).with("TF_LOG_PATH", file);
            let (host, session) = setup.session().await?;
            session.faulty().make(&json!({"mode": "flood", "size": 3})).await?;
            let line = host.engine.line("a line of the provider's", |line| line.message.contains("one of many")).await;
            assert_eq!(line.severity, Severity::Debug, "it is not shown as well");
            let written = std::fs::read_to_string(&path).expect("the file was made");
            let found = written.lines().any(|line| line.contains(wanted) && line.contains("one of many"));
            assert!(found, "{level}: {written}");
        }
        // Terraform writes nothing either, unless a level is asked for.
        std::fs::remove_file(&path).expect("it was made");
        let (_host, session) = Setup::sandbox(protocol).with("TF_LOG_PATH", file).session().await?;
        session.faulty().make(&json!({"mode": "flood", "size": 3})).await?;
        assert!(!path.exists(), "no level was asked for");
    }

    async fn a_log_file_that_cannot_be_written_to_is_told_and_lines_are_shown(protocol) {
        let setup = Setup::sandbox(protocol).with("TF_LOG", "DEBUG").with("TF_LOG_PATH", "/nowhere/provider.log");
        let (host, session) = setup.session().await?;
        session.faulty().make(&json!({"mode": "flood", "size": 3})).await?;
        let warning = host.engine.line("a warning", |line| line.severity == Severity::Warning).await;
        assert!(warning.message.contains("/nowhere/provider.log (TF_LOG_PATH): "), "{warning:?}");
        let line = host.engine.line("a line of the provider's", |line| line.message.contains("one of many")).await;
        assert_eq!(line.severity, Severity::Info);
    }

    async fn the_providers_lines_are_shown_as_the_user_asked(protocol) {
        for variable in ["TF_LOG", "TF_LOG_PROVIDER"] {
            let (host, session) = Setup::sandbox(protocol).with(variable, "DEBUG").session().await?;
            session.faulty().make(&json!({"mode": "flood", "size": 3})).await?;
            let line = host.engine.line("a line of the provider's", |line| line.message.contains("one of many")).await;
            assert_eq!(line.severity, Severity::Info, "{variable}");
        }
    }

    async fn a_line_has_no_resource_when_it_may_be_about_two(protocol) {
        let (host, session) = Setup::sandbox(protocol).with("TF_LOG_SDK", "debug").session().await?;
        let hanging = session.resource("sandbox:index/faulty:Faulty", "hanging");
        let flooding = session.resource("sandbox:index/faulty:Faulty", "flooding");
        let (hangs, floods) = (json!({"mode": "hang"}), json!({"mode": "flood", "size": 3}));
        let is_of_flood = |line: &Line| line.message.contains("one of many");
        let (hung, flooded) = tokio::join!(hanging.create(&hangs), async {
            host.provider_is_in("ApplyResourceChange", 1).await;
            let flooded = flooding.create(&floods).await;
            host.engine.line("a line of the provider's", is_of_flood).await;
            session.cancel().await?;
            flooded
        });
        flooded?;
        hung.expect_err("it was cancelled");
        let lines: Vec<Line> = host.engine.lines().into_iter().filter(is_of_flood).collect();
        assert!(lines.iter().all(|line| line.urn.is_empty()), "{lines:?}");
    }

    async fn a_flood_of_lines_stops_neither_the_daemon_nor_the_provider(protocol) {
        let (host, session) = Setup::sandbox(protocol).with("TF_LOG_SDK", "debug").session().await?;
        session.faulty().make(&json!({"mode": "flood", "size": 50_000})).await?;
        // However many lines there were, the daemon lives and the provider works.
        session.note().make(&json!({"title": "Hello"})).await?;
        let longest = host.engine.lines().iter().map(|line| line.message.len()).max();
        assert!(longest < Some(256 * 1024), "lines are cut: {longest:?}");
    }
}
