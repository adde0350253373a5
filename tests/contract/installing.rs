//! Providers that are not on the machine yet: from registries, mirrors and directories, as the CLI configuration says.
//!
//! The registry of these tests is on loopback with TLS, and takes the place of the public one by a `host` block. What it publishes
//! is the provider beside the daemon: a script of its own that turns into it.

mod unverified;

use std::path::{Path, PathBuf};

use isthmus_common::Platform;
use isthmus_platform::IS_WINDOWS;
use isthmus_test_registry::{Archive, Document, Proxy, PublisherKey, Registry, Release};
use tempfile::TempDir;

use crate::harness::engine::{Line, Severity};
use crate::harness::host::{place, program_path};
use crate::harness::said::portable;
use crate::harness::{Code, Host, Outcome, Protocol, Setup, Status, json, native};

const ADDRESS: &str = "registry.opentofu.org/acme/sandbox";
const SCRIPT: &str = "terraform-provider-sandbox_v1";
const PROGRAM: &str =
    if IS_WINDOWS { "terraform-provider-sandbox_v1.exe" } else { "terraform-provider-sandbox_v1" };
/// What is set in all other tests, so that none of them reaches for a network.
const OFFLINE: &str = "ISTHMUS_OFFLINE";

/// All of the world that the daemon of a test can reach.
struct World {
    registry: Registry,
    key: PublisherKey,
    directory: TempDir,
}

impl World {
    fn new() -> Self {
        let directory = tempfile::tempdir().expect("a temporary directory");
        let world = Self { registry: Registry::start(), key: PublisherKey::new(), directory };
        world.write("authority.pem", world.registry.authority_pem());
        world.configure("");
        world
    }

    /// Makes this the CLI configuration, beside where the registry is. `{url}` in it is that, `{directory}` this world's directory.
    fn configure(&self, text: &str) {
        let directory = &portable(self.directory.path().display().to_string());
        let text = text.replace("{url}", &self.registry.url()).replace("{directory}", directory);
        let registry = format!("{}/v1/providers/", self.registry.url());
        let host = format!(
            "host \"registry.opentofu.org\" {{\n  services = {{ \"providers.v1\" = \"{registry}\" }}\n}}\n"
        );
        self.write("tofurc", format!("{host}{text}"));
    }

    fn path(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }

    fn write(&self, name: &str, content: impl AsRef<[u8]>) {
        let path = self.path(name);
        std::fs::create_dir_all(path.parent().expect("a directory")).expect("a directory of this test's own");
        std::fs::write(path, content).expect("a file of this test's own");
    }

    /// A daemon that reaches this world.
    fn setup(&self) -> Setup {
        let path = |name| self.path(name).to_str().expect("a path in UTF-8").to_owned();
        Setup::sandbox(Protocol::V6)
            .with("SSL_CERT_FILE", &path("authority.pem"))
            .with("TF_CLI_CONFIG_FILE", &path("tofurc"))
            .with(OFFLINE, "")
    }

    fn release(&self, host: &Host, version: &str) -> Release {
        Release::new("acme/sandbox", version, archive(host)).speaking(&["6.0"]).signed_by(&self.key)
    }

    fn publish(&self, host: &Host, version: &str) -> Release {
        let release = self.release(host, version);
        self.registry.publish(&release);
        release
    }
}

/// The provider beside the daemon, as an archive of a release.
fn archive(host: &Host) -> Vec<u8> {
    let script = format!("#!/bin/sh\nexec '{}' \"$@\"\n", host.provider());
    // Another program runs it on Windows.
    let runner = IS_WINDOWS.then(|| std::fs::read(fixtures::tools::tool("script")).expect("a program"));
    let runner = runner.iter().map(|runner| (PROGRAM, runner.as_slice()));
    let programs: Vec<_> = [(SCRIPT, script.as_bytes())].into_iter().chain(runner).collect();
    Archive::of_programs(&programs)
}

#[tokio::test]
async fn a_failure_names_its_code_and_the_provider_that_was_probably_meant() -> Outcome {
    let world = World::new();
    let host = world.setup().start().await;
    let status = host.greeted().await?.parameterize(&["hashicorp/radnom"]).await.expect_err("there is none");
    let help =
        "\nhelp: did you mean hashicorp/random?\nhelp: `isthmus explain ISTHMUS-2010` describes this error";
    assert!(status.message().contains(help), "{status}");
    Ok(())
}

