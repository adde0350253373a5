//! Providers from mirrors, with lock files and development overrides.

use std::fs;
use std::time::Instant;

use super::*;
use crate::{MirrorWriter, ProviderLock};

impl Fixture {
    /// An installer with a CLI configuration, in which `{url}` is the server's address and
    /// `{directory}` is the directory `mirror`.
    fn configured(&self, config: &str) -> Installer {
        Installer::new(self.cache(), self.origins(config), SignaturePolicy::default())
    }

    fn origins(&self, config: &str) -> Origins {
        let registry = RegistryClient::new(self.web(NoCredentials), ServiceOverrides::new());
        Origins::asked_by(self.sources(config), registry, OciAuthenticator::default())
    }

    fn sources(&self, config: &str) -> Sources {
        let home = tempfile::tempdir().expect("a directory");
        let directory = self.mirror();
        let config = config
            .replace("{url}", &self.registry.url())
            .replace("{directory}", directory.to_str().expect("a text"))
            .replace("{address}", &self.address().to_string());
        fs::write(home.path().join(".tofurc"), config).expect("a file");
        let config = CliConfig::load(&Environment::from_iter([("HOME", home.path())]));
        Sources::new(&config.unwrap_or_else(|error| panic!("{error}")), [])
    }

    fn mirror(&self) -> PathBuf {
        self.directory.path().join("mirror")
    }

    /// Adds a packed version to the directory; returns the archive's path.
    fn put_in_mirror(&self, version: &str, program: &[u8]) -> PathBuf {
        let archive = self.directory.path().join(format!("{version}.zip"));
        fs::write(&archive, Archive::of_programs(&[("terraform-provider-b_v1_x5", program)]))
            .expect("a file");
        let version = Version::parse(version).expect(version);
        let writer = MirrorWriter::new(self.mirror());
        let put = writer.add(&self.address(), &version, Platform::CURRENT, &archive);
        writer.write_indexes(&self.address()).unwrap_or_else(|error| panic!("{error}"));
        put.unwrap_or_else(|error| panic!("{error}"))
    }

    /// Serves the directory under `/m/`.
    fn serve_mirror(&self) {
        let provider = self.mirror().join(self.address().to_string());
        for file in fs::read_dir(&provider).expect("a directory").filter_map(Result::ok) {
            let path = format!("/m/{}/{}", self.address(), file.file_name().to_string_lossy());
            self.registry.put(&path, Document::of(fs::read(file.path()).expect("a file")));
        }
    }

    fn versions_asked_of_registry(&self) -> usize {
        self.registry.count("/v1/providers/a/b/versions")
    }
}

const DIRECTORY: &str = "provider_installation {\n filesystem_mirror { path = \"{directory}\" }\n}";
const SERVER: &str = "provider_installation {\n network_mirror { url = \"{url}/m/\" }\n}";

fn from_mirror(installed: &Installed) -> String {
    match &installed.verification {
        Verification::Mirrored { mirror } => mirror.clone(),
        other => panic!("{other:?}"),
    }
}

#[tokio::test]
async fn a_packed_and_an_unpacked_mirror_need_no_network() {
    let fixture = Fixture::new();
    fixture.put_in_mirror("1.0.0", PROGRAM);
    let unpacked = fixture
        .mirror()
        .join(fixture.address().to_string())
        .join("1.1.0")
        .join(Platform::CURRENT.to_string());
    fs::create_dir_all(unpacked.join("docs")).expect("a directory");
    fs::write(unpacked.join("terraform-provider-b_v1_x5"), b"\x7fELF another").expect("a file");
    fs::write(unpacked.join("docs/a.md"), "text").expect("a file");
    let origins = Origins::offline(fixture.sources(DIRECTORY), "a test says so");
    let installer = Installer::new(fixture.cache(), origins, SignaturePolicy::default());
    let address = fixture.address();
    let packed = installed(&installer, &address, "1.0.0").await;
    assert_eq!(fs::read(&packed.executable).expect("it is there"), PROGRAM);
    let newest = installed(&installer, &address, "").await;
    assert_eq!((newest.version.to_string(), newest.warnings), ("1.1.0".to_owned(), Vec::new()));
    assert!(newest.executable.starts_with(fixture.package("1.1.0")), "{}", newest.executable.display());
    assert_eq!(fs::read_to_string(fixture.package("1.1.0").join("docs/a.md")).ok().as_deref(), Some("text"));
    let error = refusal(&installer, &address, "1.2.0").await;
    assert_eq!(error, format!("no version of {address} satisfies \"1.2.0\"; there are 1.1.0, 1.0.0"));
    // From now on it is in the cache: the mirror may be removed.
    fs::remove_dir_all(fixture.mirror()).expect("a directory");
    let again = installed(&installer, &address, "1.1.0").await;
    assert_eq!(from_mirror(&again), fixture.mirror().display().to_string());
    assert_eq!(fixture.registry.requests(), [""; 0]);
}

