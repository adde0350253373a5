//! Journals of several processes in one directory. A process that was killed is one that was dropped: its
//! file is not locked any more, and nothing was written after its last append.

use isthmus_platform::directory::Directory;
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use bytes::Bytes;
use isthmus_common::Secret;
use tempfile::TempDir;

use super::*;
use crate::EncryptedStore;

fn home() -> TempDir {
    tempfile::tempdir().expect("a directory")
}

/// Marks, as callers number them.
const SHOWN: Mark = Mark(1);
const PASSED: Mark = Mark(2);

fn process(home: &TempDir) -> JournalFiles {
    with_durability(home, JournalDurability::Process)
}

fn with_durability(home: &TempDir, durability: JournalDurability) -> JournalFiles {
    let key = KeySource::Directory(home.path().to_owned());
    JournalFiles::new(home.path(), key, None, durability)
}

fn create(name: &str) -> Intent {
    Intent {
        intention: OperationKind::Create,
        key: StoreKey { package: "random".to_owned(), type_name: "random_pet".to_owned(), id: String::new() },
        subject: format!("urn:pulumi:dev::zoo::random:index/pet:Pet::{name}"),
        prior: None,
        companion: Bytes::new(),
    }
}

/// What is open, by the resource's name: the id if it was made, else what is known.
async fn open(journal: &JournalFiles) -> BTreeMap<String, String> {
    let open = journal.open_intents().await.expect("the journal");
    let faults: Vec<String> = open.faults.into_iter().map(|fault| fault.reason).collect();
    assert_eq!(faults, Vec::<String>::new());
    let entry = |open: OpenIntent| {
        let name = open.intent.subject.rsplit("::").next().unwrap_or_default().to_owned();
        let state = match open.condition {
            Condition::Unconfirmed => open.intent.key.id,
            Condition::Interrupted => "interrupted".to_owned(),
            Condition::InProgress => "in progress".to_owned(),
            Condition::Ended { text, .. } => text,
        };
        (name, state)
    };
    open.intents.into_iter().map(entry).collect()
}

fn listed(entries: &[(&str, &str)]) -> BTreeMap<String, String> {
    entries.iter().map(|(name, state)| ((*name).to_owned(), (*state).to_owned())).collect()
}

fn files(home: &TempDir) -> Vec<PathBuf> {
    let files = fs::read_dir(home.path().join("journal")).expect("a directory");
    let mut files: Vec<PathBuf> = files.map(|entry| entry.expect("an entry").path()).collect();
    files.retain(|path| path.extension().is_some_and(|extension| extension == "journal"));
    files.sort();
    files
}

async fn begin(journal: &JournalFiles, name: &str) -> OperationId {
    journal.begin(&create(name)).await.expect("written")
}

#[tokio::test]
async fn an_operation_is_in_the_journal_from_its_beginning_until_it_is_settled() {
    let home = home();
    let ours = process(&home);
    assert_eq!(open(&ours).await, listed(&[]), "nothing was written");
    assert!(!home.path().join("journal").exists(), "nothing is created to read");
    create_private(&home.path().join("journal")).expect("a directory");
    assert_eq!(open(&process(&home)).await, listed(&[]), "nothing was written");
    let journal = fs::read_dir(home.path().join("journal")).expect("a directory");
    assert_eq!((journal.count(), fs::read_dir(home.path()).expect("a directory").count()), (0, 1));

    let one = begin(&ours, "one").await;
    let two = begin(&ours, "two").await;
    let three = begin(&ours, "three").await;
    ours.made(one, "able-dog", Bytes::from_static(b"hunter2")).await.expect("written");
    ours.unknown(two, "the provider ended").await.expect("written");
    let all = [("one", "able-dog"), ("two", "the provider ended"), ("three", "in progress")];
    assert_eq!(open(&ours).await, listed(&all));
    let theirs = process(&home);
    assert_eq!(open(&theirs).await, listed(&all));
    ours.settle(&[two, three]).await.expect("added");
    assert_eq!(open(&ours).await, listed(&all[..1]));

    let object = &ours.open_intents().await.expect("the journal").intents[0].object;
    assert_eq!(&object[..], b"hunter2");
    for path in files(&home) {
        let bytes = fs::read(&path).expect("a file");
        for text in [&b"hunter2"[..], b"able-dog", b"urn:pulumi", b"random_pet"] {
            assert!(!bytes.windows(text.len()).any(|window| window == text), "{}", path.display());
        }
    }
}

