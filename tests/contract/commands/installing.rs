//! `isthmus install`, from a registry, with and without a lock file.

use std::process::Command;

use isthmus_install::{LOCK_FILE_NAME, LockFile, PackageHash, ProviderAddress, ProviderLock};
use isthmus_test_registry::Document;

use super::Said;
use super::network::{Network, OTHER};
use crate::harness::{Json, json, native};

fn read_lock(path: &std::path::Path) -> (String, LockFile) {
    let text = std::fs::read_to_string(path).expect("there is a lock file");
    let lock = LockFile::read(path).unwrap_or_else(|error| panic!("{error}\n{text}"));
    assert_eq!(lock.to_string(), text, "isthmus writes it as OpenTofu does");
    (text, lock)
}

#[test]
fn a_provider_is_installed_and_it_is_told_who_vouches_for_it() {
    let network = Network::new();
    let release = network.publish("1.0.0");
    network.publish("2.0.0");
    let key = network.key.fingerprint().to_uppercase();
    let said = network.isthmus(&["install", &network.address(), "~> 1.0"]);
    let directory = network.machine.cache().join(network.address()).join("1.0.0");
    let program = directory.join(isthmus_common::Platform::CURRENT.to_string());
    let program = native(program.join("terraform-provider-thing_v1.0.0"));
    let vouched = said.stdout.to_uppercase();
    assert!(
        vouched.contains(&format!("/ACME/THING 1.0.0, SIGNED BY {}", &key[key.len() - 16..])),
        "{said:?}"
    );
    assert!(said.stdout.contains(&format!("\n{}\n", program.display())), "{said:?}");
    assert!(
        said.stderr.contains(&format!("downloading {} 1.0.0 from localhost\n", network.address())),
        "{said:?}"
    );
    assert!(program.is_file());
    said.well();

    // What is there needs no network.
    let requests = network.registry.requests().len();
    let again = network.isthmus(&["install", &network.address(), "1.0.0"]);
    assert_eq!(again.stderr, "", "{again:?}");
    again.well();
    assert_eq!(network.registry.requests().len(), requests);
    assert_eq!(network.registry.count(&release.archive_path()), 1);

    // Whoever installs on purpose is told what there is now.
    network.publish("2.1.0");
    let newest = network.isthmus(&["install", &network.address()]).well();
    assert!(newest.contains("/acme/thing 2.1.0, signed by "), "{newest}");

    let none = network.isthmus(&["install", &network.address(), "~> 3.0"]).failed();
    assert!(none.contains("satisfies \"~> 3.0\"") && none.contains("2.1.0"), "{none}");
    let none = network.isthmus(&["install", "a/b/c/d"]).failed();
    assert!(none.contains("is not a provider's address"), "{none}");
}

#[test]
fn what_is_linked_by_its_address_is_installed() {
    let network = Network::new();
    network.publish("1.0.0");
    network.publish("2.0.0");
    let bin = network.machine.path("bin");
    let dir = bin.to_str().expect("a path in UTF-8");
    let said = network.isthmus(&["link", &network.address(), "~> 1.0", "--dir", dir]).well();
    let program = std::fs::read_link(bin.join("lumi-resource-thing.provider")).expect("a link");
    let version = network.machine.cache().join(network.address()).join("1.0.0");
    assert!(program.is_file() && program.starts_with(version), "{} {said}", program.display());
    let none = network.isthmus(&["link", "./terraform-provider-thing", "1.0.0", "--dir", dir]).failed();
    assert!(none.contains("a provider binary has no version to choose"), "{none}");
    let none = network.isthmus(&["link", &network.address(), "~> 3.0", "--dir", dir]).failed();
    assert!(none.contains("satisfies \"~> 3.0\""), "{none}");
}