#[tokio::test]
async fn what_came_from_a_mirror_counts_only_where_that_mirror_does() {
    let fixture = Fixture::new();
    fixture.publish("1.0.0");
    fixture.put_in_mirror("1.0.0", b"\x7fELF of another project");
    let address = fixture.address();
    let there = installed(&fixture.configured(DIRECTORY), &address, "1.0.0").await;
    assert_eq!(from_mirror(&there), fixture.mirror().display().to_string());

    // Elsewhere, its origins are queried. Where they cannot be, it is no better than what others have put there.
    let offline = || Origins::offline(fixture.sources(""), "a test says so");
    let enforcing = SignaturePolicy { enforce_validation: true, ..SignaturePolicy::default() };
    let error = refusal(&Installer::new(fixture.cache(), offline(), enforcing), &address, "1.0.0").await;
    assert!(error.contains("unverified"), "{error}");
    let unsure =
        installed(&Installer::new(fixture.cache(), offline(), SignaturePolicy::default()), &address, "1.0.0")
            .await;
    assert!(matches!(unsure.verification, Verification::Unverified { .. }), "{unsure:?}");
    assert!(unsure.warnings.iter().any(|warning| warning.contains("1.0.0 is unverified: ")), "{unsure:?}");

    let again = installed(&fixture.configured(DIRECTORY).querying_again(), &address, "1.0.0").await;
    assert_eq!(from_mirror(&again), fixture.mirror().display().to_string());
    let here = installed(&fixture.configured(""), &address, "1.0.0").await;
    assert!(matches!(here.verification, Verification::Signed { .. }), "{here:?}");
    assert_eq!(fs::read(&here.executable).expect("it is there"), PROGRAM);
    // What is signed counts everywhere.
    let there = installed(&fixture.configured(DIRECTORY), &address, "1.0.0").await;
    assert!(matches!(there.verification, Verification::Signed { .. }), "{there:?}");
}

#[tokio::test]
async fn a_network_mirror_goes_by_its_sums() {
    let fixture = Fixture::new();
    fixture.put_in_mirror("1.0.0", PROGRAM);
    let archive = fixture.put_in_mirror("1.1.0", PROGRAM);
    fixture.serve_mirror();
    let (installer, address) = (fixture.configured(SERVER), fixture.address());
    let installed = installed(&installer, &address, "").await;
    assert_eq!(installed.version, Version::new(1, 1, 0));
    assert_eq!(from_mirror(&installed), format!("{}/m/", fixture.registry.url()));
    assert_eq!(fixture.versions_asked_of_registry(), 0);

    // Another archive than in the mirror's index.
    let other = Archive::of_programs(&[("terraform-provider-b_v1_x5", b"\x7fELF evil")]);
    let name = archive.file_name().expect("a name").to_string_lossy().replace("1.1.0", "1.0.0");
    fixture.registry.put(&format!("/m/{address}/{name}"), Document::of(other));
    let error = refusal(&installer, &address, "1.0.0").await;
    assert!(error.contains("1.0.0 is not installed: the archive has the SHA-256 "), "{error}");
    assert!(!fixture.package("1.0.0").exists());

    // An index with the contents' hash only.
    let index =
        |hash: &str| json!({"archives": {Platform::CURRENT.to_string(): {"url": name, "hashes": [hash]}}});
    fixture.registry.put(&format!("/m/{address}/1.0.0.json"), Document::json(&index("h1:wrong=")));
    let error = refusal(&installer, &address, "1.0.0").await;
    assert!(
        error.contains("gives has the sum h1:") && error.contains("none of those that it names (h1:wrong=)"),
        "{error}"
    );
}

