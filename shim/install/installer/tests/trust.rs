//! Verification and refusals, for an installation and for an unrecorded binary in the cache.

use super::unverified::{Change, enforced};
use super::*;

/// Changes the registry's response about the package.
fn changed_download(fixture: &Fixture, release: &Release, member: &str, value: serde_json::Value) {
    let mut download = release.download();
    download[member] = value;
    fixture.registry.put(&release.download_path(), Document::json(&download));
}

fn replaced(fixture: &Fixture, archive: Vec<u8>) {
    fixture.registry.publish(&Release::new("a/b", "1.0.0", archive).signed_by(&fixture.key));
}

#[tokio::test]
async fn what_is_not_what_was_published_is_refused() {
    // The error of each, in parts separated by "…".
    let cases: [(Change, &str); 16] = [
        (
            |fixture, release| fixture.registry.put(&release.archive_path(), Document::of("another")),
            "a/b 1.0.0 is not installed: the archive has the SHA-256 ",
        ),
        // A listed version that is missing may have been withdrawn.
        (|fixture, release| fixture.registry.remove(&release.archive_path()), "404"),
        (
            |fixture, release| fixture.registry.remove(&release.sums_path()),
            "a/b 1.0.0 is not installed: could not download its checksums: …404",
        ),
        (
            |fixture, release| fixture.registry.remove(&release.signature_path()),
            "a/b 1.0.0 is not installed: could not download the signature of its checksums: …404",
        ),
        (
            |fixture, release| {
                let sums = format!("{}  {}\n", "0".repeat(64), release.file());
                fixture.registry.put(&release.sums_path(), Document::of(sums));
            },
            "a/b 1.0.0 is not installed: the registry says that the archive has the SHA-256 ",
        ),
        (
            |fixture, release| fixture.registry.put(&release.sums_path(), Document::of("\n")),
            "a/b 1.0.0 is not installed: its checksums have none for terraform-provider-b_1.0.0_",
        ),
        (
            |fixture, release| {
                let sums = format!("{}\n", release.sums());
                fixture.registry.put(&release.sums_path(), Document::of(sums));
            },
            "a/b 1.0.0 is not installed: …is not good: the list of checksums is not what was signed",
        ),
        (
            |fixture, release| fixture.registry.put(&release.signature_path(), Document::of("no signature")),
            "a/b 1.0.0 is not installed: its checksums are not signed as they should be",
        ),
        (
            |fixture, release| {
                let other = PublisherKey::new().sign(release.sums().as_bytes());
                fixture.registry.put(&release.signature_path(), Document::of(other));
            },
            "a/b 1.0.0 is not installed: …, and the registry lists ",
        ),
        (
            |fixture, release| {
                changed_download(fixture, release, "signing_keys", json!({ "gpg_public_keys": [] }));
            },
            "a/b 1.0.0 is not installed: …names no key that its checksums are signed with, which only the default registry may do",
        ),
        (
            |fixture, release| changed_download(fixture, release, "os", json!("plan9")),
            "a/b 1.0.0 is not installed: …and returned plan9_",
        ),
        (
            |fixture, release| changed_download(fixture, release, "filename", json!("../x.zip")),
            "a/b 1.0.0 is not installed: …calls the archive \"../x.zip\", which is not a file name",
        ),
        (
            |fixture, release| changed_download(fixture, release, "protocols", json!(["4.0"])),
            "supports no known version of the plugin protocol",
        ),
        (|fixture, _| replaced(fixture, b"no archive".to_vec()), "cannot be read"),
        (
            |fixture, _| replaced(fixture, Archive::of_programs(&[("terraform-provider-c", PROGRAM)])),
            "contains no binary called terraform-provider-b",
        ),
        (
            |fixture, _| replaced(fixture, Archive::of_programs(&[("../terraform-provider-b", PROGRAM)])),
            "does not lead into the directory",
        ),
    ];
    for (change, says) in cases {
        let fixture = Fixture::new();
        change(&fixture, &fixture.publish("1.0.0"));
        let error = fixture.refused("1.0.0").await;
        assert!(says.split('…').all(|piece| error.contains(piece)), "{says}: {error}");
        let fixture = Fixture::with_unrecorded(change);
        fixture.refuses_to_start(&fixture.installer(), says).await;
    }
}