#[tokio::test]
async fn what_a_killed_process_was_doing_is_known_to_the_next_one_which_can_settle_it() {
    let home = home();
    let killed = process(&home);
    let one = begin(&killed, "one").await;
    begin(&killed, "two").await;
    killed.made(one, "able-dog", Bytes::new()).await.expect("written");
    drop(killed);

    let next = process(&home);
    assert_eq!(open(&next).await, listed(&[("one", "able-dog"), ("two", "interrupted")]));
    next.settle(&[one]).await.expect("added");
    next.write().await.expect("written");
    assert_eq!(open(&process(&home)).await, listed(&[("two", "interrupted")]));
    drop(next);
    assert_eq!(open(&process(&home)).await, listed(&[("two", "interrupted")]));
}

#[tokio::test]
async fn what_is_settled_while_no_file_can_be_created_is_written_later() {
    let home = home();
    let killed = process(&home);
    let one = begin(&killed, "one").await;
    drop(killed);

    let next = process(&home);
    assert_eq!(open(&next).await, listed(&[("one", "interrupted")]));
    let (journal, away) = (home.path().join("journal"), home.path().join("away"));
    fs::rename(&journal, &away).expect("moved");
    fs::write(&journal, "in the way").expect("a file");
    next.settle(&[one]).await.expect_err("there is no directory for a file");
    next.write().await.expect_err("there is none yet");
    fs::remove_file(&journal).expect("removed");
    fs::rename(&away, &journal).expect("moved back");
    next.write().await.expect("written");
    assert_eq!(open(&process(&home)).await, listed(&[]));
}

#[tokio::test]
async fn what_was_not_written_when_a_process_was_killed_is_open_again() {
    let home = home();
    let killed = process(&home);
    let one = begin(&killed, "one").await;
    killed.settle(&[one]).await.expect("added, and not written");
    drop(killed);
    assert_eq!(open(&process(&home)).await, listed(&[("one", "interrupted")]));
}

#[tokio::test]
async fn reports_and_runs_are_counted_over_processes_and_compactions() {
    let home = home();
    let killed = process(&home);
    let one = begin(&killed, "one").await;
    drop(killed);
    for passed in 1..4 {
        let run = process(&home);
        run.mark(&[one], PASSED).await.expect("added");
        run.mark(&[one], SHOWN).await.expect("added");
        run.write().await.expect("written");
        drop(run);
        let open = process(&home).open_intents().await.expect("the journal").intents;
        assert_eq!((open[0].marks.has(SHOWN), open[0].marks.count(PASSED)), (true, passed));
        let again = process(&home).open_intents().await.expect("the journal").intents;
        assert_eq!((open[0].id, open[0].marks.count(PASSED)), (again[0].id, passed));
    }
}

#[tokio::test]
async fn files_of_ended_processes_are_replaced_by_one_and_removed_when_nothing_is_open() {
    let home = home();
    let alive = process(&home);
    let held = begin(&alive, "held").await;
    let mut ended = Vec::new();
    for name in ["one", "two", "three"] {
        let process = process(&home);
        ended.push(begin(&process, name).await);
    }
    assert_eq!(files(&home).len(), 4);
    let open_ones =
        [("held", "in progress"), ("one", "interrupted"), ("two", "interrupted"), ("three", "interrupted")];
    assert_eq!(open(&alive).await, listed(&open_ones));
    assert_eq!(files(&home).len(), 2, "that of the running process, and one of all others");
    assert_eq!(open(&process(&home)).await, listed(&open_ones));

    alive.settle(&ended).await.expect("added");
    assert_eq!(open(&alive).await, listed(&[("held", "in progress")]));
    assert_eq!(files(&home).len(), 1);
    alive.settle(&[held]).await.expect("added");
    alive.write().await.expect("written");
    drop(alive);
    assert_eq!(open(&process(&home)).await, listed(&[]));
    assert_eq!(files(&home), Vec::<PathBuf>::new());
}