#[tokio::test]
async fn an_index_of_many_versions_is_read_without_delay_and_an_error_lists_few_of_them() {
    let fixture = Fixture::new();
    let versions: Vec<String> = (0..300_000).map(|patch| format!("\"1.0.{patch}\":{{}}")).collect();
    let index = format!("{{\"versions\":{{{}}}}}", versions.join(","));
    fixture.registry.put(&format!("/m/{}/index.json", fixture.address()), Document::of(index));
    let begun = Instant::now();
    let error = refusal(&fixture.configured(SERVER), &fixture.address(), "> 2").await;
    // Compared with each other, they take minutes.
    assert!(begun.elapsed() < Duration::from_secs(30), "{:?}", begun.elapsed());
    assert!(error.contains("there are 1.0.299999, ") && error.ends_with(", and 299990 more"), "{error}");
}

#[tokio::test]
async fn an_error_lists_few_of_the_hashes_of_a_mirror() {
    let fixture = Fixture::new();
    let archive = Archive::of_programs(&[("terraform-provider-b_v1_x5", PROGRAM)]);
    let address = fixture.address();
    let hashes: Vec<String> = (0..20_000).map(|number| format!("h1:{number:0>44}")).collect();
    let archives = json!({ Platform::CURRENT.to_string(): { "url": "b.zip", "hashes": hashes } });
    let index = Document::json(&json!({ "archives": archives }));
    fixture.registry.put(&format!("/m/{address}/1.0.0.json"), index);
    fixture.registry.put(&format!("/m/{address}/b.zip"), Document::of(archive));
    let error = refusal(&fixture.configured(SERVER), &address, "1.0.0").await;
    assert!(error.contains(", and 19990 more)") && error.len() < 2_000, "{}", error.len());
}

#[tokio::test]
async fn a_mirror_that_fails_does_not_let_the_registry_be_asked() {
    let fixture = Fixture::new();
    fixture.publish("1.0.0");
    let both = "provider_installation {\n network_mirror { url = \"{url}/m/\" }\n direct {}\n}";
    let (installer, address) = (fixture.configured(both), fixture.address());
    fixture.registry.put(&format!("/m/{address}/index.json"), Document::status(403));
    fixture.registry.put(&format!("/m/{address}/1.0.0.json"), Document::status(403));
    for constraint in ["", "1.0.0"] {
        let error = refusal(&installer, &address, constraint).await;
        assert!(error.contains("403"), "{error}");
    }
    assert_eq!(fixture.versions_asked_of_registry(), 0);
    // One that does not have the provider is skipped.
    fixture.registry.remove(&format!("/m/{address}/index.json"));
    fixture.registry.remove(&format!("/m/{address}/1.0.0.json"));
    let installed = installed(&installer, &address, "").await;
    assert!(matches!(installed.verification, Verification::Signed { .. }), "{installed:?}");
    // If no origin has it, each is named.
    let error = install(&installer, &provider(&format!("{}/a/c", fixture.registry.host())), "")
        .await
        .expect_err("nobody has it");
    assert!(error.contains("/m/ does not have ") && error.contains("has no provider a/c"), "{error}");
}

#[tokio::test]
async fn the_first_of_several_sources_gives_a_version_and_any_may_have_the_newest() {
    let fixture = Fixture::new();
    fixture.put_in_mirror("1.0.0", b"\x7fELF of the mirror");
    for version in ["1.0.0", "1.2.0"] {
        fixture.publish(version);
    }
    let both = "provider_installation {\n filesystem_mirror { path = \"{directory}\" }\n direct {}\n}";
    let (installer, address) = (fixture.configured(both), fixture.address());
    assert_eq!(installed(&installer, &address, "").await.version, Version::new(1, 2, 0));
    let old = installed(&installer, &address, "1.0.0").await;
    assert_eq!(fs::read(old.executable).expect("it is there"), b"\x7fELF of the mirror");
}

#[tokio::test]
async fn a_provider_that_no_method_has_is_refused_with_the_place_of_the_methods() {
    let fixture = Fixture::new();
    fixture.publish("1.0.0");
    let none = "provider_installation {\n  direct { exclude = [\"*/*/*\"] }\n}";
    let error = refusal(&fixture.configured(none), &fixture.address(), "").await;
    assert!(
        error.contains("no installation method for ") && error.contains(".tofurc:1:1; add one"),
        "{error}"
    );
    assert_eq!(fixture.registry.requests(), [""; 0]);
}

