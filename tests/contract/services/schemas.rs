//! Schemas that depend on more than the provider binary, in both services, from Parameterize to Delete: a file in the working
//! directory decides whether the number of characters of `sandbox_secret` is called `length` or, a version later, `size`.

use std::sync::Arc;

use tempfile::TempDir;

use super::driver::{At, Client, Driven, Service};
use crate::harness::host::program_path;
use crate::harness::{Json, Outcome, Setup, Status, Stored, json, on_both_protocols};

/// The file with the switches of the sandbox, in its working directory.
const SWITCHES: &str = "switches";

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Schema {
    Old,
    New,
}

impl Schema {
    fn property(self) -> &'static str {
        match self {
            Self::Old => "length",
            Self::New => "size",
        }
    }

    fn inputs(self, year: &str) -> Json {
        json!({self.property(): 8, "keepers": {"year": year}})
    }
}

/// A directory with a provider of its own, whose file no other test touches.
fn directory() -> Arc<TempDir> {
    let directory = tempfile::tempdir().expect("a directory");
    let provider = program_path(directory.path().join("terraform-provider-sandbox"));
    std::fs::copy(env!("CARGO_BIN_EXE_isthmus"), provider).expect("a copy");
    Arc::new(directory)
}

/// Whether schemas are cached.
#[derive(Clone, Copy, Debug)]
struct Cached(bool);

/// Starts a plugin in a directory in which the provider has this schema.
async fn start(
    at: At,
    root: &Arc<TempDir>,
    place: &str,
    schema: Schema,
    cached: Cached,
) -> Result<Client, Status> {
    let here = root.path().join(place);
    std::fs::create_dir_all(&here).expect("a directory");
    let switches = if schema == Schema::New { "SANDBOX_SCHEMA=newer" } else { "" };
    std::fs::write(here.join(SWITCHES), switches).expect("a file");
    // Protocol minor 3 is the last without `get_provider_schema_optional`, with which a schema holds for a day.
    let minor = format!("{}.3", at.protocol);
    let setup = Setup::sandbox(at.protocol).within(root).working_in(place).with("SANDBOX_FILE", SWITCHES);
    let setup = setup.with("SANDBOX_MINOR", &minor);
    let setup = setup.with("ISTHMUS_SCHEMA_CACHE", if cached.0 { "on" } else { "off" });
    at.start(setup).await
}

fn secret(client: &Client) -> Driven {
    client.resource("sandbox:index/secret:Secret")
}

/// What is offered, and all of a secret's calls: by this schema, and not by the other one.
async fn lives(client: &Client, schema: Schema) -> Outcome {
    let other = if schema == Schema::Old { Schema::New } else { Schema::Old };
    if let Some(session) = client.session() {
        let offered = &session.schema().await?["resources"]["sandbox:index/secret:Secret"]["inputProperties"];
        assert!(offered[schema.property()].is_object() && offered[other.property()].is_null(), "{offered}");
    }
    let secret = secret(client);
    let (_, failures) = secret.check(&other.inputs("2025")).await?;
    assert!(format!("{failures:?}").contains(other.property()), "{failures:?}");
    let made = secret.make(&schema.inputs("2025")).await?;
    assert_eq!(made.outputs[schema.property()], 8);
    let read = secret.read(&made).await?.expect("it is there");
    assert_eq!(read[schema.property()], 8);
    assert_eq!(secret.replaces(&made, &schema.inputs("2026")).await?, ["keepers"]);
    let same = secret.update(&made, &schema.inputs("2025")).await?;
    secret.delete(&same).await
}

/// A secret that an earlier run has made by the old schema, in a run with the new one.
async fn goes_on(client: &Client, made: &Stored) -> Outcome {
    let secret = secret(client);
    let read = secret.read(made).await?.expect("it is there");
    assert_eq!((&read["size"], &read["length"]), (&json!(8), &Json::Null));
    let news = Schema::New.inputs("2025");
    let (_, failures) = secret.check(&news).await?;
    assert_eq!(failures, []);
    assert_eq!(secret.replaces(made, &news).await?, [""; 0]);
    let updated = secret.update(made, &news).await?;
    assert_eq!((&updated.outputs["size"], &updated.outputs["length"]), (&json!(8), &Json::Null));
    assert_eq!(secret.replaces(&updated, &Schema::New.inputs("2026")).await?, ["keepers"]);
    secret.delete(&updated).await
}

fn everywhere() -> impl Iterator<Item = (Service, Cached)> {
    [Service::Today, Service::Legacy]
        .into_iter()
        .flat_map(|service| [(service, Cached(true)), (service, Cached(false))])
}

on_both_protocols! {
    async fn two_directories_have_a_schema_each(protocol) {
        for (service, cached) in everywhere() {
            let root = directory();
            let at = At { service, protocol };
            // What the cache has after the run: the first schema; then that the provider's schemas differ.
            for (place, schema, kept) in [
                ("one", Schema::Old, "schema-of-"),
                ("two", Schema::New, "variable-"),
                ("one", Schema::Old, "variable-"),
                ("two", Schema::New, "variable-"),
            ] {
                let client = start(at, &root, place, schema, cached).await?;
                lives(&client, schema).await?;
                if let (Some(_), true) = (client.session(), cached.0) {
                    client.host.schemas_have(kept, 1).await;
                }
            }
        }
    }

    async fn a_schema_that_changes_between_two_runs_goes_on_with_state_of_the_old_one(protocol) {
        for (service, cached) in everywhere() {
            let root = directory();
            let at = At { service, protocol };
            let first = start(at, &root, "here", Schema::Old, cached).await?;
            let made = secret(&first).make(&Schema::Old.inputs("2025")).await?;
            if let (Some(_), true) = (first.session(), cached.0) {
                first.host.schema_is_kept().await;
            }
            drop(first);
            // Today's service begins with the cached schema.
            let second = start(at, &root, "here", Schema::New, cached).await?;
            goes_on(&second, &made).await?;
            lives(&second, Schema::New).await?;
            drop(second);
            // And back, with nothing left.
            lives(&start(at, &root, "here", Schema::Old, cached).await?, Schema::Old).await?;
        }
    }

    async fn a_deletion_by_another_schema_than_the_creation_deletes_that_object(protocol) {
        for (service, cached) in everywhere() {
            let root = directory();
            let at = At { service, protocol };
            let made = secret(&start(at, &root, "one", Schema::Old, cached).await?).make(&Schema::Old.inputs("2025")).await?;
            let client = start(at, &root, "two", Schema::New, cached).await?;
            secret(&client).delete(&made).await?;
            if service == Service::Legacy {
                assert_eq!(secret(&client).read(&made).await.ok().flatten(), None, "its record is gone");
            }
        }
    }

    async fn state_of_a_newer_schema_is_refused_and_nothing_is_changed(protocol) {
        for (service, cached) in everywhere() {
            let root = directory();
            let at = At { service, protocol };
            let made = secret(&start(at, &root, "here", Schema::New, cached).await?).make(&Schema::New.inputs("2025")).await?;
            let client = start(at, &root, "here", Schema::Old, cached).await?;
            let secret = secret(&client);
            for status in [
                secret.read(&made).await.map(drop).expect_err("a read"),
                secret.replaces(&made, &Schema::Old.inputs("2025")).await.map(drop).expect_err("a comparison"),
                secret.update(&made, &Schema::Old.inputs("2025")).await.map(drop).expect_err("an update"),
                secret.delete(&made).await.expect_err("a deletion"),
            ] {
                assert!(status.message().to_lowercase().contains("newer"), "{status}");
            }
            assert_eq!(client.applied(), 1, "the creation");
        }
    }
}