#[test]
fn a_download_moves_a_bar_on_a_terminal() {
    let network = Network::new();
    network.publish("1.0.0");
    let mut command = network.machine.command("/usr/bin/script");
    let inner = format!("{} install {}", env!("CARGO_BIN_EXE_isthmus"), network.address());
    command
        .args(["--quiet", "--return", "--command", &inner, "/dev/null"])
        .env("TERM", "xterm")
        .env("SSL_CERT_FILE", network.machine.path("authority.pem"));
    let said = Said::of(&mut command).well();
    assert!(said.contains("[########################] 100% of ") && said.contains("\u{1b}[2K"), "{said:?}");
    assert!(said.contains("/acme/thing 1.0.0, signed by "), "{said:?}");
    assert!(!said.contains("warning"), "the name of a terminal is no part of a version: {said:?}");
}

#[test]
fn opentofu_takes_our_lock_file_and_leaves_it_as_it_is() {
    let network = Network::new();
    network.publish("1.0.0");
    let release = network.publish("1.1.0");
    let constraint = "~> 1.0, >= 1, != 1.0.5";
    let project = network.project("project", constraint);
    let said = network.isthmus_in(&project, &["install", &network.address(), constraint, "--lock"]).well();
    // Both machines' archives, as they are signed, and the contents of this one's.
    assert!(said.contains(&format!("locked in {LOCK_FILE_NAME}, by 3 sums\n")), "{said}");
    assert_eq!(network.registry.count(&release.archive_path()), 1, "one download is enough");
    let path = project.join(LOCK_FILE_NAME);
    let (ours, lock) = read_lock(&path);
    let locked = lock.providers().next().expect("it is locked").1.clone();
    assert_eq!((locked.version.to_string(), locked.hashes.len()), ("1.1.0".to_owned(), 3));

    for words in [&["init", "-no-color", "-lockfile=readonly"][..], &["init", "-no-color"]] {
        network.tofu(&project, words).well();
        assert_eq!(read_lock(&path).0, ours, "tofu {words:?}");
    }

    // The other machine's too, as `tofu providers lock` has them.
    let words = ["install", &network.address(), "--lock", "--platform", OTHER];
    let said = network.isthmus_in(&project, &words).well();
    assert!(said.contains("by 4 sums"), "{said}");
    let (ours, lock) = read_lock(&path);
    let theirs = network.project("theirs", constraint);
    let current = isthmus_common::Platform::CURRENT;
    let platforms = [format!("-platform={OTHER}"), format!("-platform={current}")];
    network.tofu(&theirs, &["providers", "lock", "-no-color", &platforms[0], &platforms[1]]).well();
    let (_, other) = read_lock(&theirs.join(LOCK_FILE_NAME));
    assert_eq!(lock.providers().collect::<Vec<_>>(), other.providers().collect::<Vec<_>>());
    network.tofu(&project, &["init", "-no-color"]).well();
    assert_eq!(read_lock(&path).0, ours);
    let said = network.isthmus_in(&project, &words).well();
    assert!(said.contains("locked already in "), "{said}");
}

#[test]
fn what_opentofu_has_locked_is_installed_and_stays_until_an_upgrade() {
    let network = Network::new();
    network.publish("1.0.0");
    let project = network.project("project", "~> 1.0");
    network.tofu(&project, &["init", "-no-color"]).well();
    let path = project.join(LOCK_FILE_NAME);
    let (theirs, _) = read_lock(&path);
    // Somebody else's clone of it: what a project has installed would be taken from there.
    std::fs::remove_dir_all(project.join(".terraform")).expect("it is there");
    network.publish("1.1.0");
    for words in [&["--lock"][..], &["~> 1.0", "--lock"]] {
        let address = network.address();
        let words = [&["install", &address][..], words].concat();
        let said = network.isthmus_in(&project, &words).well();
        assert!(said.contains("/acme/thing 1.0.0, signed") && said.contains("locked already"), "{said}");
        assert_eq!(read_lock(&path).0, theirs);
    }
    let said = network.isthmus_in(&project, &["install", &network.address(), "1.1.0", "--lock"]).failed();
    assert!(said.contains(LOCK_FILE_NAME) && said.contains("1.0.0") && said.contains("1.1.0"), "{said}");

    let said = network.isthmus_in(&project, &["install", &network.address(), "--lock", "--upgrade"]).well();
    assert!(said.contains("/acme/thing 1.1.0, signed"), "{said}");
    let (ours, lock) = read_lock(&path);
    let locked = lock.providers().next().expect("it is locked").1;
    assert_eq!(
        (locked.version.to_string(), locked.constraint.canonical()),
        ("1.1.0".to_owned(), "~> 1.0".to_owned())
    );
    assert_eq!(locked.hashes.len(), 3, "those of the other version are gone\n{ours}");
    assert!(ours.starts_with("# This file is maintained automatically by \"tofu init\"."), "{ours}");
    network.tofu(&project, &["init", "-no-color", "-lockfile=readonly"]).well();
}