#[tokio::test]
async fn a_compaction_that_was_killed_while_it_removed_files_brings_nothing_back() {
    let home = home();
    let (first, second) = (process(&home), process(&home));
    let one = begin(&first, "one").await;
    let two = begin(&second, "two").await;
    first.settle(&[two]).await.expect("added");
    first.write().await.expect("written");
    let copies: Vec<(PathBuf, Vec<u8>)> =
        files(&home).into_iter().map(|path| (path.clone(), fs::read(path).expect("a file"))).collect();
    drop((first, second));
    // Each of the old files alone may have outlived the compaction, or both.
    let restore = |copies: &[(PathBuf, Vec<u8>)]| {
        for (path, bytes) in copies {
            fs::write(path, bytes).expect("a file");
        }
    };
    for left in [&copies[..1], &copies[1..], &copies[..]] {
        files(&home).iter().for_each(|path| fs::remove_file(path).expect("removed"));
        restore(&copies);
        assert_eq!(open(&process(&home)).await, listed(&[("one", "interrupted")]));
        assert!(copies.iter().all(|(path, _)| !path.exists()), "they were compacted");
        restore(left);
        assert_eq!(open(&process(&home)).await, listed(&[("one", "interrupted")]));
    }
    let last = process(&home);
    last.settle(&[one]).await.expect("added");
    assert_eq!(open(&last).await, listed(&[]));
}

#[tokio::test]
async fn an_entry_counts_in_its_own_place_of_its_own_file_alone() {
    let home = home();
    begin(&process(&home), "one").await;
    let [path] = &files(&home)[..] else { panic!("one file") };
    let whole = fs::read(path).expect("a file");
    let sealed = &whole[own_file::HEAD..];
    let other = path.with_file_name("0123456789ab.journal");
    let begins = [own_file::MAGIC, &[0x01, 0x23, 0x45, 0x67, 0x89, 0xab]].concat();
    for (moved, content) in [(path, [&whole[..], sealed].concat()), (&other, [&begins[..], sealed].concat())]
    {
        fs::write(moved, content).expect("a file");
        let found = process(&home).open_intents().await.expect("the journal");
        let [fault] = &found.faults[..] else { panic!("one fault, not {found:?}") };
        assert!(fault.reason.contains("damaged in 1 place"), "{fault:?}");
        assert_eq!(found.intents.len(), 1, "{found:?}");
        fs::write(path, &whole).expect("a file");
    }
}

#[tokio::test]
async fn an_object_is_kept_up_to_the_largest_size_and_left_out_beyond() {
    let home = home();
    let ours = process(&home);
    for (name, size) in [("at", LARGEST_OBJECT), ("over", LARGEST_OBJECT + 1)] {
        let id = begin(&ours, name).await;
        ours.made(id, name, Bytes::from(vec![0; size])).await.expect("written");
    }
    let open = ours.open_intents().await.expect("the journal").intents;
    let kept: BTreeMap<_, _> = open.iter().map(|open| (&open.intent.key.id[..], open.object.len())).collect();
    assert_eq!(kept, BTreeMap::from([("at", LARGEST_OBJECT), ("over", 0)]));
}

#[tokio::test]
async fn a_file_that_was_cut_off_is_read_up_to_there_and_a_damaged_one_is_named_and_kept() {
    let home = home();
    let killed = process(&home);
    for name in ["one", "two", "three"] {
        begin(&killed, name).await;
    }
    drop(killed);
    let path = files(&home).remove(0);
    let whole = fs::read(&path).expect("a file");
    fs::write(&path, &whole[..whole.len() - 1]).expect("a file");
    assert_eq!(open(&process(&home)).await, listed(&[("one", "interrupted"), ("two", "interrupted")]));

    for path in files(&home) {
        fs::remove_file(path).expect("removed");
    }
    let mut damaged = whole.clone();
    damaged[own_file::HEAD + 30] ^= 1;
    fs::write(&path, &damaged).expect("a file");
    let reader = process(&home);
    let found = reader.open_intents().await.expect("the journal");
    assert_eq!(found.intents.len(), 2, "{found:?}");
    let [fault] = &found.faults[..] else { panic!("one fault, not {found:?}") };
    assert!(fault.reason.contains(&path.display().to_string()) && !fault.marks.has(SHOWN), "{fault:?}");
    assert_eq!(files(&home), vec![path.clone()], "it is not removed");
    let id = fault.id.expect("a file");
    reader.mark(&[id], SHOWN).await.expect("added");
    assert!(reader.open_intents().await.expect("the journal").faults[0].marks.has(SHOWN));
    reader.settle(&[id]).await.expect("added");
    let found = reader.open_intents().await.expect("the journal");
    assert_eq!((found.intents.len(), found.faults.len()), (2, 0));
    assert!(!path.exists(), "it was dismissed, and its operations are in another file");
}

