use semver::Version;

use super::*;
use crate::{PackageForm, PackageHash, VersionConstraint};

/// In the form of OpenTofu 1.12.
const FILE: &str = r#"# This file is maintained automatically by "tofu init".
# Manual edits may be lost in future updates.

provider "example.com:8443/a/b" {
  version = "1.0.0-rc1+build"
}

provider "registry.opentofu.org/hashicorp/random" {
  version     = "3.6.0"
  constraints = ">= 3.0.0, ~> 3.5, != 3.5.1, < 4.0.0"
  hashes = [
    "h1:R5Ucn26riKIEijcsiOMBR3uOAjuOMfI1x7XvH4P6B1w=",
    "h9:kept although nobody knows it",
    "zh:03360ed3ecd31e8c5dac9c95fe0858be50f3e9a0d0c654b5e504109c2159287d",
  ]
}
"#;

fn parse(text: &str) -> Result<LockFile, String> {
    LockFile::parse(text.as_bytes(), Path::new("lock")).map_err(|error| error.to_string())
}

fn random() -> ProviderAddress {
    ProviderAddress::parse("random").expect("an address")
}

fn hash(text: &str) -> PackageHash {
    PackageHash::parse(text).expect(text)
}

#[test]
fn a_file_is_written_as_it_was_read() {
    let lock = parse(FILE).unwrap_or_else(|error| panic!("{error}"));
    assert_eq!(lock.to_string(), FILE);
    let random = lock.provider(&random()).expect("it is locked");
    assert_eq!(random.version, Version::new(3, 6, 0));
    assert!(
        random.constraint.allows(&Version::new(3, 6, 0)) && !random.constraint.allows(&Version::new(3, 5, 1))
    );
    assert_eq!(random.hashes.len(), 3);
    // Comments inside, spaces and order are not preserved.
    let loose = FILE.replace("  version = ", "\n  # why\n version =   ").replace('\n', "\r\n");
    assert_eq!(parse(&loose).map(|lock| lock.to_string()), Ok(FILE.to_owned()));
    assert_eq!(parse(&format!("\u{feff}{FILE}")).map(|lock| lock.to_string()), Ok(FILE.to_owned()));
    assert_eq!(parse("# why\r\r").map(|lock| lock.to_string()), Ok("# why\n".to_owned()));
}

#[test]
fn a_lock_keeps_its_sums_until_its_version_changes() {
    let mut lock = parse(FILE).unwrap_or_else(|error| panic!("{error}"));
    let other = |version: &str| ProviderLock {
        version: Version::parse(version).expect(version),
        constraint: VersionConstraint::parse("~> 3.0").expect("a constraint"),
        hashes: [hash("zh:01"), hash("h1:new")].into(),
    };
    lock.lock(random(), other("3.6.0"));
    assert_eq!(lock.provider(&random()).map(|lock| lock.hashes.len()), Some(5));
    lock.lock(random(), other("3.7.0"));
    assert_eq!(lock.provider(&random()).map(|lock| lock.hashes.len()), Some(2));
    lock.unlock(&ProviderAddress::parse("example.com:8443/a/b").expect("an address"));
    let directory = tempfile::tempdir().expect("a directory");
    let path = directory.path().join(LOCK_FILE_NAME);
    lock.write(&path).unwrap_or_else(|error| panic!("{error:?}"));
    assert_eq!(
        std::fs::read_to_string(&path).expect("it is there"),
        "# This file is maintained automatically by \"tofu init\".\n# Manual edits may be lost in future updates.\n\nprovider \
         \"registry.opentofu.org/hashicorp/random\" {\n  version     = \"3.7.0\"\n  constraints = \"~> 3.0\"\n  hashes = [\n    \
         \"h1:new\",\n    \"zh:01\",\n  ]\n}\n"
    );
    assert_eq!(LockFile::read(&path).map_err(|error| error.to_string()), Ok(lock));
    assert_eq!(std::fs::read_dir(directory.path()).expect("a directory").count(), 1);
}

#[test]
fn where_there_is_no_file_nothing_is_locked() {
    let directory = tempfile::tempdir().expect("a directory");
    let lock =
        LockFile::read(&directory.path().join(LOCK_FILE_NAME)).unwrap_or_else(|error| panic!("{error}"));
    assert_eq!(lock, LockFile::default());
    assert!(lock.to_string().starts_with("# This file is maintained automatically by \"isthmus"), "{lock}");
    let error = LockFile::read(directory.path()).expect_err("a directory").to_string();
    assert!(error.contains("cannot be read"), "{error}");
}

#[test]
fn constraints_have_one_form() {
    for (given, canonical) in [
        ("", ""),
        ("1", "1.0.0"),
        ("= 1.2", "1.2.0"),
        ("~>1", "~> 1.0"),
        ("~> 1.2", "~> 1.2"),
        ("~> 1.2.3", "~> 1.2.3"),
        ("<4,>=3.0,>= 3.0.0", ">= 3.0.0, < 4.0.0"),
        (
            "!=1.0, <1, <=1, ~>1, ~>1.0.0, 1, >=1, >1",
            "> 1.0.0, >= 1.0.0, 1.0.0, ~> 1.0.0, ~> 1.0, <= 1.0.0, < 1.0.0, != 1.0.0",
        ),
        (">1.10, >1.9, >1.10.0-beta1", "> 1.9.0, > 1.10.0-beta1, > 1.10.0"),
        ("1.0.0+b, 1.0.0+a", "1.0.0+a, 1.0.0+b"),
        // OpenTofu's order: by the number of parts first.
        (">=1.0.0-beta.2, <1.0.0-rc1", "< 1.0.0-rc1, >= 1.0.0-beta.2"),
        ("1.0.0-b.10, 1.0.0-b.9, 1.0.0-b.a", "1.0.0-b.9, 1.0.0-b.10, 1.0.0-b.a"),
    ] {
        let constraint = VersionConstraint::parse(given).unwrap_or_else(|error| panic!("{error}"));
        assert_eq!(constraint.canonical(), canonical, "{given}");
    }
}