#[test]
fn what_is_not_as_it_is_locked_is_refused() {
    let network = Network::new();
    network.publish("1.0.0");
    let project = network.project("project", "1.0.0");
    let install = |more: &[&str]| {
        network.isthmus_in(&project, &[&["install", &network.address(), "--lock"][..], more].concat())
    };
    install(&[]).well();
    let path = project.join(LOCK_FILE_NAME);
    let address = ProviderAddress::parse(&network.address()).expect("an address");
    let mut lock = read_lock(&path).1;
    let locked = lock.unlock(&address).expect("it is locked");
    let others = ["h1:x", "zh:00"].map(|text| PackageHash::parse(text).expect("a sum"));
    lock.lock(address, ProviderLock { hashes: others.into(), ..locked });
    lock.write(&path).expect("it can be written");
    let before = read_lock(&path).0;
    let said = install(&[]).failed();
    assert!(said.contains("is not the one that the lock file knows") && said.contains("--upgrade"), "{said}");
    let said = install(&["--platform", OTHER]).failed();
    assert!(said.contains("is not the one that the lock file knows"), "{said}");
    assert_eq!(read_lock(&path).0, before);
    let said = install(&["--upgrade"]).well();
    assert!(said.contains("by 3 sums"), "{said}");

    std::fs::write(&path, "provider \"x\" {}\n").expect("a file");
    let said = install(&[]).failed();
    assert!(
        said.contains(&format!("{LOCK_FILE_NAME}:1:10: this is not a provider's whole address"))
            && said.contains("`isthmus explain ISTHMUS-2018`"),
        "{said}"
    );
    assert!(!network.isthmus(&["explain", "2018"]).well().contains("Lock the provider again"));
    let said = network.isthmus(&["install", &network.address(), "--upgrade"]);
    assert_eq!(said.code, 2, "{said:?}");
}

#[test]
fn a_provider_that_its_developers_have_put_somewhere_is_told() {
    let network = Network::new();
    let program = network.machine.write("dev/terraform-provider-thing", b"x");
    let directory = program.parent().expect("a directory");
    network.configure(&format!(
        "provider_installation {{\n dev_overrides {{ {:?} = {directory:?} }}\n direct {{}}\n}}\n",
        network.address()
    ));
    let said = network.isthmus(&["install", &network.address()]);
    assert!(said.stdout.contains(&program.display().to_string()), "{said:?}");
    assert!(said.stderr.starts_with("warning: ") && said.stderr.contains("dev_overrides"), "{said:?}");
    said.well();
}

