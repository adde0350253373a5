//! Files of users that the program meets stay as they are, and what it creates is nobody else's to change.

#[cfg(unix)]
use std::os::unix::fs::{FileTypeExt as _, MetadataExt as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use tempfile::TempDir;

use crate::harness::host::script_at;
use crate::harness::{PATIENCE, Setup, json, on_one_protocol};

/// Writes the marker by which isthmus knows a directory that it has created itself.
pub(crate) fn mark(directory: &Path, purpose: &str) {
    let name = directory.file_name().and_then(|name| name.to_str()).expect("a name");
    let metadata = std::fs::metadata(directory).expect("a directory");
    let inode = isthmus_platform::files::identity(directory, &metadata).expect("a directory").inode;
    let text = format!(
        "isthmus created this directory for {purpose}, and removes it.\nname: {name}\ninode: {inode}\n"
    );
    std::fs::write(directory.join(".isthmus-directory"), text).expect("a marker");
}

/// A directory for its owner alone, which nobody has touched for a while, with a file in it.
fn directory(parent: &Path, name: &str, file: &str) -> PathBuf {
    let path = parent.join(name);
    std::fs::create_dir_all(&path).expect("a directory");
    set_mode(&path, 0o700);
    let file = path.join(file);
    std::fs::write(&file, "of a user").expect("a file");
    let opened = std::fs::File::open(&path).expect("a directory");
    opened.set_modified(SystemTime::now() - Duration::from_secs(3600)).expect("it is ours");
    file
}

fn set_mode(path: &Path, mode: u32) {
    isthmus_platform::files::set_mode(path, mode).expect("it is ours");
}

/// The environment of a process.
#[cfg(unix)]
fn environment_of(process: u32) -> std::collections::BTreeMap<String, String> {
    let environment = std::fs::read(format!("/proc/{process}/environ")).expect("it runs");
    let environment = String::from_utf8_lossy(&environment).into_owned();
    let variables = environment.split('\0').filter_map(|variable| variable.split_once('='));
    variables.map(|(name, value)| (name.to_owned(), value.to_owned())).collect()
}

/// Everything in a directory that others than its owner may write to. Links have no mode of their own, and sockets are protected by
/// that of their directory.
#[cfg(unix)]
pub(crate) fn writable_by_others(directory: &Path) -> Vec<String> {
    let mut found = Vec::new();
    let mut directories = vec![directory.to_owned()];
    while let Some(directory) = directories.pop() {
        for entry in std::fs::read_dir(&directory).expect("a directory") {
            let path = entry.expect("an entry").path();
            // What is temporary may go meanwhile.
            let Ok(metadata) = path.symlink_metadata() else { continue };
            let has_mode = !metadata.is_symlink() && !metadata.file_type().is_socket();
            if has_mode && metadata.mode() & 0o022 != 0 {
                found.push(format!("{:04o} {}", metadata.mode() & 0o7777, path.display()));
            }
            if metadata.is_dir() {
                directories.push(path);
            }
        }
    }
    found
}

async fn until(what: &str, mut so: impl FnMut() -> bool) {
    let waited = tokio::time::timeout(PATIENCE, async {
        while !so() {
            // It happens in a directory; there is nothing else to wait on.
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    });
    assert!(waited.await.is_ok(), "waited in vain until {what}");
}

on_one_protocol! {
    async fn a_start_removes_what_killed_daemons_left_and_nothing_of_users(protocol) {
        let temporary = Arc::new(tempfile::tempdir().expect("a directory"));
        let here = temporary.path();
        let text = |path: &Path| path.to_str().expect("a path in UTF-8").to_owned();
        let setup = Setup::sandbox(protocol).with(crate::harness::TMPDIR, &text(here)).within(&temporary);
        let home = here.join("isthmus-home");
        let setup = setup.with("ISTHMUS_HOME", &text(&home));

        let state = directory(here, "isthmus-home", "state-of-a-user");
        let project = directory(here, "isthmus-demo.X4", "Pulumi.yaml");
        let copied = directory(here, "isthmus-sockets-Copied", "notes.txt");
        let abandoned = here.join("isthmus-sockets-Ab12Cd");
        std::fs::create_dir(&abandoned).expect("a directory");
        set_mode(&abandoned, 0o700);
        drop(isthmus_platform::local::bind(&abandoned.join("plugin1")).expect("a socket"));
        mark(&abandoned, "the sockets of a provider process");
        std::fs::copy(abandoned.join(".isthmus-directory"), copied.with_file_name(".isthmus-directory"))
            .expect("a copy");

        let (_host, session) = setup.session().await?;
        session.note().make(&json!({"title": "Hello"})).await?;
        until("what a killed daemon left is removed", || !abandoned.exists()).await;
        for file in [state, project, copied] {
            let found = std::fs::read_to_string(&file).unwrap_or_else(|error| panic!("{file:?}: {error}"));
            assert_eq!(found, "of a user");
        }
    }

    #[cfg(unix)]
    async fn a_provider_does_not_inherit_the_settings_of_this_program(protocol) {
        let store = tempfile::tempdir().expect("a directory");
        let store = store.path().join("state.sqlite").to_str().expect("a path in UTF-8").to_owned();
        let setup = Setup::sandbox(protocol)
            .with("ISTHMUS_KEY", &"5e".repeat(32))
            .with("ISTHMUS_STORE", &store)
            .with("ISTHMUS_LOG_CALLS", "true")
            .with("OF_A_PROVIDER", "x");
        let (host, session) = setup.session().await?;
        session.note().make(&json!({"title": "Hello"})).await?;
        let inherited = environment_of(host.provider_process());
        let names: Vec<&String> = inherited.keys().collect();
        assert!(inherited.contains_key("OF_A_PROVIDER") && inherited.contains_key("PLUGIN_UNIX_SOCKET_DIR"), "{names:?}");
        // One that is no setting: how macOS finds a provider's processes.
        let is_setting = |name: &&&String| name.starts_with("ISTHMUS_") && name.as_str() != "ISTHMUS_GUARDIAN";
        assert_eq!(names.iter().find(is_setting), None, "{names:?}");
    }

    #[cfg(unix)]
    async fn a_provider_does_not_inherit_credentials_of_pulumi_and_of_registries(protocol) {
        let withheld = [
            "PULUMI_ACCESS_TOKEN", "PULUMI_CONFIG", "PULUMI_CONFIG_PASSPHRASE", "TF_HTTP_PASSWORD", "TF_TOKEN_example_com",
        ];
        let setup = withheld.iter().fold(Setup::sandbox(protocol), |setup, name| setup.with(name, "s3cret"));
        let setup = setup.with_daemon();
        let host = setup.clone().start().await.with_own_provider();
        let session = host.session().await?;
        session.note().make(&json!({"title": "Hello"})).await?;
        let inherited = environment_of(host.provider_process());
        assert_eq!(withheld.map(|name| inherited.get(name)), [None; 5]);
        // Whoever has other credentials shares the process all the same.
        let setup = setup.with("PULUMI_ACCESS_TOKEN", "another").with("TF_TOKEN_example_com", "another");
        let other = setup.clone().beside(&host).start().await;
        let session_of_other = other.session().await?;
        session_of_other.note().make(&json!({"title": "Hello"})).await?;
        host.provider_process();
        // Not so where a provider gets them.
        for token in ["one", "other"] {
            let setup = setup.clone().with("ISTHMUS_PROVIDER_ENVIRONMENT", "PULUMI_ACCESS_*");
            let chosen = setup.with("PULUMI_ACCESS_TOKEN", token).beside(&host).start().await;
            let session = chosen.session().await?;
            session.note().make(&json!({"title": "Hello"})).await?;
            let inherited = environment_of(*host.provider_processes().last().expect("it was called"));
            assert_eq!(inherited["PULUMI_ACCESS_TOKEN"], token);
            assert!(!inherited.contains_key("TF_TOKEN_example_com"));
        }
    }

    async fn a_provider_that_uses_withheld_credentials_causes_one_warning(protocol) {
        let host = Setup::sandbox(protocol).with("TF_TOKEN_app_terraform_io", "s3cret").start().await;
        let script = format!("exec '{}' \"$@\"\n", host.provider());
        let provider = script_at(&host.directory().join("terraform-provider-tfe"), &script);
        let session = host.greeted().await?;
        session.parameterize(&[provider.to_str().expect("a path in UTF-8")]).await?;
        session.configure(&json!({})).await?;
        let warnings: Vec<String> = host.engine.shown().into_iter().map(|line| line.message).collect();
        let help = "help: if it needs them, set ISTHMUS_PROVIDER_ENVIRONMENT=TF_TOKEN_app_terraform_io";
        // Names of variables have no letter case on Windows.
        let is_told = |text: &String| text.to_lowercase().ends_with(&help.to_lowercase());
        assert_eq!(warnings.iter().filter(|text| is_told(text)).count(), 1, "{warnings:?}");
        assert!(!format!("{warnings:?}").contains("s3cret"), "{warnings:?}");
    }

    #[cfg(unix)]
    async fn without_a_umask_nothing_is_writable_by_others(protocol) {
        let directory = Arc::new(tempfile::tempdir().expect("a directory"));
        let here = |name: &str| directory.path().join(name).to_str().expect("a path in UTF-8").to_owned();
        std::fs::create_dir(directory.path().join("tmp")).expect("a directory");
        let setup = Setup::sandbox(protocol)
            .without_umask()
            .within(&directory)
            .with(crate::harness::TMPDIR, &here("tmp"))
            .with("TF_LOG", "trace")
            .with("TF_LOG_PATH", &here("terraform.log"))
            .with("PULUMI_TF_DEBUG_GRPC", &here("calls.json"));
        let host = setup.start().await.with_own_provider();
        let session = host.session().await?;
        session.note().make(&json!({"title": "Hello"})).await?;
        host.schema_is_kept().await;
        let expected = ["isthmus/journal/key", "isthmus/state.key",
            "terraform.log", "calls.json", "calls"];
        for name in expected {
            assert!(directory.path().join(name).is_file(), "{name} is missing");
        }
        assert_eq!(std::fs::read_dir(here("tmp")).expect("a directory").count(), 1, "the socket's directory");
        assert_eq!(writable_by_others(directory.path()), [""; 0]);
    }

    async fn a_home_that_others_may_write_to_is_not_used(protocol) {
        let directory = Arc::new(tempfile::tempdir().expect("a directory"));
        let home = directory.path().join("isthmus");
        std::fs::create_dir(&home).expect("a directory");
        set_mode(&home, 0o777);
        let (host, session) = Setup::sandbox(protocol).within(&directory).session().await?;
        session.note().make(&json!({"title": "Hello"})).await?;
        let help = format!("help: run `chmod go-w {}`", home.display());
        host.engine.line("what to do", |line| line.message.contains(&help)).await;
        assert_eq!(std::fs::read_dir(&home).expect("a directory").count(), 0, "nothing is put there");
    }
}

/// What `isthmus` prints on a home directory.
fn isthmus(directory: &TempDir, words: &[&str], variables: &[(&str, &Path)]) -> (i32, String) {
    let mut command = std::process::Command::new(env!("CARGO_BIN_EXE_isthmus"));
    command
        .args(words)
        .env_clear()
        .env(isthmus_platform::HOME, directory.path())
        .env(crate::harness::TMPDIR, directory.path());
    command.env("PULUMI_HOME", directory.path().join(".pulumi"));
    command.env("ISTHMUS_HOME", directory.path().join("isthmus")).envs(variables.iter().copied());
    let output = command.output().expect("it starts");
    let text = [output.stdout, output.stderr].concat();
    (output.status.code().unwrap_or(-1), String::from_utf8_lossy(&text).into_owned())
}

/// Imports a state without resources, which creates the store and its key where they are missing.
fn import_nothing(directory: &TempDir, variables: &[(&str, &Path)]) -> (i32, String) {
    let file = directory.path().join("empty.tfstate");
    let state =
        r#"{"version": 4, "terraform_version": "1.9.0", "serial": 1, "lineage": "none", "resources": []}"#;
    std::fs::write(&file, state).expect("written");
    isthmus(directory, &["state", "import", file.to_str().expect("text")], variables)
}

#[cfg(unix)]
#[test]
fn a_key_or_home_that_another_user_may_change_is_refused_with_what_to_do() {
    let machine = tempfile::tempdir().expect("a directory");
    let list = || isthmus(&machine, &["state", "list", "--json"], &[]);
    let (code, said) = import_nothing(&machine, &[]);
    assert_eq!(code, 0, "{said}");
    let home = machine.path().join("isthmus");
    for (path, mode, usual) in [(&home, 0o770, 0o700), (&home.join("state.key"), 0o606, 0o600)] {
        set_mode(path, mode);
        let (code, said) = list();
        let help = format!("help: run `chmod go-w {}`\nhelp: `isthmus explain ISTHMUS-1005`", path.display());
        assert!(code == 1 && said.contains(&help), "{code}: {said}");
        set_mode(path, usual);
        let (code, said) = list();
        assert!(code == 0 && said.contains("\"records\": []"), "it is mended: {code}: {said}");
    }
    if rustix::process::geteuid().is_root() {
        for path in [&home, &home.join("state.key")] {
            std::os::unix::fs::chown(path, Some(65534), None).expect("as root");
            let (code, said) = list();
            assert!(
                code == 1 && said.contains(&format!("help: run `chown 0 {}`\n", path.display())),
                "{said}"
            );
            std::os::unix::fs::chown(path, Some(0), None).expect("as root");
        }
    }
}

#[test]
fn a_store_that_is_missing_beside_a_key_is_warned_of_once() {
    let machine = tempfile::tempdir().expect("a directory");
    let (home, other) = (machine.path().join("isthmus"), machine.path().join("other.sqlite"));
    let (key, store) = (home.join("state.key"), home.join("state.sqlite"));
    let (code, said) = isthmus(&machine, &["state", "list"], &[]);
    assert!(
        code == 0 && said.contains("holds no objects") && !said.contains("warning"),
        "a new machine: {said}"
    );
    assert!(!home.exists(), "looking creates nothing");
    let (code, said) = import_nothing(&machine, &[]);
    assert!(code == 0 && !said.contains("warning"), "a first start: {said}");
    assert!(key.is_file() && store.is_file());

    for name in ["state.sqlite", "state.sqlite-wal", "state.sqlite-shm"] {
        let _ = std::fs::remove_file(home.join(name));
    }
    for (store, variables) in [(&store, vec![]), (&other, vec![("ISTHMUS_STORE", other.as_path())])] {
        let (key, shown) = (key.display().to_string(), store.display().to_string());
        for words in
            [&["state", "list"][..], &["state", "export"], &["state", "show", "1"], &["state", "rm", "1"]]
        {
            let (code, said) = isthmus(&machine, words, &variables);
            assert!(
                code == 3 && said.contains(&key) && said.contains(&shown) && said.contains("help: "),
                "{said}"
            );
            assert!(!store.exists(), "{words:?} creates nothing");
        }
        let (code, said) = import_nothing(&machine, &variables);
        assert!(
            code == 0 && said.contains("warning: ") && said.contains(&key) && said.contains(&shown),
            "{said}"
        );
        let (code, said) = isthmus(&machine, &["state", "list"], &variables);
        assert!(code == 0 && !said.contains("warning"), "it is there now: {said}");
    }
}

#[test]
fn an_export_does_not_overwrite_the_store_itself() {
    let machine = tempfile::tempdir().expect("a directory");
    import_nothing(&machine, &[]);
    for name in ["state.sqlite", "state.key"] {
        let file = machine.path().join("isthmus").join(name);
        let before = std::fs::read(&file).expect("it is there");
        let words = ["state", "export", "--force", "--output", file.to_str().expect("text")];
        let (code, said) = isthmus(&machine, &words, &[]);
        assert!(code == 1 && said.contains("is a file of the state store"), "{said}");
        assert!(std::fs::read(&file).expect("it is there") == before);
    }
}

#[test]
fn the_demonstration_leaves_the_users_store_alone() {
    let machine = tempfile::tempdir().expect("a directory");
    let store = machine.path().join("precious.sqlite");
    let (code, said) = isthmus(&machine, &["demo"], &[("ISTHMUS_STORE", &store)]);
    assert_eq!(code, 0, "{said}");
    assert!(!store.exists() && !machine.path().join("isthmus").exists(), "{said}");
    assert_eq!(std::fs::read_dir(machine.path()).expect("a directory").count(), 0, "nothing is left");
}
