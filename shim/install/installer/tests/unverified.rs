//! Binaries in the cache that isthmus did not install: started only if no origin could be reached
//! or none has them, and always with a warning.

use super::*;

/// A binary of the Go bridge in the cache.
const LEFT: &[u8] = b"\x7fELF left by another program";

/// A change of a registry that has published 1.0.0.
pub(super) type Change = fn(&Fixture, &Release);

pub(super) fn enforced() -> SignaturePolicy {
    SignaturePolicy { enforce_validation: true, ..SignaturePolicy::default() }
}

impl Fixture {
    /// A changed registry, and an unrecorded binary of its version.
    pub(super) fn with_unrecorded(change: Change) -> Self {
        let fixture = Self::new();
        change(&fixture, &fixture.publish("1.0.0"));
        fixture.leave("1.0.0", LEFT);
        fixture
    }

    /// Each of two starts is refused, by version and by constraint, with all parts of `why`,
    /// separated by "…", and nothing is changed.
    pub(super) async fn refuses_to_start(&self, installer: &Installer, why: &str) {
        for constraint in ["1.0.0", "", "1.0.0"] {
            let error = install(installer, &self.address(), constraint).await;
            let error = error.map(|installed| installed.warnings).expect_err(why);
            assert!(why.split('…').all(|piece| error.contains(piece)), "{constraint:?}, {why}: {error}");
        }
        let program = self.package("1.0.0").join("terraform-provider-b_v1_x5");
        assert_eq!(std::fs::read(program).expect("it is left alone"), LEFT, "{why}");
        let record = Record::path_of(&self.package("1.0.0"));
        assert!(!record.exists(), "{why}: what is refused is not recorded");
    }

    /// Each of two starts is allowed, with the reason why it is unverified.
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
    // The registry does not listen any more.
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
        // A start from before enforcement is no exception.
        let lax = Installer::new(fixture.cache(), origins, SignaturePolicy::default());
        installed(&lax, &fixture.address(), "1.0.0").await;
        for constraint in ["1.0.0", ""] {
            let error = refusal(&strict, &fixture.address(), constraint).await;
            assert!(error.contains("OPENTOFU_ENFORCE_GPG_VALIDATION is set"), "{error}");
        }
    }
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
        // Also for root: the lock file cannot be opened.
        let lock = DirectoryLock::path_of(&fixture.package("1.0.0"));
        std::fs::create_dir(lock).expect("a directory");
        fixture
    };
    let fixture = unwritable(|_, _| {});
    fixture.refuses_to_start(&fixture.installer(), "cannot be written").await;
    let fixture = unwritable(|_, _| {});
    fixture.starts_with_warning(&fixture.offline(), &["could not be reached", "a test says so"]).await;
    let fixture = unwritable(|fixture, release| fixture.registry.remove(&release.download_path()));
    let installed = fixture.installed("1.0.0").await;
    assert!(installed.warnings[0].contains("its origin does not have it: "), "{:?}", installed.warnings);
}