/// What may be in the place of a file, and what it is called. The last ones lead nowhere, and to a file.
const NO_FILES: [(&str, &str); 5] = [
    ("a FIFO", "fifo"),
    ("a directory", "directory"),
    ("a socket", "socket"),
    ("a symbolic link", "dangling"),
    ("a symbolic link", "link"),
];

/// Puts something that is no regular file at a path.
fn put(what: &str, path: &Path) {
    match what {
        "fifo" => {
            let mode = rustix::fs::Mode::RUSR | rustix::fs::Mode::WUSR;
            rustix::fs::mkfifoat(rustix::fs::CWD, path, mode).expect("a FIFO");
        }
        "directory" => fs::create_dir(path).expect("a directory"),
        "socket" => drop(std::os::unix::net::UnixListener::bind(path).expect("a socket")),
        "dangling" => isthmus_platform::files::symlink("nowhere", path).expect("a link"),
        _ => {
            fs::write(path.with_extension("target"), "text").expect("a file");
            isthmus_platform::files::symlink(path.with_extension("target"), path).expect("a link");
        }
    }
}

#[tokio::test]
async fn what_is_no_file_is_named_and_kept_and_hides_no_other_file() {
    for (kind, what) in NO_FILES {
        let home = home();
        for name in ["one", "two"] {
            begin(&process(&home), name).await;
        }
        let path = home.path().join("journal/0123456789ab.journal");
        put(what, &path);
        let reader = process(&home);
        let found = reader.open_intents().await.expect("the journal");
        assert_eq!(found.intents.len(), 2, "{what}: {found:?}");
        let [fault] = &found.faults[..] else { panic!("{what}: one fault, not {found:?}") };
        for part in [&path.display().to_string(), kind, "move it away"] {
            assert!(fault.reason.contains(part), "{what}: {fault:?}");
        }
        assert_eq!(files(&home).len(), 2, "{what}: the two files were compacted");
        let id = fault.id.expect("a file");
        assert_eq!(id.to_string(), "0123456789ab");
        reader.settle(&[id]).await.expect("added");
        reader.write().await.expect("written");
        drop(reader);
        let found = process(&home).open_intents().await.expect("the journal");
        assert_eq!((found.intents.len(), found.faults.len()), (2, 0), "{what}: it was dismissed");
        assert!(path.symlink_metadata().is_ok(), "{what}: it is not ours to remove");
    }
}

#[tokio::test]
async fn without_a_file_to_lock_nothing_is_removed_and_the_error_says_what_to_do() {
    for (kind, what) in NO_FILES {
        let home = home();
        for name in ["one", "two"] {
            begin(&process(&home), name).await;
        }
        let path = home.path().join("journal/lock");
        fs::remove_file(&path).ok();
        put(what, &path);
        let reader = process(&home);
        begin(&reader, "three").await;
        let error = reader.open_intents().await.err().map(|error| isthmus_common::error_chain(&error));
        let error = error.unwrap_or_else(|| panic!("{what} is in the place of the lock"));
        for part in [&path.display().to_string(), kind, "help: move away"] {
            assert!(error.contains(part), "{what}: {error}");
        }
        assert_eq!(files(&home).len(), 3, "{what}");
        fs::rename(&path, home.path().join("journal/away")).expect("it is moved away");
        assert_eq!((open(&reader).await.len(), files(&home).len()), (3, 2), "{what}");
    }
}

#[tokio::test]
async fn without_a_file_of_keys_nothing_is_written_and_the_error_says_what_to_do() {
    for (kind, what) in [NO_FILES[0], NO_FILES[4]] {
        let home = home();
        fs::create_dir(home.path().join("journal")).expect("a directory");
        let path = home.path().join("journal/key");
        put(what, &path);
        let ours = process(&home);
        let errors = [
            ours.open_intents().await.err().map(|error| isthmus_common::error_chain(&error)),
            ours.begin(&create("one")).await.err().map(|error| isthmus_common::error_chain(&error)),
        ];
        for error in errors {
            let error = error.unwrap_or_else(|| panic!("{what} is in the place of the keys"));
            for part in [&path.display().to_string(), kind, "help: move away"] {
                assert!(error.contains(part), "{what}: {error}");
            }
        }
        assert_eq!(files(&home), Vec::<PathBuf>::new(), "{what}");
        fs::rename(&path, home.path().join("journal/away")).expect("it is moved away");
        begin(&ours, "one").await;
    }
}

