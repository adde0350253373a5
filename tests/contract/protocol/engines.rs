//! Faults of engines: one that leaves in the middle of a call, asks twice at once, or sends what no schema allows.
//!
//! A change that was begun goes to its end, anything else ends with the call, and nothing is made that was not asked for.

use isthmus_proto::lumirpc::resource_provider_client::ResourceProviderClient;
use isthmus_proto::lumirpc::{CheckRequest, CreateRequest, DeleteRequest, GetRequest, UpdateRequest};
use isthmus_proto::property::{Struct, Value};
use isthmus_proto::pulumirpc;

use crate::harness::host::until;
use crate::harness::{Code, PATIENCE, Setup, json, on_one_protocol};

fn legacy_note(body: &str) -> Struct {
    [("title", Value::from("hello")), ("body", body.into())].into()
}

/// Values in place of a note's title, which is a text.
fn impossible_titles() -> Vec<(&'static str, Value)> {
    let asset = |name: &'static str| {
        Value::Struct([("4dabf18193072939515e22adb298388d", Value::from(name)), ("text", "x".into())].into())
    };
    vec![
        ("a list", Value::List(vec!["hello".into()])),
        ("a map", Value::Struct([("hello", Value::from("you"))].into())),
        ("an asset", asset("c44067f5952c0a294b673a41bacd8c17")),
        ("an archive", asset("0def7320c3a5731c473e5ecbe6d01bc7")),
        ("a reference to a resource", asset("5cf8f73096256a8f31e491e813e4eb8e")),
        ("an unknown kind of object", asset("00000000000000000000000000000000")),
    ]
}