#[test]
fn errors_have_their_position() {
    let block = |inside: &str| format!("provider \"registry.opentofu.org/a/b\" {{\n  {inside}\n}}\n");
    for (text, expected) in [
        ("provider \"", "lock:1:10: this string has no end".to_owned()),
        ("x = 1", "lock:1:1: this name has no meaning here".to_owned()),
        ("provider {}", "lock:1:1: a provider is written".to_owned()),
        ("provider = 1", "lock:1:1: a provider is written".to_owned()),
        ("provider \"a\" \"b\" {}", "lock:1:1: a provider is written".to_owned()),
        (
            "provider \"a/b\" {}",
            "lock:1:10: this is not a provider's whole address, which is written HOST/NAMESPACE/TYPE"
                .to_owned(),
        ),
        ("provider \"A.com/a/b\" {}", "this is not a provider's whole address".to_owned()),
        ("provider \"a b\" {}", "this is not a provider's whole address".to_owned()),
        ("provider \"terraform.io/builtin/terraform\" {}", "is a part of OpenTofu".to_owned()),
        (&block(""), "lock:1:1: this provider needs the argument \"version\"".to_owned()),
        (&block("version = 1"), "lock:2:13: \"version\" is a number, but must be a string".to_owned()),
        (&block("version = \"1.0\""), "lock:2:13: this is not a whole version".to_owned()),
        (&block("version = \"v1.0.0\""), "is not a whole version".to_owned()),
        (&block("version = \"${x}\""), "there can be no templates".to_owned()),
        (&block("version = \"1.0.0\"\n  x = 1"), "lock:3:3: this name has no meaning here".to_owned()),
        (
            &block("version = \"1.0.0\"\n  version = \"1.0.0\""),
            "lock:3:3: this was already set at 2:3".to_owned(),
        ),
        (
            &block("version = \"1.0.0\"\n  constraints = \"~>1\""),
            "lock:3:17: these constraints are not in the form".to_owned(),
        ),
        (
            &block("version = \"1.0.0\"\n  constraints = \"^1\""),
            "lock:3:17: this is not a version constraint".to_owned(),
        ),
        (&block("version = \"1.0.0\"\n  hashes = []"), "lock:3:12: the list of hashes is empty".to_owned()),
        (&block("version = \"1.0.0\"\n  hashes = \"h1:\""), "but must be a list of strings".to_owned()),
        (
            &block("version = \"1.0.0\"\n  hashes = [\n  \"x\"]"),
            "lock:4:3: this is not a package hash".to_owned(),
        ),
        (
            &block("version = \"1.0.0\"").repeat(2),
            "lock:4:1: this provider is already locked at 1:1".to_owned(),
        ),
    ] {
        let error = parse(text).expect_err(text);
        assert!(error.contains(&expected), "{text}\n{error}");
    }
    let lock = parse("module \"x\" {\n}\n").unwrap_or_else(|error| panic!("{error}"));
    assert_eq!(lock.warnings, ["1:1: modules are not locked here; this has no effect"]);
}

#[test]
fn a_package_that_is_not_locked_is_refused() {
    let directory = tempfile::tempdir().expect("a directory");
    std::fs::write(directory.path().join("terraform-provider-random"), "x").expect("a file");
    let package = PackageForm::Directory(directory.path().into());
    let sum = PackageHash::of_contents(&package).unwrap_or_else(|error| panic!("{error}"));
    let lock = |hashes: &[&PackageHash]| ProviderLock {
        version: Version::new(3, 6, 0),
        constraint: VersionConstraint::parse("").expect("a constraint"),
        hashes: hashes.iter().copied().cloned().collect(),
    };
    let check = |hashes: &[&PackageHash]| match lock(hashes).check(&random(), &package) {
        Ok(hash) => Ok(hash.cloned()),
        Err(error) => Err(error.to_string()),
    };
    assert_eq!(check(&[&hash("h1:other"), &sum]), Ok(Some(sum.clone())));
    assert_eq!(check(&[]), Ok(None));
    assert_eq!(check(&[&hash("h9:x")]), Ok(None));
    for hashes in [vec![hash("h1:other"), hash("h9:x")], vec![hash("zh:00")]] {
        let error = check(&hashes.iter().collect::<Vec<_>>()).expect_err("it is another one");
        let start = format!(
            "the package of registry.opentofu.org/hashicorp/random 3.6.0 at {} is not the one",
            directory.path().display()
        );
        assert!(error.starts_with(&start), "{error}");
        assert!(error.contains(&format!("it has the sum {sum}, and none of {}. If", hashes[0])), "{error}");
    }
}
