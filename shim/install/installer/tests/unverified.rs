//! Programs in the cache that isthmus did not install: started only where no origin could be reached or none has them, and never
//! without a warning.

use super::*;

/// What the Go bridge has left in the cache.
const LEFT: &[u8] = b"\x7fELF left by another program";

/// What is changed about a registry that has published 1.0.0.
type Change = fn(&Fixture, &Release);

impl Fixture {
    /// A registry that was changed, and an unrecorded program of the version that it has published.
    fn with_unrecorded(change: Change) -> Self {
        let fixture = Self::new();
        change(&fixture, &fixture.publish("1.0.0"));
        fixture.leave("1.0.0", LEFT);
        fixture
    }

    /// Each of two starts is refused, by version and by constraint, and nothing is changed.
    async fn refuses_to_start(&self, installer: &Installer, why: &str) {
        for constraint in ["1.0.0", "", "1.0.0"] {
            let error = install(installer, &self.address(), constraint).await;
            let error = error.map(|installed| installed.warnings).expect_err(why);
            assert!(error.contains(why), "{constraint:?}, {why}: {error}");
        }
        let program = self.package("1.0.0").join("terraform-provider-b_v1_x5");
        assert_eq!(std::fs::read(program).expect("it is left alone"), LEFT, "{why}");
        let record = self.cache().record_of(&self.package("1.0.0"));
        assert!(!record.exists(), "{why}: what is refused is not recorded");
    }

    /// Each of two starts is allowed, and each says why it is unverified.
    async fn starts_with_warning(&self, installer: &Installer, why: &[&str]) {
        for constraint in ["1.0.0", "1.0.0", "", "1.0.0"] {
            let installed = install(installer, &self.address(), constraint).await;
            let installed = installed.unwrap_or_else(|error| panic!("{why:?}: {error}"));
            assert!(matches!(installed.verification, Verification::Unverified { .. }), "{installed:?}");
            assert_eq!(std::fs::read(installed.executable).expect("it is there"), LEFT);
            let warning = installed.warnings.iter().find(|warning| warning.contains("1.0.0 is unverified: "));
            let warning =
                warning.unwrap_or_else(|| panic!("{why:?} {constraint:?}: {:?}", installed.warnings));
            assert!(why.iter().all(|why| warning.contains(why)), "{why:?}: {warning}");
        }
    }
}

fn enforced() -> SignaturePolicy {
    SignaturePolicy { enforce_validation: true, ..SignaturePolicy::default() }
}

