//! What vouches for a provider, and what is refused.

use super::*;

#[tokio::test]
async fn what_is_not_what_was_published_is_refused() {
    type Change = fn(&Fixture, &Release);
    let cases: [(Change, &str); 10] = [
        (
            |fixture, release| fixture.registry.put(&release.archive_path(), Document::of("another")),
            "the archive has the SHA-256 ",
        ),
        (
            |fixture, release| fixture.registry.remove(&release.sums_path()),
            "could not download its checksums: ",
        ),
        (
            |fixture, release| fixture.registry.remove(&release.signature_path()),
            "could not download the signature of its checksums: ",
        ),
        (
            |fixture, release| {
                let sums = format!("{}  {}\n", "0".repeat(64), release.file());
                fixture.registry.put(&release.sums_path(), Document::of(sums));
            },
            "the registry says that the archive has the SHA-256 ",
        ),
        (
            |fixture, release| fixture.registry.put(&release.sums_path(), Document::of("\n")),
            "its checksums have none for terraform-provider-b_1.0.0_",
        ),
        (
            |fixture, release| {
                let sums = format!("{}\n", release.sums());
                fixture.registry.put(&release.sums_path(), Document::of(sums));
            },
            "is not good: the list of checksums is not what was signed",
        ),
        (
            |fixture, release| {
                let other = PublisherKey::new().sign(release.sums().as_bytes());
                fixture.registry.put(&release.signature_path(), Document::of(other));
            },
            ", and the registry lists ",
        ),
        (
            |fixture, release| {
                let mut download = release.download();
                download["signing_keys"] = json!({ "gpg_public_keys": [] });
                fixture.registry.put(&release.download_path(), Document::json(&download));
            },
            "names no key that its checksums are signed with, which only the default registry may do",
        ),
        (
            |fixture, release| {
                let mut download = release.download();
                download["os"] = json!("plan9");
                fixture.registry.put(&release.download_path(), Document::json(&download));
            },
            "and answered with plan9_",
        ),
        (
            |fixture, release| {
                let mut download = release.download();
                download["filename"] = json!("../x.zip");
                fixture.registry.put(&release.download_path(), Document::json(&download));
            },
            "calls the archive \"../x.zip\", which is no file's name",
        ),
    ];
    for (change, says) in cases {
        let fixture = Fixture::new();
        change(&fixture, &fixture.publish("1.0.0"));
        let error = fixture.refused("1.0.0").await;
        assert!(error.contains("a/b 1.0.0 is not installed: ") && error.contains(says), "{error}");
    }
}

#[tokio::test]
async fn an_archive_of_something_else_is_refused() {
    for (archive, says) in [
        (b"no archive".to_vec(), "cannot be read"),
        (
            Archive::of_programs(&[("terraform-provider-c", PROGRAM)]),
            "holds no program that is called terraform-provider-b",
        ),
        (Archive::of_programs(&[("../terraform-provider-b", PROGRAM)]), "does not lead into the directory"),
    ] {
        let fixture = Fixture::new();
        fixture.registry.publish(&Release::new("a/b", "1.0.0", archive).signed_by(&fixture.key));
        let error = fixture.refused("1.0.0").await;
        assert!(error.contains(says), "{error}");
    }
}

#[tokio::test]
async fn the_default_host_need_not_vouch_for_a_key_unless_that_is_demanded() {
    let fixture = Fixture::new();
    let archive = Archive::of_programs(&[("terraform-provider-b_v1", PROGRAM)]);
    fixture.registry.publish(&Release::new("a/b", "1.0.0", archive));
    let services = [("providers.v1".to_owned(), format!("{}/v1/providers/", fixture.registry.url()))];
    let overrides = ServiceOverrides::from([(DEFAULT_HOST.to_owned(), services.into())]);
    let registry = RegistryClient::new(fixture.web(NoCredentials), overrides);
    let address = ProviderAddress::parse("a/b").expect("an address");
    let policy = SignaturePolicy { enforce_validation: true, ..SignaturePolicy::default() };
    let strict = from_registries(fixture.cache(), registry.clone(), policy);
    let error = install(&strict, &address, "1.0.0").await.expect_err("it is not signed");
    assert!(error.ends_with("signed with, and OPENTOFU_ENFORCE_GPG_VALIDATION is set"), "{error}");
    let installer = from_registries(fixture.cache(), registry, SignaturePolicy::default());
    let installed = install(&installer, &address, "1.0.0").await.unwrap_or_else(|error| panic!("{error}"));
    assert_eq!(installed.verification, Verification::Unsigned);
}

#[tokio::test]
async fn an_expired_key_is_a_warning_unless_that_is_demanded() {
    let mut fixture = Fixture::new();
    fixture.key = fixture.key.clone().certified(true, Some(Duration::from_secs(60)));
    fixture.publish("1.0.0");
    fixture.clock.pass(Duration::from_secs(3600));
    let registry = RegistryClient::new(fixture.web(NoCredentials), ServiceOverrides::new());
    let policy = SignaturePolicy { enforce_expiration: true, ..SignaturePolicy::default() };
    let strict = from_registries(fixture.cache(), registry, policy);
    let error = install(&strict, &fixture.address(), "1.0.0").await.expect_err("the key has expired");
    assert!(
        error.contains("which expired on ") && error.ends_with("OPENTOFU_ENFORCE_GPG_EXPIRATION is set"),
        "{error}"
    );
    let installed = fixture.install("1.0.0").await.unwrap_or_else(|error| panic!("{error}"));
    let [warning] = installed.warnings.as_slice() else { panic!("{:?}", installed.warnings) };
    assert!(
        warning.contains(&format!("is signed with the key {}, which expired on ", fixture.key.fingerprint())),
        "{warning}"
    );
}

#[tokio::test]
async fn nobody_who_cannot_prove_to_be_the_registry_is_listened_to() {
    let fixture = Fixture::new();
    fixture.publish("1.0.0");
    let other = Registry::start();
    let settings = HttpSettings { extra_roots: vec![other.authority()], ..HttpSettings::default() };
    let web = WebClient::new(Arc::new(HttpTransport::new(settings)), Arc::new(NoCredentials));
    let registry = RegistryClient::new(web, ServiceOverrides::new());
    let installer = from_registries(fixture.cache(), registry, SignaturePolicy::default());
    let error = install(&installer, &fixture.address(), "1.0.0").await.expect_err("nobody knows it");
    assert!(
        error.contains("no secure connection could be made (invalid peer certificate: ")
            && error.contains("set SSL_CERT_FILE"),
        "{error}"
    );
    assert!(fixture.registry.requests().is_empty());
}

#[test]
fn whatever_is_no_spelling_of_false_demands_signatures() {
    let is_enforced = |value: &str| SignaturePolicy::is_enforced(Some(value.as_ref()));
    assert!(["true", "TRUE", "1", "yes", "t", " ", "tru"].into_iter().all(is_enforced));
    assert!(!["", "false", "False", " no ", "off", "0"].into_iter().any(is_enforced));
    assert!(!SignaturePolicy::is_enforced(None));
}