#[tokio::test]
async fn an_override_is_a_directory_with_a_program() {
    let fixture = Fixture::new();
    let config = "provider_installation {\n  dev_overrides { \"{address}\" = \"{directory}\" }\n}";
    let (installer, address) = (fixture.configured(config), fixture.address());
    let error = installer.overridden(&address).expect_err("there is no directory");
    assert!(isthmus_common::error_chain(&*error).contains(".tofurc:1:1 names the directory "), "{error}");
    fs::create_dir(fixture.mirror()).expect("a directory");
    let error = installer.overridden(&address).expect_err("there is no program").to_string();
    assert!(error.ends_with("contains no binary called terraform-provider-b; build it there"), "{error}");
    let program = fixture.mirror().join("terraform-provider-b");
    fs::write(&program, PROGRAM).expect("a file");
    let found = installer.overridden(&address).expect("it is there").expect("it is overridden");
    assert_eq!(found.executable, program);
    assert!(found.warning.contains("neither its version nor its sum is looked at"), "{}", found.warning);
    let other = provider("random");
    assert_eq!(installer.overridden(&other).expect("no fault"), None);
}

#[tokio::test]
async fn a_lock_file_fixes_version_and_package() {
    let fixture = Fixture::new();
    for version in ["1.0.0", "1.1.0"] {
        fixture.publish(version);
    }
    let (address, path) = (fixture.address(), fixture.directory.path().join(".terraform.lock.hcl"));
    let directory = tempfile::tempdir().expect("a directory");
    let version = Version::new(1, 0, 0);
    let delivered =
        fixture.installer().deliver(&address, &version, Platform::CURRENT, directory.path(), &|_| {}).await;
    let hashes = delivered.expect("it is there").hashes().await.expect("it can be read");
    assert!(hashes.iter().any(|hash| hash.as_str().starts_with("h1:")), "{hashes:?}");
    assert!(hashes.iter().any(|hash| hash.as_str().starts_with("zh:")), "{hashes:?}");
    let locked_to = |hashes: Vec<PackageHash>| {
        let mut lock = LockFile::default();
        let constraint = VersionConstraint::parse("~> 1.0").expect("a constraint");
        let hashes = hashes.into_iter().collect();
        lock.lock(address.clone(), ProviderLock { version: version.clone(), constraint, hashes });
        fixture.installer().with_lock(lock, path.clone())
    };
    // Downloaded and cached packages, by either kind of hash.
    for hash in hashes {
        let installer = locked_to(vec![hash]);
        assert_eq!(installed(&installer, &address, "").await.version, version);
        assert_eq!(installed(&installer, &address, "~> 1.0").await.version, version);
    }
    let other = vec![PackageHash::parse("h1:other=").expect("a sum")];
    // A binary that isthmus did not install is no exception, online or offline.
    let record = Record::path_of(&fixture.package("1.0.0"));
    let kept = fs::read(&record).expect("a record");
    fs::remove_file(&record).expect("a record");
    let offline = Installer { origins: fixture.offline().origins, ..locked_to(other.clone()) };
    let error = refusal(&offline, &address, "").await;
    assert!(error.contains("is not the one that the lock file knows"), "{error}");
    assert!(!record.exists(), "it is not trusted");
    fs::write(&record, kept).expect("a record");
    let error = refusal(&locked_to(other.clone()), &address, "").await;
    assert!(error.contains("is not the one that the lock file knows: it has the sum h1:"), "{error}");
    fs::remove_dir_all(fixture.package("1.0.0").parent().expect("a directory")).expect("a directory");
    let error = refusal(&locked_to(other), &address, "").await;
    assert!(error.contains("is not the one that the lock file knows: it has the sum h1:"), "{error}");
    fixture.is_empty();

    let error = refusal(&locked_to(Vec::new()), &address, "1.1.0").await;
    let expected = format!(
        "the lock file {} has {} 1.0.0, which \"1.1.0\" does not allow",
        path.display(),
        address.for_display()
    );
    assert!(error.starts_with(&expected), "{error}");
    let unknown = provider(&format!("{}/a/c", fixture.registry.host()));
    let error = refusal(&locked_to(Vec::new()), &unknown, "").await;
    assert!(error.contains(&format!("the lock file {} does not exist", path.display())), "{error}");
    fs::write(&path, "").expect("a file");
    let error = refusal(&locked_to(Vec::new()), &unknown, "").await;
    assert!(error.contains("does not know") && error.ends_with("--lock`"), "{error}");
}