#[tokio::test]
async fn what_a_killed_rotation_left_is_removed_when_the_journal_is_read() {
    use isthmus_common::marker::{Purpose, mark};
    let home = home();
    begin(&process(&home), "one").await;
    let left = home.path().join("journal/.isthmus-scratch-Ab12Cd");
    fs::create_dir(&left).expect("a directory");
    fs::write(left.join("key"), "keys of others").expect("a file");
    let opened = Directory::open(&left).expect("a directory");
    mark(&opened, left.file_name().expect("a name"), Purpose::Scratch).expect("a marker");
    assert_eq!(open(&process(&home)).await, listed(&[("one", "interrupted")]));
    assert!(!left.exists());
}

#[tokio::test]
async fn what_is_settled_stays_so_while_the_file_of_its_beginning_cannot_be_read() {
    let home = home();
    let killed = process(&home);
    let one = begin(&killed, "one").await;
    drop(killed);
    let next = process(&home);
    next.settle(&[one]).await.expect("added");
    next.write().await.expect("written");
    begin(&next, "two").await;
    drop(next);
    let first = home.path().join("journal").join(format!("{}.journal", &one.to_string()[..12]));
    let away = home.path().join("away");
    fs::rename(&first, &away).expect("it is moved away");
    put("directory", &first);
    begin(&process(&home), "three").await;
    let found = process(&home).open_intents().await.expect("the journal");
    assert_eq!((found.intents.len(), found.faults.len()), (2, 1), "{found:?}");
    fs::remove_dir(&first).expect("removed");
    fs::rename(&away, &first).expect("it is put back");
    assert_eq!(open(&process(&home)).await, listed(&[("two", "interrupted"), ("three", "interrupted")]));
}

#[tokio::test]
async fn what_is_not_ours_is_left_alone() {
    let home = home();
    let ours = process(&home);
    begin(&ours, "one").await;
    let others = ["notes.txt", "0123456789ab.journal", "0123456789.journal"];
    for name in others {
        fs::write(home.path().join("journal").join(name), "not a journal of ours, whatever its name")
            .expect("a file");
    }
    drop(ours);
    let found = process(&home).open_intents().await.expect("the journal");
    let [fault] = &found.faults[..] else { panic!("one fault, not {found:?}") };
    assert!(fault.reason.contains("0123456789ab.journal"), "{fault:?}");
    let dismissing = process(&home);
    dismissing.settle(&[fault.id.expect("a file")]).await.expect("added");
    assert_eq!(dismissing.open_intents().await.expect("the journal").faults.len(), 0);
    assert!(others.iter().all(|name| home.path().join("journal").join(name).exists()));
}