#[test]
fn what_nobody_vouches_for_is_asked_about_by_verify() {
    let network = Network::new();
    let release = network.publish("1.0.0");
    let platform = isthmus_common::Platform::CURRENT;
    let leave = |content: &[u8]| {
        let directory = network.machine.cache().join(network.address()).join("1.0.0");
        let _ = std::fs::remove_dir_all(&directory);
        let program = directory.join(platform.to_string()).join("terraform-provider-thing_v1.0.0");
        network.machine.write(program, content)
    };
    let right = Network::program("1.0.0", &platform.to_string());
    let program = leave(&right);
    let said = network.isthmus(&["providers", "verify", "--offline"]).well();
    assert!(said.contains("1.0.0") && said.contains(": unverified: "), "{said}");
    assert_eq!(network.registry.requests().len(), 0);
    let said = network.isthmus(&["providers", "verify"]).well();
    assert!(said.contains(": verified now, signed by "), "{said}");
    let said = network.isthmus(&["providers", "verify"]).well();
    assert!(said.contains(": as it was installed, signed by "), "{said}");

    leave(b"something else");
    let said = network.isthmus(&["providers", "verify"]).failed();
    assert!(
        said.contains(": ALTERED: it was another one, and was replaced by the right one, signed by "),
        "{said}"
    );
    assert_eq!(std::fs::read(&program).ok(), Some(right));

    leave(b"something else");
    network.registry.put(&release.download_path(), Document::status(500));
    let said = network.isthmus(&["providers", "verify"]).well();
    assert!(said.contains(": unverified: ") && said.contains("localhost"), "{said}");
    network.registry.put(&release.download_path(), Document::status(403));
    let said = network.isthmus(&["providers", "verify"]).failed();
    assert!(said.contains(": REFUSED: ") && said.contains("403"), "{said}");
    let said = network.isthmus(&["install", &network.address(), "1.0.0"]).failed();
    assert!(said.contains("it answered 403 Forbidden\nhelp: "), "{said}");
    // It is asked again each time, and may be the right one in the end.
    network.publish("1.0.0");
    network.isthmus(&["providers", "verify"]).failed();
    network.isthmus(&["providers", "verify"]).well();
}

#[test]
fn the_words_of_both_kinds_of_installation_do_not_mix() {
    let network = Network::new();
    for words in [
        &["install"][..],
        &["install", "--plugin", "random"],
        &["install", "random", "--force"],
        &["install", "--plugin", "--lock"],
        &["install", "random", "--platform", "linux_amd64"],
        &["install", "random", "--lock", "--platform", "linux"],
    ] {
        let said = network.isthmus(words);
        assert_eq!(said.code, 2, "{words:?}\n{said:?}");
    }
    let help =
        Command::new(env!("CARGO_BIN_EXE_isthmus")).args(["install", "--help"]).output().expect("it starts");
    assert!(String::from_utf8_lossy(&help.stdout).contains("[PROVIDER] [VERSION]"), "{help:?}");
}

#[test]
fn what_commands_do_to_providers_is_written_as_json_with_one_root() {
    let network = Network::new();
    network.publish("1.0.0");
    network.publish("2.0.0");
    let address = network.directory();
    let run = |words: &[&str]| {
        let printed = network.isthmus(&[words, &["--json"]].concat()).well();
        let document: Json =
            serde_json::from_str(&printed).unwrap_or_else(|error| panic!("{error}: {printed}"));
        assert_eq!(document["format_version"], "1.0", "{printed}");
        document
    };
    for version in ["1.0.0", "2.0.0"] {
        let installed = run(&["install", &network.address(), version]);
        assert_eq!(installed["command"], "install");
        assert_eq!((&installed["address"], &installed["version"]), (&json!(address), &json!(version)));
        assert_eq!(installed["verification"]["kind"], "signed");
        assert!(std::path::Path::new(installed["program"].as_str().expect("a path")).is_file());
    }
    let verified = run(&["providers", "verify"]);
    assert_eq!(verified["command"], "providers verify");
    let results: Vec<&Json> =
        verified["packages"].as_array().expect("an array").iter().map(|it| &it["result"]).collect();
    assert_eq!(results, ["verified", "verified"]);
    let selected = format!("{}@1.0.0", network.address());
    let mirrored = run(&["providers", "mirror", "mirror", &selected]);
    assert_eq!(mirrored["packages"][0]["version"], "1.0.0");
    let dry = run(&["providers", "prune", "--dry-run"]);
    assert_eq!((&dry["dry_run"], &dry["entries"][0]["action"]), (&json!(true), &json!("would_remove")));
    let pruned = run(&["providers", "prune"]);
    assert_eq!(pruned["entries"].as_array().map(Vec::len), Some(1), "{pruned:#}");
    assert_eq!((&pruned["entries"][0]["action"], &pruned["freed"]), (&json!("removed"), &dry["freed"]));
}