#[tokio::test]
async fn what_an_answer_refuses_is_not_started_whichever_document_it_is_about() {
    let paths: [fn(&Release) -> String; 5] = [
        |_| "/v1/providers/a/b/versions".to_owned(),
        Release::download_path,
        Release::sums_path,
        Release::signature_path,
        Release::archive_path,
    ];
    let answers = [
        (Document::status(400), "400"),
        (Document::status(401), "401"),
        (Document::status(403), "403"),
        (Document::status(407), "407"),
        (Document::status(410), "410"),
        (Document::status(204), "204"),
        (
            Document::status(302).with_header("Location", "http://localhost:1/x"),
            "redirects from https to http",
        ),
        (Document::status(302).with_header("Location", "/v1/loop"), "redirects more than 10 times"),
        (Document::status(302), "redirects to no address"),
        (Document::of("{\"a\": 1}").breaking_after(3).without_ranges(), "the connection broke"),
    ];
    for path in paths {
        for (answer, why) in &answers {
            let fixture = Fixture::with_unrecorded(|_, _| {});
            let release = fixture.release("1.0.0");
            let redirect = Document::status(302).with_header("Location", "/v1/loop");
            fixture.registry.put("/v1/loop", redirect);
            let path = path(&release);
            fixture.registry.put(&path, answer.clone());
            // With an exact version, the list of versions is not requested.
            let listed = path.ends_with("/versions");
            if listed {
                let error = install(&fixture.installer(), &fixture.address(), "").await.expect_err(why);
                assert!(error.contains(why), "{path} {why}: {error}");
            } else {
                fixture.refuses_to_start(&fixture.installer(), why).await;
            }
        }
    }
    for (document, why) in [
        (Document::of("<html>Log in"), "a web page where JSON is expected"),
        (Document::of("[]"), "is not what the protocol says"),
        (Document::of(vec![b' '; (16 << 20) + 1]), "it sent more than "),
    ] {
        for path in [
            "/.well-known/terraform.json".to_owned(),
            Release::download_path(&Fixture::new().release("1.0.0")),
        ] {
            let fixture = Fixture::with_unrecorded(|_, _| {});
            fixture.registry.put(&path, document.clone());
            fixture.refuses_to_start(&fixture.installer(), why).await;
        }
    }
}

#[tokio::test]
async fn a_server_that_cannot_prove_who_it_is_is_refused() {
    let other = Registry::start();
    let why = "no secure connection could be made (invalid peer certificate: …set SSL_CERT_FILE";
    let fixture = Fixture::with_unrecorded(|_, _| {});
    fixture.refuses_to_start(&fixture.trusting(&other), why).await;
    assert!(fixture.registry.requests().is_empty());

    // The same for the server of archives alone.
    let elsewhere = |fixture: &Fixture| {
        let release = fixture.release("1.0.0");
        let url = format!("{}{}", other.url(), release.archive_path());
        changed_download(fixture, &release, "download_url", json!(url));
    };
    let why = format!(
        "cannot be downloaded: {}…no secure connection could be made (invalid peer certificate: …issues the certificate of \
         localhost, set SSL_CERT_FILE",
        other.url()
    );
    let fixture = Fixture::with_unrecorded(|_, _| {});
    elsewhere(&fixture);
    fixture.refuses_to_start(&fixture.installer(), &why).await;
    let fixture = Fixture::new();
    fixture.publish("1.0.0");
    elsewhere(&fixture);
    let error = fixture.refused("1.0.0").await;
    assert!(why.split('…').all(|piece| error.contains(piece)), "{error}");
}

#[tokio::test]
async fn the_default_host_need_not_vouch_for_a_key_unless_that_is_demanded() {
    let fixture = Fixture::new();
    let archive = Archive::of_programs(&[("terraform-provider-b_v1", PROGRAM)]);
    fixture.registry.publish(&Release::new("a/b", "1.0.0", archive));
    let address = provider("a/b");
    let strict = at_default_host(&fixture, enforced());
    let error = refusal(&strict, &address, "1.0.0").await;
    assert!(error.ends_with("signed with, and OPENTOFU_ENFORCE_GPG_VALIDATION is set"), "{error}");
    let lax = at_default_host(&fixture, SignaturePolicy::default());
    assert_eq!(installed(&lax, &address, "1.0.0").await.verification, Verification::Unsigned);
    // An installation from before enforcement is no exception, online or offline.
    let sources = Sources::new(&CliConfig::default(), []);
    let offline = Installer::new(fixture.cache(), Origins::offline(sources, "a test says so"), enforced());
    for (installer, constraint) in [(&strict, "1.0.0"), (&strict, ""), (&offline, "1.0.0")] {
        let error = refusal(installer, &address, constraint).await;
        assert!(error.contains("OPENTOFU_ENFORCE_GPG_VALIDATION is set"), "{error}");
    }
}

#[tokio::test]
async fn an_expired_key_is_a_warning_unless_that_is_demanded() {
    let mut fixture = Fixture::new();
    fixture.key = fixture.key.clone().certified(true, Some(Duration::from_secs(60)));
    fixture.publish("1.0.0");
    fixture.clock.pass(Duration::from_secs(3600));
    let policy = SignaturePolicy { enforce_expiration: true, ..SignaturePolicy::default() };
    let strict = fixture.installer_with(policy);
    let error = refusal(&strict, &fixture.address(), "1.0.0").await;
    assert!(
        error.contains("which expired on ") && error.ends_with("OPENTOFU_ENFORCE_GPG_EXPIRATION is set"),
        "{error}"
    );
    let installed = fixture.installed("1.0.0").await;
    let [warning] = installed.warnings.as_slice() else { panic!("{:?}", installed.warnings) };
    assert!(
        warning.contains(&format!("is signed with the key {}, which expired on ", fixture.key.fingerprint())),
        "{warning}"
    );
}

#[test]
fn whatever_is_no_spelling_of_false_demands_signatures() {
    let is_enforced = |value: &str| SignaturePolicy::is_enforced(Some(value.as_ref()));
    assert!(["true", "TRUE", "1", "yes", "t", " ", "tru"].into_iter().all(is_enforced));
    assert!(!["", "false", "False", " no ", "off", "0"].into_iter().any(is_enforced));
    assert!(!SignaturePolicy::is_enforced(None));
}