#[tokio::test]
async fn a_mirror_that_has_the_provider_of_the_other_public_registry_is_named() {
    let fixture = Fixture::new();
    let archive = fixture.directory.path().join("b.zip");
    fs::write(&archive, Archive::of_programs(&[("terraform-provider-b_v1", PROGRAM)])).expect("a file");
    let (terraform, opentofu) = (provider("registry.terraform.io/a/b"), provider("a/b"));
    let writer = MirrorWriter::new(fixture.mirror());
    let added = writer.add(&terraform, &Version::new(1, 0, 0), Platform::CURRENT, &archive);
    added.unwrap_or_else(|error| panic!("{error}"));
    writer.write_indexes(&terraform).unwrap_or_else(|error| panic!("{error}"));
    let index = fixture.mirror().join(format!("{terraform}/index.json"));
    fixture
        .registry
        .put(&format!("/m/{terraform}/index.json"), Document::of(fs::read(index).expect("a file")));
    for config in [DIRECTORY, SERVER] {
        for constraint in ["", "1.0.0"] {
            let error = refusal(&fixture.configured(config), &opentofu, constraint).await;
            assert!(
                error.contains(" does not have ")
                    && error
                        .contains(" has registry.terraform.io/a/b, which is another provider\nhelp: use ")
                    && error.ends_with("by its whole address, registry.terraform.io/a/b"),
                "{error}"
            );
        }
    }
    // It is no help where it has no matching version either.
    let error = refusal(&fixture.configured(DIRECTORY), &opentofu, "2.0.0").await;
    assert!(error.contains(" does not have ") && !error.contains("another provider"), "{error}");
    // Offline, the only mirror is the directory.
    let origins = Origins::offline(fixture.sources(DIRECTORY), "a test says so");
    let offline = Installer::new(fixture.cache(), origins, SignaturePolicy::default());
    let error = refusal(&offline, &opentofu, "").await;
    assert!(error.contains(" has registry.terraform.io/a/b, "), "{error}");
    let other = refusal(&offline, &provider("a/c"), "").await;
    assert!(!other.contains("registry.terraform.io"), "{other}");
}

#[tokio::test]
async fn what_a_mirror_refuses_is_not_started_from_the_cache() {
    let both = "provider_installation {\n filesystem_mirror { path = \"{directory}\" }\n network_mirror { url = \"{url}/m/\" }\n}";
    for (config, answer, why) in [
        (SERVER, Document::status(403), "403"),
        (SERVER, Document::of("<html>"), "a web page"),
        (
            SERVER,
            Document::json(
                &json!({"archives": {Platform::CURRENT.to_string(): {"url": "x", "hashes": ["what"]}}}),
            ),
            "is not a package hash",
        ),
        // The directory does not have it; the server, which is next, refuses it.
        (both, Document::status(401), "401"),
    ] {
        let fixture = Fixture::new();
        fixture.put_in_mirror("0.9.0", PROGRAM);
        let program = fixture.leave("1.0.0", b"\x7fELF left");
        fixture.registry.put(&format!("/m/{}/1.0.0.json", fixture.address()), answer);
        let error = install(&fixture.configured(config), &fixture.address(), "1.0.0").await.expect_err(why);
        assert!(error.contains(why), "{why}: {error}");
        assert_eq!(fs::read(program).expect("it is left alone"), b"\x7fELF left");
    }
    // A configured directory that does not exist was unmounted or misspelt.
    let fixture = Fixture::new();
    fixture.leave("1.0.0", b"\x7fELF left");
    for constraint in ["", "1.0.0"] {
        let error = install(&fixture.configured(DIRECTORY), &fixture.address(), constraint).await;
        let error = error.expect_err("there is no mirror");
        assert!(error.contains("mirror, configured at ") && error.contains(".tofurc:2:"), "{error}");
        assert!(
            error.starts_with("the filesystem mirror ") && error.contains(", cannot be read: "),
            "{error}"
        );
    }
}