#[tokio::test]
async fn an_own_file_that_has_become_long_is_replaced_by_what_is_open() {
    let home = home();
    let ours = process(&home);
    let kept = begin(&ours, "kept").await;
    ours.made(kept, "able-dog", Bytes::from(vec![1; 1000])).await.expect("written");
    let earlier = process(&home);
    let of_earlier = begin(&earlier, "earlier").await;
    drop(earlier);
    ours.settle(&[of_earlier]).await.expect("added");
    let length =
        || files(&home).iter().map(|path| fs::metadata(path).map_or(0, |file| file.len())).sum::<u64>();
    // Changes and deletions are begun and settled, and nothing else.
    let short = Intent { companion: Bytes::from(vec![2; 1000]), ..create("short") };
    for _ in 0..4 * LONG / 1000 {
        let id = ours.begin(&short).await.expect("written");
        ours.settle(&[id]).await.expect("added");
    }
    // The replacement goes on beside the appends, which it does not hold up.
    let since = std::time::Instant::now();
    while length() > LONG + LONG / 2 {
        assert!(since.elapsed() < Duration::from_secs(60), "{} bytes", length());
        let id = begin(&ours, "short").await;
        ours.made(id, "x", Bytes::new()).await.expect("written");
        ours.settle(&[id]).await.expect("added");
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    assert_eq!(open(&ours).await, listed(&[("kept", "able-dog")]));
    drop(ours);
    assert_eq!(open(&process(&home)).await, listed(&[("kept", "able-dog")]));
}

#[tokio::test]
async fn a_full_disk_fails_the_append_and_leaves_what_was_there() {
    let home = home();
    let ours = process(&home);
    begin(&ours, "one").await;
    let path = files(&home).remove(0);
    let before = fs::metadata(&path).expect("a file").len();
    let limit = rustix::process::getrlimit(rustix::process::Resource::Fsize);
    // In a process of its own, because the limit is of the process.
    if std::env::var_os("JOURNAL_LIMITED").is_none() {
        let this = std::env::current_exe().expect("this program");
        let name = "journal::files::tests::a_full_disk_fails_the_append_and_leaves_what_was_there";
        let ran =
            std::process::Command::new(this).args([name, "--exact"]).env("JOURNAL_LIMITED", "1").output();
        let ran = ran.expect("it runs");
        assert!(ran.status.success(), "{}", String::from_utf8_lossy(&ran.stdout));
        assert!(String::from_utf8_lossy(&ran.stdout).contains("1 passed"));
        return;
    }
    let current = Some(before + 100);
    rustix::process::setrlimit(
        rustix::process::Resource::Fsize,
        rustix::process::Rlimit { current, ..limit },
    )
    .expect("a limit");
    // Rust's test harness does not ignore the signal, so that it would end this process.
    tokio::spawn(async {
        let mut signal =
            tokio::signal::unix::signal(tokio::signal::unix::SignalKind::from_raw(25)).expect("SIGXFSZ");
        signal.recv().await;
    });
    tokio::task::yield_now().await;
    let error = ours.begin(&create("two")).await.expect_err("no room");
    assert!(error.to_string().contains("see that the disk has room"), "{error}");
    rustix::process::setrlimit(rustix::process::Resource::Fsize, limit).expect("no limit");
    assert_eq!(fs::metadata(&path).expect("a file").len(), before);
    begin(&ours, "three").await;
    assert_eq!(open(&ours).await, listed(&[("one", "in progress"), ("three", "in progress")]));
}

#[tokio::test]
async fn with_the_durability_of_the_disk_appends_at_once_are_synchronised_together() {
    let home = home();
    let ours = Arc::new(with_durability(&home, JournalDurability::Disk));
    let appends: Vec<_> = (0..32)
        .map(|number| {
            let ours = Arc::clone(&ours);
            tokio::spawn(async move { begin(&ours, &format!("{number}")).await })
        })
        .collect();
    for append in appends {
        append.await.expect("written");
    }
    assert_eq!(open(&ours).await.len(), 32);
}

#[tokio::test]
async fn what_failed_deletions_left_is_there_until_it_is_settled() {
    let home = home();
    let key = create("x").key;
    let ours = process(&home);
    let one = ours.keep(&key, &[1; 32], Bytes::from_static(b"one")).await.expect("kept");
    ours.keep(&key, &[2; 32], Bytes::from_static(b"two")).await.expect("kept");
    drop(ours);
    let next = process(&home);
    let left = next.left().await.expect("what is left");
    let left: Vec<(u8, &[u8])> = left.iter().map(|left| (left.sent[0], &left.left[..])).collect();
    assert_eq!(left, [(1, &b"one"[..]), (2, b"two")]);
    next.settle(&[one]).await.expect("added");
    next.write().await.expect("written");
    let left = process(&home).left().await.expect("what is left");
    assert_eq!(left.iter().map(|left| left.sent[0]).collect::<Vec<_>>(), [2]);
}

/// Processes come and go, compact the files of others and replace their own, while others read.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn readers_beside_compactions_and_replacements_see_all_that_is_open() {
    let home = Arc::new(home());
    begin(&process(&home), "kept").await;
    let running = process(&home);
    begin(&running, "running").await;
    let all = [("kept", "interrupted"), ("running", "in progress")];
    let others: Vec<_> = (0..3)
        .map(|_| {
            let home = Arc::clone(&home);
            tokio::spawn(async move {
                for _ in 0..30 {
                    let other = process(&home);
                    let id = begin(&other, "short").await;
                    other.settle(&[id]).await.expect("added");
                    let mut seen = open(&other).await;
                    seen.remove("short");
                    assert_eq!(seen, listed(&all));
                }
            })
        })
        .collect();
    let (own, keys) = (Arc::clone(running.own().await.expect("a file")), running.keys().await.expect("keys"));
    while others.iter().any(|other| !other.is_finished()) {
        let (own, keys, directory) = (Arc::clone(&own), Arc::clone(keys), running.directory.clone());
        if let Err(error) = blocking(move || own.replace(&directory, &keys)).await {
            assert_eq!(error.kind(), io::ErrorKind::ResourceBusy, "others read: {error}");
        }
    }
    for other in others {
        other.await.expect("it has seen all");
    }
    assert_eq!(open(&running).await, listed(&all));
}