on_one_protocol! {
    async fn what_changes_nothing_ends_when_the_engine_gives_it_up(host, session: sandbox) {
        let faulty = session.faulty();
        let hanging = |during: &str| json!({"mode": "hang-forever", "during": during});
        let read = faulty.create(&hanging("read")).await?;
        for (during, call) in [("validate", "Validate"), ("plan", "PlanResourceChange"), ("read", "ReadResource")] {
            let inputs = hanging(during);
            let asked = || host.call_names().iter().filter(|name| name.starts_with(call)).count();
            let before = asked();
            let asking = async {
                match during {
                    "validate" => faulty.check(&inputs).await.map(drop),
                    "plan" => faulty.preview_create(&inputs).await.map(drop),
                    _ => faulty.refresh(&read).await.map(drop),
                }
            };
            tokio::select! {
                early = asking => panic!("{during} hangs: {early:?}"),
                () = until(call, || (asked() > before).then_some(())) => {}
            }
            // Cancel reaches the provider for as long as a call is in progress.
            let stops = || host.call_names().iter().filter(|name| name.starts_with("Stop")).count();
            let ended = async {
                loop {
                    let before = stops();
                    session.cancel().await?;
                    if stops() == before {
                        return Ok::<_, crate::harness::Status>(());
                    }
                }
            };
            tokio::time::timeout(PATIENCE, ended).await.unwrap_or_else(|_| panic!("{during} never ends"))?;
            session.note().make(&json!({"title": "Hello"})).await?;
        }
    }

    async fn a_change_of_a_legacy_engine_goes_to_its_end_although_it_has_left(protocol) {
        let host = Setup::sandbox(protocol).legacy().start().await;
        let mut leaving = ResourceProviderClient::new(host.channel().await);
        let slow: Struct = [("name", Value::from("web")), ("bootTime", "300ms".into())].into();
        let request = CreateRequest { r#type: "sandbox:server:Server".to_owned(), properties: Some(slow) };
        tokio::select! {
            early = leaving.create(request) => panic!("booting takes longer: {early:?}"),
            () = host.provider_is_in("ApplyResourceChange", 1) => {}
        }
        drop(leaving);
        let mut staying = ResourceProviderClient::new(host.channel().await);
        let id = until("the server is made", || {
            host.objects().first().and_then(|object| object["id"].as_str().map(str::to_owned))
        });
        let get = GetRequest { id: id.await, r#type: "sandbox:server:Server".to_owned() };
        let found = staying.get(get).await?.into_inner().properties.expect("it is there");
        assert_eq!(found.get("name").and_then(Value::as_str), Some("web"));
    }

    async fn the_same_creation_twice_at_once_makes_two_objects_with_ids_of_their_own(protocol) {
        let host = Setup::sandbox(protocol).legacy().start().await;
        let note = host.connect().await.note();
        let inputs = json!({"title": "Hello"});
        let (one, other) = tokio::join!(note.create(&inputs), note.create(&inputs));
        let (one, other) = (one?, other?);
        assert_ne!(one.id, other.id);
        let create = || CreateRequest { r#type: "sandbox:note:Note".to_owned(), properties: Some(legacy_note("a")) };
        let lumi = ResourceProviderClient::new(host.channel().await);
        let (mut first, mut second) = (lumi.clone(), lumi);
        let (three, four) = tokio::join!(first.create(create()), second.create(create()));
        assert_ne!(three?.into_inner().id, four?.into_inner().id);
        assert_eq!(host.objects().len(), 4, "{:?}", host.objects());
    }

    async fn the_same_change_and_deletion_twice_at_once_happen_and_lose_nothing(protocol) {
        let host = Setup::sandbox(protocol).legacy().start().await;
        let note = host.connect().await.note();
        let made = note.make(&json!({"title": "Hello", "body": "a"})).await?;
        let news = json!({"title": "Hello", "body": "b"});
        let (one, other) = tokio::join!(note.update(&made, &news), note.update(&made, &news));
        let updated = one?;
        assert_eq!(updated.outputs, other?.outputs, "both are told the same");
        assert_eq!(host.objects().len(), 1);
        assert_eq!(host.objects()[0]["body"], "b");
        let (one, other) = tokio::join!(note.delete(&updated), note.delete(&updated));
        one?;
        other?;
        assert!(host.objects().is_empty(), "{:?}", host.objects());
    }

    async fn the_same_change_of_a_legacy_engine_twice_at_once_happens_once_or_is_refused(protocol) {
        let host = Setup::sandbox(protocol).legacy().start().await;
        let lumi = ResourceProviderClient::new(host.channel().await);
        let (mut first, mut second) = (lumi.clone(), lumi);
        let r#type = || "sandbox:note:Note".to_owned();
        let create = CreateRequest { r#type: r#type(), properties: Some(legacy_note("a")) };
        let made = first.create(create).await?.into_inner();
        let update = || UpdateRequest {
            id: made.id.clone(),
            r#type: r#type(),
            olds: Some(legacy_note("a")),
            news: Some(legacy_note("b")),
        };
        let refused = |status: &tonic::Status| {
            assert!(![Code::Unknown, Code::Internal].contains(&status.code()), "it did not happen: {status}");
        };
        let (one, other) = tokio::join!(first.update(update()), second.update(update()));
        let (done, rest): (Vec<_>, Vec<_>) = [one, other].into_iter().partition(Result::is_ok);
        rest.iter().filter_map(|answer| answer.as_ref().err()).for_each(refused);
        let updated = done.into_iter().next().expect("one of them happens")?.into_inner().properties;
        assert_eq!(host.objects().len(), 1);
        assert_eq!(host.objects()[0]["body"], "b");
        let delete =
            || DeleteRequest { id: made.id.clone(), r#type: r#type(), properties: updated.clone() };
        let (one, other) = tokio::join!(first.delete(delete()), second.delete(delete()));
        let (done, rest): (Vec<_>, Vec<_>) = [one, other].into_iter().partition(Result::is_ok);
        rest.iter().filter_map(|answer| answer.as_ref().err()).for_each(refused);
        assert!(!done.is_empty(), "one of them happens: {rest:?}");
        assert!(host.objects().is_empty(), "{:?}", host.objects());
        // Whoever was refused repeats it, and is told that it is done.
        first.delete(delete()).await?;
    }

    async fn a_value_that_no_schema_allows_is_refused_by_name_and_reaches_no_provider(protocol) {
        let host = Setup::sandbox(protocol).legacy().start().await;
        let mut pulumi = pulumirpc::resource_provider_client::ResourceProviderClient::new(host.channel().await);
        let mut lumi = ResourceProviderClient::new(host.channel().await);
        let urn = "urn:pulumi:test::contract::sandbox:index/note:Note::note";
        for (kind, value) in impossible_titles() {
            let bag: Struct = [("title", value)].into();
            let check = pulumirpc::CheckRequest { urn: urn.to_owned(), news: Some(bag.clone()), ..Default::default() };
            let told = match pulumi.check(check).await {
                Ok(answer) => format!("{:?}", answer.into_inner().failures),
                Err(status) => status.message().to_owned(),
            };
            assert!(told.contains("title"), "Check of {kind} names the property: {told}");
            let create =
                pulumirpc::CreateRequest { urn: urn.to_owned(), properties: Some(bag.clone()), ..Default::default() };
            let status = pulumi.create(create).await.expect_err(kind);
            assert!(![Code::Unknown, Code::Internal].contains(&status.code()), "Create of {kind}: {status}");
            assert!(status.message().contains("title"), "Create of {kind}: {status}");

            let r#type = || "sandbox:note:Note".to_owned();
            let check = CheckRequest { r#type: r#type(), properties: Some(bag.clone()) };
            let told = match lumi.check(check).await {
                Ok(answer) => format!("{:?}", answer.into_inner().failures),
                Err(status) => status.message().to_owned(),
            };
            assert!(told.contains("title"), "the legacy Check of {kind} names the property: {told}");
            let create = CreateRequest { r#type: r#type(), properties: Some(bag) };
            let status = lumi.create(create).await.expect_err(kind);
            assert!(![Code::Unknown, Code::Internal].contains(&status.code()), "the legacy Create of {kind}: {status}");
        }
        assert!(!host.call_names().iter().any(|call| call == "ApplyResourceChange"), "{:?}", host.call_names());
        assert!(host.objects().is_empty(), "{:?}", host.objects());
    }

    async fn infinity_and_what_is_not_a_number_are_refused_and_reach_no_provider(protocol) {
        let host = Setup::sandbox(protocol).legacy().start().await;
        let mut pulumi = pulumirpc::resource_provider_client::ResourceProviderClient::new(host.channel().await);
        let mut lumi = ResourceProviderClient::new(host.channel().await);
        for number in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY] {
            let bag: Struct = [("mode", Value::from("nothing")), ("size", Value::from(number))].into();
            let urn = "urn:pulumi:test::contract::sandbox:index/faulty:Faulty::faulty".to_owned();
            let create = pulumirpc::CreateRequest { urn, properties: Some(bag.clone()), ..Default::default() };
            let status = pulumi.create(create).await.expect_err("no number");
            assert!(![Code::Unknown, Code::Internal].contains(&status.code()), "{number}: {status}");
            assert!(status.message().contains("size"), "{number}: {status}");
            let create = CreateRequest { r#type: "sandbox:faulty:Faulty".to_owned(), properties: Some(bag) };
            let status = lumi.create(create).await.expect_err("no number");
            assert!(![Code::Unknown, Code::Internal].contains(&status.code()), "{number}: {status}");
        }
        assert!(!host.call_names().iter().any(|call| call == "ApplyResourceChange"), "{:?}", host.call_names());
        assert!(host.lives());
    }
}