/// Where a version goes in the cache of a host.
fn package(host: &Host, version: &str) -> PathBuf {
    let cache = host.directory().join("pulumi/dynamic_tf_plugins");
    native(cache.join(ADDRESS).join(version).join(Platform::CURRENT.to_string()))
}

/// What is refused, and that nothing is left of the attempt but a lock.
async fn refused(host: &Host, words: &[&str]) -> Result<Status, Status> {
    let session = host.greeted().await?;
    let status = session.parameterize(words).await.expect_err("it is refused");
    assert_eq!(status.code(), Code::FailedPrecondition, "{status}");
    assert_eq!(host.call_names(), [""; 0], "no provider was started");
    for version in entries(package(host, "x").ancestors().nth(2).expect("it is deep")) {
        for left in entries(&version).into_iter().filter(|_| version.is_dir()) {
            assert!(
                left.extension().is_some_and(|extension| extension == "lock"),
                "{} is left",
                left.display()
            );
        }
    }
    Ok(status)
}

fn entries(directory: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(directory).into_iter().flatten();
    entries.map(|entry| entry.expect("an entry").path()).collect()
}

fn says(status: &Status, wanted: &[&str]) {
    for wanted in wanted {
        assert!(status.message().contains(wanted), "{wanted:?} is not in: {}", status.message());
    }
}

fn told(host: &Host, severity: Severity) -> Vec<String> {
    let lines = host.engine.lines().into_iter();
    lines.filter(|line: &Line| line.severity == severity).map(|line| line.message).collect()
}

#[tokio::test]
async fn a_provider_is_downloaded_once_and_then_needs_no_network() -> Outcome {
    let world = World::new();
    let host = world.setup().start().await;
    world.publish(&host, "1.2.0");
    let release = world.publish(&host, "1.10.0");
    world.publish(&host, "2.0.0");
    let session = host.greeted().await?;
    let answer = session.parameterize(&["Acme/Sandbox", "~> 1.2"]).await?;
    assert_eq!((answer.name.as_str(), answer.version.as_str()), ("sandbox", "1.10.0"));
    assert_eq!(session.schema().await?["version"], "1.10.0");
    session.configure(&json!({})).await?;
    session.note().make(&json!({"title": "Hello"})).await?;
    session.cancel().await?;
    assert!(package(&host, "1.10.0").join(PROGRAM).is_file());
    assert_eq!(world.registry.count(&release.archive_path()), 1);
    let shown = host.engine.shown();
    assert!(
        shown.iter().any(|line| line.severity == Severity::Info
            && line.message.contains("acme/sandbox 1.10.0")
            && line.message.contains("localhost")),
        "{shown:?}"
    );
    assert_eq!(told(&host, Severity::Warning), [""; 0]);

    let World { registry, directory, .. } = world;
    drop(registry);
    let again = Setup::sandbox(Protocol::V6)
        .with("SSL_CERT_FILE", directory.path().join("authority.pem").to_str().expect("a path in UTF-8"))
        .with("TF_CLI_CONFIG_FILE", directory.path().join("tofurc").to_str().expect("a path in UTF-8"))
        .with(OFFLINE, "")
        .beside(&host)
        .start()
        .await;
    for words in [&["acme/sandbox", "1.10.0"] as &[&str], &["acme/sandbox", "~> 1.2"]] {
        let session = again.greeted().await?;
        assert_eq!(session.parameterize(words).await?.version, "1.10.0");
        session.configure(&json!({})).await?;
        session.resource("sandbox:index/note:Note", words[1]).make(&json!({"title": "Hello again"})).await?;
        session.cancel().await?;
    }
    assert_eq!(again.engine.shown(), [], "what is there already is nothing to speak of");
    Ok(())
}

#[tokio::test]
async fn a_value_in_an_sdk_is_installed_as_well() -> Outcome {
    let world = World::new();
    let host = world.setup().start().await;
    world.publish(&host, "1.2.0");
    world.publish(&host, "1.3.0");
    let value = json!({"remote": {"url": ADDRESS, "version": "1.2.0"}});
    let session = host.greeted().await?;
    assert_eq!(session.parameterize_by_value(&value.to_string()).await?.version, "1.2.0");
    assert!(!package(&host, "1.3.0").exists());
    Ok(())
}