#[tokio::test]
async fn a_process_does_not_replace_its_file_while_others_read() {
    let home = home();
    let running = process(&home);
    begin(&running, "running").await;
    let (own, keys) = (Arc::clone(running.own().await.expect("a file")), running.keys().await.expect("keys"));
    let (keys, directory) = (Arc::clone(keys), running.directory.clone());
    blocking(move || {
        let old = own.file().id;
        let reading = listing_lock(&directory).expect("a lock");
        let refused = own.replace(&directory, &keys).expect_err("another one reads");
        assert_eq!(refused.kind(), io::ErrorKind::ResourceBusy);
        drop(reading);
        own.replace(&directory, &keys).expect("replaced");
        let new = own.file().id;
        assert_ne!(new, old);
        let files: Vec<_> =
            directory::files(&directory).expect("a list").into_iter().map(|(id, _)| id).collect();
        assert_eq!(files, [new]);
    })
    .await;
    assert_eq!(open(&running).await, listed(&[("running", "in progress")]));
}

#[tokio::test]
async fn a_process_replaces_no_file_that_it_cannot_read_whole_and_nothing_that_is_in_its_place() {
    let home = home();
    let running = process(&home);
    begin(&running, "one").await;
    let damaged = begin(&running, "two").await;
    begin(&running, "three").await;
    let (own, keys) = (Arc::clone(running.own().await.expect("a file")), running.keys().await.expect("keys"));
    let (keys, directory) = (Arc::clone(keys), running.directory.clone());
    let path = own.file().path.clone();
    let mut bytes = fs::read(&path).expect("a file");
    let middle = bytes.len() / 2;
    bytes[middle] ^= 1;
    fs::write(&path, bytes).expect("written");
    let replacing = {
        let (own, keys, directory) = (Arc::clone(&own), Arc::clone(&keys), directory.clone());
        move || own.replace(&directory, &keys).expect_err("refused").kind()
    };
    assert_eq!(blocking(replacing.clone()).await, io::ErrorKind::InvalidData, "{damaged} is damaged");
    fs::remove_file(&path).expect("removed");
    fs::create_dir(&path).expect("a directory");
    assert_eq!(blocking(replacing).await, io::ErrorKind::InvalidData, "another one is in its place");
    assert_eq!(files(&home), [path]);
}

#[tokio::test]
async fn a_replacement_keeps_what_is_settled_of_a_file_that_was_created_meanwhile() {
    let home = home();
    let ours = process(&home);
    begin(&ours, "ours").await;
    let (own, keys) = (Arc::clone(ours.own().await.expect("a file")), ours.keys().await.expect("keys"));
    let (keys, directory) = (Arc::clone(keys), ours.directory.clone());
    let scan = directory::scan_once(&directory, &keys).expect("read");
    let begun = own.written().1;
    let theirs = process(&home);
    let settled = begin(&theirs, "settled").await;
    let marked = begin(&theirs, "marked").await;
    ours.settle(&[settled]).await.expect("added");
    ours.mark(&[marked], SHOWN).await.expect("added");
    let next = OwnFile::create(&directory, Arc::clone(&keys.writing)).expect("a file");
    let (old, _) = own.replace_by(next, scan, begun, &directory, &keys).expect("replaced");
    fs::remove_file(old.path).expect("removed");
    drop((ours, own, theirs));
    let found = process(&home).open_intents().await.expect("the journal").intents;
    let found: Vec<_> = found.into_iter().map(|open| (open.id == marked, open.marks.count(SHOWN))).collect();
    assert_eq!(BTreeMap::from_iter(found), BTreeMap::from([(false, 0), (true, 1)]));
}

#[tokio::test]
async fn after_a_synchronisation_that_failed_what_is_in_the_file_gets_to_the_disk_in_another_one() {
    let home = home();
    let ours = with_durability(&home, JournalDurability::Disk);
    begin(&ours, "one").await;
    let own = Arc::clone(ours.own().await.expect("a file"));
    let before = own.file().id;
    own.has_failed_to_synchronise(before);
    begin(&ours, "two").await;
    assert_ne!(own.file().id, before);
    assert_eq!(open(&ours).await, listed(&[("one", "in progress"), ("two", "in progress")]));
}

