//! Calls of the legacy engine that the daemon has to break off, because it ends and the provider does not answer. (That engine
//! cannot cancel, and sets no time.)

use crate::harness::processes::Signal;
use isthmus_state::Status as Condition;
use tonic::transport::Channel;
use tonic::{Code, Status};

use super::*;
use crate::harness::Host;

const FAULTY: &str = "sandbox:faulty:Faulty";

async fn start(protocol: crate::harness::Protocol) -> (Host, ResourceProviderClient<Channel>) {
    let setup =
        Setup::sandbox(protocol).named("lumi-resource-sandbox").with("ISTHMUS_STOP_GRACE_PERIOD", "0.3");
    let host = setup.start().await;
    let lumi = ResourceProviderClient::new(host.channel().await);
    (host, lumi)
}

fn faulty(mode: &str, during: &str, size: u8) -> Struct {
    [("mode", Value::from(mode)), ("during", during.into()), ("size", f64::from(size).into())].into()
}

fn creation(inputs: Struct) -> CreateRequest {
    CreateRequest { r#type: FAULTY.to_owned(), properties: Some(inputs) }
}

/// A status of that code, with all these words.
#[track_caller]
fn assert_says(answer: Result<impl std::fmt::Debug, Status>, code: Code, words: &[&str]) {
    let status = answer.expect_err("the provider never answers");
    assert_eq!(status.code(), code, "{status}");
    for word in words {
        assert!(status.message().contains(word), "{word:?} is not in: {}", status.message());
    }
    for word in ["pulumi", "customTimeouts"] {
        assert!(!status.message().contains(word), "this engine knows no {word}: {}", status.message());
    }
}

on_one_protocol! {
    async fn changes_that_are_broken_off_say_what_is_known_of_them(protocol) {
        let (mut host, lumi) = start(protocol).await;
        let (hanging, first) = ("hang-forever", faulty("hang-forever", "update+delete", 1));
        let made = lumi.clone().create(creation(first.clone())).await?.into_inner();
        let doomed = lumi.clone().create(creation(faulty(hanging, "update+delete", 2))).await?.into_inner();
        let (mut creating, mut updating, mut deleting) = (lumi.clone(), lumi.clone(), lumi.clone());
        let update = UpdateRequest {
            id: made.id.clone(),
            r#type: FAULTY.to_owned(),
            olds: Some(first),
            news: Some(faulty(hanging, "update+delete", 3)),
        };
        let mut properties = faulty(hanging, "update+delete", 2);
        for (name, value) in doomed.properties.unwrap_or_default().iter() {
            properties.insert(name, value.clone());
        }
        let delete = DeleteRequest { id: doomed.id, r#type: FAULTY.to_owned(), properties: Some(properties) };
        let (created, updated, deleted, ()) = tokio::join!(
            creating.create(creation(faulty(hanging, "create", 4))),
            updating.update(update),
            deleting.delete(delete),
            async {
                host.provider_is_in("ApplyResourceChange", 5).await;
                host.signal(Signal::TERM);
            },
        );
        let ended = "did not stop within 300ms of a stop request, so its ApplyResourceChange was interrupted";
        assert_says(created, Code::Unknown, &[
            "creating this resource was cancelled", ended, "Whether there is a new sandbox_faulty now is unknown",
            "delete it there", "run this again",
        ]);
        assert_says(updated, Code::Unknown, &[
            "updating this resource was cancelled", ended, "Whether the sandbox_faulty was changed is unknown",
            "run this again, and the change is made again",
        ]);
        assert_says(deleted, Code::Unknown, &[
            "deleting this resource was cancelled", ended, "Whether the sandbox_faulty is still there is unknown",
            "run this again; if it is gone, that counts as deleted",
        ]);
        let home = host.directory().join("isthmus");
        drop((lumi, creating, updating, deleting));
        assert_eq!(host.exit().await.code(), Some(0));
        processes::ended(host.provider_process()).await;
        let kept: Vec<Condition> = kept(&home).await.into_iter().map(|(_, status)| status).collect();
        assert_eq!(kept, [Condition::Ready; 2], "what is known of them is what was known before");
    }

    async fn a_call_that_has_changed_nothing_says_so_to_the_legacy_engine(protocol) {
        let (mut host, lumi) = start(protocol).await;
        let hanging = "hang-forever";
        let made = lumi.clone().create(creation(faulty(hanging, "read", 1))).await?.into_inner();
        let planned = host.count("PlanResourceChange");
        let (mut checking, mut creating, mut comparing, mut getting) =
            (lumi.clone(), lumi.clone(), lumi.clone(), lumi.clone());
        let check = CheckRequest { r#type: FAULTY.to_owned(), properties: Some(faulty(hanging, "validate", 2)) };
        let diff = DiffRequest {
            id: made.id.clone(),
            r#type: FAULTY.to_owned(),
            olds: Some(faulty(hanging, "read", 1)),
            news: Some(faulty(hanging, "plan", 1)),
        };
        let validate =
            if protocol.to_string() == "5" { "ValidateResourceTypeConfig" } else { "ValidateResourceConfig" };
        let validated = host.count(validate);
        let (checked, created, compared, got, ()) = tokio::join!(
            checking.check(check),
            creating.create(creation(faulty(hanging, "plan", 3))),
            comparing.diff(diff),
            getting.get(GetRequest { id: made.id.clone(), r#type: FAULTY.to_owned() }),
            async {
                host.provider_is_in("PlanResourceChange", planned + 2).await;
                host.provider_is_in(validate, validated + 1).await;
                host.provider_is_in("ReadResource", 1).await;
                host.signal(Signal::TERM);
            },
        );
        let nothing = "Nothing was changed by it: run this again";
        assert_says(checked, Code::Cancelled, &["this call was cancelled", validate, nothing]);
        assert_says(created, Code::Cancelled, &["creating this resource was cancelled", "PlanResourceChange", nothing]);
        assert_says(compared, Code::Cancelled, &["this call was cancelled", "PlanResourceChange", nothing]);
        assert_says(got, Code::Cancelled, &["reading this resource was cancelled", "ReadResource", nothing]);
        drop((lumi, checking, creating, comparing, getting));
        assert_eq!(host.exit().await.code(), Some(0));
        processes::ended(host.provider_process()).await;
    }

    /// The store has nothing of it, so it is imported. That nobody waits for that any more says nothing of the resource.
    async fn an_import_that_is_broken_off_is_not_taken_for_one_that_failed(protocol) {
        let (mut host, lumi) = start(protocol).await;
        let mut getting = lumi.clone();
        let get = GetRequest { id: "hang-forever".to_owned(), r#type: FAULTY.to_owned() };
        let (got, ()) = tokio::join!(getting.get(get), async {
            host.provider_is_in("ImportResourceState", 1).await;
            host.signal(Signal::TERM);
        });
        let nothing = "Nothing was changed by it: run this again";
        assert_says(got, Code::Cancelled, &["reading this resource was cancelled", "ImportResourceState", nothing]);
        drop((lumi, getting));
        assert_eq!(host.exit().await.code(), Some(0));
    }

    async fn what_a_creation_has_made_when_the_daemon_ends_is_deleted_again(protocol) {
        let (mut host, lumi) = start(protocol).await;
        let mut creating = lumi.clone();
        let (created, ()) = tokio::join!(creating.create(creation(faulty("interrupted", "create", 1))), async {
            host.provider_is_in("ApplyResourceChange", 1).await;
            host.signal(Signal::TERM);
        });
        assert_says(created, Code::Aborted, &["sandbox_faulty was interrupted", "object was deleted"]);
        assert!(host.objects().is_empty(), "{:?}", host.objects());
        drop((lumi, creating));
        assert_eq!(host.exit().await.code(), Some(0));
    }
}
