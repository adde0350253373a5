//! State that the Go bridge has no form for: it goes on there, and comes back.
//!
//! Stacks of whole programs go over and back in `tests/e2e/continuity.rs`. Here it is one resource at a time, of each kind
//! whose state is more than attributes.

use crate::harness::resource::{Difference, Resource, half_made};
use crate::harness::{Host, Session, Setup, Status, Stored, json, json_of, on_one_protocol, secret};

/// This program and the Go bridge beside one provider and its objects.
struct Both {
    ours: (Host, Session),
    go: (Host, Session),
}

impl Both {
    async fn start(setup: Setup) -> Result<Self, Status> {
        let ours = setup.clone().session().await?;
        let go = setup.go_bridge().named("go-bridge").beside(&ours.0).session().await?;
        Ok(Self { ours, go })
    }

    fn resources(&self, token: &str) -> [Resource; 2] {
        [&self.ours, &self.go].map(|(_, session)| session.resource(token, "it"))
    }
}

on_one_protocol! {
    async fn a_resource_without_an_id_goes_over_and_back(protocol) {
        let both = Both::start(Setup::sandbox(protocol).with("SANDBOX_ODD", "usable")).await?;
        for (token, inputs) in [
            ("sandbox:index/oddBare:OddBare", json!({"label": "a"})),
            ("sandbox:index/oddPair:OddPair", json!({"zone": "z", "number": 1, "label": "a"})),
        ] {
            let [ours, go] = both.resources(token);
            let made = ours.make(&inputs).await?;
            assert_eq!(go.diff(&made, &inputs).await?, Difference::default(), "{token}");
            let read = go.refresh(&made).await?.expect("it is there");
            assert_eq!(read.id, "missing ID", "the Go bridge has one id for all of them");

            let mut news = inputs.clone();
            news["label"] = json!("b");
            // Its update keeps the id that there is, its refresh does not; it goes on here with either.
            for stored in [made, read] {
                let updated = go.update(&stored, &news).await?;
                assert_eq!((&updated.id, &updated.outputs["label"]), (&stored.id, &json!("b")), "{token}");
                assert_eq!(ours.diff(&updated, &news).await?, Difference::default(), "{token}");
                let back = ours.refresh(&updated).await?.expect("it is there");
                assert_eq!((&back.id, &back.inputs), (&stored.id, &news), "{token}");
                let changed = ours.update(&back, &inputs).await?;
                assert_eq!(changed.outputs["label"], "a", "{token}");
            }
        }
    }

    async fn a_tainted_resource_stays_so_until_the_go_bridge_writes_its_state(protocol) {
        let both = Both::start(Setup::sandbox(protocol)).await?;
        let [ours, go] = both.resources("sandbox:index/faulty:Faulty");
        let inputs = json!({"mode": "partial"});
        let status = ours.make(&inputs).await.expect_err("it is made half way");
        let half = half_made(&status).expect("the status says what was made");
        let outputs = json_of(&half.properties.expect("it has properties"));
        let made = Stored { id: half.id, inputs: inputs.clone(), outputs };
        assert_eq!(go.diff(&made, &inputs).await?, Difference::default(), "the Go bridge knows no tainted resources");
        assert_eq!(ours.diff(&made, &inputs).await?.replaces, ["__meta"]);
        let read = go.refresh(&made).await?.expect("it is there");
        assert_eq!(ours.diff(&read, &inputs).await?, Difference::default(), "it has written what it knows");
    }

    async fn what_an_import_could_not_read_is_known_until_the_go_bridge_writes_its_state(protocol) {
        let both = Both::start(Setup::sandbox(protocol).with("SANDBOX_SENSITIVE", "withheld")).await?;
        let [ours, go] = both.resources("sandbox:index/note:Note");
        let program = json!({"title": "Hello", "secretHint": secret("under the mat")});
        let made = ours.make(&program).await?;
        let imported = ours.import(&made.id).await?.expect("it is there");
        assert!(go.diff(&imported, &program).await?.some, "the Go bridge would set it");
        assert_eq!(ours.diff(&imported, &program).await?, Difference::default());
        let read = go.refresh(&imported).await?.expect("it is there");
        assert!(ours.diff(&read, &program).await?.some, "it has written what it knows");
    }

    async fn a_resource_of_another_type_goes_over_once_it_has_become_one_of_its_own(protocol) {
        let both = Both::start(Setup::sandbox(protocol).with("SANDBOX_ODD", "usable")).await?;
        let [memo, _] = both.resources("sandbox:index/memo:Memo");
        let [ours, go] = both.resources("sandbox:index/note:Note");
        let old = memo.make(&json!({"name": "Hello", "text": "World"})).await?;
        let news = json!({"title": "Hello", "body": "World", "priority": 4});
        let moved = ours.update(&old, &news).await?;
        assert_eq!(go.diff(&moved, &news).await?, Difference::default());
        let news = json!({"title": "Hi", "body": "World", "priority": 4});
        let updated = go.update(&moved, &news).await?;
        assert_eq!(updated.outputs["title"], "Hi");
        let back = ours.refresh(&updated).await?.expect("it is there");
        assert_eq!(ours.diff(&back, &news).await?, Difference::default());
        ours.delete(&back).await?;
        assert!(both.ours.0.objects().is_empty());
    }

    async fn what_a_deferral_kept_goes_over_and_back(protocol) {
        let both = Both::start(Setup::sandbox(protocol)).await?;
        let [ours, go] = both.resources("sandbox:index/note:Note");
        let inputs = json!({"title": "Hello", "labels": {"a": "b"}});
        let made = ours.make(&inputs).await?;
        let deferring = Setup::sandbox(protocol).with("SANDBOX_DEFER", "read:absent");
        let (_host, deferring) = deferring.beside(&both.ours.0).session().await?;
        let kept = deferring.resource("sandbox:index/note:Note", "it").refresh(&made).await?.expect("it is kept");
        assert_eq!(go.diff(&kept, &inputs).await?, Difference::default());
        let read = go.refresh(&kept).await?.expect("it is there");
        assert_eq!(ours.diff(&read, &inputs).await?, Difference::default());
        ours.delete(&read).await?;
    }

    async fn a_hashed_write_only_value_goes_over_and_back(protocol) {
        let both = Both::start(Setup::conformance(protocol).with("ISTHMUS_WRITE_ONLY", "hash")).await?;
        let [ours, go] = both.resources("conformance:index/record:Record");
        let program = json!({"name": "first", "passwordWo": secret("sesame"), "passwordWoVersion": 1});
        let made = ours.make(&program).await?;
        assert!(!made.inputs.to_string().contains("sesame"), "{}", made.inputs);

        // The program has the value, so that the Go bridge never sends what stands in its place.
        let checked = go.check_again(&made.inputs, &program).await?.inputs;
        assert_eq!(checked["passwordWo"], secret("sesame"));
        assert_eq!(go.diff(&made, &checked).await?, Difference::default());
        let mut program = program;
        program["passwordWoVersion"] = json!(2);
        program["passwordWo"] = secret("open sesame");
        let updated = go.update(&made, &go.check_again(&made.inputs, &program).await?.inputs).await?;
        assert_eq!(both.ours.0.objects()[0]["password"], "open sesame");

        let back = ours.check_again(&updated.inputs, &program).await?.inputs;
        assert!(!back.to_string().contains("sesame"), "{back}");
        assert_eq!(ours.diff(&updated, &back).await?, Difference::default());
        ours.delete(&Stored { inputs: back, ..updated }).await?;
        assert!(both.ours.0.objects().is_empty());
    }
}