#[tokio::test]
async fn what_a_registry_refuses_is_not_started() {
    let cases: [(Change, &str); 11] = [
        (
            |fixture, release| fixture.registry.put(&release.archive_path(), Document::of("another")),
            "the archive has the SHA-256 ",
        ),
        (
            |fixture, release| {
                let sums = format!("{}  {}\n", "0".repeat(64), release.file());
                fixture.registry.put(&release.sums_path(), Document::of(sums));
            },
            "the registry says that the archive has the SHA-256 ",
        ),
        (
            |fixture, release| fixture.registry.put(&release.signature_path(), Document::of("no signature")),
            "are not signed as they should be",
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
            "names no key that its checksums are signed with",
        ),
        (
            |fixture, _| {
                let broken = Release::new("a/b", "1.0.0", b"no archive".to_vec()).signed_by(&fixture.key);
                fixture.registry.publish(&broken);
            },
            "cannot be read",
        ),
        (
            |fixture, _| {
                let other = Archive::of_programs(&[("terraform-provider-c", PROGRAM)]);
                fixture.registry.publish(&Release::new("a/b", "1.0.0", other).signed_by(&fixture.key));
            },
            "holds no program that is called terraform-provider-b",
        ),
        // What a registry lists was there: one that cannot be had any more may have been withdrawn.
        (|fixture, release| fixture.registry.remove(&release.archive_path()), "404"),
        (|fixture, release| fixture.registry.remove(&release.sums_path()), "404"),
        (|fixture, release| fixture.registry.remove(&release.signature_path()), "404"),
        (
            |fixture, release| {
                let mut download = release.download();
                download["protocols"] = json!(["4.0"]);
                fixture.registry.put(&release.download_path(), Document::json(&download));
            },
            "speaks no version of the plugin protocol",
        ),
    ];
    for (change, why) in cases {
        let fixture = Fixture::with_unrecorded(change);
        fixture.refuses_to_start(&fixture.installer(), why).await;
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
            // The list of versions is not asked for where one is named.
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
async fn a_server_that_cannot_prove_who_it_is_refuses() {
    let fixture = Fixture::with_unrecorded(|_, _| {});
    let other = Registry::start();
    let settings = HttpSettings { extra_roots: vec![other.authority()], ..HttpSettings::default() };
    let web = WebClient::new(Arc::new(HttpTransport::new(settings)), Arc::new(NoCredentials));
    let registry = RegistryClient::new(web, ServiceOverrides::new());
    let installer = from_registries(fixture.cache(), registry, SignaturePolicy::default());
    fixture.refuses_to_start(&installer, "invalid peer certificate").await;

    // The same of the server of archives alone.
    let fixture = Fixture::with_unrecorded(|_, _| {});
    let release = fixture.release("1.0.0");
    let mut download = release.download();
    download["download_url"] = json!(format!("{}{}", other.url(), release.archive_path()));
    fixture.registry.put(&release.download_path(), Document::json(&download));
    fixture.refuses_to_start(&fixture.installer(), "invalid peer certificate").await;
}

#[tokio::test]
async fn what_cannot_be_reached_is_started_with_a_warning_each_time() {
    let paths: [fn(&Release) -> String; 5] = [
        |_| "/.well-known/terraform.json".to_owned(),
        Release::download_path,
        Release::sums_path,
        Release::signature_path,
        Release::archive_path,
    ];
    for path in paths {
        for status in [429, 500, 501, 502, 503, 504] {
            let fixture = Fixture::with_unrecorded(|_, _| {});
            fixture.registry.put(&path(&fixture.release("1.0.0")), Document::status(status));
            let status = status.to_string();
            fixture.starts_with_warning(&fixture.installer(), &["could not be reached", &status]).await;
        }
    }
    // Nothing listens any more.
    let fixture = Fixture::with_unrecorded(|_, _| {});
    let installer = fixture.installer();
    let gone = std::net::TcpListener::bind("127.0.0.1:0").expect("a port");
    let port = gone.local_addr().expect("an address").port();
    drop(gone);
    let to_nowhere = Document::status(302).with_header("Location", &format!("https://localhost:{port}/"));
    fixture.registry.put("/.well-known/terraform.json", to_nowhere);
    fixture.starts_with_warning(&installer, &["could not be reached", "Connection refused"]).await;
}

#[tokio::test]
async fn what_no_origin_has_is_started_with_a_warning_each_time() {
    let cases: [Change; 3] = [
        |fixture, release| {
            fixture.registry.remove(&release.download_path());
            fixture.registry.put("/v1/providers/a/b/versions", Document::status(404));
        },
        |fixture, release| {
            fixture.registry.remove(&release.download_path());
            let others = json!({ "versions": [{ "version": "2.0.0", "platforms": [{ "os": "plan9", "arch": "mips" }] }] });
            fixture.registry.put("/v1/providers/a/b/versions", Document::json(&others));
        },
        |fixture, _| fixture.registry.remove("/.well-known/terraform.json"),
    ];
    for change in cases {
        let fixture = Fixture::with_unrecorded(change);
        fixture.starts_with_warning(&fixture.installer(), &["does not have it"]).await;
    }
}

#[tokio::test]
async fn nothing_unverified_is_started_where_signatures_are_enforced() {
    let cases: [Change; 3] = [
        |fixture, _| fixture.registry.put("/.well-known/terraform.json", Document::status(503)),
        |fixture, _| fixture.registry.remove("/.well-known/terraform.json"),
        |_, _| {},
    ];
    for (index, change) in cases.into_iter().enumerate() {
        let fixture = Fixture::with_unrecorded(change);
        let origins = if index == 2 { fixture.offline().origins } else { fixture.installer().origins };
        let strict = Installer::new(fixture.cache(), origins.clone(), enforced());
        fixture.refuses_to_start(&strict, "OPENTOFU_ENFORCE_GPG_VALIDATION is set").await;
        // What was started without that is no exception.
        let lax = Installer::new(fixture.cache(), origins, SignaturePolicy::default());
        install(&lax, &fixture.address(), "1.0.0").await.unwrap_or_else(|error| panic!("{error}"));
        for constraint in ["1.0.0", ""] {
            let error = install(&strict, &fixture.address(), constraint).await.expect_err("it is enforced");
            assert!(error.contains("OPENTOFU_ENFORCE_GPG_VALIDATION is set"), "{error}");
        }
    }
}

#[tokio::test]
async fn an_unsigned_provider_that_is_installed_is_not_started_where_signatures_are_enforced() {
    let fixture = Fixture::new();
    let archive = Archive::of_programs(&[("terraform-provider-b_v1", PROGRAM)]);
    fixture.registry.publish(&Release::new("a/b", "1.0.0", archive));
    let services = [("providers.v1".to_owned(), format!("{}/v1/providers/", fixture.registry.url()))];
    let overrides = ServiceOverrides::from([(DEFAULT_HOST.to_owned(), services.into())]);
    let registry = RegistryClient::new(fixture.web(NoCredentials), overrides);
    let address = ProviderAddress::parse("a/b").expect("an address");
    let lax = from_registries(fixture.cache(), registry.clone(), SignaturePolicy::default());
    let installed = install(&lax, &address, "1.0.0").await.unwrap_or_else(|error| panic!("{error}"));
    assert_eq!(installed.verification, Verification::Unsigned);
    let strict = from_registries(fixture.cache(), registry, enforced());
    for constraint in ["1.0.0", ""] {
        let error = install(&strict, &address, constraint).await.expect_err("it is not signed");
        assert!(error.contains("OPENTOFU_ENFORCE_GPG_VALIDATION is set"), "{error}");
    }
    let sources = Sources::new(&CliConfig::default(), []);
    let offline = Installer::new(fixture.cache(), Origins::offline(sources, "a test says so"), enforced());
    let error = install(&offline, &address, "1.0.0").await.expect_err("it is not signed");
    assert!(error.contains("OPENTOFU_ENFORCE_GPG_VALIDATION is set"), "{error}");
}

#[tokio::test]
async fn without_a_network_it_is_said_each_time_that_nothing_is_verified() {
    let fixture = Fixture::with_unrecorded(|_, _| {});
    fixture.starts_with_warning(&fixture.offline(), &["could not be reached", "a test says so"]).await;
    assert_eq!(fixture.registry.requests(), [""; 0]);
}

#[tokio::test]
async fn a_cache_that_cannot_be_written_is_no_reason_to_start_what_an_origin_has() {
    let unwritable = |change: Change| {
        let fixture = Fixture::with_unrecorded(change);
        // Whoever these tests run as: the file of the lock cannot be opened.
        let lock = fixture.cache().lock_of(&fixture.package("1.0.0"));
        std::fs::create_dir(lock).expect("a directory");
        fixture
    };
    let fixture = unwritable(|_, _| {});
    fixture.refuses_to_start(&fixture.installer(), "cannot be written").await;
    let fixture = unwritable(|_, _| {});
    fixture.starts_with_warning(&fixture.offline(), &["could not be reached", "a test says so"]).await;
    let fixture = unwritable(|fixture, release| fixture.registry.remove(&release.download_path()));
    let installed = fixture.install("1.0.0").await.unwrap_or_else(|error| panic!("{error}"));
    assert!(installed.warnings[0].contains("its origin does not have it: "), "{:?}", installed.warnings);
}
