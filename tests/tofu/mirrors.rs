//! Mirrors and lock files go back and forth between us and OpenTofu: what one has made, the other takes as its own.

use std::collections::BTreeSet;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use isthmus_install::{
    FilesystemMirror, LOCK_FILE_NAME, LockFile, MirrorWriter, PackageForm, PackageHash, Platform,
    ProviderAddress, ProviderLock, VersionConstraint,
};
use semver::Version;

const RANDOM: &str = "registry.opentofu.org/hashicorp/random";
const THING: &str = "example.com/acme/thing";

/// Which providers the project requires, and which versions of them it gets.
const REQUIRED: [(&str, &str, &str); 2] =
    [(RANDOM, "~> 3.5, >= 3, != 3.8", "3.9.0"), (THING, "1.0.0-rc1", "1.0.0-rc1")];

/// A mirror that we have filled, and a project that may use no other place.
struct Project {
    directory: tempfile::TempDir,
    tofu: PathBuf,
}

impl Project {
    fn new() -> Self {
        let tofu = fixtures::tools::tool("tofu");
        let directory = tempfile::tempdir().expect("a temporary directory");
        let project = Self { directory, tofu };
        let writer = MirrorWriter::new(project.path("mirror"));
        for (address, version) in
            [(RANDOM, "3.8.0"), (RANDOM, "3.9.0"), (RANDOM, "4.0.0"), (THING, "1.0.0-rc1")]
        {
            let address = parse(address);
            for platform in platforms() {
                let archive = archive(&project.path("archive.zip"), &address, version, platform);
                writer.add(&address, &version_of(version), platform, &archive).expect("it is copied");
            }
            writer.write_indexes(&address).expect("it is written");
        }
        let mirror = project.path("mirror");
        let config =
            format!("provider_installation {{\n  filesystem_mirror {{\n    path = {mirror:?}\n  }}\n}}\n");
        std::fs::write(project.path("tofurc"), config).expect("a file of ours");
        let required = REQUIRED.map(|(address, constraint, _)| {
            let name = address.rsplit('/').next().expect("a name");
            (name.to_owned(), serde_json::json!({"source": address, "version": constraint}))
        });
        let required: serde_json::Map<_, _> = required.into_iter().collect();
        let program = serde_json::json!({"terraform": {"required_providers": required}});
        std::fs::create_dir(project.path("project")).expect("a directory of ours");
        std::fs::write(project.path("project/main.tf.json"), program.to_string()).expect("a file of ours");
        project
    }

    fn path(&self, path: &str) -> PathBuf {
        self.directory.path().join(path)
    }

    /// What OpenTofu says, and whether it succeeds.
    fn run(&self, arguments: &[&str]) -> (bool, String) {
        let output = Command::new(&self.tofu)
            .args(arguments)
            .current_dir(self.path("project"))
            .env_clear()
            .env("HOME", self.directory.path())
            .env("PATH", std::env::var_os("PATH").unwrap_or_default())
            .env("TF_CLI_CONFIG_FILE", self.path("tofurc"))
            .env("CHECKPOINT_DISABLE", "1")
            .stdin(Stdio::null())
            .output()
            .expect("OpenTofu starts");
        let said = [output.stdout, output.stderr].map(|said| String::from_utf8_lossy(&said).into_owned());
        (output.status.success(), said.concat())
    }

    fn succeeds(&self, arguments: &[&str]) {
        let (succeeded, said) = self.run(arguments);
        assert!(succeeded, "tofu {arguments:?}\n{said}");
    }

    fn lock_path(&self) -> PathBuf {
        self.path("project").join(LOCK_FILE_NAME)
    }

    /// The text of the lock file, and what we make of it.
    fn lock(&self) -> (String, LockFile) {
        let text = std::fs::read_to_string(self.lock_path()).expect("there is a lock file");
        let lock = LockFile::read(&self.lock_path()).unwrap_or_else(|error| panic!("{error}\n{text}"));
        (text, lock)
    }

    /// The sums of a provider's archives in the mirror.
    fn sums(&self, address: &str, version: &str) -> BTreeSet<PackageHash> {
        let mirror = FilesystemMirror::new(self.path("mirror"));
        let archives =
            platforms().map(|platform| mirror.archive(&parse(address), &version_of(version), platform));
        let sums = archives.into_iter().flat_map(|archive| {
            let contents =
                PackageHash::of_contents(&PackageForm::Archive(archive.clone())).expect("an archive");
            [contents, PackageHash::of_archive(&archive).expect("an archive")]
        });
        sums.collect()
    }
}