/// Puts something else in the place of a program. It may run, and be another name of this very program.
fn alter(host: &Host, program: &Path) {
    std::fs::rename(program, host.directory().join("away")).expect("a file of this test's own");
    std::fs::write(program, "#!/bin/sh\nexit 3\n").expect("a file of this test's own");
}

#[tokio::test]
async fn a_program_that_was_altered_is_refused_at_the_next_start() -> Outcome {
    let world = World::new();
    let host = world.setup().start().await;
    world.publish(&host, "1.2.0");
    host.greeted().await?.parameterize(&["acme/sandbox"]).await?;
    let program = package(&host, "1.2.0").join(PROGRAM);
    alter(&host, &program);
    for setup in [world.setup(), world.setup().with(OFFLINE, "true")] {
        let again = setup.beside(&host).start().await;
        for words in [&["acme/sandbox"] as &[&str], &["acme/sandbox", "1.2.0"]] {
            let session = again.greeted().await?;
            let status = session.parameterize(words).await.expect_err("it was altered");
            assert_eq!(status.code(), Code::FailedPrecondition, "{status}");
            let repair = format!(
                "Remove the directory {} to have it downloaded again",
                package(&host, "1.2.0").display()
            );
            says(&status, &[&program.display().to_string(), "was altered after it was installed", &repair]);
        }
    }
    std::fs::remove_dir_all(package(&host, "1.2.0")).expect("a directory of this test's own");
    let again = world.setup().beside(&host).start().await;
    assert_eq!(again.greeted().await?.parameterize(&["acme/sandbox", "1.2.0"]).await?.version, "1.2.0");
    Ok(())
}

#[tokio::test]
async fn a_program_that_is_altered_between_choice_and_start_is_refused() -> Outcome {
    let host = Setup::sandbox(Protocol::V6).start().await.with_own_provider();
    host.place(ADDRESS, "1.2.0");
    let session = host.greeted().await?;
    session.parameterize(&["acme/sandbox"]).await?;
    session.configure(&json!({})).await?;
    host.schema_is_kept().await;
    let again = Setup::sandbox(Protocol::V6).beside(&host).start().await;
    let session = again.greeted().await?;
    session.parameterize(&["acme/sandbox"]).await?;
    session.schema().await?;
    assert_eq!(again.children(), [0; 0], "its schema is known, so it does not run");
    let program = program_path(package(&host, "1.2.0").join("terraform-provider-sandbox_v1.2.0"));
    alter(&host, &program);
    let status = session.configure(&json!({})).await.expect_err("it was altered");
    assert_eq!(status.code(), Code::FailedPrecondition, "{status}");
    says(&status, &[&program.display().to_string(), "was altered after it was installed"]);
    Ok(())
}

#[tokio::test]
async fn a_private_registry_receives_the_token() -> Outcome {
    let world = World::new();
    world.registry.require_token("s3cret");
    let host = world.setup().start().await;
    world.publish(&host, "1.2.0");
    let status = refused(&host, &["acme/sandbox"]).await?;
    says(&status, &["it answered 401 Unauthorized\nhelp: ", " requires authentication: "]);
    let trusted = world.setup().with("TF_TOKEN_registry_opentofu_org", "s3cret").start().await;
    world.publish(&trusted, "1.3.0");
    trusted.greeted().await?.parameterize(&["acme/sandbox"]).await?;
    Ok(())
}

