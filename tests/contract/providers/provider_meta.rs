//! Provider metadata: what providers are told of the program, by a setting.

use crate::harness::engine::Severity;
use crate::harness::{Code, Host, Json, Setup, json, on_both_protocols};

const GET_NOTE: &str = "sandbox:index/getNote:getNote";

/// What came along with each call that has a place for it, in order.
fn told(host: &Host) -> Vec<(String, Option<Json>)> {
    let with_place = ["ReadResource", "PlanResourceChange", "ApplyResourceChange", "ReadDataSource"];
    let calls = host
        .calls()
        .into_iter()
        .filter(|line| with_place.contains(&line["call"].as_str().unwrap_or_default()));
    let text = |line: &Json| line["provider_meta"].as_str().map(str::to_owned);
    let parsed = |text: String| serde_json::from_str(&text).unwrap_or_else(|error| panic!("{text}: {error}"));
    calls
        .map(|line| (line["call"].as_str().unwrap_or_default().to_owned(), text(&line).map(parsed)))
        .collect()
}

/// A note's whole life, and a look at it by a data source.
async fn live(session: &crate::harness::Session) -> Result<(), tonic::Status> {
    let note = session.note();
    let made = note.make(&json!({"title": "Hello"})).await?;
    let read = note.refresh(&made).await?.expect("it is there");
    let mut news = read.inputs.clone();
    news["body"] = json!("World");
    note.diff(&read, &news).await?;
    let changed = note.update(&read, &news).await?;
    note.import(&made.id).await?.expect("it is there");
    session.invoke(GET_NOTE, &json!({"title": "Hello"})).await?.expect("it is there");
    note.delete(&changed).await
}

on_both_protocols! {
    async fn what_the_setting_says_comes_along_with_every_call_that_has_a_place_for_it(protocol) {
        let meta = json!({
            "sandbox": {"module": "blueprint", "uses": 3, "part": [{"name": "a"}, {"name": "b"}]},
            "another": {"whatever": true},
        });
        let setup = Setup::sandbox(protocol).with("SANDBOX_META", "true");
        let (host, session) = setup.with("ISTHMUS_PROVIDER_META", &meta.to_string()).session().await?;
        live(&session).await?;
        let told = told(&host);
        for call in ["ReadResource", "PlanResourceChange", "ApplyResourceChange", "ReadDataSource"] {
            assert!(told.iter().any(|(name, _)| name == call), "{call}: {told:?}");
        }
        for (call, meta_of_call) in &told {
            assert_eq!(meta_of_call.as_ref(), Some(&meta["sandbox"]), "{call}");
        }
        assert!(host.engine.shown().is_empty(), "{:?}", host.engine.shown());
    }

    async fn without_the_setting_a_provider_is_told_null(protocol) {
        for meta in [None, Some(r#"{"another": {"module": "x"}}"#), Some(r#"{"sandbox": null}"#)] {
            let mut setup = Setup::sandbox(protocol).with("SANDBOX_META", "true");
            if let Some(meta) = meta {
                setup = setup.with("ISTHMUS_PROVIDER_META", meta);
            }
            let (host, session) = setup.session().await?;
            live(&session).await?;
            assert!(told(&host).iter().all(|(_, told)| *told == Some(Json::Null)), "{:?}", told(&host));
        }
    }

    async fn a_provider_that_wants_nothing_is_told_nothing_with_one_warning(protocol) {
        let setup = Setup::sandbox(protocol).with("ISTHMUS_PROVIDER_META", r#"{"sandbox": {"module": "x"}}"#);
        let (host, session) = setup.session().await?;
        live(&session).await?;
        assert!(told(&host).iter().all(|(_, told)| told.is_none()), "{:?}", told(&host));
        let shown = host.engine.shown();
        let [line] = &*shown else { panic!("one line, not {shown:?}") };
        assert_eq!(line.severity, Severity::Warning);
        assert_eq!(
            line.message,
            "ISTHMUS_PROVIDER_META has no effect for sandbox: The provider sandbox takes no metadata."
        );
    }

    async fn what_does_not_fit_is_an_error_that_names_the_place(protocol) {
        for (meta, words) in [
            (r#"{"sandbox": {"modul": "x"}}"#, "cannot be used at `sandbox.modul`: the provider has nothing of this name"),
            (r#"{"sandbox": {"uses": "many"}}"#, "cannot be used at `sandbox.uses`: a number is required"),
            (r#"{"sandbox": {"part": [{"name": "a"}, {}]}}"#, "cannot be used at `sandbox.part[1].name`: it is required"),
        ] {
            let setup = Setup::sandbox(protocol).with("SANDBOX_META", "true").with("ISTHMUS_PROVIDER_META", meta);
            let host = setup.start().await;
            let session = host.parameterized().await?;
            let status = session.configure(&json!({})).await.expect_err(meta);
            assert!(status.message().contains(words), "{meta}: {status}");
            assert_eq!(status.code(), Code::Aborted);
            let status = session.note().preview_create(&json!({"title": "Hello"})).await.expect_err(meta);
            assert_eq!(status.code(), Code::FailedPrecondition, "{meta}: {status}");
        }
    }
}
