use std::io::{BufRead as _, BufReader};
use std::os::unix::fs::MetadataExt as _;
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex, PoisonError};

use isthmus_test_registry::{Archive, Document, PublisherKey, Registry, Release};
use serde_json::json;

use super::super::registry::ServiceOverrides;
use super::super::web::testing::{OneToken, SteppedClock};
use super::super::web::{CredentialsSource, HttpSettings, HttpTransport, NoCredentials, Proxies, WebClient};
use super::*;

const PROGRAM: &[u8] = b"\x7fELF a provider";

/// A registry, and a cache that is empty.
struct Fixture {
    registry: Registry,
    folder: tempfile::TempDir,
    clock: Arc<SteppedClock>,
    key: PublisherKey,
}

impl Fixture {
    fn new() -> Self {
        Self {
            registry: Registry::start(),
            folder: tempfile::tempdir().expect("a folder"),
            clock: Arc::new(SteppedClock::at(seconds(SystemTime::now()))),
            key: PublisherKey::new(),
        }
    }

    fn release(&self, version: &str) -> Release {
        let archive = Archive::of_programs(&[("terraform-provider-b_v1_x5", PROGRAM)]);
        Release::new("a/b", version, archive).signed_by(&self.key)
    }

    fn publish(&self, version: &str) -> Release {
        let release = self.release(version);
        self.registry.publish(&release);
        release
    }

    fn web(&self, credentials: impl CredentialsSource) -> WebClient {
        let settings = HttpSettings {
            proxies: Proxies::Direct,
            extra_roots: vec![self.registry.authority()],
            user_agent: "test".to_owned(),
        };
        WebClient::new(Arc::new(HttpTransport::new(settings)), Arc::new(credentials))
            .with_clock(self.clock.clone())
    }

    fn cache(&self) -> ProviderCache {
        ProviderCache::new(self.folder.path())
    }

    fn address(&self) -> ProviderAddress {
        ProviderAddress::parse(&format!("{}/a/b", self.registry.host())).expect("an address")
    }

    fn installer(&self) -> Installer {
        let registry = RegistryClient::new(self.web(NoCredentials), ServiceOverrides::new());
        Installer::new(self.cache(), registry, SignaturePolicy::default())
    }

    async fn install(&self, constraint: &str) -> Result<Installed, String> {
        install(&self.installer(), &self.address(), constraint).await
    }

    async fn refused(&self, constraint: &str) -> String {
        let error = self.install(constraint).await.expect_err("it is refused");
        self.is_empty();
        error
    }

    /// Nothing was installed, and nothing is left of the attempt.
    fn is_empty(&self) {
        let folder = self.cache().provider_folder(&self.address());
        for version in std::fs::read_dir(&folder).into_iter().flatten().filter_map(Result::ok) {
            for left in std::fs::read_dir(version.path()).into_iter().flatten().filter_map(Result::ok) {
                let name = left.file_name();
                assert!(name.to_string_lossy().ends_with(".lock"), "{} is left", left.path().display());
            }
        }
    }

    fn package(&self, version: &str) -> PathBuf {
        self.cache().package_folder(&self.address(), &Version::parse(version).expect(version))
    }

    /// What the Go bridge leaves: a program, and no record.
    fn leave(&self, version: &str, content: &[u8]) -> PathBuf {
        let folder = self.package(version);
        std::fs::create_dir_all(&folder).expect("a folder");
        let program = folder.join("terraform-provider-b_v1_x5");
        std::fs::write(&program, content).expect("a file");
        program
    }
}

