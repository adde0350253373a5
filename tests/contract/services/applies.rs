//! Rules about changes that a provider applies, and about those that fail.

use crate::harness::processes::Signal;

use super::driver::{At, Service};
use super::{Legacy, Rule, rules};
use crate::harness::{Code, Outcome, Protocol, json};
use crate::lumirpc::tofu::isthmus;

rules! {
    "A result that is not what was planned is an error" in ["rules/apply_check"],
    legacy: Legacy::Same,
    async fn a_result_that_was_not_planned_is_an_error(at) {
        let client = at.sandbox().await?;
        let made = client.faulty().make(&json!({"mode": "none", "during": "update"})).await?;
        let status = client.faulty().update(&made, &json!({"mode": "inconsistent", "during": "update"})).await;
        let status = status.expect_err("it is not what was planned");
        assert!(status.message().contains("inconsistent result after apply for sandbox_faulty"), "{status}");
        assert_eq!(status.code(), Code::Unknown);
    }

    "The object that a failed Create has made is stored" in ["resource/state_manager", "resource/engine_state"],
    legacy: Legacy::Differs("the engine forgets a failed creation, so that the object is deleted again"),
    async fn a_failed_creation_loses_no_object(at) {
        let client = at.sandbox().await?;
        let status = client.faulty().make(&json!({"mode": "partial"})).await.expect_err("it fails half-way");
        assert!(status.message().contains("sandbox_faulty failed half way"), "{status}");
        let is_stored = crate::harness::resource::half_made(&status).is_some();
        let deleted = status.message().contains("object was deleted");
        assert_eq!((is_stored, deleted), (at.service == Service::Today, at.service == Service::Legacy), "{status}");
    }

    "The changes that a failed Update has made are in the prior state of the next call" in ["resource/update", "resource/error"],
    legacy: Legacy::Same,
    async fn a_failed_update_keeps_what_it_has_changed(at) {
        let client = at.sandbox().await?;
        let faulty = client.faulty();
        let made = faulty.make(&json!({"mode": "none", "during": "update"})).await?;
        let status = faulty.update(&made, &json!({"mode": "partial", "during": "update"})).await;
        let stored = faulty.after_failure(&made, &status.expect_err("it fails half-way"));
        let read = faulty.read(&stored).await?.expect("it is there");
        assert_eq!(read["mode"], "partial");
        faulty.update(&stored, &json!({"mode": "none", "during": "update"})).await?;
    }

    "The changes that a failed Update has not made are not in the prior state" in ["resource/update", "resource/state"],
    legacy: Legacy::Same,
    async fn a_failed_update_is_made_again(at) {
        let client = at.conformance().await?;
        let flaky = client.resource("conformance:index/legacyFlaky:LegacyFlaky");
        let made = flaky.make(&json!({"name": "x", "parts": ["a"]})).await?;
        let news = json!({"name": "x", "parts": ["a", "b"]});
        client.host.trouble("x", &json!({"update": "unmarked", "once": true}));
        let status = flaky.update(&made, &news).await.expect_err("the provider refuses it");
        assert!(status.message().contains("nothing was updated"), "{status}");
        let stored = flaky.after_failure(&made, &status);
        let updated = flaky.update(&stored, &news).await?;
        assert_eq!((&updated.outputs["written"], client.applied()), (&json!(2), 3));
    }

    "An object that could not be read after a failed Update is read before the next change" in ["resource/state", "resource/prior", "resource/diff"],
    legacy: Legacy::Same,
    async fn what_a_failed_update_left_unread_is_read_later(at) {
        let client = at.conformance().await?;
        let flaky = client.resource("conformance:index/legacyFlaky:LegacyFlaky");
        let made = flaky.make(&json!({"name": "x", "parts": ["a", "b"]})).await?;
        client.host.trouble("x", &json!({"update": "half", "read": "error"}));
        let status = flaky.update(&made, &json!({"name": "x", "parts": ["c", "d"]})).await;
        let status = status.expect_err("it fails half-way");
        assert!(status.message().contains("half of it was done"), "{status}");
        let stored = flaky.after_failure(&made, &status);
        let reads = client.host.count("ReadResource");
        flaky.update(&stored, &made.inputs).await.expect_err("it cannot be read yet");
        client.host.trouble("x", &json!({}));
        flaky.replaces(&stored, &made.inputs).await?;
        // The program is the former one again, and the object is not.
        let updated = flaky.update(&stored, &made.inputs).await?;
        assert_eq!(updated.outputs["written"], 2);
        assert_eq!(client.host.count("ReadResource"), reads + 3);
        flaky.replaces(&updated, &made.inputs).await?;
        assert_eq!(client.host.count("ReadResource"), reads + 3, "it is known again");
    }

    "A failed Delete is an error, and the object stays" in ["resource/delete"],
    legacy: Legacy::Same,
    async fn a_failed_deletion_is_an_error(at) {
        let client = at.sandbox().await?;
        let made = client.faulty().make(&json!({"mode": "error", "during": "delete"})).await?;
        let status = client.faulty().delete(&made).await.expect_err("it fails");
        assert!(status.message().contains("sandbox_faulty failed"), "{status}");
        assert!(client.faulty().read(&made).await?.is_some());
    }

    "The object that a failed Delete leaves is the prior state of the next one" in ["resource/failed_deletions", "resource/operations"],
    legacy: Legacy::Same,
    async fn a_deletion_goes_on_from_what_the_failed_one_has_left(at) {
        let client = at.sandbox().await?;
        let made = client.faulty().make(&json!({"mode": "halves", "during": "delete"})).await?;
        let status = client.faulty().delete(&made).await.expect_err("one half is left");
        assert_eq!(status.code(), Code::Aborted, "{status}");
        client.faulty().delete(&made).await?;
        let last = client.host.calls().into_iter().rfind(|call| call["call"] == "ApplyResourceChange");
        assert_eq!(last.expect("it was called")["private"], "half deleted");
    }

    "A change whose outcome is unknown stays in the journal" in ["resource/intents", "resource/interrupted", "resource/reports"],
    legacy: Legacy::Same,
    async fn an_unknown_outcome_stays_in_the_journal(at) {
        let mut client = at.sandbox().await?;
        client.note().make(&json!({"title": "Hello"})).await?;
        let status = client.faulty().make(&json!({"mode": "refusal"})).await.expect_err("it fails");
        assert_eq!(status.code(), Code::Unknown, "{status}");
        // The journal is written as a whole when the daemon ends.
        client.host.signal(Signal::INT);
        client.host.exit().await;
        let home = client.host.directory().join("isthmus");
        let intents = isthmus(&home, &["recover"]).well();
        let unknown: Vec<&str> = intents.lines().filter(|line| line.contains("unknown")).collect();
        assert!(matches!(unknown[..], [only] if only.contains("sandbox_faulty")), "{intents}");
    }

    "A change whose result cannot be stored has an unknown outcome, and stays in the journal" in ["resource/diagnose", "resource/intents"],
    legacy: Legacy::Same,
    async fn a_result_that_cannot_be_stored_stays_in_the_journal(at) {
        let mut client = at.sandbox().await?;
        let made = client.faulty().make(&json!({"mode": "none"})).await?;
        let news = json!({"mode": "infinite", "during": "update"});
        let status = client.faulty().update(&made, &news).await.expect_err("JSON has no form for it");
        assert_eq!(status.code(), Code::Unknown, "{status}");
        for part in ["inconsistent result after apply", "exists, and its new state cannot be stored", "infinite number"] {
            assert!(status.message().contains(part), "{part:?} is not in {status}");
        }
        client.host.signal(Signal::INT);
        client.host.exit().await;
        let home = client.host.directory().join("isthmus");
        let intents = isthmus(&home, &["recover"]).well();
        let unknown: Vec<&str> = intents.lines().filter(|line| line.contains("unknown")).collect();
        assert!(matches!(unknown[..], [only] if only.contains("update") && only.contains("sandbox_faulty")), "{intents}");
    }

    "A program's own `timeouts` reach the provider" in ["resource/timeouts"],
    legacy: Legacy::Same,
    async fn a_programs_timeouts_reach_the_provider(at) {
        let client = at.sandbox().await?;
        let job = client.resource("sandbox:index/job:Job");
        let inputs = |size: u32| json!({"timeouts": {"create": "2m", "update": "3m"}, "size": size});
        let made = job.make(&inputs(1)).await?;
        assert_eq!(made.outputs["allowed"], "2m");
        let updated = job.update(&made, &inputs(2)).await?;
        assert_eq!(updated.outputs["allowed"], "3m");
    }

    "`customTimeouts`" in ["resource/timeouts"],
    legacy: Legacy::Inexpressible("the engine has no such option"),
    async fn custom_timeouts_reach_the_provider(at) {
        let client = at.sandbox().await?;
        let job = client.resource("sandbox:index/job:Job");
        let made = job.today().within(5400.0).make(&json!({})).await?;
        assert_eq!(made.outputs["allowed"], "1h30m0s");
    }
}
