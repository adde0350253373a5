//! Runs of engines on one journal in files. Each has a process of its own; one that is killed is dropped, so that its journal
//! file is not locked any more and nothing is written to it.

use std::time::SystemTime;

use bytes::Bytes;
use isthmus_common::Environment;
use isthmus_context::project::backend::Backend;
use isthmus_package::testing::package;
use isthmus_state::{JournalDurability, JournalFiles, KeySource, Marks, StoreKey};
use tempfile::TempDir;

use super::*;

const STACK: &str = "urn:pulumi:test::zoo";
const PET: &str = "random:index/pet:Pet";

fn urn(name: &str) -> String {
    format!("{STACK}::{PET}::{name}")
}

/// An engine's run, with the process that serves it.
struct Run {
    operations: Operations,
    caller: Caller,
    /// The objects that were reported when the provider was configured.
    reported: Vec<String>,
}

impl Run {
    async fn of(home: &TempDir) -> Self {
        Self::by(home, "default", "https://ours.example").await
    }

    /// A run with a provider resource of this name, of a stack in this backend.
    async fn by(home: &TempDir, provider: &str, backend: &str) -> Self {
        let run = Self::unread(home, provider, backend);
        run.operations.learn().await.expect("the journal");
        run.configured().await
    }

    /// The same, before it has read the journal.
    fn unread(home: &TempDir, provider: &str, backend: &str) -> Self {
        let key = KeySource::Directory(home.path().to_owned());
        let files = JournalFiles::new(home.path(), key, None, JournalDurability::Process);
        let operations = Operations::new(Ok(OperationJournal::in_files(files)));
        let caller = Caller::new(1);
        let environment: Environment = [("PULUMI_BACKEND_URL", backend)].into_iter().collect();
        let provider = format!("{STACK}::pulumi:providers:random::{provider}");
        caller.configured(Some(&provider), Backend::find(&environment, home.path()));
        operations.session_began(&caller);
        Self { operations, caller, reported: Vec::new() }
    }

    /// The same, after the reports that are due.
    async fn configured(self) -> Self {
        let Self { operations, caller, .. } = self;
        let due = operations.reports(&package().identity().name, STACK, &caller).intents;
        operations.shown(&due.iter().map(|open| open.id).collect::<Vec<_>>()).await;
        let reported = due.into_iter().map(|open| open.intent.key.id).collect();
        Self { operations, caller, reported }
    }

    /// Creates a resource, and returns the ids of the objects that the engine gets a report of meanwhile.
    async fn create(&self, name: &str, id: &str) -> Vec<String> {
        let Self { operations, caller, .. } = self;
        let lost = operations.lost_creations(&urn(name), caller);
        operations.shown(&lost.iter().map(|open| open.id).collect::<Vec<_>>()).await;
        operations.doubt(&urn(name), caller).await;
        let package = package();
        let key = StoreKey {
            package: package.identity().name.clone(),
            type_name: "random_pet".to_owned(),
            id: String::new(),
        };
        let companion = caller.origin(package.identity());
        let mut intent =
            Intent { intention: OperationKind::Create, key, subject: urn(name), prior: None, companion };
        let id_in_journal = operations.begin(intent.clone()).await.expect("written");
        id.clone_into(&mut intent.key.id);
        let open = OpenIntent {
            id: id_in_journal,
            intent,
            since: SystemTime::now(),
            holder: String::new(),
            condition: Condition::InProgress,
            marks: Marks::default(),
            object: Bytes::new(),
        };
        operations.made(open, caller, Bytes::new()).await.expect("written");
        lost.into_iter().map(|open| open.intent.key.id).collect()
    }

    /// A call about a resource that the engine has.
    async fn mention(&self, urn: &str, id: &str) {
        self.operations.mentioned(urn, id, &package().identity().name, &self.caller).await;
        self.operations.write().await;
    }

    /// The engine ends its run in order.
    async fn end(self) {
        self.operations.run_ended(&self.caller, Some(STACK)).await;
    }

    /// The ids of the objects of operations that are not settled, and of these those that the engine may not know.
    async fn open(&self) -> (Vec<String>, Vec<String>) {
        self.operations.learn().await.expect("the journal");
        let all = self.operations.open();
        let ids = |is_wanted: fn(&OpenIntent) -> bool| {
            let mut ids: Vec<String> = all
                .known
                .iter()
                .filter(|known| is_wanted(&known.open))
                .map(|known| known.open.intent.key.id.clone())
                .collect();
            ids.sort();
            ids
        };
        (ids(|_| true), ids(|open| !mark::is_presumably_known(open)))
    }
}

fn ids(ids: &[&str]) -> Vec<String> {
    ids.iter().map(|id| (*id).to_owned()).collect()
}

#[tokio::test]
async fn a_journal_that_could_not_be_read_is_read_before_the_next_change() {
    let home = tempfile::tempdir().expect("a directory");
    Run::of(&home).await.create("rex", "rex-1").await;
    let lock = home.path().join("journal/lock");
    std::fs::create_dir(&lock).expect("something else in the place of the lock");
    let run = Run::unread(&home, "default", "https://ours.example");
    let error = run.operations.learn().await.expect_err("the journal cannot be read");
    assert!(isthmus_common::error_chain(&error).contains("lock"), "{error}");
    assert!(run.operations.lost_creations(&urn("rex"), &run.caller).is_empty());
    std::fs::remove_dir(&lock).expect("its own directory");
    run.operations.catch_up().await;
    let lost = run.operations.lost_creations(&urn("rex"), &run.caller);
    assert_eq!(lost.iter().map(|open| &*open.intent.key.id).collect::<Vec<_>>(), ["rex-1"]);
}