#[tokio::test]
async fn mirrors_take_the_place_of_the_registry() -> Outcome {
    for method in [
        "network_mirror {\n    url = \"{url}/mirror/\"\n  }",
        "filesystem_mirror {\n    path = \"{directory}/mirror\"\n  }",
    ] {
        let world = World::new();
        world.configure(&format!("provider_installation {{\n  {method}\n}}\n"));
        let host = world.setup().start().await;
        world.publish(&host, "9.0.0");
        let name = format!("terraform-provider-sandbox_1.2.0_{}.zip", Platform::CURRENT);
        let mirrored = archive(&host);
        world.write(&format!("mirror/{ADDRESS}/{name}"), &mirrored);
        let index = json!({"versions": {"1.2.0": {}}});
        let archives = json!({"archives": {Platform::CURRENT.to_string(): {"url": name}}});
        for (file, document) in [
            ("index.json", Document::json(&index)),
            ("1.2.0.json", Document::json(&archives)),
            (&*name, Document::of(mirrored)),
        ] {
            world.registry.put(&format!("/mirror/{ADDRESS}/{file}"), document);
        }
        let session = host.greeted().await?;
        assert_eq!(session.parameterize(&["acme/sandbox"]).await?.version, "1.2.0", "{method}");
        session.configure(&json!({})).await?;
        session.note().make(&json!({"title": "Hello"})).await?;
        let asked = world.registry.requests();
        assert!(asked.iter().all(|asked| asked.starts_with("/mirror/")), "{asked:?}");
        let status = host.greeted().await?.parameterize(&["acme/sandbox", "9.0.0"]).await;
        let status = status.expect_err("the mirror does not have it");
        assert_eq!(status.code(), Code::FailedPrecondition, "{status}");
    }
    Ok(())
}

#[tokio::test]
async fn developers_have_their_own_builds_with_a_warning() -> Outcome {
    let world = World::new();
    let host = world.setup().start().await;
    world.publish(&host, "1.2.0");
    let own = portable(host.directory().display().to_string());
    world.configure(&format!(
        "provider_installation {{\n  dev_overrides {{\n    \"acme/sandbox\" = \"{own}\"\n  }}\n  direct {{}}\n}}\n"
    ));
    let session = host.greeted().await?;
    assert_eq!(session.parameterize(&["acme/sandbox", "1.2.0"]).await?.version, "1.2.0");
    session.configure(&json!({})).await?;
    session.note().make(&json!({"title": "Hello"})).await?;
    let any = host.greeted().await?.parameterize(&["acme/sandbox", "~> 1.2"]).await?;
    assert_eq!(any.version, "0.0.0", "nobody knows which it is");
    let warnings = told(&host, Severity::Warning);
    assert!(
        warnings.iter().any(|warning| warning.contains("acme/sandbox is taken as it lies in ")
            && warning.contains("because dev_overrides says so at ")
            && warning.contains("tofurc:4:1: ")),
        "{warnings:?}"
    );
    assert_eq!(world.registry.requests(), [""; 0]);
    Ok(())
}

#[tokio::test]
async fn a_broken_configuration_is_told_with_its_place() -> Outcome {
    let world = World::new();
    let host = world.setup().start().await;
    world.publish(&host, "1.2.0");
    for (text, wanted) in [
        ("provider_installation {\n  mirror {}\n}\n", ":5:3: unknown installation method"),
        ("plugin_cache_dir = word\n", ":4:20: found a word without quotes"),
    ] {
        world.configure(text);
        let status = refused(&host, &["acme/sandbox"]).await?;
        says(&status, &[&format!("{}{wanted}", world.path("tofurc").display())]);
    }
    assert_eq!(
        world.registry.requests(),
        [""; 0],
        "nobody is asked behind the back of whoever has configured a mirror"
    );
    // It is read at each choice.
    world.configure("plugin_cahce_dir = \"/x\"\n");
    host.greeted().await?.parameterize(&["acme/sandbox"]).await?;
    let warnings = told(&host, Severity::Warning);
    let wanted = "tofurc:4:1: \"plugin_cahce_dir\" is unknown and ignored";
    assert!(warnings.iter().any(|warning| warning.contains(wanted)), "{warnings:?}");
    Ok(())
}

#[tokio::test]
async fn what_of_the_configuration_has_no_effect_is_told_with_a_failure() -> Outcome {
    let world = World::new();
    world.configure("plugin_cahce_dir = \"/x\"\n");
    let wanted = "tofurc:4:1: \"plugin_cahce_dir\" is unknown and ignored";
    let host = world.setup().start().await;
    let status = refused(&host, &["acme/sandbox"]).await?;
    says(&status, &["has no provider acme/sandbox", "\nwarning: ", wanted]);
    assert_eq!(told(&host, Severity::Warning), [""; 0], "it is said once");
    // A damaged lock file is found after the configuration.
    world.write("lock.hcl", "provider {\n");
    let lock = world.path("lock.hcl");
    let locked = world.setup().with("ISTHMUS_LOCK_FILE", lock.to_str().expect("a path in UTF-8"));
    let status = refused(&locked.start().await, &["acme/sandbox"]).await?;
    says(&status, &["lock.hcl:2:1: found the end of the file", "\nwarning: ", wanted]);
    // So is a file that a variable names and that is not there.
    let missing = world.path("missing.tfrc");
    let missing = world.setup().with("TF_CLI_CONFIG_FILE", missing.to_str().expect("a path in UTF-8"));
    let status = refused(&missing.with(OFFLINE, "true").start().await, &["acme/sandbox"]).await?;
    says(&status, &["the network is not used: ", "\nwarning: ", "missing.tfrc"]);
    Ok(())
}