async fn install(
    installer: &Installer,
    address: &ProviderAddress,
    constraint: &str,
) -> Result<Installed, String> {
    let constraint = VersionConstraint::parse(constraint).expect(constraint);
    installer.install(address, &constraint, &|_| {}).await.map_err(|error| error.to_string())
}

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
async fn what_is_not_what_was_published_is_refused() {
    type Change = fn(&Fixture, &Release);
    let cases: [(Change, &str); 10] = [
        (
            |fixture, release| fixture.registry.put(&release.archive_path(), Document::of("another")),
            "the archive has the SHA-256 ",
        ),
        (|fixture, release| fixture.registry.remove(&release.sums_path()), "its checksums cannot be had: "),
        (
            |fixture, release| fixture.registry.remove(&release.signature_path()),
            "the signature of its checksums cannot be had: ",
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
            ", and the registry vouches for ",
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
        (Archive::of_programs(&[("../terraform-provider-b", PROGRAM)]), "does not lead into the folder"),
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
    let strict = Installer::new(fixture.cache(), registry.clone(), policy);
    let error = install(&strict, &address, "1.0.0").await.expect_err("it is not signed");
    assert!(error.ends_with("signed with, and OPENTOFU_ENFORCE_GPG_VALIDATION is set"), "{error}");
    let installer = Installer::new(fixture.cache(), registry, SignaturePolicy::default());
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
    let strict = Installer::new(fixture.cache(), registry, policy);
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
async fn what_a_registry_does_not_have_is_told_with_what_it_has() {
    let fixture = Fixture::new();
    let unknown = fixture.refused("1.0.0").await;
    assert!(unknown.contains("cannot be") || unknown.contains("has no"), "{unknown}");
    fixture.registry.publish(&fixture.release("1.0.0").for_platform("plan9", "mips"));
    fixture.registry.publish(&fixture.release("0.9.0").speaking(&["4.0"]));
    fixture.registry.publish(&fixture.release("0.10.0"));
    for (constraint, says) in [
        ("2.0.0", "satisfies \"2.0.0\"; there are 1.0.0, 0.10.0, 0.9.0"),
        ("> 2", "satisfies \"> 2\"; there are 1.0.0, 0.10.0, 0.9.0"),
        ("1.0.0", "a/b 1.0.0 is not published for "),
        ("0.9.0", "the earliest version that can be run is 0.10.0: ask for \">= 0.10.0\""),
    ] {
        let error = fixture.refused(constraint).await;
        assert!(error.contains(says), "{constraint}: {error}");
    }
    let installed = fixture.install("").await.unwrap_or_else(|error| panic!("{error}"));
    assert_eq!(installed.version, Version::new(0, 10, 0));
    assert!(installed.warnings[0].contains("1.0.0 is not published for "), "{:?}", installed.warnings);
    let error = install(
        &fixture.installer(),
        &ProviderAddress::parse(&format!("{}/a/c", fixture.registry.host())).expect("an address"),
        "",
    )
    .await;
    let error = error.expect_err("there is none");
    assert!(error.contains("has no provider a/c; check its name"), "{error}");
}

#[tokio::test]
async fn a_failing_registry_is_told_with_what_to_configure() {
    let discovery = "/.well-known/terraform.json";
    for (document, says) in [
        (Document::status(404), "offers no registry of Terraform providers; check the host"),
        (Document::json(&json!({ "modules.v1": "/m" })), "offers no registry"),
        (Document::status(401), "who asks: add `credentials \"localhost:"),
        (Document::status(403), "who asks: add `credentials \"localhost:"),
        (Document::status(429), "too many requests from this network; try later, or install from a mirror"),
        (Document::status(503), "answered 503 Service Unavailable (3 attempts)"),
        (Document::of("<html>"), "a web page where JSON is expected"),
        (Document::of("{\"providers.v1\":").breaking_after(5), "the connection broke"),
        (Document::status(302).with_header("Location", discovery), "redirects more than 3 times"),
    ] {
        let fixture = Fixture::new();
        fixture.registry.put(discovery, document);
        let error = fixture.refused("1.0.0").await;
        assert!(
            error.contains(says) && error.contains("https://localhost") | error.contains("localhost:"),
            "{says}: {error}"
        );
    }
}

#[tokio::test]
async fn nobody_who_cannot_prove_to_be_the_registry_is_listened_to() {
    let fixture = Fixture::new();
    fixture.publish("1.0.0");
    let other = Registry::start();
    let settings = HttpSettings {
        proxies: Proxies::Direct,
        extra_roots: vec![other.authority()],
        user_agent: "test".to_owned(),
    };
    let web = WebClient::new(Arc::new(HttpTransport::new(settings)), Arc::new(NoCredentials));
    let registry = RegistryClient::new(web, ServiceOverrides::new());
    let installer = Installer::new(fixture.cache(), registry, SignaturePolicy::default());
    let error = install(&installer, &fixture.address(), "1.0.0").await.expect_err("nobody knows it");
    assert!(
        error.contains("no secure connection could be made (invalid peer certificate: ")
            && error.contains("set SSL_CERT_FILE"),
        "{error}"
    );
    assert!(fixture.registry.requests().is_empty());
}

#[tokio::test]
async fn a_registry_that_is_not_there_is_told_with_what_the_cache_has() {
    let fixture = Fixture::new();
    let address = fixture.address();
    let installer = fixture.installer();
    let Fixture { registry, folder, .. } = fixture;
    drop(registry);
    let error = install(&installer, &address, "1.0.0").await.expect_err("nobody listens");
    assert!(
        error.contains("it cannot be reached")
            && error.contains("set HTTPS_PROXY")
            && error.contains("is in the cache: "),
        "{error}"
    );
    drop(folder);
}

#[tokio::test]
async fn a_private_registry_is_told_who_asks() {
    let fixture = Fixture::new();
    fixture.publish("1.0.0");
    fixture.registry.require_token("s3cret");
    let error = fixture.refused("1.0.0").await;
    assert!(error.contains("answered 401") && error.contains("It wants to know who asks"), "{error}");
    let host: &'static str = fixture.registry.host().leak();
    let registry = RegistryClient::new(fixture.web(OneToken(host, "s3cret")), ServiceOverrides::new());
    let installer = Installer::new(fixture.cache(), registry, SignaturePolicy::default());
    install(&installer, &fixture.address(), "").await.unwrap_or_else(|error| panic!("{error}"));
}

#[tokio::test]
async fn a_broken_download_is_gone_on_with() {
    let fixture = Fixture::new();
    let release = fixture.publish("1.0.0");
    let whole = Archive::of_programs(&[("terraform-provider-b_v1_x5", PROGRAM)]);
    fixture.registry.put_once(&release.archive_path(), Document::of(whole).breaking_after(100));
    fixture.install("1.0.0").await.unwrap_or_else(|error| panic!("{error}"));
    let path = release.archive_path();
    let asked: Vec<String> =
        fixture.registry.requests().into_iter().filter(|request| request.starts_with(&path)).collect();
    assert_eq!(asked, [path.clone(), format!("{path} bytes=100-")]);
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

    let offline = Installer::offline(fixture.cache(), "a test says so");
    let installed = install(&offline, &fixture.address(), "").await.unwrap_or_else(|error| panic!("{error}"));
    assert_eq!(installed.version, Version::new(1, 0, 0));
    let error = install(&offline, &fixture.address(), "2.0.0").await.expect_err("it is not there");
    assert!(
        error.starts_with("no registry is asked, because a test says so. And no version of the provider "),
        "{error}"
    );
}

#[tokio::test]
async fn the_newest_is_that_of_the_registry_for_a_while() {
    let fixture = Fixture::new();
    fixture.publish("1.0.0");
    let newest = async || {
        let installed = fixture.install("").await.unwrap_or_else(|error| panic!("{error}"));
        (installed.version.to_string(), installed.warnings)
    };
    assert_eq!(newest().await, ("1.0.0".to_owned(), Vec::new()));
    fixture.publish("2.0.0");
    assert_eq!(newest().await.0, "1.0.0", "what the registry said holds for a while");
    assert_eq!(fixture.registry.count("/v1/providers/a/b/versions"), 1);
    fixture.clock.pass(Duration::from_secs(15 * 60));
    assert_eq!(newest().await.0, "2.0.0");

    fixture.clock.pass(Duration::from_secs(15 * 60));
    fixture.registry.put("/v1/providers/a/b/versions", Document::status(500));
    let (version, warnings) = newest().await;
    assert_eq!(version, "2.0.0");
    assert!(
        warnings[0].contains("500 Internal Server Error")
            && warnings[0].ends_with("Version 2.0.0 is used, the newest of the cache that will do"),
        "{warnings:?}"
    );
}

#[tokio::test]
async fn what_the_registry_says_to_users_is_passed_on() {
    let fixture = Fixture::new();
    fixture.publish("1.0.0");
    let versions = json!({ "versions": [{ "version": "1.0.0" }], "warnings": ["it has moved to c/d"] });
    fixture.registry.put("/v1/providers/a/b/versions", Document::json(&versions));
    let installed = fixture.install("").await.unwrap_or_else(|error| panic!("{error}"));
    let text = format!("the registry says of {}: it has moved to c/d", fixture.address());
    assert_eq!(installed.warnings, [text]);
}

/// What a process of its own is told, so that it installs instead of testing.
const CHILD: &str = "ISTHMUS_TEST_INSTALL";

/// A process that installs from the registry, and tells each event in a line.
fn child(fixture: &Fixture, test: &str) -> Child {
    let authority = fixture.folder.path().join("authority.pem");
    if !authority.exists() {
        std::fs::write(&authority, fixture.registry.authority_pem()).expect("a file");
    }
    Command::new(std::env::current_exe().expect("this program"))
        .args(["--exact", "--nocapture", &format!("install::installer::tests::{test}")])
        .env(CHILD, fixture.folder.path())
        .env("ISTHMUS_TEST_HOST", fixture.registry.host())
        .env("SSL_CERT_FILE", authority)
        .env("NO_PROXY", "localhost")
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("a process")
}

/// What such a process does.
async fn be_a_child(folder: std::ffi::OsString) {
    let address = format!("{}/a/b", std::env::var("ISTHMUS_TEST_HOST").expect("it is told"));
    let web = WebClient::new(
        Arc::new(HttpTransport::new(HttpSettings::from_environment())),
        Arc::new(NoCredentials),
    );
    let registry = RegistryClient::new(web, ServiceOverrides::new());
    let installer =
        Installer::new(ProviderCache::new(PathBuf::from(folder)), registry, SignaturePolicy::default());
    let constraint = VersionConstraint::parse("1.0.0").expect("a constraint");
    let address = ProviderAddress::parse(&address).expect("an address");
    let tell = |event: InstallEvent| println!("event: {event:?}");
    let installed =
        installer.install(&address, &constraint, &tell).await.unwrap_or_else(|error| panic!("{error}"));
    assert!(installed.executable.is_file());
}

#[tokio::test]
async fn fifty_processes_at_once_download_once() {
    if let Some(folder) = std::env::var_os(CHILD) {
        return be_a_child(folder).await;
    }
    let fixture = Fixture::new();
    let release = fixture.publish("1.0.0");
    let children: Vec<Child> =
        (0..50).map(|_| child(&fixture, "fifty_processes_at_once_download_once")).collect();
    for child in children {
        let output = child.wait_with_output().expect("it ends");
        let told = [output.stdout, output.stderr].concat();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&told));
    }
    assert_eq!(fixture.registry.count(&release.archive_path()), 1);
    let installed = fixture.install("1.0.0").await.unwrap_or_else(|error| panic!("{error}"));
    assert_eq!(std::fs::read(installed.executable).expect("it is there"), PROGRAM);
}

#[tokio::test]
async fn whoever_is_killed_leaves_a_usable_cache() {
    if let Some(folder) = std::env::var_os(CHILD) {
        return be_a_child(folder).await;
    }
    let fixture = Fixture::new();
    // What cannot be packed, so that it comes in many pieces.
    let mut number = 1_u32;
    let program: Vec<u8> = (0..1 << 20)
        .map(|_| {
            number = number.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            number.to_be_bytes()[0]
        })
        .collect();
    let archive = Archive::of_programs(&[("terraform-provider-b_v1", &program)]);
    fixture.registry.publish(&Release::new("a/b", "1.0.0", archive).signed_by(&fixture.key));
    let mut killed = 0;
    for lines in 0..24_usize {
        let mut child = child(&fixture, "whoever_is_killed_leaves_a_usable_cache");
        let output = BufReader::new(child.stdout.take().expect("it is piped"));
        let told = output
            .lines()
            .map_while(Result::ok)
            .filter(|line| line.contains("event: "))
            .take(lines * lines / 4 + 1);
        let told = told.count();
        let over = child.try_wait().expect("it is ours").is_some();
        child.kill().expect("it is ours");
        child.wait().expect("it is ours");
        killed += usize::from(!over && told > 0);
        if fixture.package("1.0.0").exists() {
            // What is there under its name is whole.
            let offline = Installer::offline(fixture.cache(), "a test says so");
            let installed = install(&offline, &fixture.address(), "1.0.0")
                .await
                .unwrap_or_else(|error| panic!("{error}"));
            assert_eq!(std::fs::read(&installed.executable).expect("it is there"), program);
            assert!(matches!(installed.verification, Verification::Signed { .. }), "{installed:?}");
            std::fs::remove_dir_all(fixture.package("1.0.0")).expect("a folder");
        }
    }
    assert!(killed > 3, "only {killed} were killed while they were busy");
    let installed = fixture.install("1.0.0").await.unwrap_or_else(|error| panic!("{error}"));
    assert_eq!(std::fs::read(&installed.executable).expect("it is there"), program);
    let version = fixture.package("1.0.0");
    let left = std::fs::read_dir(version.parent().expect("a folder")).expect("a folder").count();
    assert_eq!(left, 3, "the folder, its record and its lock");
}
