//! Providers in the cache.

use super::*;
use isthmus_platform::files::identity;

#[tokio::test]
async fn a_provider_is_installed_once_and_verified_every_time() {
    let fixture = Fixture::new();
    fixture.publish("1.0.0");
    let events = Mutex::new(Vec::new());
    let constraint = VersionConstraint::parse("1.0.0").expect("a constraint");
    let listener = |event| events.lock().unwrap_or_else(PoisonError::into_inner).push(event);
    let installer = fixture.installer();
    let address = fixture.address();
    let installed =
        installer.install(&address, &constraint, &listener).await.unwrap_or_else(|error| panic!("{error}"));
    assert_eq!(installed.executable, fixture.package("1.0.0").join("terraform-provider-b_v1_x5"));
    assert_eq!(std::fs::read(&installed.executable).expect("it is there"), PROGRAM);
    assert_eq!(installed.verification, Verification::Signed { key: fixture.key.fingerprint() });
    assert!(installed.warnings.is_empty(), "{:?}", installed.warnings);
    let events = events.into_inner().unwrap_or_else(PoisonError::into_inner);
    assert!(
        matches!(&events[0], InstallEvent::Downloading { server, .. } if server == "localhost"),
        "{events:?}"
    );
    assert!(matches!(&events[1], InstallEvent::Progress(Progress { total: Some(_), .. })), "{events:?}");
    assert!(matches!(events.last(), Some(InstallEvent::Installed { .. })), "{events:?}");

    let asked = fixture.registry.requests().len();
    assert_eq!(fixture.install("1.0.0").await, Ok(installed));
    assert_eq!(fixture.registry.requests().len(), asked, "an exact version that is there needs no network");
}

#[tokio::test]
async fn a_program_that_was_altered_is_refused_until_it_is_removed() {
    let fixture = Fixture::new();
    fixture.publish("1.0.0");
    let installed = fixture.installed("1.0.0").await;
    std::fs::write(&installed.executable, b"\x7fELF a Provider").expect("a file");
    for constraint in ["1.0.0", ""] {
        let error = fixture.install(constraint).await.expect_err("it was altered");
        let directory = fixture.package("1.0.0");
        assert!(
            error.contains("was altered after it was installed")
                && error.ends_with(&format!(
                    "Remove the directory {} to have it downloaded again",
                    directory.display()
                )),
            "{error}"
        );
    }
    std::fs::remove_dir_all(fixture.package("1.0.0")).expect("a directory");
    assert_eq!(fixture.install("1.0.0").await, Ok(installed));
}

#[tokio::test]
async fn what_others_have_put_there_is_compared_with_the_registry() {
    let fixture = Fixture::new();
    fixture.publish("1.0.0");
    let program = fixture.leave("1.0.0", PROGRAM);
    let file = identity(&program, &program.metadata().expect("a file")).expect("a file");
    let installed = fixture.installed("1.0.0").await;
    assert_eq!(installed.verification, Verification::Signed { key: fixture.key.fingerprint() });
    assert_eq!(
        identity(&program, &program.metadata().expect("a file")).expect("a file"),
        file,
        "it was the right one, and stays"
    );

    let fixture = Fixture::new();
    fixture.publish("1.0.0");
    let program = fixture.leave("1.0.0", b"something else");
    let notes = fixture.package("1.0.0").join("notes.txt");
    std::fs::write(&notes, "of a user").expect("a file");
    let installed = fixture.installed("1.0.0").await;
    assert_eq!(std::fs::read(&program).expect("a file"), PROGRAM);
    // Existing files are not ours to remove.
    assert!(!notes.exists());
    let [warning] = &installed.warnings[..] else { panic!("{:?}", installed.warnings) };
    let (before, kept) = warning.split_once("; its previous content is in ").expect(warning);
    assert!(before.starts_with(&format!("replaced {}", fixture.package("1.0.0").display())), "{warning}");
    let kept = Path::new(kept);
    assert_eq!(std::fs::read(kept.join("notes.txt")).expect("it is kept"), b"of a user");
    let name = program.file_name().expect("a name");
    assert_eq!(std::fs::read(kept.join(name)).expect("it is kept"), b"something else");
}

