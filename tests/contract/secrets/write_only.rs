//! Write-only values: they reach the provider, are never in outputs, and an engine stores them as secrets or not at all.

use crate::harness::{Json, Setup, json, on_one_protocol, secret};

/// The setting that keeps only a hash.
const SETTING: (&str, &str) = ("ISTHMUS_WRITE_ONLY", "hash");

on_one_protocol! {
    async fn without_the_setting_the_engine_stores_them_as_secrets(host, session: conformance) {
        let record = session.record();
        let inputs = record.checked(&json!({"name": "first", "passwordWo": "sesame", "passwordWoVersion": 1})).await?;
        assert_eq!(inputs["passwordWo"], secret("sesame"), "although the program did not say so");
        let made = record.create(&inputs).await?;
        assert_eq!(host.objects()[0]["password"], "sesame");
        assert_eq!(made.outputs["passwordWo"], Json::Null);
    }

    async fn a_change_of_one_alone_is_no_difference(protocol) {
        for setting in ["", SETTING.1] {
            let (_host, session) = Setup::conformance(protocol).with(SETTING.0, setting).session().await?;
            let record = session.record();
            let mut news = json!({"name": "first", "passwordWo": "sesame", "passwordWoVersion": 1});
            let made = record.make(&news).await?;
            news["passwordWo"] = json!("ajar-now");
            let changed = record.check_again(&made.inputs, &news).await?.inputs;
            assert_ne!(changed["passwordWo"], made.inputs["passwordWo"]);
            let difference = record.diff(&made, &changed).await?;
            assert!(!difference.some, "{setting:?}: {difference:?}");
        }
    }

    async fn with_the_setting_the_engine_stores_a_hash(protocol) {
        let (host, session) = Setup::conformance(protocol).with(SETTING.0, SETTING.1).session().await?;
        let record = session.record();
        let mut news = json!({"name": "first", "passwordWo": "sesame", "passwordWoVersion": 1});
        let inputs = record.checked(&news).await?;
        assert!(!inputs.to_string().contains("sesame"), "{inputs}");
        let mark = inputs["passwordWo"]["value"].as_str().expect("a secret text");
        assert!(mark.starts_with("isthmus:write-only:"), "{mark}");
        let planned = record.preview_create(&inputs).await?;
        let made = record.create(&inputs).await?;
        assert_eq!(host.objects()[0]["password"], "sesame", "the provider got the value");
        let read = record.refresh(&made).await?.expect("it is there");
        assert_eq!(read.inputs, inputs, "the same value has the same hash");
        let again = record.check_again(&read.inputs, &news).await?.inputs;
        assert_eq!(again, inputs);
        assert!(!record.diff(&read, &again).await?.some);

        news["passwordWo"] = json!("ajar-now");
        news["passwordWoVersion"] = json!(2);
        let inputs = record.check_again(&inputs, &news).await?.inputs;
        assert_eq!(record.diff(&read, &inputs).await?.changes.last().map(String::as_str), Some("update passwordWoVersion"));
        let changed = record.update(&read, &inputs).await?;
        assert_eq!(host.objects()[0]["password"], "ajar-now");
        for outputs in [&planned, &made.outputs, &read.outputs, &changed.outputs] {
            let text = outputs.to_string();
            assert!(!text.contains("sesame") && !text.contains("ajar-now") && !text.contains("write-only"), "{text}");
        }
        record.delete(&changed).await?;
    }

    async fn a_hash_whose_value_nobody_holds_never_reaches_the_provider(protocol) {
        let setup = Setup::conformance(protocol).with(SETTING.0, SETTING.1);
        let (host, session) = setup.clone().session().await?;
        let made = session.record().make(&json!({"name": "first", "passwordWo": "sesame", "passwordWoVersion": 1})).await?;
        // Another process, to which the engine brings the old input because of `ignoreChanges`; once it does not know of the
        // setting any more.
        for setting in [SETTING.1, ""] {
            let other = setup.clone().with(SETTING.0, setting).beside(&host).start().await;
            let session = other.session().await?;
            let record = session.record();
            let mut news = made.inputs.clone();
            news["title"] = json!(format!("with {setting:?}"));
            let checked = record.check_again(&made.inputs, &news).await?;
            assert_eq!((&checked.failures, &checked.inputs["passwordWo"]), (&vec![], &Json::Null));
            record.update(&made, &news).await?;
            assert_eq!(host.objects()[0]["password"], "sesame", "the provider received nothing, and keeps what it has");
        }
    }

    async fn values_are_in_no_difference_no_log_and_no_error(protocol) {
        let calls = tempfile::tempdir().expect("a temporary directory");
        let log = calls.path().join("calls");
        let setup = Setup::sandbox(protocol)
            .with("ISTHMUS_LOG_CALLS", "true")
            .with("PULUMI_TF_DEBUG_GRPC", log.to_str().expect("a text"))
            .with("TF_LOG", "trace");
        let (host, session) = setup.session().await?;
        let note = session.note();
        let mut news = json!({"title": "Hello", "passphrase": "sesame-sesame", "secretHint": "under-the-mat"});
        let made = note.make(&news).await?;
        news["passphrase"] = json!("open-sesame-now");
        news["secretHint"] = json!("under-the-stone");
        let inputs = note.check_again(&made.inputs, &news).await?.inputs;
        let difference = note.diff_in_full(&made, &inputs, &[]).await?;
        let is_shown = |name: &str| difference.diffs.iter().any(|diff| diff == name);
        assert!(is_shown("secretHint") && !is_shown("passphrase"), "{difference:?}");
        let changed = note.update(&made, &inputs).await?;
        // An error at a place that is secret.
        news["title"] = json!("");
        let failed = note.check_again(&inputs, &news).await?;
        assert_eq!(failed.failures.len(), 1);
        note.delete(&changed).await?;
        let told = format!(
            "{difference:?} {:?} {:?} {} {}",
            failed.failures,
            host.engine.lines(),
            host.stderr(),
            std::fs::read_to_string(&log).expect("calls were logged"),
        );
        for value in ["sesame", "under-the"] {
            assert!(!told.contains(value), "{value} is in {told}");
        }
    }
}