#[tokio::test]
async fn an_object_that_no_run_mentions_is_reported_once_when_two_have_passed() {
    let home = tempfile::tempdir().expect("a directory");
    Run::of(&home).await.create("lost", "able-dog").await;
    for run in 0..4 {
        let next = Run::of(&home).await;
        assert_eq!(next.reported, if run == 2 { ids(&["able-dog"]) } else { ids(&[]) }, "run {run}");
        next.end().await;
    }
    assert_eq!(Run::of(&home).await.open().await.1, ids(&["able-dog"]));
}

#[tokio::test]
async fn an_object_of_a_run_that_ended_in_order_is_reported_only_when_its_resource_was_created_again() {
    let home = tempfile::tempdir().expect("a directory");
    let first = Run::of(&home).await;
    first.create("lost", "able-dog").await;
    first.create("retained", "calm-cat").await;
    first.end().await;
    for _ in 0..4 {
        let next = Run::of(&home).await;
        assert_eq!((&next.reported, next.open().await.1), (&ids(&[]), ids(&[])));
        next.end().await;
    }
    let again = Run::of(&home).await;
    assert_eq!(again.create("lost", "tame-elk").await, ids(&[]), "it may be about to delete the first one");
    assert_eq!(again.open().await.1, ids(&["able-dog", "tame-elk"]));
    again.end().await;
    for run in 0..3 {
        let next = Run::of(&home).await;
        assert_eq!(next.reported, if run == 1 { ids(&["able-dog"]) } else { ids(&[]) }, "run {run}");
        next.mention(&urn("lost"), "tame-elk").await;
        next.end().await;
    }
    assert_eq!(Run::of(&home).await.open().await, (ids(&["able-dog", "calm-cat"]), ids(&["able-dog"])));
}

#[tokio::test]
async fn an_object_is_known_by_the_run_after_the_one_that_imports_it() {
    let home = tempfile::tempdir().expect("a directory");
    Run::of(&home).await.create("rex", "rex-1").await;
    // A preview, a run that is killed before it saves the import, and one that saves it.
    for is_killed in [false, true, false] {
        let import = Run::of(&home).await;
        import.operations.imported("rex-1", &import.caller);
        import.mention(&urn("found"), "rex-1").await;
        assert_eq!(import.open().await.1, ids(&["rex-1"]));
        if !is_killed {
            import.end().await;
        }
    }
    let next = Run::of(&home).await;
    assert_eq!(next.reported, ids(&[]), "no run has passed without mentioning it");
    next.mention(&urn("found"), "rex-1").await;
    assert_eq!(next.open().await.0, ids(&[]));
}

#[tokio::test]
async fn stacks_of_one_name_in_two_backends_are_told_apart() {
    for is_ended in [true, false] {
        let home = tempfile::tempdir().expect("a directory");
        let ours = Run::of(&home).await;
        ours.create("pet", "able-dog").await;
        if is_ended {
            ours.end().await;
        } else {
            drop(ours);
        }
        for run in 0..4 {
            let theirs = Run::by(&home, "default", "https://theirs.example").await;
            assert_eq!(theirs.reported, ids(&[]), "ended: {is_ended}, run {run}");
            if run == 0 {
                assert_eq!(theirs.create("pet", "tame-elk").await, ids(&[]));
            }
            theirs.mention(&urn("pet"), "tame-elk").await;
            theirs.end().await;
        }
        let ours = Run::of(&home).await;
        let left = ids(&["able-dog"]);
        let doubted = if is_ended { ids(&[]) } else { left.clone() };
        assert_eq!((&ours.reported, ours.open().await), (&ids(&[]), (left, doubted.clone())));
        assert_eq!(ours.create("pet", "wise-owl").await, doubted, "its own engine gets a report");
    }
}

#[tokio::test]
async fn an_object_that_is_mentioned_under_another_urn_of_its_provider_is_known() {
    let home = tempfile::tempdir().expect("a directory");
    Run::by(&home, "east", "https://ours.example").await.create("pet", "able-dog").await;
    let other = Run::of(&home).await;
    other.mention(&urn("renamed"), "able-dog").await;
    assert_eq!(
        other.open().await.0,
        ids(&["able-dog"]),
        "another provider may have another object of this id"
    );
    let next = Run::by(&home, "east", "https://ours.example").await;
    next.mention(&format!("{STACK}::random:index/id:Id::renamed"), "able-dog").await;
    assert_eq!(next.open().await.0, ids(&["able-dog"]), "it is of another type");
    next.mention(&urn("renamed"), "able-dog").await;
    assert_eq!(next.open().await.0, ids(&[]));
}

#[tokio::test]
async fn a_resource_that_was_renamed_after_its_run_is_not_doubted_for_long() {
    let home = tempfile::tempdir().expect("a directory");
    let first = Run::of(&home).await;
    first.create("pet", "able-dog").await;
    first.end().await;
    // As by `pulumi state rename`, or by an alias; then the program has another resource of the old name.
    let next = Run::of(&home).await;
    next.create("pet", "tame-elk").await;
    assert_eq!(next.open().await.1, ids(&["able-dog", "tame-elk"]), "it is doubted");
    next.mention(&urn("renamed"), "able-dog").await;
    assert_eq!(next.open().await.1, ids(&["tame-elk"]));
}
