//! What is in the cache already.

use super::*;

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
    let installed = fixture.install("1.0.0").await.unwrap_or_else(|error| panic!("{error}"));
    std::fs::write(&installed.executable, b"\x7fELF a Provider").expect("a file");
    for constraint in ["1.0.0", ""] {
        let error = fixture.install(constraint).await.expect_err("it was altered");
        let folder = fixture.package("1.0.0");
        assert!(
            error.contains("was altered after it was installed")
                && error.ends_with(&format!(
                    "Remove the folder {} to have it downloaded again",
                    folder.display()
                )),
            "{error}"
        );
    }
    std::fs::remove_dir_all(fixture.package("1.0.0")).expect("a folder");
    assert_eq!(fixture.install("1.0.0").await, Ok(installed));
}

#[tokio::test]
async fn what_others_have_put_there_is_compared_with_the_registry() {
    let fixture = Fixture::new();
    fixture.publish("1.0.0");
    let program = fixture.leave("1.0.0", PROGRAM);
    let inode = program.metadata().expect("a file").ino();
    let installed = fixture.install("1.0.0").await.unwrap_or_else(|error| panic!("{error}"));
    assert_eq!(installed.verification, Verification::Signed { key: fixture.key.fingerprint() });
    assert_eq!(program.metadata().expect("a file").ino(), inode, "it was the right one, and stays");

    let fixture = Fixture::new();
    fixture.publish("1.0.0");
    let program = fixture.leave("1.0.0", b"something else");
    fixture.install("1.0.0").await.unwrap_or_else(|error| panic!("{error}"));
    assert_eq!(std::fs::read(&program).expect("a file"), PROGRAM);
}

#[tokio::test]
async fn what_others_have_put_there_is_trusted_where_no_registry_can_be_asked() {
    let fixture = Fixture::new();
    fixture.publish("1.0.0");
    fixture.leave("1.0.0", PROGRAM);
    fixture.registry.put("/.well-known/terraform.json", Document::status(503));
    let first = fixture.install("1.0.0").await.unwrap_or_else(|error| panic!("{error}"));
    assert!(matches!(first.verification, Verification::Unverified { .. }), "{first:?}");
    assert!(first.warnings[0].ends_with("is used without having been verified"), "{:?}", first.warnings);
    assert!(first.warnings[1].contains("503 Service Unavailable"), "{:?}", first.warnings);
    let asked = fixture.registry.requests().len();
    let second = fixture.install("1.0.0").await.unwrap_or_else(|error| panic!("{error}"));
    assert!(
        second.warnings.is_empty() && fixture.registry.requests().len() == asked,
        "{:?}",
        second.warnings
    );

    fixture
        .registry
        .put("/.well-known/terraform.json", Document::json(&json!({ "providers.v1": "/v1/providers/" })));
    fixture.clock.pass(ASK_AGAIN);
    let third = fixture.install("1.0.0").await.unwrap_or_else(|error| panic!("{error}"));
    assert_eq!(third.verification, Verification::Signed { key: fixture.key.fingerprint() });

    let offline = fixture.offline();
    let installed = install(&offline, &fixture.address(), "").await.unwrap_or_else(|error| panic!("{error}"));
    assert_eq!(installed.version, Version::new(1, 0, 0));
    let error = install(&offline, &fixture.address(), "2.0.0").await.expect_err("it is not there");
    assert!(
        error.starts_with("no network is used, because a test says so. And no version of the provider "),
        "{error}"
    );
}