#[tokio::test]
async fn more_files_than_a_process_may_open_are_compacted_in_turns() {
    let home = home();
    let count = directory::MOST_AT_ONCE + 5;
    for number in 0..count {
        begin(&process(&home), &format!("{number}")).await;
    }
    assert_eq!(open(&process(&home)).await.len(), count);
    assert_eq!(files(&home).len(), 6);
    assert_eq!(open(&process(&home)).await.len(), count);
    assert_eq!(files(&home).len(), 1);
}

#[tokio::test]
async fn what_is_noted_of_an_operation_is_kept_while_any_file_cannot_be_read() {
    let home = home();
    let (one, two) = (begin(&process(&home), "one").await, begin(&process(&home), "two").await);
    assert_eq!(open(&process(&home)).await.len(), 2);
    let [both] = &files(&home)[..] else { panic!("{:?}", files(&home)) };
    let next = process(&home);
    next.settle(&[one]).await.expect("added");
    next.mark(&[two], SHOWN).await.expect("added");
    begin(&next, "three").await;
    drop(next);
    let away = home.path().join("away");
    fs::rename(both, &away).expect("it is moved away");
    put("directory", both);
    begin(&process(&home), "four").await;
    let found = process(&home).open_intents().await.expect("the journal");
    assert_eq!((found.intents.len(), found.faults.len()), (2, 1), "{found:?}");
    fs::remove_dir(both).expect("removed");
    fs::rename(&away, both).expect("it is put back");
    let found = process(&home).open_intents().await.expect("the journal").intents;
    let marks: BTreeMap<_, _> = found.into_iter().map(|open| (open.id, open.marks.count(SHOWN))).collect();
    assert_eq!((marks.len(), marks.get(&one), marks.get(&two)), (3, None, Some(&1)), "{marks:?}");
}

#[tokio::test]
async fn a_process_reads_what_others_write_after_a_rotation() {
    let home = home();
    let running = process(&home);
    begin(&running, "one").await;
    let key = KeySource::Directory(home.path().to_owned());
    let store = EncryptedStore::connect(&crate::StoreAddress::in_directory(home.path()), &key).await;
    store.expect("a store").rotate_own_key(home.path()).await.expect("rotated");
    begin(&process(&home), "two").await;
    assert_eq!(open(&running).await, listed(&[("one", "in progress"), ("two", "interrupted")]));
}

#[tokio::test]
async fn a_process_that_begins_during_the_first_rotation_writes_what_the_new_key_reads() {
    let home = home();
    let digits = |digit: &str| KeySource::Digits(Secret::new(digit.repeat(64)));
    let with =
        |key: &KeySource| JournalFiles::new(home.path(), key.clone(), None, JournalDurability::Process);
    let (old, new) = (digits("a"), digits("b"));
    let master = |key: &KeySource| key.load(&crate::key::KdfParams::new(), None).expect("a key");
    let directory = JournalFiles::directory_in(home.path());
    begin_rotation(&directory, &master(&old), &master(&new)).expect("begun");
    begin(&with(&old), "one").await;
    end_rotation(&directory, &master(&new)).expect("ended");
    assert_eq!(open(&with(&new)).await, listed(&[("one", "interrupted")]));
    let refused = end_rotation(&directory, &master(&digits("c"))).expect_err("no key would be left");
    assert!(refused.to_string().contains("another key"), "{refused}");
    assert_eq!(open(&with(&new)).await.len(), 1);
}

#[tokio::test]
async fn after_a_rotation_the_new_key_reads_all_and_the_old_one_nothing() {
    let home = home();
    let digits = |digit: &str| KeySource::Digits(Secret::new(digit.repeat(64)));
    let with =
        |key: &KeySource| JournalFiles::new(home.path(), key.clone(), None, JournalDurability::Process);
    let (old, new) = (digits("a"), digits("b"));
    let running = with(&old);
    begin(&running, "one").await;
    let store = EncryptedStore::connect(&crate::StoreAddress::in_directory(home.path()), &old)
        .await
        .expect("a store");
    let journal: &Path = &JournalFiles::directory_in(home.path());
    store.rotate(&new, Some(journal)).await.expect("rotated");
    begin(&running, "two").await;
    let all = listed(&[("one", "in progress"), ("two", "in progress")]);
    assert_eq!(open(&running).await, all, "a running process goes on");
    let next = with(&new);
    begin(&next, "three").await;
    assert_eq!(open(&next).await.len(), 3);
    let error = with(&old).open_intents().await.expect_err("the old key");
    assert!(error.to_string().contains("another key"), "{error}");
}