fn parse(address: &str) -> ProviderAddress {
    ProviderAddress::parse(address).expect(address)
}

fn version_of(version: &str) -> Version {
    Version::parse(version).expect(version)
}

/// This machine, and another one.
fn platforms() -> [Platform; 2] {
    [Platform::CURRENT, Platform::parse("windows_386").expect("a platform")]
}

/// A package whose program does nothing: OpenTofu does not start it while it installs.
fn archive(path: &Path, address: &ProviderAddress, version: &str, platform: Platform) -> PathBuf {
    let mut writer = zip::ZipWriter::new(std::fs::File::create(path).expect("a file of ours"));
    let options = zip::write::SimpleFileOptions::default().unix_permissions(0o755);
    let program = format!("terraform-provider-{}_v{version}", address.provider_type());
    for name in [program.as_str(), "LICENSE", "docs/é.md", "docs-of/it"] {
        writer.start_file(name, options).expect("an entry");
        writer.write_all(format!("{name} of {address} {version} for {platform}").as_bytes()).expect("a file");
    }
    writer.finish().expect("an archive");
    path.to_owned()
}

#[test]
fn what_opentofu_installs_from_our_mirror_and_locks_is_read_as_it_is() {
    let project = Project::new();
    project.succeeds(&["init", "-no-color"]);
    let (text, lock) = project.lock();
    assert_eq!(lock.to_string(), text, "what OpenTofu writes, we write");
    let installed = FilesystemMirror::of_project(&project.path("project"));
    for (address, constraint, version) in REQUIRED {
        let (address, version) = (parse(address), version_of(version));
        let locked = lock.provider(&address).expect("it is locked");
        assert_eq!(locked.version, version);
        let constraint = VersionConstraint::parse(constraint).expect(constraint);
        assert_eq!(locked.constraint.canonical(), constraint.canonical());
        // The project's own providers are a mirror, and what is in it is what is locked.
        let package = installed.package(&address, &version, Platform::CURRENT).expect("it can be read");
        let package = package.expect("OpenTofu has installed it");
        assert!(matches!(package.form, PackageForm::Directory(_)), "{package:?}");
        let found = locked.check(&address, &package.form).unwrap_or_else(|error| panic!("{error}"));
        assert!(found.is_some(), "{text}");
    }

    // The sums that OpenTofu makes, for other machines too, are those that we make.
    let mirror = format!("-fs-mirror={}", project.path("mirror").display());
    let platforms = platforms().map(|platform| format!("-platform={platform}"));
    project.succeeds(&["providers", "lock", "-no-color", &mirror, &platforms[0], &platforms[1]]);
    let (text, lock) = project.lock();
    assert_eq!(lock.to_string(), text, "what OpenTofu writes, we write");
    for (address, _, version) in REQUIRED {
        let ours = project.sums(address, version);
        let theirs = &lock.provider(&parse(address)).expect("it is locked").hashes;
        assert!(theirs.is_subset(&ours), "ours {ours:#?}\n{text}");
        assert!(theirs.len() >= 2, "one sum a machine at least\n{text}");
    }
}

#[test]
fn a_lock_file_that_we_have_written_is_taken_by_opentofu_and_stays_as_it_is() {
    let project = Project::new();
    let mut lock = LockFile::default();
    for (address, constraint, version) in REQUIRED {
        let constraint = VersionConstraint::parse(constraint).expect(constraint);
        let hashes = project.sums(address, version);
        lock.lock(parse(address), ProviderLock { version: version_of(version), constraint, hashes });
    }
    lock.write(&project.lock_path()).expect("it is written");
    let text = lock.to_string();
    for arguments in [&["init", "-no-color", "-lockfile=readonly"][..], &["init", "-no-color"]] {
        project.succeeds(arguments);
        assert_eq!(project.lock().0, text, "tofu {arguments:?}");
    }

    // It is not that OpenTofu does not look.
    let random = lock.unlock(&parse(RANDOM)).expect("it is locked");
    let other = PackageHash::parse("h1:R5Ucn26riKIEijcsiOMBR3uOAjuOMfI1x7XvH4P6B1w=").expect("a sum");
    lock.lock(parse(RANDOM), ProviderLock { hashes: [other].into(), ..random });
    lock.write(&project.lock_path()).expect("it is written");
    std::fs::remove_dir_all(project.path("project/.terraform")).expect("it is there");
    let (succeeded, said) = project.run(&["init", "-no-color"]);
    assert!(!succeeded && said.contains("checksum"), "{said}");
}