#[tokio::test]
async fn a_directory_without_a_program_that_is_in_the_way_is_kept_beside() {
    let fixture = Fixture::new();
    fixture.publish("1.0.0");
    let notes = fixture.package("1.0.0").join("notes/todo.txt");
    std::fs::create_dir_all(notes.parent().expect("a directory")).expect("a directory");
    std::fs::write(&notes, "of a user").expect("a file");
    let installed = fixture.installed("1.0.0").await;
    assert_eq!(std::fs::read(&installed.executable).expect("a file"), PROGRAM);
    let (_, kept) = installed.warnings[0].split_once("; its previous content is in ").expect("a warning");
    let kept = Path::new(kept).join("notes/todo.txt");
    assert_eq!(std::fs::read(kept).expect("it is kept"), b"of a user");
}

#[tokio::test]
async fn what_could_not_be_verified_is_looked_up_again_after_a_while() {
    let fixture = Fixture::new();
    fixture.publish("1.0.0");
    fixture.leave("1.0.0", PROGRAM);
    fixture.registry.put("/.well-known/terraform.json", Document::status(503));
    let first = fixture.installed("1.0.0").await;
    assert!(matches!(first.verification, Verification::Unverified { .. }), "{first:?}");
    let [warning] = first.warnings.as_slice() else { panic!("{:?}", first.warnings) };
    let says = format!(
        "{} 1.0.0 is unverified: it was not installed by isthmus, and its origin ",
        fixture.address()
    );
    assert!(warning.starts_with(&says) && warning.contains("503 Service Unavailable"), "{warning}");
    let asked = fixture.registry.requests().len();
    let second = fixture.installed("1.0.0").await;
    assert_eq!(second, first, "and the same warning");
    assert_eq!(fixture.registry.requests().len(), asked);
    // An explicit installation does not wait.
    let again = fixture.installer().querying_again();
    installed(&again, &fixture.address(), "1.0.0").await;
    assert!(fixture.registry.requests().len() > asked);

    fixture
        .registry
        .put("/.well-known/terraform.json", Document::json(&json!({ "providers.v1": "/v1/providers/" })));
    fixture.clock.pass(ASK_AGAIN);
    let third = fixture.installed("1.0.0").await;
    assert_eq!(third.verification, Verification::Signed { key: fixture.key.fingerprint() });
    assert_eq!(third.warnings, [""; 0]);

    let offline = fixture.offline();
    let installed = installed(&offline, &fixture.address(), "").await;
    assert_eq!(installed.version, Version::new(1, 0, 0));
    let error = refusal(&offline, &fixture.address(), "2.0.0").await;
    assert!(error.starts_with("the network is not used: a test says so; the cache has no "), "{error}");
    let directory = fixture.package("2.0.0");
    assert!(
        error.ends_with(&format!("\nhelp: or unpack the provider into {}", directory.display())),
        "{error}"
    );
}

#[tokio::test]
async fn a_record_of_an_older_form_is_none() {
    let fixture = Fixture::new();
    fixture.publish("1.0.0");
    let program = fixture.leave("1.0.0", b"something else");
    let path = Record::path_of(&fixture.package("1.0.0"));
    let unsigned = Record::of(&program, None, Verification::Unsigned).expect("it can be read");
    let record = serde_json::to_string(&unsigned).expect("it is JSON");
    // Without a reason, as in old versions.
    let unverified = json!({ "unverified": { "since": seconds(SystemTime::now()) } });
    let older = record.replace("\"unsigned\"", &unverified.to_string());
    assert_ne!(older, record);
    std::fs::write(&path, older).expect("a file");
    let installed = fixture.installed("1.0.0").await;
    assert_eq!(installed.verification, Verification::Signed { key: fixture.key.fingerprint() });
    assert_eq!(std::fs::read(program).expect("a file"), PROGRAM);
}