#[tokio::test]
async fn without_a_network_it_is_said_which_setting_says_so() -> Outcome {
    let world = World::new();
    let host = world.setup().with(OFFLINE, "true").start().await;
    world.publish(&host, "1.2.0");
    let status = refused(&host, &["acme/sandbox", "~> 1.2"]).await?;
    says(
        &status,
        &[
            &format!(
                "the network is not used: {OFFLINE} is set; the cache has no acme/sandbox that satisfies \"~> 1.2\"\n"
            ),
            "\nhelp: install from a filesystem mirror",
            "\nhelp: or unpack the provider into ",
        ],
    );
    assert!(status.message().contains("\nhelp: `isthmus explain ISTHMUS-2016`"), "{status}");
    assert_eq!(status.message().lines().count(), 4, "{}", status.message());
    assert_eq!(world.registry.requests(), [""; 0]);
    Ok(())
}

#[tokio::test]
async fn a_registry_is_reached_through_a_proxy() -> Outcome {
    let world = World::new();
    let proxy = Proxy::for_those_with(&world.registry, "Basic bWU6aHVzaA==");
    let services = "host \"registry.example\" {\n  services = { \"providers.v1\" = \"/v1/providers/\" }\n}\n";
    world.configure(services);
    let host = world.setup().with("HTTPS_PROXY", &format!("http://me:hush@{}", proxy.host())).start().await;
    world.publish(&host, "1.2.0");
    host.greeted().await?.parameterize(&["registry.example/acme/sandbox"]).await?;
    let asked = proxy.requests();
    let tunnel = "CONNECT registry.example:443 Basic bWU6aHVzaA==";
    assert!(!asked.is_empty() && asked.iter().all(|asked| asked == tunnel), "{asked:?}");
    Ok(())
}

#[tokio::test]
async fn a_lock_file_fixes_the_version_and_the_package() -> Outcome {
    let world = World::new();
    let lock_file = world.path(".terraform.lock.hcl");
    let lock_file = lock_file.to_str().expect("a path in UTF-8");
    let setup = world.setup().with("ISTHMUS_LOCK_FILE", lock_file);
    let host = setup.clone().start().await;
    let locked = world.publish(&host, "1.2.0");
    world.publish(&host, "1.3.0");
    let lock = |sum: &str| {
        let block =
            format!("provider \"{ADDRESS}\" {{\n  version = \"1.2.0\"\n  hashes = [\"zh:{sum}\"]\n}}\n");
        world.write(".terraform.lock.hcl", block);
    };
    lock(&"0".repeat(64));
    let status = refused(&host, &["acme/sandbox"]).await?;
    says(&status, &["acme/sandbox 1.2.0", "is not the one that the lock file knows", &"0".repeat(64)]);
    lock(&locked.sum());
    let status = refused(&host, &["acme/sandbox", "~> 1.3"]).await?;
    says(&status, &[lock_file, "1.2.0"]);
    assert_eq!(host.greeted().await?.parameterize(&["acme/sandbox"]).await?.version, "1.2.0");
    Ok(())
}

#[tokio::test]
async fn what_a_project_has_already_is_taken_from_there() -> Outcome {
    let world = World::new();
    let host = world.setup().start().await;
    world.publish(&host, "1.2.0");
    let project = native(host.directory().join(".terraform/providers"));
    place(Path::new(&host.provider()), &project, ADDRESS, "1.2.0");
    host.greeted().await?.parameterize(&["acme/sandbox", "1.2.0"]).await?;
    let told = told(&host, Severity::Info);
    let wanted = format!("from the mirror {}", project.display());
    assert!(told.iter().any(|line| line.contains(&wanted)), "{told:?}");
    assert_eq!(world.registry.requests(), [""; 0]);
    Ok(())
}
